"""`bridle receipt` prints the receipt as text, JSON, Markdown or an in-toto statement, and changes nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bridle.cli import main as dispatcher
from tests.attacks.fixtures.finished_run import GROUP, copy_finished_run

pytestmark = GROUP


def test_the_receipt_has_four_forms(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    here = copy_finished_run(tmp_path, tmp_path_factory)
    first, second = here.git("log", "--reverse", "--format=%H", "main..").splitlines()

    def receipt(*words: str, code: int = 0) -> str:
        capsys.readouterr()
        assert dispatcher.run(["receipt", str(here.run), *words]) == code
        return capsys.readouterr().out

    assert "PLAN.md: 2 of 2 tasks verified" in receipt()
    document = json.loads(receipt("--json"))
    assert document["commits"] == [first, second]
    page = receipt("--markdown")
    assert page.startswith("# PLAN.md: done\n")
    assert f"| One | done | 2 of 2 passed | `{first[:12]}` | 0.0100 USD |" in page
    assert document["journal"]["head"] in page
    statement = json.loads(receipt("--intoto"))
    assert [subject["digest"]["gitCommit"] for subject in statement["subject"]] == [first, second]
    assert statement["predicate"]["journal"] == document["journal"]
    assert statement["predicate"]["tasks"][0]["checks"][0]["exit_code"] == 0
    assert statement["predicate"]["agents"] == [{"name": "claude", "model": "sonnet"}]
    out = tmp_path / "statement.json"
    assert receipt("--intoto", "--out", str(out)) == ""
    assert json.loads(out.read_text()) == statement
    receipt("--json", "--markdown", code=2)
