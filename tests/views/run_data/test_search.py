"""Search in conversations and tasks: what is found, in which form, and that it ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bridle.views.run_data import search as searches
from bridle.views.run_data.conversation_pages import parse_filter
from bridle.views.run_data.log_list import ListedLog
from bridle.views.run_data.run_logs import NamedLog
from bridle.views.run_data.search import Search
from bridle.wire.mask import Mask


def log_with(folder: Path, *texts: str, ascii_only: bool = False) -> ListedLog:
    path = folder / "a.ndjson"
    calls = [{"type": "tool_use", "id": text, "name": "Bash", "input": {"command": text}} for text in texts]
    events = [{"type": "assistant", "message": {"id": call["id"], "content": [call]}} for call in calls]
    path.write_text("".join(json.dumps(event, ensure_ascii=ascii_only) + "\n" for event in events))
    return ListedLog("a", NamedLog(path, "T"))


def hits(log: ListedLog, word: str, wanted: str = "") -> list[tuple[Any, str]]:
    search = Search(word, parse_filter(wanted), Mask(["correct-horse"]))
    search.add_log("run", log, None)
    return [(hit["item"], hit["snippet"]) for hit in search.hits]


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("word", ["größe", "GRÖSSE prüfen", 'say "hi"', "C:\\temp", "/etc/x", "two words"])
def test_a_word_is_found_however_json_writes_it(tmp_path: Path, word: str, ascii_only: bool) -> None:
    text = 'echo Größe prüfen; grösse prüfen; say "hi" C:\\temp /etc/x two words'
    log = log_with(tmp_path, "nothing", text, ascii_only=ascii_only)
    assert [item for item, _ in hits(log, word)] == [2]


def test_what_is_not_there_is_not_found(tmp_path: Path) -> None:
    log = log_with(tmp_path, "one", "two")
    assert hits(log, "three") == []
    assert hits(log, "") == []
    assert hits(log, "   ") == []
    assert hits(log, "one", "kind:text") == []
    assert len(hits(log, "one", "kind:call")) == 1


def test_a_snippet_has_no_secret_and_one_line(tmp_path: Path) -> None:
    log = log_with(tmp_path, "x" * 300 + "\nfind correct-horse here\n" + "y" * 300)
    ((_, snippet),) = hits(log, "here")
    assert "correct-horse" not in snippet
    assert "*** here" in snippet
    assert "\n" not in snippet
    assert len(snippet) <= 162


def test_a_search_ends_and_says_so(tmp_path: Path) -> None:
    many = log_with(tmp_path, *[f"word {number}" for number in range(searches.HITS_IN_A_LOG + 5)])
    search = Search("word", parse_filter(""), Mask())
    search.add_log("run", many, None)
    assert len(search.hits) == searches.HITS_IN_A_LOG
    assert search.is_truncated
    late = iter((0.0, searches.SECONDS + 1, searches.SECONDS + 1))
    search = Search("word", parse_filter(""), Mask(), clock=lambda: next(late))
    search.add_log("run", many, None)
    assert search.hits == []
    assert search.is_truncated


@pytest.mark.parametrize(("task", "number"), [("", 1), ("T", 1), ("t", 0), ("Other", 0)])
def test_only_the_logs_and_titles_of_a_task_are_found(tmp_path: Path, task: str, number: int) -> None:
    search = Search("word", parse_filter(""), Mask(), task=task)
    search.add_log("run", log_with(tmp_path, "word"), None)
    assert [hit["task"] for hit in search.hits] == ["T"] * number
    about = {"reason": "", "question": ""}
    titles = [{"title": "T", **about}, {"title": "A word", **about}]
    search.add_card({"run": "r", "plan": "word", "started_at": 1.0, "tasks": titles})
    assert len(search.hits) == (3 if task == "" else number)


def test_titles_of_runs_and_tasks_are_found() -> None:
    task = {"title": "Paint it", "reason": "", "question": "Which colour?"}
    card = {"run": "r", "plan": "House", "started_at": 1.0, "tasks": [task]}
    for word, found in (("house", [None]), ("COLOUR", ["Paint it"]), ("roof", [])):
        search = Search(word, parse_filter(""), Mask())
        search.add_card(card)
        assert [hit["task"] for hit in search.hits] == found
