"""A real Claude Code session with the plugin in it, and a model that is told nothing beforehand.

The model's part is a script, but ids, folders and the proof are not in it: the stage takes them out of what the
session shows it, as a model would.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bridle import __version__
from bridle.hosts.install import install
from bridle.hosts.install.render_plugin import PACKAGE, Origin
from bridle.hosts.sessions.session import SessionFile
from bridle.hosts.sessions.session_file import PLUGIN_STATE
from bridle.hosts.sessions.session_file import read as read_session
from tests.real.parts import claude_program
from tests.real.scene import LIMIT_SECONDS, Answer, Scene, calls, scene

PROCESS = """
from bridle import define_task

write = define_task("write", lambda args, task: {
    "kind": "agent", "title": "Write", "agent": {"prompt": f"Write {args['name']}."},
})
check = define_task("check", lambda args, task: {"kind": "shell", "shell": {"command": f"cat {args['name']}"}})
judge = define_task("judge", lambda args, task: {
    "kind": "skill", "skill": {"name": "bridle:score", "context": {"text": args["text"]}},
})


async def process(inputs, ctx):
    name = inputs["name"]
    said = await ctx.task(write, {"name": name}, label="write")
    seen = await ctx.task(check, {"name": name}, label="check")
    judged = await ctx.task(judge, {"text": seen["stdout"]}, label="judge")
    answer = await ctx.breakpoint({"question": "Ship it?", "score": judged["score"]}, label="ship")
    again = await ctx.parallel.map([1, 2], lambda n: ctx.task(check, {"name": name, "n": n}, label=f"again {n}"))
    words = {"approved": answer["approved"], "words": answer["response"], "said": said}
    return {**words, "score": judged["score"], "again": again}
"""

FEEDBACK = "Stop hook feedback:\n"

# What the model reads off what it is shown. The last that was shown counts.
SESSION = {"from": "messages", "pattern": r"--session-id ([0-9a-f-]{36}) --plugin-root"}
PLUGIN = {"from": "messages", "pattern": r"--plugin-root (\S[^\n]*?) --json"}
STATE_SESSION = {"from": "last_user", "pattern": r"session:state --session-id ([0-9a-f-]{36})"}
STATE_PLUGIN = {"from": "last_user", "pattern": r"session:state \S+ \S+ --plugin-root (\S[^\n]*?) --json"}
RUN = {"from": "tool_results", "pattern": r'"runId": ?"([0-9A-Z]{26})"'}
EFFECT = {"from": "tool_results", "pattern": r'"effectId": ?"([0-9A-Z]{26})"'}
FIRST = {"from": "last_user", "pattern": r'"effectId": ?"([0-9A-Z]{26})"', "take": "first"}
PROOF = {"from": "tool_results", "pattern": r'"completionProof": ?"([0-9a-f]+)"'}


Reply = Callable[[dict[str, Any]], dict[str, Any] | None]
"""What a person does with a question: the input of the tool with the answers in it, or None to dismiss it."""


@dataclass(frozen=True)
class Ended:
    """How a session ended."""

    exit_code: int
    events: tuple[dict[str, Any], ...]
    stderr: str

    @property
    def result(self) -> dict[str, Any]:
        return self.events[-1]

    @property
    def session_id(self) -> str:
        return str(self.result["session_id"])

    def hook_outputs(self, event: str) -> list[dict[str, Any]]:
        """What the hooks of an event answered, in order."""
        found = (one for one in self.events if one.get("subtype") == "hook_response")
        return [one for one in found if one["hook_event"] == event]

    def told(self) -> list[str]:
        """What the model was told when it was held, in order."""
        users = (one["message"]["content"] for one in self.events if one["type"] == "user" and one.get("isSynthetic"))
        texts = (block.get("text", "") for content in users if isinstance(content, list) for block in content)
        return [text.removeprefix(FEEDBACK) for text in texts if text.startswith(FEEDBACK)]


@dataclass(frozen=True)
class Plugged:
    """A scene whose sessions have the plugin."""

    scene: Scene
    plugin: Path

    def argv(self, *more: str, has_plugin: bool = True) -> list[str]:
        plugin = ["--plugin-dir", str(self.plugin)] if has_plugin else []
        words = [str(claude_program()), "-p", *plugin, "--permission-mode", "acceptEdits"]
        return [*words, "--output-format", "stream-json", "--verbose", "--include-hook-events", *more]

    def session(self, prompt: str, *more: str, has_plugin: bool = True, **environment: str) -> Ended:
        """One session, to its own end; the plugin is given to it unless it is there by itself."""
        done = subprocess.run(
            [*self.argv(*more, has_plugin=has_plugin), "--", prompt],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            cwd=self.scene.workspace,
            env=self.scene.environment(**environment),
            timeout=LIMIT_SECONDS,
            check=False,
        )
        return Ended(done.returncode, tuple(map(json.loads, done.stdout.splitlines())), done.stderr)

    def conversation(self, prompt: str, replies: Iterable[Reply]) -> Ended:
        """One session with a person at it, who answers each question with the next of the replies."""
        talk = ("--input-format", "stream-json", "--permission-prompt-tool", "stdio")
        with subprocess.Popen(
            self.argv(*talk),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.scene.workspace,
            env=self.scene.environment(),
        ) as child:
            timer = threading.Timer(LIMIT_SECONDS, child.kill)
            timer.start()
            try:
                events = list(_conversed(child, prompt, iter(replies)))
                child.stdin.close()  # type: ignore[union-attr]  # it is a pipe
                stderr = child.stderr.read()  # type: ignore[union-attr]  # it is a pipe
                return Ended(child.wait(), tuple(events), stderr)
            finally:
                timer.cancel()

    def run(self) -> Path:
        """The one run that there is."""
        (run,) = (self.scene.workspace / ".a5c/runs").iterdir()
        return run

    def entries(self) -> list[dict[str, Any]]:
        """The journal, oldest first."""
        said = self.scene.bridle("run:events", self.run().name, "--json")
        events: list[dict[str, Any]] = said.document["events"]
        return events

    def stops(self) -> list[tuple[str, str]]:
        """What the Stop hook decided, and why."""
        stops = (one["data"] for one in self.entries() if one["type"] == "STOP_HOOK_INVOKED")
        return [(data["decision"], data["reason"]) for data in stops]

    def session_file(self, session_id: str) -> SessionFile:
        found = read_session(self.plugin / PLUGIN_STATE / f"{session_id}.md")
        assert found is not None, session_id
        return found


@contextmanager
def plugged(folder: Path, *answers: Answer, python: str = sys.executable, **fields: Any) -> Iterator[Plugged]:
    """Set a scene with a project that has a process, and install the plugin in a folder whose name is hard to quote."""
    with scene(folder, *answers, **fields) as set_up:
        plugin = folder / "a plug'in"
        install.install(plugin, Origin(python, str(PACKAGE), __version__))
        yield Plugged(set_up, plugin)


def _conversed(child: subprocess.Popen[str], prompt: str, replies: Iterator[Reply]) -> Iterator[dict[str, Any]]:
    """Every event up to the result; questions are answered on the way, and nothing else is granted."""
    assert child.stdin is not None
    assert child.stdout is not None

    def send(document: dict[str, Any]) -> None:
        print(json.dumps(document), file=child.stdin, flush=True)

    send({"type": "user", "message": {"role": "user", "content": prompt}})
    for line in child.stdout:
        event = json.loads(line)
        if event["type"] != "control_request":
            yield event
        elif event["request"]["tool_name"] == "AskUserQuestion":
            send(_granted(event, next(replies)(event["request"]["input"])))
        else:
            send(_granted(event, None))
        if event["type"] == "result":
            return


def _granted(event: dict[str, Any], given: dict[str, Any] | None) -> dict[str, Any]:
    """The answer to a request for leave: what the tool gets, or a no."""
    verdict = {"behavior": "deny", "message": "No."} if given is None else {"behavior": "allow", "updatedInput": given}
    response = {"subtype": "success", "request_id": event["request_id"], "response": verdict}
    return {"type": "control_response", "response": response}


def shell(command: str, **capture: dict[str, str]) -> Answer:
    """The model runs a command; what it needs for that is taken from what it was shown."""
    return {**calls("Bash", command=command), "capture": capture}


def begins(process: str = PROCESS) -> list[Answer]:
    """The skill is taken up, the process is written, the run is created and bound."""
    return [
        calls("Skill", skill="bridle:babysit", args="write notes.txt"),
        calls("Write", file_path="process.py", content=process),
        calls("Write", file_path="inputs.json", content='{"name": "notes.txt"}'),
        shell(
            "bridle run:create --process-id notes --entry process.py#process --inputs inputs.json"
            " --prompt 'Write notes.' --harness claude-code --session-id ${session} --plugin-root ${plugin} --json",
            session=SESSION,
            plugin=PLUGIN,
        ),
    ]


def iterates() -> Answer:
    return shell("bridle run:iterate ${run} --json", run=RUN)


def posts(value: object, effect: dict[str, str] = EFFECT) -> Answer:
    return shell(
        f"bridle task:post ${{run}} ${{effect}} --status ok --value-inline '{json.dumps(value)}' --json", effect=effect
    )


def shows_status() -> Answer:
    return shell("bridle run:status ${run} --json")


def gives_proof() -> Answer:
    return {"blocks": ["It is done. <promise>${proof}</promise>"], "capture": {"proof": PROOF}}
