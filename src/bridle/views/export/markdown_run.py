"""The parts of a run as Markdown: receipt, checks with output, commits with diffs, the journal."""

from __future__ import annotations

from collections.abc import Iterator

from bridle.views.export.run_part import RunPart
from bridle.views.format_amounts import format_count, format_duration, format_time
from bridle.views.markdown_text import code_span, escape_line, fenced
from bridle.views.terminal.escape_controls import escape_controls
from bridle.wire.events.loose_json import JsonObject


def run_lines(part: RunPart) -> Iterator[str]:
    """Yield the parts of a run, each under a heading of the second level."""
    receipt = part.page["receipt_markdown"]
    if receipt:
        yield from escape_controls(receipt).split("\n")
    else:
        yield from _tasks(part.page["card"])
    if part.page["checks"]:
        yield from ("## Checks", "")
        for check in part.page["checks"]:
            yield from _check(check)
    if part.page["commits"]:
        yield from ("## Commits", "")
        for commit in part.page["commits"]:
            yield from _commit(commit, part.diffs.get(commit["commit"]))
    yield from ("## Journal", "")
    yield from fenced("\n".join(_entry(entry) for entry in part.journal))
    yield from ("", "## Conversations", "")


def _tasks(card: JsonObject) -> Iterator[str]:
    yield from (f"# {_line(card['plan'] or card['run'])}: {_line(card['state'])}", "")
    for task in card["tasks"]:
        yield f"- {_line(task['title'])}: {_line(task['verdict'])}"
    yield ""


def _check(check: JsonObject) -> Iterator[str]:
    iteration = f", iteration {check['iteration']}" if check["iteration"] else f", {check['when']} the work"
    place = f"{check['task']}{iteration}"
    result = "passed" if check["passed"] else f"failed, exit code {check['exit_code']}"
    yield f"### {_line(place)}: {result}"
    yield from ("", f"{code_span(_clean(check['command']))}, {format_duration(check['seconds'])}", "")
    if (check["output"] or "").strip():
        yield from (*fenced(_clean(check["output"])), "")


def _commit(commit: JsonObject, diff: JsonObject | None) -> Iterator[str]:
    yield from (f"### {code_span(commit['short'])} {_line(commit['subject'])}", "")
    if commit["task"]:
        yield from (f"Task: {_line(commit['task'])}", "")
    for name, value in commit["trailers"].items():
        yield f"- {_line(name)}: {code_span(_clean(str(value)))}"
    yield ""
    for file in () if diff is None else diff["files"]:
        yield from _file(file)


def _file(file: JsonObject) -> Iterator[str]:
    old = f" (was {code_span(_clean(file['old_path']))})" if file.get("old_path") else ""
    yield from (f"{_line(file['status'])} {code_span(_clean(file['path']))}{old}", "")
    lines = [
        text for hunk in file["hunks"] for text in (hunk["header"], *(f"{line[0]}{line[3]}" for line in hunk["lines"]))
    ]
    if file.get("is_binary"):
        yield from ("binary", "")
    elif lines:
        yield from (*fenced(_clean("\n".join(lines)), "diff"), "")
    if file.get("omitted"):
        yield from (f"… {format_count(file['omitted'], 'more line')} in git", "")


def _hunk(hunk: JsonObject) -> list[str]:
    return [hunk["header"], *(f"{kind}{text}" for kind, _, _, text in hunk["lines"])]


def _entry(entry: JsonObject) -> str:
    at = "" if entry["at"] is None else format_time(entry["at"])
    return " ".join(_clean(f"{entry['seq']:>6}  {at}  {entry['type']}  {entry['summary']}").split("\n"))


def _line(text: object) -> str:
    return escape_line(_clean(str(text)))


def _clean(text: str) -> str:
    """Escape control characters; secrets are masked in all data of a run."""
    return escape_controls(text)
