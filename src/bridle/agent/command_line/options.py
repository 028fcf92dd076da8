"""The options of a run: every flag converted to its type and checked."""

from __future__ import annotations

import msgspec

from bridle.agent.command_line.flags import ParsedFlags
from bridle.agent.model.api.models import BETA_WIDE, EFFORTS
from bridle.agent.permissions.rules.syntax import split_list
from bridle.agent.sessions.session_request import SessionRequest
from bridle.errors import UsageError

BETAS = (BETA_WIDE,)
"""The values of `--betas` that Claude Code accepts."""


class Options(msgspec.Struct, frozen=True):
    """The options of one run."""

    prompt: str | None
    output_format: str = "text"
    is_stream: bool = False
    """Whether messages come over standard input."""
    is_verbose: bool = False
    shows_frames: bool = False
    replays: bool = False
    shows_hooks: bool = False
    model: str | None = None
    fallback_models: tuple[str, ...] = ()
    effort: str | None = None
    thinking_tokens: int | None = None
    thinking_display: str | None = None
    task_budget: int | None = None
    betas: tuple[str, ...] = ()
    max_turns: int | None = None
    max_budget_usd: float | None = None
    json_schema: str | None = None
    tools: tuple[str, ...] | None = None
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    permission_mode: str | None = None
    prompt_tool: str | None = None
    """What decides about calls that need approval: `stdio` for the host, or the name of an MCP tool."""
    skips_permissions: bool = False
    may_skip_permissions: bool = False
    add_dirs: tuple[str, ...] = ()
    settings: str | None = None
    setting_sources: tuple[str, ...] | None = None
    system_prompt: str | None = None
    system_prompt_file: str | None = None
    append_system_prompt: str | None = None
    append_system_prompt_file: str | None = None
    excludes_dynamic: bool = False
    session: SessionRequest = SessionRequest()
    mirrors: bool = False
    """Whether the lines of the transcript are printed too."""
    plugin_dirs: tuple[str, ...] = ()
    agent: str | None = None
    """The agent of the main thread."""
    agents: str | None = None
    """Definitions of sub-agents, as JSON."""
    has_commands: bool = True
    is_bare: bool = False
    is_safe: bool = False
    debug: str | None = None
    """The value of `--debug`; empty without one."""
    debug_file: str | None = None
    mcp_configs: tuple[str, ...] = ()
    is_strict_mcp: bool = False
    """Whether only the MCP servers of flags count."""
    ignored_flags: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    """Printed on stderr before the run."""


def make_options(flags: ParsedFlags) -> Options:
    """Convert a command line. Raises UsageError with the messages that clients of Claude Code know."""
    output_format = flags.text("output_format") or "text"
    is_stream = flags.text("input_format") == "stream-json"
    _check_formats(flags, output_format, is_stream=is_stream)
    return Options(
        prompt=flags.prompt,
        output_format=output_format,
        is_stream=is_stream,
        is_verbose=flags.on("verbose"),
        shows_frames=flags.on("include_partial_messages"),
        replays=flags.on("replay_user_messages"),
        shows_hooks=flags.on("include_hook_events"),
        prompt_tool=flags.text("permission_prompt_tool"),
        model=flags.text("model"),
        fallback_models=_names(flags.text("fallback_model")),
        effort=_effort(flags.text("effort")),
        thinking_tokens=_thinking(flags),
        thinking_display=flags.text("thinking_display"),
        task_budget=_task_budget(flags.text("task_budget")),
        betas=tuple(name for name in _beta_names(flags) if name in BETAS),
        max_turns=_turns(flags.text("max_turns")),
        max_budget_usd=_budget(flags.text("max_budget_usd")),
        json_schema=flags.text("json_schema"),
        tools=_tools(flags),
        allowed_tools=tuple(split_list(flags.texts("allowedTools") or ())),
        disallowed_tools=tuple(split_list(flags.texts("disallowedTools") or ())),
        permission_mode=flags.text("permission_mode"),
        skips_permissions=flags.on("dangerously_skip_permissions"),
        may_skip_permissions=flags.on("allow_dangerously_skip_permissions"),
        add_dirs=flags.texts("add_dir") or (),
        settings=flags.text("settings"),
        setting_sources=_sources(flags.text("setting_sources")),
        system_prompt=flags.text("system_prompt"),
        system_prompt_file=flags.text("system_prompt_file"),
        append_system_prompt=flags.text("append_system_prompt"),
        append_system_prompt_file=flags.text("append_system_prompt_file"),
        excludes_dynamic=flags.on("exclude_dynamic_system_prompt_sections"),
        session=_session(flags),
        mirrors=flags.on("session_mirror") and output_format == "stream-json",
        plugin_dirs=flags.texts("plugin_dir") or (),
        agent=flags.text("agent"),
        agents=flags.text("agents"),
        has_commands=not flags.on("disable_slash_commands"),
        is_bare=flags.on("bare"),
        is_safe=flags.on("safe_mode"),
        debug="" if flags.values.get("debug") is True else flags.text("debug"),
        debug_file=flags.text("debug_file"),
        mcp_configs=flags.texts("mcp_config") or (),
        is_strict_mcp=flags.on("strict_mcp_config"),
        ignored_flags=flags.ignored,
        warnings=_warnings(flags),
    )


def _check_formats(flags: ParsedFlags, output_format: str, *, is_stream: bool) -> None:
    if is_stream and output_format != "stream-json":
        raise UsageError("Error: --input-format=stream-json requires output-format=stream-json.")
    if output_format == "stream-json" and not flags.on("verbose"):
        raise UsageError("Error: When using --print, --output-format=stream-json requires --verbose")
    if flags.on("replay_user_messages") and not is_stream:
        raise UsageError("Error: --replay-user-messages requires --input-format=stream-json.")
    if flags.on("include_partial_messages") and output_format != "stream-json":
        raise UsageError("Error: --include-partial-messages requires --print and --output-format=stream-json.")


def _session(flags: ParsedFlags) -> SessionRequest:
    if flags.values.get("resume") is True and not flags.on("continue"):
        raise UsageError(
            "Error: --resume requires a valid session ID or session title when used with --print."
            " Usage: claude -p --resume <session-id|title>"
        )
    if flags.text("resume_session_at") and not flags.on("resume"):
        raise UsageError("Error: --resume-session-at requires --resume")
    return SessionRequest(
        session_id=flags.text("session_id") or None,
        resume=None if flags.on("continue") else flags.text("resume"),
        continues=flags.on("continue"),
        forks=flags.on("fork_session"),
        resume_at=flags.text("resume_session_at") or None,
        name=flags.text("name"),
        persists=not flags.on("no_session_persistence"),
    )


def _effort(text: str | None) -> str | None:
    return text if text in EFFORTS else None


def _warnings(flags: ParsedFlags) -> tuple[str, ...]:
    effort, found = flags.text("effort"), []
    if effort is not None and effort not in EFFORTS:
        found.append(f"Warning: Unknown --effort value '{effort}', ignoring it. Valid values: {', '.join(EFFORTS)}")
    found += [
        f"Warning: Beta header '{name}' is not allowed. Only the following betas are supported: {', '.join(BETAS)}"
        for name in _beta_names(flags)
        if name not in BETAS
    ]
    return tuple(found)


def _beta_names(flags: ParsedFlags) -> list[str]:
    return split_list(flags.texts("betas") or ())


def _tools(flags: ParsedFlags) -> tuple[str, ...] | None:
    values = flags.texts("tools")
    return None if values is None else tuple(split_list(values))


def _sources(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(name.strip() for name in text.split(",")) if text else ()


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


def _turns(text: str | None) -> int | None:
    """Return the limit; anything but a number from 1 up means no limit, as in Claude Code."""
    number = _number(text)
    return int(number) if number is not None and number >= 1 else None


def _budget(text: str | None) -> float | None:
    if text is None:
        return None
    number = _number(text)
    if number is None or number <= 0:
        raise UsageError("error: option '--max-budget-usd <amount>' argument must be a number above 0")
    return number


def _task_budget(text: str | None) -> int | None:
    if text is None:
        return None
    number = _number(text)
    if number is None or number < 1 or number != int(number):
        raise UsageError("error: option '--task-budget <tokens>' argument must be an integer of at least 1")
    return int(number)


def _thinking(flags: ParsedFlags) -> int | None:
    """Return the thinking budget; 0 disables thinking, None leaves it to the environment, as a number below 0 does."""
    number = _number(flags.text("max_thinking_tokens"))
    if number is not None and number >= 0:
        return int(number)
    return 0 if flags.text("thinking") == "disabled" else None


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else None
    except ValueError:
        return None
    return None if value is None or value != value or abs(value) == float("inf") else value
