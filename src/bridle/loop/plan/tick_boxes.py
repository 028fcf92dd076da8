"""Ticks verified tasks in the plan's file and leaves every other byte as it is."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Collection, Sequence
from pathlib import Path

from bridle.errors import DiskError
from bridle.ground import disk
from bridle.loop.plan.dependencies import title_key
from bridle.loop.plan.directives import OF_A_TASK
from bridle.loop.plan.markdown_lines import read_lines
from bridle.loop.plan.markdown_sections import Section, content, sections
from bridle.loop.plan.prd_json import tick_prd
from bridle.loop.plan.problems import Problems
from bridle.loop.plan.read_plan import LIMIT_BYTES
from bridle.loop.plan.task_list import is_task_list, tick_task_list
from bridle.loop.plan.yaml_tasks import ENDINGS, tick_yaml

_BYTE_ORDER_MARK = "\ufeff"
_BOX = re.compile(r"\[.?\](?=[ \t])")
_HEADING = re.compile(r" {0,3}##[ \t]*")


def tick(plan: Path, titles: Collection[str]) -> tuple[str, ...]:
    """Tick the boxes of these tasks and return the titles that were ticked now.

    A task without a box gets one in its heading. A task that is no longer in the file is skipped.
    """
    path = Path(os.path.realpath(plan))
    try:
        before = disk.read_bounded(path, LIMIT_BYTES).decode("utf-8")
    except UnicodeDecodeError as error:
        raise DiskError(f"cannot tick tasks: {plan} is not UTF-8", remedy="Save it as UTF-8.") from error
    if path.suffix.lower() == ".json" and not _is_json(before):
        raise DiskError(f"cannot tick tasks: {plan} is not valid JSON any more", remedy="Correct it.")
    after, ticked = tick_text(path, before, titles)
    if after != before:
        mode = stat.S_IMODE(os.stat(path).st_mode)
        disk.write_atomic(path, after.encode("utf-8"), mode=mode)
    return tuple(ticked)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def tick_text(plan: Path, text: str, titles: Collection[str]) -> tuple[str, list[str]]:
    """Return the text of a plan with the boxes of these tasks ticked, and the titles that changed."""
    ending = plan.suffix.lower()
    if ending in ENDINGS:
        return tick_yaml(text, list(titles))
    if ending != ".json" and is_task_list(text.removeprefix(_BYTE_ORDER_MARK), plan.name):
        return tick_task_list(text, list(titles))
    change = tick_prd if ending == ".json" else tick_markdown
    return change(text, list(titles))


def tick_markdown(text: str, titles: Sequence[str]) -> tuple[str, list[str]]:
    """Return the text with the boxes of these tasks ticked, and the titles that changed."""
    start = _BYTE_ORDER_MARK if text.startswith(_BYTE_ORDER_MARK) else ""
    lines = text.removeprefix(_BYTE_ORDER_MARK).split("\n")
    wanted = {title_key(title) for title in titles}
    ticked = []
    for section in sections(read_lines("\n".join(lines), Problems(""))):
        head = section.heading
        if section.is_task and head is not None and title_key(head.title) in wanted and _tick(section, lines):
            ticked.append(head.title)
    return start + "\n".join(lines), ticked


def _tick(section: Section, lines: list[str]) -> bool:
    """Tick one task's boxes in `lines`; return whether anything changed."""
    checklist = content(section, OF_A_TASK, Problems("")).checklist
    head = section.heading
    open_boxes = [entry.line for entry in checklist if not entry.is_ticked]
    if head is not None and head.is_ticked is False:
        open_boxes.append(section.line)
    for number in open_boxes:
        lines[number - 1] = _BOX.sub("[x]", lines[number - 1], count=1)
    has_box = bool(checklist) or (head is not None and head.is_ticked is not None)
    if not has_box:
        line = lines[section.line - 1]
        prefix = _HEADING.match(line)
        end = prefix.end() if prefix else 0
        lines[section.line - 1] = f"{line[:end].rstrip()} [x] {line[end:]}"
    return bool(open_boxes) or not has_box
