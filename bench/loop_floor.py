"""The floor under an iteration with a check and a commit: a plain program that makes the same git calls and fsyncs.

What these are is not written down here but taken from a run of Bridle: a `git` of ours in front of the real one
and a hook at `os.fsync` write a line each, and the agent another, so that all of them stand in their order. The floor
does the same to a repository that begins the same; only its commits have other ids, so HEAD replaces them. Bridle
writes trees, commits and its branch itself: of these the floor has the fsyncs alone, and it makes no commits.

`loop_floor.py run STEPS` is the floor, `loop_floor.py record LOG ARGUMENT…` is Bridle with the hook.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

AGENT, GIT, FILE, FOLDER = "A", "G", "S", "D"
# A call of git takes milliseconds; one that hangs must not hang the benchmark.
LIMIT_SECONDS = 60
_ID = re.compile(r"\b[0-9a-f]{40}\b")


def wrapper(log: Path, git: str) -> str:
    """A `git` that writes down how it is called, what it is given, and in which index it works."""
    return f"""#!/bin/sh
given=
case " $* " in *" -F - "*|*" --stdin "*|*" --batch"*) given='{log}'.$$; cat >"$given";; esac
line=$(printf '\\t%s' "$given" "${{GIT_INDEX_FILE-}}" "$@")
printf 'G%s\\n' "$line" >>'{log}'
[ -z "$given" ] || exec '{git}' "$@" <"$given"
exec '{git}' "$@"
"""


@dataclass(frozen=True)
class Trace:
    """What one run of Bridle did, in order."""

    steps: list[dict[str, Any]]

    def per_iteration(self) -> Counter[str]:
        """How many of each kind come between the first agent and the last, for each agent."""
        kinds = [step["kind"] for step in self.steps]
        first = kinds.index(AGENT)
        last = len(kinds) - 1 - kinds[::-1].index(AGENT)
        agents = kinds[first:last].count(AGENT)
        return Counter({kind: round(kinds[first:last].count(kind) / agents) for kind in (GIT, FILE, FOLDER)})


def read_trace(log: Path, repository: Path, base: str) -> Trace:
    """The steps of a recorded run, with names instead of what another repository would not have."""
    lines = [line.split("\t") for line in log.read_text(encoding="utf-8", errors="surrogateescape").splitlines()]
    commits = _commits({found for line in lines for word in line[1:] for found in _ID.findall(word)}, repository)
    steps: list[dict[str, Any]] = []
    for kind, *words in lines:
        if kind != GIT:
            steps.append({"kind": kind, "bytes": int(words[0]) if words else 0})
            continue
        given, index, *argv = words
        named = [_ID.sub(lambda found: "HEAD" if found[0] in commits - {base} else found[0], word) for word in argv]
        steps.append(
            {
                "kind": GIT,
                "argv": [word.replace(str(repository), "{repository}") for word in named],
                "given": Path(given).read_text(encoding="utf-8") if given else None,
                "index": index.replace(str(repository), "{repository}"),
            }
        )
    return Trace(steps)


def _commits(ids: set[str], repository: Path) -> set[str]:
    given = "".join(f"{one}\n" for one in sorted(ids))
    done = subprocess.run(
        ["git", "cat-file", "--batch-check=%(objectname) %(objecttype)"],
        cwd=repository, input=given, capture_output=True, text=True, check=True, timeout=LIMIT_SECONDS,
    )  # fmt: skip
    return {line.split()[0] for line in done.stdout.splitlines() if line.endswith(" commit")}


class Floor:
    """Does the steps, one after the other, in the current folder."""

    def __init__(self, steps: list[dict[str, Any]]) -> None:
        self._steps = steps
        self._repository = Path.cwd()
        self._files = self._repository / ".a5c"
        self._last_use = {step["index"]: number for number, step in enumerate(steps) if step.get("index")}
        self._agent = shutil.which("claude")

    def run(self) -> None:
        """All of them."""
        self._files.mkdir()
        with (self._repository / ".git" / "info" / "exclude").open("a", encoding="utf-8") as exclude:
            exclude.write(".a5c/\n")
        for number, step in enumerate(self._steps):
            match step["kind"]:
                case "A":
                    self._start([str(self._agent), "-p"])
                    self._start(["sh", "-c", "true"])  # the guard
                case "G":
                    self._git(step, number)
                case "S":
                    self._write(step["bytes"], number)
                case _:
                    self._sync_folder()

    def _start(self, argv: list[str]) -> None:
        subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True, timeout=LIMIT_SECONDS)

    def _git(self, step: dict[str, Any], number: int) -> None:
        argv = [word.replace("{repository}", str(self._repository)) for word in step["argv"]]
        environment, index = dict(os.environ), step["index"].replace("{repository}", str(self._repository))
        real = self._repository / ".git" / "index"
        if index:
            environment["GIT_INDEX_FILE"] = index
            Path(index).parent.mkdir(parents=True, exist_ok=True)
            if not os.path.exists(index):
                shutil.copy2(real, index)
        given = None if step["given"] is None else step["given"].encode("utf-8")
        subprocess.run(
            ["git", *argv], env=environment, input=given, capture_output=True, check=False, timeout=LIMIT_SECONDS
        )
        if index and self._last_use[step["index"]] == number:
            Path(index).unlink(missing_ok=True)

    def _write(self, size: int, number: int) -> None:
        path = self._files / f"{number}"
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(fd, b"x" * size)
            os.fsync(fd)
        finally:
            os.close(fd)

    def _sync_folder(self) -> None:
        fd = os.open(self._files, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def _record(log: Path, arguments: list[str]) -> None:
    """Bridle, with each of its fsyncs written down before it is made."""
    real = os.fsync
    fd = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def noted(target: int) -> None:
        found = os.fstat(target)
        line = FOLDER if stat.S_ISDIR(found.st_mode) else f"{FILE}\t{found.st_size}"
        os.write(fd, f"{line}\n".encode())
        real(target)

    os.fsync = noted  # type: ignore[assignment]  # it takes descriptors only, which is all that is given to it
    sys.argv = ["bridle", *arguments]
    from bridle.cli.main import main

    main()


if __name__ == "__main__":
    if sys.argv[1] == "record":
        _record(Path(sys.argv[2]), sys.argv[3:])
    else:
        Floor(json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))).run()
