"""Reads the layer table of docs/architecture.md and finds every import in the package that breaks it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "bridle"
EVERYTHING = "all"
PURE_LAYER = "wire"
# No layer imports the one that joins the others.
TOP_LAYER = "cli"

FORBIDDEN_NAMES = frozenset({"utils", "helpers", "common", "types", "manager", "misc", "base", "handler"})

IMPURE_MODULES = frozenset(
    [
        "asyncio",
        "concurrent",
        "ctypes",
        "fcntl",
        "glob",
        "http",
        "io",
        "locale",
        "logging",
        "mmap",
        "multiprocessing",
        "os",
        "pathlib",
        "platform",
        "queue",
        "random",
        "secrets",
        "select",
        "selectors",
        "shutil",
        "signal",
        "socket",
        "ssl",
        "subprocess",
        "sqlite3",
        "tempfile",
        "threading",
        "time",
        "urllib",
        "uuid",
    ]
)
IMPURE_CALLS = frozenset({"open", "print", "input", "breakpoint"})
# What makes an otherwise pure module read a clock or the outside: datetime.now(), sys.stdin, …
IMPURE_ATTRIBUTES = frozenset({"now", "utcnow", "today", "environ", "getenv", "argv", "stdin", "stdout", "stderr"})

LIST_ASSIGNMENT = re.compile(r"__all__|__version__|_[A-Z_]+")
LIST_FUNCTIONS = frozenset({"__getattr__", "__dir__"})
DOTTED_NAME = re.compile(rf"{PACKAGE}(\.[A-Za-z_]\w*)+")
TABLE_ROW = re.compile(r"^\| `(\w+)` \|.*\| ([^|]+) \|$", re.MULTILINE)

# Fewer files need no folder of their own, more are not seen at a glance; `__init__.py` counts.
FILES_IN_A_PACKAGE = range(3, 22)

Table = Mapping[str, frozenset[str]]


@dataclass(frozen=True, order=True)
class Violation:
    """One broken rule and where."""

    path: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}"


@dataclass(frozen=True)
class Module:
    """One source file, parsed."""

    name: str
    path: str
    tree: ast.Module
    is_package: bool

    @property
    def layer(self) -> str:
        """The part after the package's name; the package itself has none."""
        return layer_of(self.name)


def layer_of(name: str) -> str:
    """`bridle.wire.events.lines` belongs to `wire`."""
    return name.split(".")[1] if "." in name else ""


def read_table(page: str) -> Table:
    """Which layers each layer may import, from the page's table."""
    rows = {layer: frozenset(re.findall(r"\w+", allowed)) for layer, allowed in TABLE_ROW.findall(page)}
    return {layer: frozenset(rows) if EVERYTHING in allowed else allowed for layer, allowed in rows.items()}


def modules(package: Path) -> list[Module]:
    """Every module of the package, in order."""
    return [_module(path, package) for path in sorted(package.rglob("*.py"))]


def violations(package: Path, table: Table) -> list[Violation]:
    """Every broken rule in the package, in order."""
    found: list[Violation] = []
    for module in modules(package):
        found += _misnamed(module, table)
        found += _imports_out_of_layer(module, table)
        if module.layer == PURE_LAYER:
            found += _impure(module)
        if module.is_package:
            found += _more_than_a_list(module)
    return sorted(found)


def cycles(package: Path) -> list[str]:
    """Chains of modules that import each other, each written as `a > b > a`; imports inside functions count."""
    parsed = {module.name: module for module in modules(package)}
    return _chains({name: sorted(set(_imported(module, parsed))) for name, module in parsed.items()})


def package_cycles(package: Path) -> list[str]:
    """Chains of sub-packages of one package that import each other; imports inside functions count."""
    parsed = {module.name: module for module in modules(package)}
    folders = {module.name for module in parsed.values() if module.is_package}
    graphs: dict[str, dict[str, set[str]]] = {}
    for module in parsed.values():
        for target in _imported(module, parsed):
            pair = _siblings(module.name, target)
            if pair is not None and folders.issuperset(pair):
                graph = graphs.setdefault(pair[0].rpartition(".")[0], {})
                graph.setdefault(pair[0], set()).add(pair[1])
                graph.setdefault(pair[1], set())
    return [
        chain
        for parent, graph in sorted(graphs.items())
        if parent != PACKAGE  # between layers the table decides
        for chain in _chains({name: sorted(targets) for name, targets in graph.items()})
    ]


def misshapen_packages(package: Path) -> list[Violation]:
    """Return sub-packages with too many or too few files, or without a sentence on what they hold."""
    return sorted(_misshapen(package, FILES_IN_A_PACKAGE))


def _misshapen(package: Path, allowed: range) -> Iterator[Violation]:
    for module in modules(package):
        if not module.is_package or module.name.count(".") < 2:
            continue
        folder = package.parent / Path(module.path).parent
        files = len(list(folder.glob("*.py")))
        has_folders = any((child / "__init__.py").is_file() for child in folder.iterdir())
        if files not in allowed and not (has_folders and files < allowed.start):
            yield Violation(module.path, 1, f"{files} files: a sub-package has {allowed.start} to {allowed.stop - 1}")
        sentence = ast.get_docstring(module.tree) or ""
        if not re.search(r"\bimport(s|ed)?\b", sentence, re.IGNORECASE):
            yield Violation(module.path, 1, "the docstring does not say what it holds and what it may not import")


def _siblings(name: str, target: str) -> tuple[str, str] | None:
    """Return the two packages or modules under the nearest common parent through which one imports the other."""
    ours, theirs = name.split("."), target.split(".")
    for depth, (own, other) in enumerate(zip(ours, theirs, strict=False)):
        if own != other:
            return ".".join(ours[: depth + 1]), ".".join(theirs[: depth + 1])
    return None


def _chains(graph: Mapping[str, list[str]]) -> list[str]:
    """Return the cycles of a graph that a depth-first search meets, each written as `a > b > a`."""
    found: list[str] = []
    finished: set[str] = set()

    def visit(name: str, trail: list[str]) -> None:
        if name in trail:
            found.append(" > ".join([*trail[trail.index(name) :], name]))
        elif name not in finished:
            for target in graph[name]:
                visit(target, [*trail, name])
            finished.add(name)

    for name in graph:
        visit(name, [])
    return found


def _module(path: Path, package: Path) -> Module:
    parts = path.relative_to(package.parent).with_suffix("").parts
    is_package = parts[-1] == "__init__"
    name = ".".join(parts[:-1] if is_package else parts)
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    return Module(name, str(path.relative_to(package.parent)), tree, is_package)


def _misnamed(module: Module, table: Table) -> Iterator[Violation]:
    for part in module.name.split("."):
        if part.removeprefix("_") in FORBIDDEN_NAMES:
            yield Violation(module.path, 1, f"{part} says nothing: name the noun it holds")
    if module.layer and module.layer not in table:
        yield Violation(module.path, 1, f"{module.layer} is not in the layer table")


def _imports_out_of_layer(module: Module, table: Table) -> Iterator[Violation]:
    allowed = table.get(module.layer, frozenset()) | {module.layer}
    for node in ast.walk(module.tree):
        yield from _unreadable(module, node)
        for target in _targets(node):
            layer = layer_of(target)
            if layer not in table:
                continue  # a name of the package itself, such as its version
            by_top = layer == TOP_LAYER and module.layer != TOP_LAYER
            # The package itself may list any name that it finds when asked; it loads none of them.
            listed = module.layer == "" and isinstance(node, ast.Constant)
            if by_top or (layer not in allowed and not listed):
                yield Violation(module.path, _line(node), f"{module.layer or PACKAGE} may not import {target}")


def _unreadable(module: Module, node: ast.AST) -> Iterator[Violation]:
    """Imports that this test could not follow are refused."""
    if isinstance(node, ast.ImportFrom) and node.level:
        yield Violation(module.path, node.lineno, "relative import: write the whole name")
    elif isinstance(node, ast.Import) and any(alias.name == PACKAGE for alias in node.names):
        yield Violation(module.path, node.lineno, f"import {PACKAGE}: name the module that is needed")
    elif isinstance(node, ast.Call) and _is_import_call(node) and node.args:
        name = node.args[0]
        relative = isinstance(name, ast.Constant) and str(name.value).startswith(".")
        built = isinstance(name, ast.JoinedStr | ast.BinOp | ast.Call) and not module.is_package
        if relative or built:
            yield Violation(module.path, node.lineno, "import by a name that is put together: write it whole")


def _targets(node: ast.AST) -> Iterator[str]:
    """The modules of ours that a node imports, or names for an import by name."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name.split(".")[0] == PACKAGE)
    elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
        if node.module == PACKAGE:
            yield from (f"{PACKAGE}.{alias.name}" for alias in node.names)
        elif node.module.startswith(f"{PACKAGE}."):
            yield node.module
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        # A whole module name in a string is a row of a table for importing by name.
        name = node.value.partition(":")[0]
        if DOTTED_NAME.fullmatch(name):
            yield name


def _is_import_call(node: ast.Call) -> bool:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in ("import_module", "__import__")


def _impure(module: Module) -> Iterator[Violation]:
    for node in ast.walk(module.tree):
        for name in _foreign_modules(node):
            if name.split(".")[0] in IMPURE_MODULES:
                yield Violation(module.path, _line(node), f"{PURE_LAYER} is pure and may not import {name}")
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in IMPURE_CALLS:
            yield Violation(
                module.path, node.lineno, f"{PURE_LAYER} is pure and may not call {ast.unparse(node.func)}()"
            )
        if isinstance(node, ast.Attribute) and node.attr in IMPURE_ATTRIBUTES and _is_of_module(node.value):
            yield Violation(module.path, node.lineno, f"{PURE_LAYER} is pure and may not use {ast.unparse(node)}")


def _foreign_modules(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield node.module
    elif isinstance(node, ast.Call) and _is_import_call(node) and node.args and isinstance(node.args[0], ast.Constant):
        yield str(node.args[0].value)


def _is_of_module(node: ast.expr) -> bool:
    return ast.unparse(node) in ("sys", "datetime", "date", "datetime.datetime", "datetime.date")


def _more_than_a_list(module: Module) -> Iterator[Violation]:
    for position, node in enumerate(module.tree.body):
        if not _belongs_in_a_list(node, position):
            yield Violation(module.path, node.lineno, "__init__.py lists names and nothing else")


def _belongs_in_a_list(node: ast.stmt, position: int) -> bool:
    if isinstance(node, ast.Expr):
        return position == 0 and isinstance(node.value, ast.Constant)
    if isinstance(node, ast.ImportFrom):
        return node.module == "__future__"
    if isinstance(node, ast.FunctionDef):
        return node.name in LIST_FUNCTIONS
    if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        computed = any(isinstance(part, ast.Call) for part in ast.walk(node.value))
        return isinstance(target, ast.Name) and bool(LIST_ASSIGNMENT.fullmatch(target.id)) and not computed
    return False


def _imported(module: Module, parsed: Mapping[str, Module]) -> Iterator[str]:
    """Return the modules of ours that this one imports, wherever the import is written."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from (name for name in _loaded_names(node) if name in parsed and name != module.name)


def _loaded_names(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif node.module:
        yield node.module
        yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _line(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 1))
