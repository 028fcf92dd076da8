"""An agent in a session, as a script: it calls what the plugin's skill tells it to call, and its host calls the hooks.

Nothing of Bridle is imported for it but the plugin: it knows the commands, the hooks, and what they answer.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bridle import __version__
from bridle.hosts.install import install
from bridle.hosts.install.render_plugin import PACKAGE, PROGRAM, Origin, hook_command

SESSION = "0f6d3c2a-0000-4000-8000-00000000000a"
# A hang is a failure; each of these takes a fraction of a second on a machine that has nothing else to do.
LIMIT_SECONDS = 60
# No process of the tests needs as many; a session that is held for ever would.
MAX_STOPS = 40

Perform = Callable[[Mapping[str, Any]], "Result | None"]


@dataclass(frozen=True)
class Result:
    """What came of an effect; an error where there is one."""

    value: Any = None
    error: Mapping[str, Any] | None = None


@dataclass
class Insider:
    """One session in one project."""

    project: Path
    plugin: Path
    session_id: str = SESSION
    answers: list[dict[str, Any]] = field(default_factory=list)
    """What the Stop hook answered, each time."""

    @property
    def origin(self) -> Origin:
        return Origin(sys.executable, str(PACKAGE), __version__)

    @property
    def transcript(self) -> Path:
        return self.plugin.parent / f"{self.session_id}.jsonl"

    def start(self) -> None:
        """The host starts the session."""
        install.install(self.plugin, self.origin)
        assert self.hook("SessionStart", source="startup") == {}

    def create(self, *words: str) -> dict[str, Any]:
        """The agent creates a run and has it bound to the session."""
        bound = ("--harness", "claude-code", "--session-id", self.session_id, "--plugin-root", str(self.plugin))
        return self.bridle("run:create", *words, *bound)

    def work(self, run: str, perform: Perform) -> None:
        """Iterate, perform, post and stop, until the host lets the session end."""
        for _ in range(MAX_STOPS):
            if self.stop(self._iteration(run, perform)) == {}:
                return
        raise AssertionError(f"the session was still held after {MAX_STOPS} stops")

    def stop(self, words: str) -> dict[str, Any]:
        """The agent ends its turn with these words; gives what the Stop hook answers."""
        said = {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": words}]}}
        with open(self.transcript, "a", encoding="utf-8") as file:
            file.write(json.dumps(said) + "\n")
        self.answers.append(self.hook("Stop", last_assistant_message=words, stop_hook_active=bool(self.answers)))
        return self.answers[-1]

    def hook(self, event: str, **fields: Any) -> dict[str, Any]:
        """The host runs the plugin's hook."""
        known = {"session_id": self.session_id, "transcript_path": str(self.transcript), "cwd": str(self.project)}
        done = subprocess.run(
            ["/bin/sh", "-c", hook_command(self.plugin, self.origin, event)],
            input=json.dumps({**known, "hook_event_name": event, **fields}) + "\n",
            cwd=self.project,
            env={**os.environ, "CLAUDE_PROJECT_DIR": str(self.project)},
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    def bridle(self, *words: str) -> dict[str, Any]:
        """A command that the agent runs in its shell."""
        done = subprocess.run(
            [str(self.plugin / PROGRAM), *words, "--json"],
            cwd=self.project,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        document: dict[str, Any] = json.loads(done.stdout)
        return document

    def _iteration(self, run: str, perform: Perform) -> str:
        """One iteration; gives the words with which the agent ends its turn."""
        found = self.bridle("run:iterate", run)
        if found["status"] == "completed":
            return f"<promise>{self.bridle('run:status', run)['completionProof']}</promise>"
        for action in found["nextActions"]:
            result = perform(action)
            if result is not None:
                self._post(run, action["effectId"], result)
        return "The results are posted."

    def _post(self, run: str, effect_id: str, result: Result) -> None:
        if result.error is None:
            self.bridle("task:post", run, effect_id, "--status", "ok", "--value-inline", json.dumps(result.value))
            return
        file = self.plugin.parent / "error.json"
        file.write_text(json.dumps(result.error))
        self.bridle("task:post", run, effect_id, "--status", "error", "--error", str(file))
