"""The requests that the stage received, in memory and optionally in a file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from bridle.errors import DiskError

# More than a test sends; at 76 KB a request it bounds the memory of a forgotten server.
MAX_REQUESTS = 10_000

_SECRET_HEADERS = frozenset({"x-api-key", "authorization", "proxy-authorization", "cookie"})
_MASK = "[masked]"
_REMEDY = "Choose a file that can be written, on a disk with free space."


class Request(Struct, frozen=True):
    """One request: its content, its time, and the answer it got."""

    number: int
    time: float
    """Unix time in seconds."""
    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    """By lower-case name; keys and tokens are masked."""
    body: Any
    """The decoded JSON; None if there is no body or it is not JSON."""
    request_id: str
    answer: str | None
    """The path of the script's answer that was used, such as `answers[2]`."""
    problem: str | None
    """Why the script could not answer, or the fault of the request."""


def mask_headers(headers: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """Return the headers by name, with keys and tokens masked."""
    return {name: _MASK if name in _SECRET_HEADERS else value for name, value in headers}


class Recording:
    """The requests and problems of one stage, oldest first; of too many the newest are kept."""

    def __init__(self, *, limit: int, path: Path | None) -> None:
        self._limit = limit
        self._requests: list[Request] = []
        self._problems: list[str] = []
        self._path = path
        self._file = None if path is None else _open(path)

    @property
    def requests(self) -> tuple[Request, ...]:
        """The requests so far."""
        return tuple(self._requests)

    @property
    def problems(self) -> tuple[str, ...]:
        """The problems so far."""
        return tuple(self._problems)

    def add(self, request: Request) -> None:
        """Record a request, in the file first."""
        if self._file is not None:
            document = asdict(request)
            self._append(self._file, json.dumps(document, separators=(",", ":")).encode() + b"\n")
        self._requests.append(request)
        del self._requests[: max(0, len(self._requests) - self._limit)]

    def add_problem(self, problem: str) -> None:
        self._problems.append(problem)
        del self._problems[: max(0, len(self._problems) - MAX_REQUESTS)]

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _append(self, file: int, line: bytes) -> None:
        try:
            written = os.write(file, line)
        except OSError as error:
            raise DiskError(f"cannot record requests in {self._path}: {error.strerror}", remedy=_REMEDY) from error
        if written != len(line):
            raise DiskError(f"cannot record requests in {self._path}: the disk is full", remedy=_REMEDY)


def _open(path: Path) -> int:
    """Open the file for appending; a new one is private, since prompts can be confidential."""
    try:
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise DiskError(f"cannot record requests in {path}: {error.strerror}", remedy=_REMEDY) from error
