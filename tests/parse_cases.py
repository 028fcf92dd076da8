"""Cases of streams and the outcome expected of them: how to read them, and how to compare."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

Case = dict[str, Any]
CASES_FILE = Path(__file__).parent / "parse-cases.json"
OUR_CASES_FILE = Path(__file__).parent / "our-parse-cases.json"
_REPEATED = re.compile(r"\{\{(.)\*(\d+)\}\}", re.DOTALL)


def load_cases(path: Path, *, mode: str) -> list[Case]:
    """The cases of a file that are for this mode: `inspect` or `ask`."""
    cases: list[Case] = json.loads(path.read_text(encoding="utf-8"))["cases"]
    return [case for case in cases if case.get("mode", "inspect") == mode]


def stream_of(case: Case) -> bytes:
    """The bytes that the agent of this case prints."""
    if "raw_b64" in case:
        return base64.b64decode(case["raw_b64"])
    lines = "".join(f"{_expanded(line)}\n" for line in case["lines"])
    return (lines + _expanded(case.get("tail", ""))).encode("utf-8", "surrogatepass")


def arguments_of(case: Case, folder: Path) -> list[str]:
    """The flags of `bridle inspect` for this case; a stderr is written to a file in that folder."""
    arguments = ["--json", "--agent", case.get("agent", "claude"), "--exit-code", str(case.get("exit_code", 0))]
    if "stderr" in case:
        path = folder / "stderr"
        path.write_text(_expanded(case["stderr"]), encoding="utf-8")
        arguments += ["--stderr", str(path)]
    if "expect_session" in case:
        arguments += ["--expect-session", case["expect_session"]]
    arguments += ["--timed-out"] * bool(case.get("timed_out"))
    arguments += ["--no-hang-heuristic"] * (case.get("hang_heuristic") is False)
    arguments += ["--policy", case["policy"]] if "policy" in case else []
    return arguments


def differences(expected: dict[str, Any], document: dict[str, Any]) -> list[str]:
    """What a document says otherwise than expected, one line for each field; only the named fields are compared."""
    return [
        f"{name}: expected {value!r}, got {_shown(name, document)!r}"
        for name, value in expected.items()
        if not _agrees(name, value, document)
    ]


def _agrees(name: str, value: Any, document: dict[str, Any]) -> bool:
    if name == "warnings_prefix":
        warnings = document["warnings"]
        return all(any(text in warning for warning in warnings) for text in value) if value else not warnings
    if name == "permission_denials":
        return bool([denial["tool_name"] for denial in document[name]] == value)
    if name == "usage_estimate" and value is not None:
        estimate = document[name] or {}
        return all(estimate.get(key) == count for key, count in value.items())
    if name.endswith("_any"):
        return document[name.removesuffix("_any")] in value
    if name == "error_prefix":
        return (document["error"] or "").startswith(_expanded(value))
    if name == "output_contains":
        return value in document["output"]
    if name not in document:
        return False
    return bool(document[name] == (_expanded(value) if isinstance(value, str) else value))


def _shown(name: str, document: dict[str, Any]) -> Any:
    field = {"warnings_prefix": "warnings", "error_prefix": "error", "output_contains": "output"}.get(name)
    return document.get(field or name.removesuffix("_any"), "(no such field)")


def _expanded(text: str) -> str:
    return _REPEATED.sub(lambda found: found[1] * int(found[2]), text)
