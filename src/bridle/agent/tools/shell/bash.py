"""The Bash tool: run a command, and say how it ended and what it printed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from bridle.agent.tools.contract import shown_output
from bridle.agent.tools.contract.input_schema import input_schema
from bridle.agent.tools.contract.tool import ToolResult, failed_result
from bridle.agent.tools.shell import exit_codes
from bridle.agent.tools.shell.background import BackgroundTask, BackgroundTasks, new_task_id
from bridle.agent.tools.shell.limits import CommandLimits
from bridle.agent.tools.shell.output_spool import KEPT_LIMIT_BYTES, OutputSpool
from bridle.agent.tools.shell.running_command import CommandEnd, RunningCommand
from bridle.agent.tools.shell.shell import Shell
from bridle.errors import ProcessError

# What a shell says of a command that SIGTERM has ended.
TERMINATED = 143

_IMAGE = r"data:(image/(?:png|jpeg|gif|webp));base64,([A-Za-z0-9+/=\s]+)"


class Bash:
    """Runs one command in the session's shell."""

    name = "Bash"
    description = (
        "Run a command in bash and get back what it prints (standard output and standard error in one text) and, if "
        "it fails, its exit code. Each call is a new shell: the folder you change to with cd is kept for the next call "
        "while it lies inside the working folders, variables and functions are not kept. There is no terminal and no "
        "standard input: where a command would ask questions, use its non-interactive flags.\n\n"
        "- timeout is in milliseconds: 120000 unless you say otherwise, at most 600000. A command that takes longer is "
        "carried on in the background and you get its task id.\n"
        "- run_in_background starts a command (a server, a long build) and returns at once with a task id and the file "
        "that collects its output; you are told when it ends. No & is needed.\n"
        "- A long output is saved to a file, and you see its beginning and the file's path.\n"
        "- To look at files, find them, search them or change them, use the tools made for it where they are offered.\n"
        "- Quote paths with spaces. Join commands that depend on each other with &&; make separate calls for those "
        "that do not. description says in a few words what the command does."
    )
    schema: ClassVar[dict[str, Any]] = input_schema(
        {
            "command": {"type": "string"},
            "timeout": {"type": "number"},
            "description": {"type": "string"},
            "run_in_background": {"type": "boolean"},
            "dangerouslyDisableSandbox": {"type": "boolean"},
        },
        ["command"],
    )

    def __init__(
        self, shell: Shell, background: BackgroundTasks, *, results_folder: Path, limits: CommandLimits
    ) -> None:
        """Outputs that are too long to show go to files in `results_folder`."""
        self._shell = shell
        self._background = background
        self._results_folder = results_folder
        self._limits = limits

    async def run(self, arguments: Mapping[str, Any], *, call_id: str) -> ToolResult:
        """Run the command to its end, or start it and leave it to the background."""
        command = arguments["command"]
        description = arguments.get("description") or command
        try:
            if arguments.get("run_in_background") and self._limits.has_background:
                return _running(self._background.start(command, call_id=call_id, description=description))
            seconds = self._limits.timeout_seconds(arguments.get("timeout"))
            return await self._run(command, seconds, call_id, description)
        except ProcessError as error:
            return failed_result(str(error))

    async def _run(self, command: str, seconds: float, call_id: str, description: str) -> ToolResult:
        task_id = new_task_id()
        spool = OutputSpool(
            self._results_folder / f"{task_id}.txt",
            hold_characters=self._limits.output_characters,
            tail_characters=self._limits.task_output_characters,
        )
        started = self._shell.start(command, spool)
        try:
            if await started.wait(seconds):
                return self._answer(command, spool, await started.finish(moves=True))
            if self._may_go_on(command):
                ids = {"task_id": task_id, "call_id": call_id, "description": description}
                return _running(self._background.adopt(started, command, **ids))
            await started.end()
        except BaseException:
            await _abandon(started)
            raise
        return _failure(TERMINATED, spool, f"Command timed out after {shown_output.format_duration(seconds)}")

    def _may_go_on(self, command: str) -> bool:
        # A command that begins with a wait has nothing to go on with.
        return self._limits.has_background and exit_codes.first_name(command) != "sleep"

    def _answer(self, command: str, spool: OutputSpool, ended: CommandEnd) -> ToolResult:
        meaning = exit_codes.meaning(command, ended.exit_code)
        if ended.exit_code and meaning is None:
            return _failure(ended.exit_code, spool)
        head = shown_output.trim_output(spool.head())
        note = f"\nShell cwd was reset to {self._shell.project}" if ended.was_reset else ""
        image = _image(head) if spool.is_held else None
        detail: dict[str, Any] = {"stdout": head, "stderr": note, "interrupted": False, "isImage": image is not None}
        if meaning is not None:
            detail["returnCodeInterpretation"] = meaning
        detail["noOutputExpected"] = exit_codes.is_silent(command)
        if image is not None:
            return ToolResult([image], detail=detail)
        if not spool.is_held:
            detail |= {"persistedOutputPath": str(spool.path), "persistedOutputSize": spool.kept_bytes}
        text = head if spool.is_held else shown_output.persisted_output(head, _place(spool))
        content = "\n".join(part for part in (text, note.strip()) if part) or shown_output.NO_OUTPUT
        return ToolResult(content, detail=detail, names_success=True)


async def _abandon(started: RunningCommand) -> None:
    """End a command whose answer nobody waits for, and remove what it wrote."""
    try:
        await started.end()
    finally:
        started.spool.discard()


def _running(task: BackgroundTask) -> ToolResult:
    detail = {"stdout": "", "stderr": "", "interrupted": False, "isImage": False, "noOutputExpected": False}
    content = (
        f"Command running in background with ID: {task.id}. Output is being written to: {task.spool.path}. "
        "You will be notified when it completes. To check interim output, use Read on that file path."
    )
    if task.spool.fault is not None:
        content = (
            f"Command running in background with ID: {task.id}. You will be notified when it completes. Its output "
            f"cannot be written to a file ({task.spool.fault}): get the end of it with TaskOutput."
        )
    return ToolResult(content, detail={**detail, "backgroundTaskId": task.id}, names_success=True)


def _failure(exit_code: int, spool: OutputSpool, remark: str = "") -> ToolResult:
    first = "\n".join(part for part in (f"Exit code {exit_code}", remark) if part)
    head = shown_output.trim_output(spool.head()) if spool.is_held else spool.head()
    tail = spool.tail().rstrip()
    characters = len(head) if spool.is_held else spool.characters - len(spool.tail()) + len(tail)
    start = f"{first}\n{head}" if head else first
    where = "" if spool.is_held else f"; {_place(spool)}"
    return failed_result(shown_output.cut_middle(start, tail, characters + len(start) - len(head), where=where))


def _place(spool: OutputSpool) -> str:
    told = f"Output too large ({shown_output.format_size(spool.size_bytes)})."
    if spool.fault is not None:
        return f"{told} It could not be saved: {spool.fault}"
    if spool.size_bytes > KEPT_LIMIT_BYTES:
        return f"{told} Its first {shown_output.format_size(KEPT_LIMIT_BYTES)} are saved to: {spool.path}"
    return f"{told} Full output saved to: {spool.path}"


def _image(text: str) -> dict[str, Any] | None:
    """The image block for an output that is one image as a data URL; None for anything else."""
    found = re.fullmatch(_IMAGE, text)
    if found is None:
        return None
    import base64
    import binascii

    data = "".join(found[2].split())
    try:
        base64.b64decode(data, validate=True)
    except binascii.Error:
        return None  # the endpoint would refuse the whole conversation for it
    return {"type": "image", "source": {"type": "base64", "media_type": found[1], "data": data}}
