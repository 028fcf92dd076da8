"""What keys do while a run is shown live: pause, stop, hint, raise a limit, show prompt and log, answer a question."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bridle.cli.user_interface.input_line import InputLine
from bridle.engine import inbox
from bridle.engine.drive.driver_lock import find_driver
from bridle.engine.inbox import Question
from bridle.errors import Error
from bridle.journal.stores.file_store import FileStore
from bridle.loop import user_messages
from bridle.loop.control import pending_waits
from bridle.loop.settings.bridle_toml import read_flags

PROMPTS = "prompts"
# Of a prompt: its head says which task, the file has all of it.
PROMPT_LINES = 60
_LIMITS = {"cost": "max_cost", "iterations": "max_iterations", "time": "max_time", "tries": "tries"}
_LIMIT_EXAMPLES = "cost 40, iterations 80, time 2h or tries 8"

Say = Callable[[str], None]


class RunKeys:
    """Acts on the keys of one run; everything that it changes is written to the journal."""

    def __init__(self, run: Path, say: Say, show_log: Callable[[bool], None]) -> None:
        self._run, self._say, self._show_log = run, say, show_log
        self.line: InputLine | None = None
        """What the user types now."""
        self._asked: set[str] = set()
        """The questions that were shown here."""
        self.pauses = False
        """Whether the run pauses after the running iterations."""
        self._is_declined = False
        """Whether the user has left a question unanswered."""
        self._has_log = False
        self._keys: dict[str, tuple[str, Callable[[], None]]] = {
            "p": ("pause after this iteration", self._pause),
            "q": ("stop now; nothing is lost", self._stop),
            "h": ("give the next iteration a hint", self._hint),
            "m": (f"raise a limit: {_LIMIT_EXAMPLES}", self._limit),
            "a": ("answer an open question", self._answer),
            "v": ("view the prompt of this iteration", self._show_prompt),
            "l": ("show or hide the agent's log", self._toggle_log),
            "s": ("end a wait and try now", self._skip),
            "?": ("list the keys", self._help),
        }

    def press(self, key: str) -> None:
        """Act on a key, or add it to the line that the user types."""
        if self.line is not None:
            line = self.line
            if line.press(key) and self.line is line:
                self.line = None
            return
        _, act = self._keys.get(key.lower(), ("", None))
        if act is None:
            return
        try:
            act()
        except Error as error:
            self._say(_one_line(error))

    def ask_open_questions(self) -> None:
        """Ask a question that has not been asked here yet; other tasks continue while the user types."""
        if self.line is not None:
            return
        for question in self._questions():
            if question.effect_id not in self._asked and question.takes_free_text:
                self._asked.add(question.effect_id)
                self._ask(question)
                return

    async def wait_for_answer(self, poll_seconds: float) -> bool:
        """Wait until no question is open, or one that was asked here is left unanswered; return whether one is gone."""
        before = {question.effect_id for question in self._questions()}
        self._is_declined = False
        self._asked -= before
        while True:
            left = {question.effect_id for question in self._questions()}
            if left < before or find_driver(self._run) is not None:
                self.line = None
                return left < before
            if self._is_declined:
                return False
            self.ask_open_questions()
            if self.line is None:  # none that can be asked here
                return False
            await asyncio.sleep(poll_seconds)

    def _questions(self) -> list[Question]:
        try:
            return inbox.questions(FileStore(self._run))
        except Error:
            return []  # the driver meets the same error and reports it

    def _ask(self, question: Question) -> None:
        self._say(f"{question.task or 'the run'} asks: {question.text}")

        def answer(text: str) -> None:
            if not text:
                self._say("not answered; later: key a, or bridle answer and bridle resume")
                self._is_declined = True
                return
            inbox.answer(FileStore(self._run), question.effect_id, text)
            self._say(f"answered: {text}")

        self.line = InputLine(f"answer for {question.task or 'the run'!r} (Enter alone: later)", self._guarded(answer))

    def _guarded(self, act: Callable[[str], None]) -> Callable[[str], None]:
        """Return an action that says what was wrong instead of ending the run."""

        def done(text: str) -> None:
            try:
                act(text)
            except Error as error:
                self._say(_one_line(error))

        return done

    def _answer(self) -> None:
        questions = self._questions()
        if questions:
            self._asked.discard(questions[0].effect_id)
            self._ask(questions[0])
        else:
            self._say("no question is open")

    def _pause(self) -> None:
        self.pauses = not self.pauses
        self._say("pausing after this iteration; press p again to continue" if self.pauses else "not pausing")

    def _stop(self) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    def _hint(self) -> None:
        def send(text: str) -> None:
            if not text:
                self._say("no hint")
                return
            user_messages.send(FileStore(self._run), user_messages.HINT, {"text": text})
            self._say(f"hint for the next iteration: {text}")

        self.line = InputLine("hint", self._guarded(send))

    def _limit(self) -> None:
        def send(text: str) -> None:
            name, _, value = text.partition(" ")
            if not text:
                self._say("no other limit")
                return
            if name not in _LIMITS or not value.strip():
                self._say(f"a limit is {_LIMIT_EXAMPLES}, got {text!r}")
                return
            user_messages.send(FileStore(self._run), user_messages.LIMITS, _read_limit(_LIMITS[name], value.strip()))
            self._say(f"limit: {text}")

        self.line = InputLine(f"limit ({_LIMIT_EXAMPLES})", self._guarded(send))

    def _newest_prompt(self) -> Path | None:
        try:
            paths = [Path(entry.path) for entry in os.scandir(self._run / PROMPTS) if entry.is_file()]
        except OSError:
            return None
        return max(paths, key=lambda path: path.stat().st_mtime_ns, default=None)

    def _show_prompt(self) -> None:
        path = self._newest_prompt()
        if path is None:
            self._say("no prompt yet")
            return
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        for line in lines[:PROMPT_LINES]:
            self._say(line)
        more = f"{len(lines) - PROMPT_LINES} more lines in " if len(lines) > PROMPT_LINES else ""
        self._say(f"the prompt: {more}{os.path.relpath(path)}")

    def _toggle_log(self) -> None:
        self._has_log = not self._has_log
        self._show_log(self._has_log)
        self._say("showing the agent's texts and tool calls" if self._has_log else "hiding the agent's log")

    def _skip(self) -> None:
        store, has_ended = FileStore(self._run), False
        while (wait := pending_waits.current(store)) is not None and pending_waits.end(FileStore(self._run), wait):
            has_ended = True  # several workers may wait for the same limit
        self._say("wait skipped; trying again now" if has_ended else "nothing to skip: the run is not waiting")

    def _help(self) -> None:
        for key, (meaning, _) in self._keys.items():
            self._say(f"  {key}  {meaning}")


def _one_line(error: Error) -> str:
    """Return an error as one line: a message may list several faults."""
    return " ".join(f"{error.message}. {error.remedy or ''}".split())


def _read_limit(name: str, text: str) -> dict[str, Any]:
    """Return the limit as a flag of `bridle resume` would set it. Raises SettingsError."""
    value: Any = text
    if name != "max_time":
        number = float(text) if text.replace(".", "", 1).isdigit() else text
        value = int(number) if name != "max_cost" and isinstance(number, float) and number.is_integer() else number
    return read_flags({name: value})
