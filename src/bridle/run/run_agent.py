"""One agent run for programs that import Bridle: a call with keywords instead of a request."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bridle.errors import UsageError
from bridle.ground.user_environment import user_environment
from bridle.run.isolation.choose_sandbox import check_owner, choose_sandbox
from bridle.run.isolation.sandbox_rules import AUTO, MODES, SandboxRules
from bridle.run.request import RUN_SECONDS, Auth, Limits, Mode, Permission, Reasoning, Request
from bridle.run.runner import run

if TYPE_CHECKING:
    from bridle.run.finished import Finished
    from bridle.wire.events.events import Event


async def run_agent(
    prompt: str,
    *,
    cwd: str | os.PathLike[str] = ".",
    agent: str = "claude",
    mode: str = "coder",
    model: str | None = None,
    reasoning: str | None = None,
    system_prompt: str | None = None,
    allowed_tools: Sequence[str] | None = None,
    json_schema: Mapping[str, Any] | None = None,
    resume: str | None = None,
    auth: str = "auto",
    permission: str = "default",
    sandbox: str = AUTO,
    timeout_seconds: float = RUN_SECONDS,
    task: str = "library",
    environment: Mapping[str, str] | None = None,
    on_event: Callable[[Event], None] | None = None,
    say: Callable[[str], None] | None = None,
) -> Finished:
    """Run an agent once, as `bridle ask` does, and return its record, its outcome and its cost.

    What the agent does not achieve is in `outcome`, and not an exception. Raises UsageError for a wrong argument.
    `environment` is that of the agent, by default this process's own; `on_event` gets each event as it comes, `say`
    messages for users.
    """
    _check_arguments(prompt, allowed_tools, timeout_seconds)
    variables = user_environment(os.environ if environment is None else environment)
    folder = Path(cwd).absolute()
    if sandbox not in MODES:
        raise UsageError(f"sandbox must be one of {', '.join(MODES)}, got {sandbox!r}")
    chosen = choose_sandbox(SandboxRules(mode=sandbox), variables, folder)
    check_owner(chosen, folder)
    request = Request(
        prompt=prompt,
        cwd=folder,
        agent=agent,
        mode=_one_of(Mode, mode, "mode"),
        task=task,
        system_prompt=system_prompt,
        allowed_tools=None if allowed_tools is None else tuple(allowed_tools),
        resume=resume,
        model=model,
        reasoning=None if reasoning is None else _one_of(Reasoning, reasoning, "reasoning"),
        json_schema=json_schema,
        auth=_one_of(Auth, auth, "auth"),
        permission=_one_of(Permission, permission, "permission"),
        limits=Limits(run_seconds=timeout_seconds),
        sandbox=chosen,
    )
    return await run(request, environment=variables, say=say or _ignore, on_event=on_event or _ignore)


def _check_arguments(prompt: object, allowed_tools: object, timeout_seconds: float) -> None:
    """Raise UsageError for what a program passes by mistake and no later check notices."""
    if not isinstance(prompt, str):
        raise UsageError(f"prompt must be a str, got {prompt!r}")
    if isinstance(allowed_tools, str):
        raise UsageError(
            f"allowed_tools must be a list of names, got the str {allowed_tools!r}",
            remedy=f"Pass {allowed_tools.split(',')!r}.",
        )
    if not 0 < timeout_seconds < float("inf"):
        raise UsageError(f"timeout_seconds must be above 0, got {timeout_seconds}")


def _one_of(kind: Any, value: str, name: str) -> Any:
    try:
        return kind(value)
    except ValueError:
        raise UsageError(f"{name} must be one of {', '.join(kind)}, got {value!r}") from None


def _ignore(_what: object) -> None:
    """Do nothing with a message or an event."""
