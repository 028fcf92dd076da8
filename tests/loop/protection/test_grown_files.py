"""A file that a program of the user appends to is not the agent's work; one that an agent's program appends to is."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from bridle.ground.descendants.census import TOKEN_VARIABLE
from bridle.loop.protection import untracked_files
from bridle.workspace import snapshot
from tests.loop.fixtures.repositories import make_repository

# Writes a line to its output, and holds that open until its input ends.
PROGRAM = "echo more; echo ready >&2; read -r end"


@pytest.mark.parametrize(
    ("variables", "begin", "is_left"),
    [({}, "mine\n", True), ({TOKEN_VARIABLE: "agent"}, "mine\n", False), ({}, "other\n", False)],
    ids=["program of the user", "program of an agent", "changed and grown"],
)
def test_who_appends_decides(tmp_path: Path, variables: dict[str, str], begin: str, is_left: bool) -> None:
    here = make_repository(tmp_path / "r", {"app.py": "1"}, untracked={"server.log": "mine\n"})
    here.start()
    before = asyncio.run(snapshot.take(here.context.git, name="before"))
    here.write({"server.log": begin})
    with (
        (here.folder / "server.log").open("ab") as log,
        subprocess.Popen(
            ["sh", "-c", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.PIPE,
            env={**os.environ, **variables},
        ) as child,
    ):
        log.close()
        assert child.stderr is not None
        assert child.stderr.readline() == b"ready\n"
        after = asyncio.run(snapshot.take(here.context.git, name="before-after"))
        left = asyncio.run(untracked_files.find_left_alone(here.context, before.tree, after.tree))
        assert left == (["server.log"] if is_left else [])
        reported = [item["path"] for item in here.protect(snapshot="before")["reported"]]
        assert reported == ([] if is_left else ["server.log"])
