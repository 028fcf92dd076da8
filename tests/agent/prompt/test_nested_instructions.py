"""Instructions for a part of the project reach the model with the first file that it reads there."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle.agent.prompt.rule_globs import matches, rule_paths
from tests.agent.fixtures.agent_on_stage import agent_on_stage, calls, says


def test_nested_files_imports_and_rules_follow_the_first_read_there_once(tmp_path: Path) -> None:
    reads = [calls("Read", file_path=name) for name in ("sub/deep/a.txt", "src/b.py", "sub/deep/c.txt", "top.txt")]
    with agent_on_stage(tmp_path, *reads, says("done")) as place:
        (place.workspace / "sub/deep").mkdir(parents=True)
        (place.workspace / "src").mkdir()
        (place.workspace / ".claude/rules").mkdir(parents=True)
        for name, text in {
            "CLAUDE.md": "OPENING",
            "sub/CLAUDE.md": "NESTED @more.md",
            "sub/more.md": "IMPORTED",
            "sub/deep/CLAUDE.local.md": "LOCAL",
            "other/CLAUDE.md": "ELSEWHERE",
            ".claude/rules/py.md": "---\npaths: src/**/*.py\n---\nSCOPED",
            "sub/deep/a.txt": "1",
            "sub/deep/c.txt": "1",
            "src/b.py": "1",
            "top.txt": "1",
        }.items():
            (place.workspace / name).parent.mkdir(exist_ok=True)
            (place.workspace / name).write_text(text)
        place.ask("go")
        systems = [
            [message["content"] for message in body["messages"] if message["role"] == "system"]
            for body in place.bodies()
        ]
    last = [str(text) for text in systems[-1]]
    assert [len(texts) - len(systems[0]) for texts in systems] == [0, 1, 2, 2, 2]
    nested, scoped = last[-2:]
    assert [word in nested for word in ("NESTED", "IMPORTED", "LOCAL", "OPENING", "ELSEWHERE", "SCOPED")] == [
        True,
        True,
        True,
        False,
        False,
        False,
    ]
    assert "SCOPED" in scoped


@pytest.mark.parametrize(
    ("pattern", "fits", "misses"),
    [
        ("src/**/*.py", ["src/a.py", "src/x/y/a.py"], ["a.py", "src/a.txt"]),
        ("**/*.{ts,tsx}", ["a.ts", "x/a.tsx"], ["a.js"]),
        ("docs", ["docs/a.md", "docs"], ["docs2/a.md"]),
        ("docs/", ["docs/a.md"], ["a/docs/b"]),
        ("*.md", ["a.md"], ["x/a.md"]),
        ("a?[c", ["ab[c"], ["abc"]),
    ],
)
def test_a_pattern_fits_its_files(pattern: str, fits: list[str], misses: list[str]) -> None:
    assert all(matches(path, pattern) for path in fits)
    assert not any(matches(path, pattern) for path in misses)


@pytest.mark.parametrize(
    ("frontmatter", "paths"),
    [
        ("name: x\n", None),
        ("paths: a, b/{c,d}\n", ["a", "b/{c,d}"]),
        ('paths: ["a", b]\n', ["a", "b"]),
        ("paths:\n  - a\n  - 'b'\nname: x\n", ["a", "b"]),
        ("paths:\n", []),
    ],
)
def test_the_paths_of_a_rule_are_read(frontmatter: str, paths: list[str] | None) -> None:
    assert rule_paths(frontmatter) == paths
