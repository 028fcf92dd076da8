"""What came in: each request as a value, kept in memory and, where asked, in a file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from bridle.errors import DiskError

# More than a rehearsal asks; at 76 KB a request it bounds what a forgotten server holds.
KEPT_REQUESTS = 10_000

_SECRET_HEADERS = frozenset({"x-api-key", "authorization", "proxy-authorization", "cookie"})
_MASK = "[masked]"


@dataclass(frozen=True)
class Request:
    """One request: what it said, when, and what it was given."""

    number: int
    time: float
    """Seconds since 1970."""
    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    """By lower-case name; keys and tokens are masked."""
    body: Any
    """The decoded JSON; None where there is none or it is not JSON."""
    request_id: str
    answer: str | None
    """The path of the script's answer that was used, such as `answers[2]`."""
    problem: str | None
    """Why the script could not answer, or what was wrong with the request."""


def masked(headers: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """Return the headers by name with keys and tokens hidden."""
    return {name: _MASK if name in _SECRET_HEADERS else value for name, value in headers}


class Recording:
    """The requests and problems of one stage, oldest first; the newest are kept when there are too many."""

    def __init__(self, *, kept: int, path: Path | None) -> None:
        self._kept = kept
        self._requests: list[Request] = []
        self._problems: list[str] = []
        self._path = path
        self._file = None if path is None else _opened(path)

    @property
    def requests(self) -> tuple[Request, ...]:
        """Return what came in so far."""
        return tuple(self._requests)

    @property
    def problems(self) -> tuple[str, ...]:
        """Return what went wrong so far."""
        return tuple(self._problems)

    def add(self, request: Request) -> None:
        """Keep a request, in the file first."""
        if self._file is not None:
            document = {field.name: getattr(request, field.name) for field in fields(request)}
            self._append(self._file, json.dumps(document, separators=(",", ":")).encode() + b"\n")
        self._requests.append(request)
        del self._requests[: max(0, len(self._requests) - self._kept)]

    def add_problem(self, problem: str) -> None:
        """Keep a problem."""
        self._problems.append(problem)
        del self._problems[: max(0, len(self._problems) - KEPT_REQUESTS)]

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _append(self, file: int, line: bytes) -> None:
        try:
            written = os.write(file, line)
        except OSError as error:
            raise DiskError(f"cannot record requests in {self._path}: {error.strerror}") from error
        if written != len(line):
            raise DiskError(f"cannot record requests in {self._path}: the disk is full")


def _opened(path: Path) -> int:
    """Open the file for appending; a new one is private, since prompts hold what people would not publish."""
    try:
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise DiskError(f"cannot record requests in {path}: {error.strerror}") from error
