"""The Bash tool: runs a command and returns its output and exit code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar

import msgspec

from bridle.agent.tools.contract import shown_output
from bridle.agent.tools.contract.input_schema import JsonSchema, input_schema
from bridle.agent.tools.contract.tool import ContentBlock, ToolResult, failed_result
from bridle.agent.tools.shell import exit_codes
from bridle.agent.tools.shell.background import BackgroundTask, BackgroundTasks, new_task_id
from bridle.agent.tools.shell.limits import CommandLimits
from bridle.agent.tools.shell.output_spool import KEPT_LIMIT_BYTES, OutputSpool
from bridle.agent.tools.shell.running_command import CommandEnd
from bridle.agent.tools.shell.shell import Shell
from bridle.errors import ProcessError

# The exit code of a command that SIGTERM has ended.
TERMINATED = 143

_IMAGE = r"data:(image/(?:png|jpeg|gif|webp));base64,([A-Za-z0-9+/=\s]+)"


class BashInput(msgspec.Struct, frozen=True):
    """The input of Bash."""

    command: str
    timeout: int | float | None = None
    """In milliseconds."""
    description: str = ""
    run_in_background: bool = False


class Bash:
    """Runs one command in the session's shell."""

    name = "Bash"
    description = (
        "Run a command in bash and get its output (stdout and stderr together) and, if it fails, its exit code. Each "
        "call is a new shell: the working directory is kept between calls while it is inside the allowed directories, "
        "variables and functions are not. There is no terminal and no standard input: use the non-interactive flags of "
        "commands that would prompt.\n\n"
        "- timeout is in milliseconds: 120000 by default, at most 600000. A command that takes longer continues in the "
        "background, and you get its task id.\n"
        "- run_in_background starts a command (a server, a long build) and returns at once with a task id and the path "
        "of its output file; you are notified when it ends. Do not add &.\n"
        "- Long output is saved to a file, and you get its beginning and the path.\n"
        "- To read, find, search or edit files, use the dedicated tools where they are offered.\n"
        "- Quote paths with spaces. Join dependent commands with &&; make separate calls for independent ones. "
        "description says in a few words what the command does."
    )
    input_type = BashInput
    schema: ClassVar[JsonSchema] = input_schema(
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
        """Save outputs that are too long to show in `results_folder`."""
        self._shell = shell
        self._background = background
        self._results_folder = results_folder
        self._limits = limits

    async def run(self, request: BashInput, *, call_id: str) -> ToolResult:
        """Run the command to its end, or start it in the background."""
        command = request.command
        description = request.description or command
        try:
            if request.run_in_background and self._limits.has_background:
                return _in_background(self._background.start(command, call_id=call_id, description=description))
            seconds = self._limits.timeout_seconds(request.timeout)
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
        running = self._shell.start(command, spool)
        try:
            if await running.wait(seconds):
                return self._result(command, spool, await running.finish(moves=True))
            if self._may_continue(command):
                ids = {"task_id": task_id, "call_id": call_id, "description": description}
                return _in_background(self._background.adopt(running, command, **ids))
            await running.end()
        except BaseException:
            # End a command whose call was cancelled, and remove its output file.
            try:
                await running.end()
            finally:
                running.spool.discard()
            raise
        return _failure(TERMINATED, spool, f"Command timed out after {shown_output.format_timeout(seconds)}")

    def _may_continue(self, command: str) -> bool:
        # A command that starts with `sleep` has nothing worth continuing.
        return self._limits.has_background and exit_codes.first_name(command) != "sleep"

    def _result(self, command: str, spool: OutputSpool, end: CommandEnd) -> ToolResult:
        meaning = exit_codes.meaning(command, end.exit_code)
        if end.exit_code and meaning is None:
            return _failure(end.exit_code, spool)
        head = shown_output.trim_output(spool.head())
        note = f"\nShell cwd was reset to {self._shell.project}" if end.was_reset else ""
        image = _image(head) if spool.is_held else None
        detail: dict[str, object] = {"stdout": head, "stderr": note, "interrupted": False, "isImage": image is not None}
        if meaning is not None:
            detail["returnCodeInterpretation"] = meaning
        detail["noOutputExpected"] = exit_codes.is_silent(command)
        if image is not None:
            return ToolResult([image], detail=detail)
        if not spool.is_held:
            detail |= {"persistedOutputPath": str(spool.path), "persistedOutputSize": spool.kept_bytes}
        text = head if spool.is_held else shown_output.persisted_output(head, _describe_saved(spool))
        content = "\n".join(part for part in (text, note.strip()) if part) or shown_output.NO_OUTPUT
        return ToolResult(content, detail=detail, names_success=True)


def _in_background(task: BackgroundTask) -> ToolResult:
    detail = {"stdout": "", "stderr": "", "interrupted": False, "isImage": False, "noOutputExpected": False}
    content = (
        f"Command running in background with ID: {task.id}. Output is being written to: {task.spool.path}. "
        "You will be notified when it completes. To check interim output, use Read on that file path."
    )
    if task.spool.fault is not None:
        content = (
            f"Command running in background with ID: {task.id}. You will be notified when it completes. Its output "
            f"cannot be written to a file ({task.spool.fault}): read the end of it with TaskOutput."
        )
    return ToolResult(content, detail={**detail, "backgroundTaskId": task.id}, names_success=True)


def _failure(exit_code: int, spool: OutputSpool, remark: str = "") -> ToolResult:
    first = "\n".join(part for part in (f"Exit code {exit_code}", remark) if part)
    head = shown_output.trim_output(spool.head()) if spool.is_held else spool.head()
    tail = spool.tail().rstrip()
    characters = len(head) if spool.is_held else spool.characters - len(spool.tail()) + len(tail)
    start = f"{first}\n{head}" if head else first
    where = "" if spool.is_held else f"; {_describe_saved(spool)}"
    return failed_result(shown_output.cut_middle(start, tail, characters + len(start) - len(head), where=where))


def _describe_saved(spool: OutputSpool) -> str:
    summary = f"Output too large ({shown_output.format_size(spool.size_bytes)})."
    if spool.fault is not None:
        return f"{summary} It could not be saved: {spool.fault}"
    if spool.size_bytes > KEPT_LIMIT_BYTES:
        return f"{summary} Its first {shown_output.format_size(KEPT_LIMIT_BYTES)} are saved to: {spool.path}"
    return f"{summary} Full output saved to: {spool.path}"


def _image(text: str) -> ContentBlock | None:
    """Return the image block for an output that is one data URL of an image; None for anything else."""
    match = re.fullmatch(_IMAGE, text)
    if match is None:
        return None
    import base64
    import binascii

    data = "".join(match[2].split())
    try:
        base64.b64decode(data, validate=True)
    except binascii.Error:
        return None  # the API would reject every request that has it
    return {"type": "image", "source": {"type": "base64", "media_type": match[1], "data": data}}
