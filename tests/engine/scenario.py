"""Scenarios of the engine: text in, what happened and the journal out. The format: tests/scenarios/engine/README.md."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bridle.cli import main as dispatcher
from bridle.engine.iterate.iteration_report import Iteration
from bridle.errors import Error
from bridle.journal.format import codec
from bridle.journal.format.entries import ERROR, OK, Posted
from bridle.journal.format.state import file_name
from bridle.journal.format.ulid import RANDOM_BYTES, next_ulid
from tests.engine.runs import STAMP, Bench

SECTION = re.compile(r"^=== (.+)$", re.MULTILINE)
RESULT = "result"
# What differs in each run and means nothing to the reader.
DIGESTS = ("taskSha256", "resultSha256", "outputSha256", "inputsSha256", "runSha256")
NOISE = ("effectId", "invocationHash", "taskDefRef", "resultRef", "startedAt", "finishedAt", "stack", *DIGESTS)


@dataclass(frozen=True)
class Scenario:
    """A scenario's file, cut into its parts."""

    path: Path
    sections: tuple[tuple[str, str], ...]

    @classmethod
    def read(cls, path: Path) -> Scenario:
        parts = SECTION.split(path.read_text(encoding="utf-8"))
        names, texts = parts[1::2], parts[2::2]
        return cls(path, tuple(zip(names, (text.strip("\n") for text in texts), strict=True)))

    @property
    def expected(self) -> str:
        return next((text for name, text in self.sections if name == RESULT), "")

    def rewrite(self, result: str) -> None:
        text = self.path.read_text(encoding="utf-8").partition(f"=== {RESULT}\n")[0]
        self.path.write_text(f"{text}=== {RESULT}\n{result}\n", encoding="utf-8")


def play(scenario: Scenario, folder: Path) -> str:
    """Everything that the scenario does, as text."""
    return "\n".join(_Player(folder).play(scenario.sections)).rstrip()


class _Player:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._bench: Bench | None = None
        self._inputs: Any = None
        self._source = ""

    def play(self, sections: tuple[tuple[str, str], ...]) -> Iterator[str]:
        for name, text in sections:
            if name == "process.py":
                self._source = text
                if self._bench is not None:
                    self._bench.write(text + "\n")
                    yield "(the process is replaced)"
            elif name == "inputs":
                self._inputs = json.loads(text)
            elif name == "do":
                for line in filter(None, text.splitlines()):
                    yield f"> {line}"
                    yield from self._indented(self._do(line))
        yield "journal:"
        yield from self._indented(self._journal())

    @property
    def bench(self) -> Bench:
        if self._bench is None:
            self._bench = Bench(self._folder, self._source + "\n", inputs=self._inputs)
        return self._bench

    def _do(self, line: str) -> Iterator[str]:
        verb, _, rest = line.partition(" ")
        try:
            yield from getattr(self, f"_{verb}")(rest)
        except Error as error:
            yield f"{error.code}: {error.message}"

    # ---- the verbs

    def _iterate(self, _: str) -> Iterator[str]:
        yield from _told(self.bench.iterate())

    def _post(self, rest: str) -> Iterator[str]:
        step, status, text = rest.split(" ", 2)
        value = json.loads(text)
        if status == OK:
            posted = Posted(OK, value=value, started_at=STAMP, finished_at=STAMP)
        else:
            posted = Posted(ERROR, error=value, started_at=STAMP, finished_at=STAMP)
        with self.bench.store.write("the scenario") as writer:
            writer.resolve(self.bench.effect(step).effect_id, posted)
        return iter(())

    def _large(self, rest: str) -> Iterator[str]:
        """A file in the run's folder with a value of that many letters."""
        name, letters = rest.split()
        (self.bench.run / name).write_text(json.dumps("x" * int(letters)))
        return iter(())

    def _clock(self, rest: str) -> Iterator[str]:
        self.bench.clock.move(seconds=float(rest))
        return iter(())

    def _bridle(self, rest: str) -> Iterator[str]:
        words = [self._named(word) for word in shlex.split(rest)]
        stdout, stderr = io.TextIOWrapper(io.BytesIO()), io.TextIOWrapper(io.BytesIO())
        before = os.getcwd()
        os.chdir(self._folder)
        try:
            with redirect_stdout(stdout), redirect_stderr(stderr):
                code = dispatcher.run(words)
        finally:
            os.chdir(before)
        for stream in (stdout, stderr):
            stream.flush()
            data = stream.buffer.getvalue()
            yield from _laid_out(data.decode())
        yield f"exit {code}"

    def _delete(self, rest: str) -> Iterator[str]:
        for path in sorted(self.bench.run.glob(self._named(rest))):
            path.unlink()
        return iter(())

    def _garble(self, rest: str) -> Iterator[str]:
        name, _, text = rest.partition(" ")
        for path in sorted(self.bench.run.glob(self._named(name))):
            path.write_text(text)
        return iter(())

    def _show(self, rest: str) -> Iterator[str]:
        for path in sorted(self.bench.run.glob(self._named(rest))):
            yield from path.read_text().splitlines()

    def _size(self, rest: str) -> Iterator[str]:
        for path in filter(Path.is_file, sorted(self.bench.run.glob(self._named(rest)))):
            yield f"{path.relative_to(self.bench.run)}: {path.stat().st_size} bytes"

    def _plant(self, rest: str) -> Iterator[str]:
        """An entry that no Bridle would write, at the end of the journal, with a checksum that is right."""
        entry_type, _, text = rest.partition(" ")
        journal = self.bench.run / "journal"
        seq, _, last = max(journal.iterdir()).name.removesuffix(".json").partition(".")
        ulid = next_ulid(last, now_ms=0, random=os.urandom(RANDOM_BYTES))
        data = json.loads(self._named(text))
        (journal / file_name(int(seq) + 1, ulid)).write_bytes(codec.encode(entry_type, STAMP, data))
        return iter(())

    def _lock(self, rest: str) -> Iterator[str]:
        """Another implementation's lock: of a process that lives, of one that is dead, or left empty."""
        pids = {"live": os.getppid(), "dead": 2**22 + 1}
        path = self.bench.run / "run.lock"
        path.write_text(json.dumps({"pid": pids[rest], "owner": "other"}) if rest in pids else "")
        return iter(())

    # ---- how it is shown

    def _named(self, text: str) -> str:
        """RUN and <S000001> stand for the run and for an effect."""
        named = re.sub(r"<(\S+?)>", lambda found: self.bench.effect(found[1]).effect_id, text)
        return re.sub(r"\bRUN\b", str(self.bench.run), named)

    def _journal(self) -> Iterator[str]:
        names = sorted(path.name for path in (self.bench.run / "journal").iterdir())
        for name in names:
            try:
                found = codec.parse_object((self.bench.run / "journal" / name).read_bytes())
            except codec.BadText:
                yield f"{name[:6]} (unreadable)"
                continue
            data: Any = found["data"]
            step = self._step_of(data.get("effectId"))
            shown = {key: value for key, value in data.items() if key not in NOISE}
            if isinstance(shown.get("error"), dict):
                shown["error"] = {key: value for key, value in shown["error"].items() if key not in NOISE}
            yield f"{name[:6]} {found['type']} {step}{json.dumps(shown, ensure_ascii=False)}"

    def _step_of(self, effect_id: object) -> str:
        task = self.bench.run / "tasks" / str(effect_id) / "task.json"
        return f"<{json.loads(task.read_text())['stepId']}> " if task.exists() else ""

    def _indented(self, lines: Iterator[str]) -> Iterator[str]:
        for line in lines:
            yield f"  {self._plain(line)}".rstrip()

    def _plain(self, line: str) -> str:
        """The line without what differs in each run."""
        line = line.replace(str(self._folder), "FOLDER").replace(str(os.getppid()), "PID")
        for task in sorted((self.bench.run / "tasks").glob("*/task.json")):
            line = line.replace(task.parent.name, f"<{json.loads(task.read_text())['stepId']}>")
        line = re.sub(r"\b[0-9A-HJKMNP-TV-Z]{26}\b", "ULID", line)
        line = re.sub(r"\b[0-9a-f]{64}\b", "SHA256", line)
        line = re.sub(r"journal\.bak\.\d+", "journal.bak.MS", line)
        return re.sub(r"\b202\d-\d\d-\d\dT[\d:.]+Z", "TIME", line)


def _told(found: Iteration) -> Iterator[str]:
    yield f"{found.number} {found.status} ({found.reason})"
    for action in found.actions:
        hints = action.as_json()["schedulerHints"]
        more = " ".join(f"{name}={value}" for name, value in hints.items() if name != "pendingCount")
        yield f"{action.effect.step_id} {action.effect.task_id} [{action.effect.kind}] {action.effect.label} {more}"
    if found.completion_proof:
        yield f"proof {found.completion_proof}"
        yield f"output {json.dumps(found.output, ensure_ascii=False)}"
    if found.halt:
        yield f"halt {json.dumps(found.halt, ensure_ascii=False)}"
    if found.error:
        yield f"error {found.error['name']}: {found.error['message']}"
    yield from (f"remark {remark}" for remark in found.warnings)


def _laid_out(text: str) -> list[str]:
    """JSON on one line is laid out, so that a difference is seen."""
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False).splitlines()
    except ValueError:
        return text.splitlines()
