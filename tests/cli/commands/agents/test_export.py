"""`bridle export` as a user calls it."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from tests.cli.fixtures.machine_commands import bridle
from tests.cli.fixtures.open_breakpoint import asking
from tests.loop.fixtures.fake_agent import make_project
from tests.loop.fixtures.loop_commands import MAKES_FILE, TWO_TASKS, run_folder

RECORDINGS = Path(__file__).parents[3] / "recordings" / "claude-2.1.197"
LOG = RECORDINGS / "12-subagent.ndjson"


def test_a_log_is_written_in_several_forms_at_once(tmp_path: Path) -> None:
    done = bridle("export", LOG, "--markdown", "a.md", "--json", "a.json", cwd=tmp_path)
    assert (done.code, done.stdout) == (0, "")
    assert [line.split(": ")[1] for line in done.stderr.splitlines()] == ["a.md", "a.json"]
    assert "Main done." in (tmp_path / "a.md").read_text()
    document = json.loads((tmp_path / "a.json").read_text())
    assert (document["format"], document["version"], document["omitted"]) == ("bridle-export", 1, [])
    assert {oct((tmp_path / name).stat().st_mode)[-3:] for name in ("a.md", "a.json")} == {"600"}


def test_standard_output_has_only_the_document(tmp_path: Path) -> None:
    done = bridle("export", LOG, "--json", "-", cwd=tmp_path)
    assert (done.code, done.stderr) == (0, "")
    assert done.document["conversations"][0]["items"]
    assert os.listdir(tmp_path) == []


def test_an_existing_file_is_kept_without_force(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("kept")
    refused = bridle("export", LOG, "--markdown", "a.md", cwd=tmp_path)
    assert refused.code == 2
    assert "--force" in refused.stderr
    assert (tmp_path / "a.md").read_text() == "kept"
    assert bridle("export", LOG, "--markdown", "a.md", "--force", cwd=tmp_path).code == 0
    assert "Main done." in (tmp_path / "a.md").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("missing.ndjson", "--markdown", "a.md"), "cannot read"),
        (("no-such-run", "--markdown", "a.md"), "no run 'no-such-run'"),
        ((str(LOG),), "the output is missing"),
        ((str(LOG), "--markdown", "a", "--json", "a"), "named for two outputs"),
        ((str(LOG), "--markdown", "none/a.md"), "does not exist"),
        ((str(LOG), "--markdown", "."), "is a folder"),
        ((".", "--markdown", "a.md"), "run"),
        (("/dev/zero", "--markdown", "a.md"), "not a regular file"),
    ],
)
def test_what_cannot_be_exported_is_refused_and_nothing_written(
    tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    done = bridle("export", *words, cwd=tmp_path)
    assert done.code == 2, done
    assert message in done.stderr
    assert os.listdir(tmp_path) == []


def test_secrets_are_masked_in_every_form(tmp_path: Path) -> None:
    log = tmp_path / "a.ndjson"
    words = {"type": "text", "text": "token sk-ant-abcdefghijklmnop1234 and my-own-secret-value"}
    log.write_text(json.dumps({"type": "assistant", "message": {"role": "assistant", "content": [words]}}) + "\n")
    done = bridle(
        "export",
        log,
        "--html",
        "a.html",
        "--markdown",
        "a.md",
        "--json",
        "a.json",
        cwd=tmp_path,
        MY_TOKEN="my-own-secret-value",
    )
    assert done.code == 0
    for name in ("a.html", "a.md", "a.json"):
        shown = (tmp_path / name).read_text()
        assert "***" in shown
        assert not re.search("sk-ant|my-own-secret", shown)


AGENT = f"""
show(type="assistant", message={{"id": task, "role": "assistant",
     "content": [{{"type": "text", "text": "I work on " + task + " with ghp_" + "a" * 30}}]}})
open("secret.txt", "w").write("<b>kept</b> ghp_" + "b" * 30 + "\\n")
{MAKES_FILE}
"""


def test_a_run_is_exported_whole(tmp_path: Path) -> None:
    here = make_project(tmp_path, TWO_TASKS, AGENT)
    assert here.bridle("run", "PLAN.md").returncode == 0
    done = here.bridle("export", "--html", "../a.html", "--markdown", "../a.md", "--json", "../a.json")
    assert done.returncode == 0, done.stderr
    document = json.loads((tmp_path / "a.json").read_text())
    run = run_folder(here).name
    assert (document["run"], document["receipt"]["verdict"]) == (run, "done")
    assert [(log["task"], log["iteration"]) for log in document["conversations"]] == [("One", 1), ("Two", 1)]
    assert [entry["seq"] for entry in document["journal"]] == list(range(1, document["journal"][-1]["seq"] + 1))
    assert {check["command"] for check in document["checks"]} == {"test -f one", "test -f two"}
    assert [commit["task"] for commit in document["commits"]] == ["One", "Two"]
    lines = [
        line[3] for file in document["commits"][0]["diff"]["files"] for hunk in file["hunks"] for line in hunk["lines"]
    ]
    assert lines == ["<b>kept</b> ***"]
    shown = (tmp_path / "a.md").read_text()
    parts = ("# PLAN.md: done", "## Checks", "## Commits", "+<b>kept</b> ***", "## Journal", "RUN_CREATED")
    assert all(part in shown for part in parts)
    assert shown.index("I work on One") < shown.index("I work on Two")
    page = (tmp_path / "a.html").read_text()
    assert page.count(f'"{run}":') == 4, "runs, journal, diffs and logs"
    assert not any("ghp_" in text for text in (shown, page, json.dumps(document)))
    assert here.bridle("export", run[:12], "--markdown", "-").stdout.count("I work on") == 2


def test_a_run_without_agents_and_of_a_process_is_exported(tmp_path: Path) -> None:
    asking(tmp_path, "r1")
    done = bridle("export", "r1", "--html", "a.html", "--markdown", "a.md", "--json", "a.json", cwd=tmp_path)
    assert done.code == 0, done.stderr
    document = json.loads((tmp_path / "a.json").read_text())
    assert (document["run"], document["conversations"], document["receipt"]) == ("r1", [], None)
    assert "RUN_CREATED" in (tmp_path / "a.md").read_text()


def test_a_run_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    asking(tmp_path, "r1")
    for entry in (tmp_path / ".a5c/runs/r1/journal").iterdir():
        entry.write_bytes(b"broken")
    done = bridle("export", "r1", "--markdown", "a.md", cwd=tmp_path)
    assert done.code in (1, 2), done
    assert not (tmp_path / "a.md").exists()
