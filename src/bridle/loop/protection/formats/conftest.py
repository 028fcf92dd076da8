"""conftest.py: what stood in it stays as it was; new fixtures are welcome, new hooks into the test run are not. Pure.

Names are those of functions, classes and variables; a statement that has none is shown between backticks.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bridle.loop.protection.formats import named_blocks
from bridle.loop.protection.formats.named_blocks import Block
from bridle.loop.protection.protected_parts import Restored

FILE_NAME = "conftest.py"
# Names that a test runner looks for in such a file, beside the functions whose names begin with its own.
_STEERING = frozenset({"collect_ignore", "collect_ignore_glob", "pytest_plugins"})
_HOOK = "pytest_"
_IMPORT = "import "
# What a statement that runs by itself, or a fixture that every test gets, could end or hollow out the test run with.
_ENDING = frozenset(
    {"skip", "xfail", "importorskip", "exit", "_exit", "modules", "builtins", "exec", "eval", "unittest", "_pytest"}
)
_STATEMENT_CHARACTERS = 40


def mend(origin: str | None, current: str) -> Restored | None:
    """The current text with all that stood in it as it was, and without new hooks."""
    try:
        before = {name for block in read(origin or "") for name in block.names}
    except ValueError:  # it could not be read when the run began: there is nothing to compare by
        return None if origin == current else Restored(origin, ("it was changed",), is_whole=True)
    try:
        added = {name for block in read(current) for name in block.names} - before
    except ValueError as error:
        return Restored(origin, (f"it can no longer be read: {error}",), is_whole=True)
    forbidden = {name for name in added if not _is_welcome(name)}
    imports = {name for name in before if name.startswith(_IMPORT)}
    mended = named_blocks.mend(read, origin or "", current, (before - imports) | forbidden)
    if mended is None:
        return None
    with_imports = named_blocks.mend(read, origin or "", current, before | forbidden)  # what is put back needs its own
    return mended if with_imports is None else Restored(with_imports.text, mended.what, with_imports.is_whole)


def read(text: str) -> list[Block]:
    """One block for each statement at the top, with the lines before it."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, RecursionError, ValueError) as error:
        raise ValueError(str(error)) from error
    lines = text.splitlines(keepends=True)
    found: list[Block] = []
    position = 0
    for statement in tree.body:
        end = statement.end_lineno or position
        if end <= position:  # a second statement on the same line
            last = found.pop()
            found.append(Block(last.text, {**last.names, **_names(statement)}))
            continue
        found.append(Block("".join(lines[position:end]), _names(statement)))
        position = end
    rest = "".join(lines[position:])
    return [*found, Block(rest)] if rest else found


def _names(statement: ast.stmt) -> dict[str, object]:
    meaning = ast.dump(statement)
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            is_ending = _is_automatic(statement) and _mentions_ending(statement)
            return {f"`{name}`" if is_ending else name: meaning}
        case ast.ClassDef(name=name):
            return {name: meaning}
        case ast.Import() | ast.ImportFrom():
            return {_import_name(statement): meaning}
        case ast.Expr(value=ast.Constant(value=str())):
            return {}  # a docstring
        case _:
            shown = ast.unparse(statement)[:_STATEMENT_CHARACTERS]
            other = f"`{shown}`" if _mentions_ending(statement) else f"statement {shown}"
            return dict.fromkeys([*_targets(statement)] or [other], meaning)


def _targets(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.Assign(targets=targets):
            yield from (target.id for target in targets if isinstance(target, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.AugAssign(target=ast.Name(id=name)):
            yield name


def _import_name(statement: ast.Import | ast.ImportFrom) -> str:
    """Imports are welcome, but not those that may bring hooks with them."""
    names = [one.asname or one.name for one in statement.names]
    is_steering = any(name == "*" or name.startswith(_HOOK) or name in _STEERING for name in names)
    return f"`{ast.unparse(statement)}`" if is_steering else f"{_IMPORT}{', '.join(names)}"


def _is_automatic(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether it is a fixture that every test gets without asking."""
    return any(
        keyword.arg == "autouse"
        for decorator in function.decorator_list
        if isinstance(decorator, ast.Call)
        for keyword in decorator.keywords
    )


def _mentions_ending(statement: ast.stmt) -> bool:
    return any(
        (isinstance(node, ast.Name) and node.id in _ENDING)
        or (isinstance(node, ast.Attribute) and node.attr in _ENDING)
        for node in ast.walk(statement)
    )


def _is_welcome(name: str) -> bool:
    return not name.startswith(("`", _HOOK)) and name not in _STEERING
