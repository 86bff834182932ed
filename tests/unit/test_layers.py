"""The shape of the package: which module may import which, and what only some of them may do."""

from __future__ import annotations

import ast
import graphlib
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import perpkt
from perpkt import errors

PACKAGE = Path(perpkt.__file__).parent

# From the bottom to the top: each line's modules and packages, and which of the same line each may
# import. Any may import what lies in the lines below it.
LAYERS: tuple[dict[str, set[str]], ...] = (
    {"version": set(), "errors": set(), "spec": {"errors"}, "result": {"errors", "spec"}},
    {"wire": set(), "paths": {"wire"}},
    {
        "stats": set(),
        "readings": {"stats"},
        "analysis": {"stats", "readings"},
        "report": {"analysis"},
        "result_file": set(),
        "store": {"result_file"},
    },
    {"kernel": set()},
    {
        "teardown": set(),
        "inject": {"teardown"},
        "testbed": {"teardown"},
        "probe": {"inject", "testbed", "static_keys"},
        "static_keys": set(),
        "diagnosis": {"probe", "static_keys"},
    },
    {"measure": set()},
    {"instruments": set(), "experiment": {"instruments"}},
    {"cli": set()},
)
# The package's own face imports what it offers, `python -m perpkt` the command line, the fakes what they stand for.
FACES = {"": 6, "__main__": 7, "testing": 5}
LAYER = {unit: number for number, line in enumerate(LAYERS) for unit in line} | FACES

PURE = {"spec", "result", "wire", "paths", "stats", "analysis", "report"}
MACHINE = {
    "ctypes", "fcntl", "mmap", "multiprocessing", "os", "pathlib", "platform", "resource", "select", "shutil",
    "signal", "socket", "subprocess", "tempfile", "threading", "time",
}  # fmt: skip
NAMELESS = {"util", "utils", "helper", "helpers", "common", "misc", "manager", "managers"}
MOST_LINES = 300


def name_of(path: Path) -> str:
    """The dotted name of a module's file, without the package's: "kernel.bpf", "" for the package itself."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


FILES = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}
TREES = {name: ast.parse(path.read_text()) for name, path in FILES.items()}


def unit_of(name: str) -> str:
    """The name that stands in LAYERS."""
    return name.partition(".")[0]


def own_imports(tree: ast.AST) -> Iterator[str]:
    """The modules of the package that are imported anywhere: at the top, in a function, for types only."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            named = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            named = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for dotted in named:
            package, _, name = dotted.partition(".")
            if package == "perpkt":
                # what is imported from a module is not itself one
                yield name if name in FILES else name.rpartition(".")[0]


def foreign_imports(tree: ast.AST) -> set[str]:
    """The top packages of all other imports."""
    plain = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    parts = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    return {name.partition(".")[0] for name in plain | parts} - {"perpkt"}


def test_every_module_has_a_place() -> None:
    """Each module of the package stands in the table, and the table has no other."""
    assert {unit_of(name) for name in FILES} == set(LAYER)


@pytest.mark.parametrize("name", FILES)
def test_imports_go_downwards(name: str) -> None:
    """A module imports from lines below its own, and of its own line only what the table says."""
    unit = unit_of(name)
    beside = LAYERS[LAYER[unit]].get(unit, set(LAYERS[LAYER[unit]])) | {unit}
    imported = {unit_of(other) for other in own_imports(TREES[name])}
    assert {other for other in imported if LAYER[other] >= LAYER[unit] and other not in beside} == set()


def test_nothing_imports_the_faces() -> None:
    """The package's face, its __main__ and its fakes are for others: no module of its own imports them."""
    found = {(name, other) for name, tree in TREES.items() for other in own_imports(tree) if other in FACES}
    assert found == set()


def test_no_cycles() -> None:
    """No module imports itself by way of others, not even for types."""
    graph = {name: set(own_imports(tree)) - {name} for name, tree in TREES.items()}
    graphlib.TopologicalSorter(graph).prepare()


def test_lowest_layer_needs_little() -> None:
    """Errors, questions and answers need msgspec and the standard library, and bytes and paths not even that."""
    installed = {"msgspec", "numpy", "rich", "shtab", "scipy"}
    needed = {name: foreign_imports(tree) & installed for name, tree in TREES.items() if LAYER[unit_of(name)] <= 1}
    assert {name for name, packages in needed.items() if packages} == {"spec", "result"}
    assert needed["spec"] == needed["result"] == {"msgspec"}


@pytest.mark.parametrize("name", [name for name in FILES if unit_of(name) in PURE])
def test_pure_modules_do_not_touch_the_machine(name: str) -> None:
    """What computes imports nothing that reaches the machine, and opens no file."""
    opened = [call.lineno for call in calls(TREES[name]) if ast.unparse(call.func) in ("open", "io.open")]
    assert foreign_imports(TREES[name]) & MACHINE == set()
    assert opened == []


def test_errors_ask_only_for_words() -> None:
    """The error tree uses os for strerror and for nothing else."""
    used = {
        node.attr for node in ast.walk(TREES["errors"]) if isinstance(node, ast.Attribute)
        if isinstance(node.value, ast.Name) and node.value.id == "os"
    }  # fmt: skip
    assert foreign_imports(TREES["errors"]) & MACHINE == {"os"}
    assert used == {"strerror"}


def calls(tree: ast.AST) -> Iterator[ast.Call]:
    """All calls."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


@pytest.mark.parametrize("name", [name for name in FILES if unit_of(name) not in ("cli", "__main__")])
def test_only_the_command_line_prints_or_exits(name: str) -> None:
    """No library module prints, writes to a standard stream, or ends the process."""
    forbidden = {"print", "exit", "quit", "sys.exit", "os._exit", "SystemExit"}
    called = {ast.unparse(call.func) for call in calls(TREES[name])}
    raised = {
        ast.unparse(node.exc) for node in ast.walk(TREES[name]) if isinstance(node, ast.Raise) and node.exc is not None
    }
    streams = {
        ast.unparse(node) for node in ast.walk(TREES[name]) if isinstance(node, ast.Attribute)
    } & {"sys.stdout", "sys.stderr"}  # fmt: skip
    assert (called | raised) & forbidden == set()
    assert streams == set()


@pytest.mark.parametrize("name", [name for name in FILES if name])
def test_names_say_something(name: str) -> None:
    """No module is called after what it is not about."""
    assert set(name.split(".")) & NAMELESS == set()


def test_no_module_is_long() -> None:
    """No module has more than 300 lines."""
    lengths = {name: len(path.read_text().splitlines()) for name, path in FILES.items()}
    assert {name: length for name, length in lengths.items() if length > MOST_LINES} == {}


def drawn() -> dict[str, tuple[str, int]]:
    """The tree in the docstring of perpkt.errors: each class with its parent and its family's exit code."""
    found: dict[str, tuple[str, int]] = {}
    above: list[tuple[int, str]] = []
    code = 70
    table = (errors.__doc__ or "").split("exit\n", 1)[1].split("\n\n", 1)[0]
    for line in ["    PerpktError", *table.splitlines()]:
        match = re.fullmatch(r"(?P<indent> +)(?P<name>\w+).*?(?P<code> \d+)?", line)
        assert match, line
        code = int(match["code"]) if match["code"] else code
        above = [one for one in above if one[0] < len(match["indent"])]
        found[match["name"]] = (above[-1][1] if above else "Exception", code)
        above.append((len(match["indent"]), match["name"]))
    return found


def test_error_tree_is_the_drawn_one() -> None:
    """Each error class stands in the docstring under its parent, and ends with its family's exit code."""
    classes = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, errors.PerpktError)]
    assert {one.__name__: ((one.__base__ or object).__name__, one.exit_code) for one in classes} == drawn()


def test_no_error_is_defined_elsewhere() -> None:
    """The tree is whole: no other module derives an error from it."""
    names = set(drawn())
    derived = {
        f"{name}.{node.name}"
        for name, tree in TREES.items()
        if name != "errors"
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and {ast.unparse(base).rpartition(".")[2] for base in node.bases} & names
    }
    assert derived == set()


def test_public_names() -> None:
    """perpkt offers these names, each found where it is defined, and no other."""
    names = ["PerpktError", "Plan", "Result", "Summary", "load", "make_plan", "render", "run", "save", "summarise"]
    assert list(perpkt.__all__) == dir(perpkt) == names
    for name in names:
        found = getattr(perpkt, name)
        assert getattr(importlib.import_module(found.__module__), name) is found
    with pytest.raises(AttributeError, match="no attribute 'measure_all'"):
        _ = perpkt.measure_all


def test_type_checkers_see_the_public_names() -> None:
    """What is imported for type checkers is what __all__ names."""
    imported = {
        alias.name for node in ast.walk(TREES[""]) if isinstance(node, ast.ImportFrom)
        if (node.module or "").startswith("perpkt.") for alias in node.names
    }  # fmt: skip
    assert imported == set(perpkt.__all__)
