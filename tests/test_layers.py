"""The shape of the source: imports point one way, files and functions are short, names are unique.

Imports count wherever they stand: inside functions, and for types only.
"""

from __future__ import annotations

import ast
import graphlib
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"

# From the bottom to the top: a part imports parts of its own line and of those above it here.
LAYERS = (
    "_kernels _system callers errors kernel_options notebook piecewise references settings "
    "tolerances witness",
    "result milestones watching",
    "losses",
    "data",
    "regularizers engines features",
    "risks",
    "solvers",
    "advice posing kernel_posing functions racing driver minimisation stopping following proving "
    "starts paths checkpoint verification report inference",
    "estimators",
    "sklearn",
    "model serve",
    "cli",
    "__main__",
)
RANKS = {part: rank for rank, line in enumerate(LAYERS) for part in line.split()}

MOST_LINES = 400
MOST_LINES_OF_A_FUNCTION = 60


def modules() -> dict[str, Path]:
    """The modules by their names; the kernels by their stub."""
    paths = [*SOURCE.rglob("*.py"), SOURCE / "fenchel" / "_kernels.pyi"]
    return {_name(path): path for path in paths}


def _name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = modules()
TREES = {name: ast.parse(path.read_text()) for name, path in MODULES.items()}


def _imports(module: str) -> Iterator[str]:
    """The modules that it imports, and names of the package itself, such as fenchel.plot."""
    for node in ast.walk(TREES[module]):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports from {'.' * node.level}: say from where"
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (
                name if name in MODULES or node.module == "fenchel" else str(node.module)
                for name in whole
            )
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "fenchel":
            yield f"fenchel.{node.attr}"


IMPORTS = {
    module: {name for name in _imports(module) if name.startswith("fenchel.")} - {module}
    for module in MODULES
}


def _part(module: str) -> str:
    return module.split(".")[1]


def test_every_part_has_its_layer() -> None:
    assert {_part(name) for name in MODULES if name != "fenchel"} <= set(RANKS)


def test_imports_point_one_way() -> None:
    upward = {
        (module, _part(name))
        for module in MODULES
        if module != "fenchel"
        for name in IMPORTS[module] & set(MODULES)
        if RANKS[_part(name)] > RANKS[_part(module)]
    }
    assert upward == set(), "these modules import what stands above them"


def test_only_the_command_line_knows_the_service() -> None:
    for module, found in IMPORTS.items():
        if _part(f"{module}.") not in ("cli", "serve"):
            assert not [name for name in found if name.startswith("fenchel.serve")], module


def test_the_package_itself_is_for_users() -> None:
    # Through it a module could reach any other, unseen by the tests above.
    used = {
        (module, name)
        for module, found in IMPORTS.items()
        for name in found - set(MODULES)
        if _part(f"{module}.") != "cli" and name != "fenchel.__version__"
    }
    assert used == {("fenchel.result", "fenchel.plot")}


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = {module: found & set(MODULES) for module, found in IMPORTS.items()}
    graphlib.TopologicalSorter(graph).prepare()  # raises a CycleError that names the circle


def test_files_are_short() -> None:
    sizes = {name: len(path.read_text().splitlines()) for name, path in MODULES.items()}
    del sizes["fenchel._kernels"]  # which is generated
    assert [name for name, size in sizes.items() if size > MOST_LINES] == []


def test_functions_are_short() -> None:
    long = {
        (module, node.name)
        for module, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno + 1 > MOST_LINES_OF_A_FUNCTION
    }
    assert long == set()


def test_no_class_name_stands_for_two_things() -> None:
    places: dict[str, list[str]] = {}
    for module, tree in TREES.items():
        # Kernels have twins of losses, and drop-ins the names of scikit-learn's classes.
        if module == "fenchel._kernels" or _part(f"{module}.") == "sklearn":
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(module)
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
