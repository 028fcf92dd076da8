"""Results that are too long to show: kept in a file, with their beginning in the answer."""

from __future__ import annotations

from pathlib import Path

from bridle.agent.tools.contract.shown_output import persisted, size
from bridle.agent.tools.contract.tool import Answer
from bridle.errors import DiskError
from bridle.ground.disk import make_private_folder, write_atomic
from bridle.ground.ids import safe_name


def keep_large(answer: Answer, limit_characters: int, folder: Path | None, call_id: str) -> Answer:
    """The answer as it is, or with its text in a file of the folder named after the call."""
    text = answer.content
    if not isinstance(text, str) or len(text) <= limit_characters:
        return answer
    data = text.encode("utf-8", "replace")
    told = f"Output too large ({size(len(data))})."
    if folder is None:
        return _with(answer, persisted(text, f"{told} Ask for less of it."))
    path = folder / f"{safe_name(call_id)}.txt"
    try:
        make_private_folder(folder)
        write_atomic(path, data)
    except DiskError as error:
        return _with(answer, persisted(text, f"{told} It could not be saved: {error.message}"))
    return _with(answer, persisted(text, f"{told} Full output saved to: {path}"))


def _with(answer: Answer, content: str) -> Answer:
    return Answer(content, detail=answer.detail, is_error=answer.is_error)
