"""What a check only reads is the work; what it executes, or what says what is expected, defines the check."""

from __future__ import annotations

import pytest

from bridle.loop.protection.find import find_definitions
from bridle.loop.protection.findings import RepositoryFiles

FILES = ("README.md", "VERSION", "app.py", "words.txt", "check.sh", "data.json", "tests/test_app.py", "expected.txt")
SOURCES = ("app.c", "latest.c", "lib/inspect.c", "tests/main.c", "test_app.c", "AppTest.java", "App.java", "config.h")


def protected(command: str) -> set[str]:
    return set(
        find_definitions(
            [command], RepositoryFiles((*FILES, *SOURCES), {*FILES, *SOURCES}.__contains__, lambda _: "")
        ).files
    )


@pytest.mark.parametrize(
    "command",
    [
        "grep -q v2 README.md",
        "grep -qi 'rate limit' README.md && ! grep -q TODO app.py",
        "test -s README.md",
        '[ "$(cat VERSION)" = 2.0 ]',
        "cat README.md | grep -q v2",
        "wc -l README.md",
        "jq -e .version data.json",
        "ruff check app.py",
        "python3 -m mypy --strict -- app.py",
        "python3 -m py_compile app.py",
        "npx eslint app.py",
        "uv run ruff check app.py",
        "MODE=x shellcheck check.sh",
        "cc -Wall -o app app.c latest.c lib/inspect.c",
        "arm-none-eabi-gcc -c app.c -o app.o",
        "clang-17 -fsyntax-only app.c",
        "javac App.java",
        "python3 tests/none.py && grep -q v2 README.md",
        "test $(wc -l < README.md) -le 60",
        "[ $(grep -c . README.md) -gt 3 ]",
        "test `cat VERSION` = 2.0",
        "[[ -s README.md && $(cat VERSION) == 2.0 ]]",
        "if grep -q TODO app.py 2>/dev/null; then exit 1; fi",
        "sed -n 1p README.md | grep -q Title",
        "awk '/v2/ {f=1} END {exit !f}' README.md",
        "grep -q 'see words.txt for more' README.md",
        "python3 -m json.tool data.json > /dev/null",
        "prettier --check app.py",
        "bash -n check.sh",
        "node --check app.py",
        "go vet app.py",
        "gofmt -l app.py",
        "python3 -c \"import json; assert json.load(open('data.json'))['port'] == 81\"",
        "node -e \"require('assert').equal(require('./app.py').label('A B'), 'a-b')\"",
        "node --input-type=module -e \"import { label } from './app.py'; process.exit(label('A') === 'a' ? 0 : 1)\"",
        "python3 -c \"print(open('app.py').read() + open('./app.py').read() , 1)\"",
    ],
)
def test_a_file_that_is_only_read_is_not_protected(command: str) -> None:
    assert protected(command) == set()


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("sh check.sh", {"check.sh"}),
        ("./check.sh", {"check.sh"}),
        ("cat check.sh | sh", {"check.sh"}),
        ("head -5 check.sh | bash -s", {"check.sh"}),
        ("grep -v x check.sh | xargs -n1 sh -c", {"check.sh"}),
        ('test "$(cat check.sh | sh)" = 1', {"check.sh"}),
        ("python3 app.py", {"app.py"}),
        ("pytest tests/test_app.py", {"tests/test_app.py"}),
        ("python3 -m pytest tests/test_app.py -q", {"tests/test_app.py"}),
        ("grep -f words.txt README.md", {"words.txt"}),
        ("grep --file=words.txt README.md", {"words.txt"}),
        ("diff expected.txt README.md", {"expected.txt", "README.md"}),
        ("ruff check --config words.txt app.py", {"words.txt"}),
        ("gcc -o run test_app.c app.c", {"test_app.c"}),
        ("gcc -o run tests/main.c app.c && ./run", {"tests/main.c"}),
        ("gcc -include config.h app.c", {"config.h"}),
        ("javac App.java AppTest.java", {"AppTest.java"}),
        ("grep -q v2 README.md; sh check.sh", {"check.sh"}),
        ("grep -v x README.md > words.txt; sh words.txt", {"README.md", "words.txt"}),
        ('x=$(cat words.txt); sh -c "$x"', {"words.txt"}),
        ("sed -n '/^run/p' README.md | sh", {"README.md"}),
        ("awk -f words.txt README.md", {"words.txt"}),
        ("prettier --config data.json --check app.py", {"data.json"}),
        ("shellcheck --rcfile=words.txt check.sh", {"words.txt"}),
        ("python3 -c \"exec(open('app.py').read(), {})\"", {"app.py"}),
        ("python3 -c \"import runpy; runpy.run_path('app.py')\"", {"app.py"}),
        ('python3 -c \'assert open("words.txt").read() == open("README.md").read()\'', {"words.txt", "README.md"}),
        ("python3 -c \"import sys; assert 'a' in open('expected.txt')\"", {"expected.txt"}),
        ("python3 -c 'import sys; print(sys.argv)' app.py", {"app.py"}),
        ("node -e \"require('./tests/test_app.py').run('a b')\"", {"tests/test_app.py"}),
    ],
)
def test_what_is_executed_or_says_what_is_expected_is_protected(command: str, files: set[str]) -> None:
    assert protected(command) == files
