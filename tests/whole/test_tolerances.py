"""Every tolerance stands in one module."""

import ast
import re
from pathlib import Path

import fenchel
from fenchel import tolerances

SOURCE = Path(fenchel.__file__).parent
HEADERS = Path(__file__).parents[2] / "src" / "fenchel" / "kernels"
WORDS = re.compile(
    r"ROUND_?OFF|EPSILON|(?<!ROBABILI)TIES?$|BLUR|DRIFT|CONTRADICTION|DOUBT|AGREEMENT|TOLERANCE"
)


def constants(path):
    """The names in capitals that a module gives a value to, at any depth."""
    for node in ast.walk(ast.parse(path.read_text())):
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
        yield from (
            name.id
            for target in targets
            for name in ast.walk(target)
            if isinstance(name, ast.Name) and name.id.isupper()
        )


def test_no_module_has_a_tolerance_of_its_own():
    home = Path(tolerances.__file__)
    private = [
        f"{path.relative_to(SOURCE)}: {name}"
        for path in SOURCE.rglob("*.py")
        if path not in (home, SOURCE / "losses" / "table.py")  # whose EPSILON is an option
        for name in constants(path)
        if WORDS.search(name)
    ]
    assert private == []


def test_no_module_computes_the_machine_epsilon():
    own = [path.name for path in SOURCE.rglob("*.py") if "float64).eps" in path.read_text()]
    assert own == []


def test_every_tolerance_is_used_and_has_its_derivation():
    text = Path(tolerances.__file__).read_text()
    names = list(constants(Path(tolerances.__file__)))
    others = "\n".join(p.read_text() for p in SOURCE.rglob("*.py") if p.name != "tolerances.py")
    assert len(names) > 15
    for name in names:
        assert re.search(rf"\b{name}\b", others), f"{name} is used nowhere"
        assert re.search(rf"# [^\n]*\n{name} = ", text), f"{name} has no derivation"


def test_tolerances_are_in_the_order_of_their_size():
    values = [getattr(tolerances, name) for name in constants(Path(tolerances.__file__))]
    assert values == sorted(values)


def test_kernels_have_the_same_values():
    text = (HEADERS / "tolerances.hpp").read_text()
    theirs = re.findall(r"constexpr double (\w+) = (.+);", text)
    assert theirs
    for name, value in theirs:
        assert getattr(tolerances, name) == float(value)
