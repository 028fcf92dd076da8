"""Reads the tests of a Python file: names, assertions and skips. Pure."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from bridle.loop.protection.protected_parts import TOO_DEEP
from bridle.loop.protection.suites.suite import Case, Suite

_PYTHON_SKIPS = frozenset(
    {"skip", "skipif", "skipIf", "skipUnless", "skipTest", "xfail", "expectedFailure", "SkipTest"}
)


def python_suite(text: str) -> Suite:
    """Return the tests of a Python file; none for a syntax error."""
    try:
        tree = ast.parse(text)
        is_skipped = any(_skips_all(statement) for statement in tree.body)
        return Suite(dict(_python_tests(tree.body, "", is_skipped=is_skipped)))
    except (SyntaxError, ValueError, *TOO_DEEP):
        return Suite({})


def _python_tests(body: list[ast.stmt], prefix: str, *, is_skipped: bool) -> Iterator[tuple[str, Case]]:
    for statement in body:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if name.startswith("test"):
                skipped = is_skipped or _is_marked(statement.decorator_list) or _skips(statement.body)
                yield prefix + name, _python_test(statement.body, is_skipped=skipped)
            case ast.ClassDef(name=name):
                all_skipped = is_skipped or _is_marked(statement.decorator_list)
                all_skipped = all_skipped or any(_skips_all(member) for member in statement.body)
                yield from _python_tests(statement.body, f"{prefix}{name}.", is_skipped=all_skipped)


def _python_test(body: list[ast.stmt], *, is_skipped: bool) -> Case:
    reached = body
    for position, statement in enumerate(body):
        if isinstance(statement, ast.Return):  # what follows is never run
            reached = body[:position]
            break
    is_empty = all(isinstance(statement, ast.Pass) or _has_no_effect(statement) for statement in reached)
    assertions = sum(_is_assertion(node) for statement in reached for node in ast.walk(statement))
    return Case(assertions, is_skipped, is_empty)


def _has_no_effect(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Assert(test=test):
            return _is_always_true(test)
        case _:
            return False


def _is_assertion(node: ast.AST) -> bool:
    match node:
        case ast.Assert(test=test):
            return not _is_always_true(test)
        case ast.Call(func=ast.Attribute(attr=name)) | ast.Call(func=ast.Name(id=name)):
            return name.startswith("assert") or name in ("raises", "warns", "fail")
        case _:
            return False


def _is_always_true(test: ast.expr) -> bool:
    match test:
        case ast.Constant(value=value):
            return bool(value)
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(_is_always_true(value) for value in values)
        case _:
            return False


def _is_marked(decorators: list[ast.expr]) -> bool:
    return any(_last_name(decorator) in _PYTHON_SKIPS for decorator in decorators)


def _skips(body: list[ast.stmt]) -> bool:
    """Return whether a test skips itself, at the top of its body."""
    for statement in body:
        match statement:
            case ast.Expr(value=ast.Call() as call) if _last_name(call) in _PYTHON_SKIPS:
                return True
            case ast.Raise(exc=ast.expr() as raised) if _last_name(raised) in _PYTHON_SKIPS:
                return True
    return False


def _skips_all(statement: ast.stmt) -> bool:
    """Return whether a statement skips all tests of its module or class."""
    match statement:
        case ast.Assign(targets=[ast.Name(id="__test__")], value=ast.Constant(value=False)):
            return True
        case ast.Assign(targets=[ast.Name(id="pytestmark")], value=value):
            marks = value.elts if isinstance(value, (ast.List, ast.Tuple)) else [value]
            return _is_marked(marks)
        case _:
            return _skips([statement])


def _last_name(node: ast.expr) -> str:
    while isinstance(node, ast.Call):
        node = node.func
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
