"""What Bridle keeps beside an agent's log, so that the log is judged later as the run was judged live."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from bridle.errors import UsageError
from bridle.wire.record.error_category import Category
from bridle.wire.record.outcome import Ending, Policy, Rules

LOG_SUFFIX = ".ndjson"
META_SUFFIX = ".meta.json"
STDERR_SUFFIX = ".stderr"
_ValueT = TypeVar("_ValueT")
_NameT = TypeVar("_NameT", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Sidecar:
    """How the run of a log ended, where that is known."""

    agent: str | None = None
    ending: Ending = field(default_factory=Ending)
    rules: Rules = field(default_factory=Rules)
    stderr: Path | None = None


def read_sidecar(log: Path) -> Sidecar:
    """What stands beside this log; the defaults where nothing does."""
    stem = log.name.removesuffix(LOG_SUFFIX)
    meta_path, stderr = log.parent / (stem + META_SUFFIX), log.parent / (stem + STDERR_SUFFIX)
    if not _is_file(meta_path):
        return Sidecar()
    meta = _read(meta_path)
    return Sidecar(
        agent=_typed(meta.get("agent"), str, None),
        ending=Ending(
            exit_code=_typed(meta.get("exit_code", 0), int, None),
            timed_out=meta.get("timed_out") is True,
            ended_by_us=meta.get("ended_by_us") is True,
            expected_session=_typed(meta.get("expected_session"), str, None),
            not_found=_typed(meta.get("not_found"), str, None),
            fault=_typed(meta.get("fault"), str, None),
            fault_category=_member(Category, meta.get("fault_category")),
        ),
        rules=_rules(meta),
        stderr=stderr if _is_file(stderr) else None,
    )


def _rules(meta: dict[str, Any]) -> Rules:
    """How the run was judged live; a word that this version does not know counts as not said."""
    return Rules(
        policy=_member(Policy, meta.get("policy")) or Policy.HARNESS,
        hang_heuristic=meta.get("hang_heuristic") is not False,
        background_heuristic=meta.get("background_heuristic") is not False,
        denials_fail=meta.get("denials_fail") is not False,
    )


def _is_file(path: Path) -> bool:
    """Also where the name is too long to be a file's: then there is none."""
    try:
        return path.is_file()
    except OSError:
        return False


def _member(kind: type[_NameT], value: object) -> _NameT | None:
    return next((member for member in kind if member.value == value), None)


def _read(path: Path) -> dict[str, Any]:
    remedy = "Give --exit-code to judge the log without it."
    try:
        meta = json.loads(path.read_bytes())
    except OSError as refusal:
        raise UsageError(f"{path} cannot be read: {refusal.strerror or refusal}", remedy=remedy) from refusal
    except (ValueError, RecursionError) as refusal:
        raise UsageError(f"{path} is not JSON: {refusal}", remedy=remedy) from refusal
    if not isinstance(meta, dict):
        raise UsageError(f"{path} is not a JSON object", remedy=remedy)
    return meta


def _typed(value: object, kind: type[_ValueT], default: Any) -> Any:
    return value if isinstance(value, kind) and not isinstance(value, bool) else default
