"""Restores conftest.py: its definitions are protected, new fixtures are allowed, new hooks are not. Pure.

Names are those of functions, classes and variables; a statement without a name is shown between backticks.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bridle.loop.protection.formats import named_blocks
from bridle.loop.protection.formats.named_blocks import Block
from bridle.loop.protection.protected_parts import TOO_DEEP, Restored

FILE_NAME = "conftest.py"
# Variables that pytest reads from a conftest.py, besides its hook functions.
_PYTEST_VARIABLES = frozenset({"collect_ignore", "collect_ignore_glob", "pytest_plugins"})
_HOOK = "pytest_"
_IMPORT = "import "
# What a statement or an autouse fixture could use to end or hollow out the test run.
_ENDING = frozenset(
    {"skip", "xfail", "importorskip", "exit", "_exit", "modules", "builtins", "exec", "eval", "unittest", "_pytest"}
)
_STATEMENT_CHARACTERS = 40


def restore(origin: str | None, current: str) -> Restored | None:
    """Return the current text with the original definitions and without new hooks."""
    try:
        before = {name for block in read(origin or "") for name in block.names}
    except ValueError:  # the original is not valid Python, so parts cannot be compared
        return None if origin == current else Restored(origin, ("it was changed",), is_whole=True)
    try:
        added = {name for block in read(current) for name in block.names} - before
    except ValueError as error:
        return Restored(origin, (f"it can no longer be read: {error}",), is_whole=True)
    forbidden = {name for name in added if not _is_allowed(name)}
    imports = {name for name in before if name.startswith(_IMPORT)}
    restored = named_blocks.restore(read, origin or "", current, (before - imports) | forbidden)
    if restored is None:
        return None
    # Restored definitions need their imports.
    with_imports = named_blocks.restore(read, origin or "", current, before | forbidden)
    return restored if with_imports is None else Restored(with_imports.text, restored.what, with_imports.is_whole)


def read(text: str) -> list[Block]:
    """Return one block for each top-level statement, with the lines before it. Raises ValueError for invalid Python."""
    try:
        return _read(text)
    except TOO_DEEP as error:
        raise ValueError("it is nested too deeply") from error
    except SyntaxError as error:
        raise ValueError(str(error)) from error


def _read(text: str) -> list[Block]:
    tree = ast.parse(text)
    lines = text.splitlines(keepends=True)
    blocks: list[Block] = []
    position = 0
    for statement in tree.body:
        end = statement.end_lineno or position
        if end <= position:  # a second statement on the same line
            last = blocks.pop()
            blocks.append(Block(last.text, {**last.names, **_names(statement)}))
            continue
        blocks.append(Block("".join(lines[position:end]), _names(statement)))
        position = end
    rest = "".join(lines[position:])
    return [*blocks, Block(rest)] if rest else blocks


def _names(statement: ast.stmt) -> dict[str, object]:
    meaning = ast.dump(statement)
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            is_ending = _is_autouse(statement) and _mentions_ending(statement)
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
    """Return a name for an import; one that may import hooks is between backticks."""
    names = [alias.asname or alias.name for alias in statement.names]
    has_hooks = any(name == "*" or name.startswith(_HOOK) or name in _PYTEST_VARIABLES for name in names)
    return f"`{ast.unparse(statement)}`" if has_hooks else f"{_IMPORT}{', '.join(names)}"


def _is_autouse(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
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


def _is_allowed(name: str) -> bool:
    return not name.startswith(("`", _HOOK)) and name not in _PYTEST_VARIABLES
