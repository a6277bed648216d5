"""The conda recipe as rattler-build reads it: both packages render for each Python."""

from __future__ import annotations

from pathlib import Path

from rattler_build import Stage0Recipe, VariantConfig

VARIANTS = """
python: [3.11.* *_cpython, 3.12.* *_cpython, 3.13.* *_cp313, 3.14.* *_cp314]
cxx_compiler: [gxx]
c_stdlib: [sysroot]
"""

recipe = Stage0Recipe.from_file(str(Path(__file__).parent / "conda" / "recipe.yaml"))
found = sorted({str(each) for each in recipe.render(VariantConfig.from_yaml(VARIANTS))})
assert sum("'fenchel-core'" in each for each in found) == 4, found
assert sum("'fenchel'" in each for each in found) == 1, found  # the same for all of them
print(*found, sep="\n")
