"""What a command line asks for: every flag in its own type, checked before anything starts."""

from __future__ import annotations

import msgspec

from bridle.agent.command_line.flags import Given
from bridle.agent.model.api.models import EFFORTS
from bridle.agent.permissions.rules.syntax import split_list
from bridle.errors import UsageError


class Options(msgspec.Struct, frozen=True):
    """One run, as asked for."""

    prompt: str | None
    output_format: str = "text"
    is_stream: bool = False
    """Whether messages come over standard input."""
    is_verbose: bool = False
    shows_frames: bool = False
    replays: bool = False
    model: str | None = None
    fallback_models: tuple[str, ...] = ()
    effort: str | None = None
    thinking_tokens: int | None = None
    betas: tuple[str, ...] = ()
    max_turns: int | None = None
    max_budget_usd: float | None = None
    json_schema: str | None = None
    tools: tuple[str, ...] | None = None
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    permission_mode: str | None = None
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
    continues: bool = False
    resume: str | None = None
    resume_at: str | None = None
    forks: bool = False
    session_id: str | None = None
    keeps_session: bool = True
    name: str | None = None
    plugin_dirs: tuple[str, ...] = ()
    has_commands: bool = True
    is_bare: bool = False
    is_safe: bool = False
    debug: str | None = None
    """What `--debug` was given; empty for all."""
    debug_file: str | None = None
    mcp_configs: tuple[str, ...] = ()
    passed_over: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    """What people should know before it starts."""


def options(given: Given) -> Options:
    """Read a command line; UsageError in the words that programs know says what is wrong with it."""
    output_format, input_format = given.text("output_format") or "text", given.text("input_format") or "text"
    is_stream = input_format == "stream-json"
    if is_stream and output_format != "stream-json":
        raise UsageError("Error: --input-format=stream-json requires output-format=stream-json.")
    if output_format == "stream-json" and not given.on("verbose"):
        raise UsageError("Error: When using --print, --output-format=stream-json requires --verbose")
    if given.on("replay_user_messages") and not is_stream:
        raise UsageError("Error: --replay-user-messages requires --input-format=stream-json.")
    if given.on("include_partial_messages") and output_format != "stream-json":
        raise UsageError("Error: --include-partial-messages requires --print and --output-format=stream-json.")
    resume = given.values.get("resume")
    if resume is True:
        raise UsageError(
            "Error: --resume requires a valid session ID or session title when used with --print."
            " Usage: claude -p --resume <session-id|title>"
        )
    debug = given.values.get("debug")
    return Options(
        prompt=given.prompt,
        output_format=output_format,
        is_stream=is_stream,
        is_verbose=given.on("verbose"),
        shows_frames=given.on("include_partial_messages"),
        replays=given.on("replay_user_messages"),
        model=given.text("model"),
        fallback_models=_names(given.text("fallback_model")),
        effort=_effort(given.text("effort")),
        thinking_tokens=_thinking(given),
        betas=tuple(split_list(given.texts("betas") or ())),
        max_turns=_turns(given.text("max_turns")),
        max_budget_usd=_budget(given.text("max_budget_usd")),
        json_schema=given.text("json_schema"),
        tools=_tools(given),
        allowed_tools=tuple(split_list(given.texts("allowedTools") or ())),
        disallowed_tools=tuple(split_list(given.texts("disallowedTools") or ())),
        permission_mode=given.text("permission_mode"),
        skips_permissions=given.on("dangerously_skip_permissions"),
        may_skip_permissions=given.on("allow_dangerously_skip_permissions"),
        add_dirs=given.texts("add_dir") or (),
        settings=given.text("settings"),
        setting_sources=_sources(given.text("setting_sources")),
        system_prompt=given.text("system_prompt"),
        system_prompt_file=given.text("system_prompt_file"),
        append_system_prompt=given.text("append_system_prompt"),
        append_system_prompt_file=given.text("append_system_prompt_file"),
        excludes_dynamic=given.on("exclude_dynamic_system_prompt_sections"),
        continues=given.on("continue"),
        resume=resume,
        resume_at=given.text("resume_session_at"),
        forks=given.on("fork_session"),
        session_id=given.text("session_id"),
        keeps_session=not given.on("no_session_persistence"),
        name=given.text("name"),
        plugin_dirs=given.texts("plugin_dir") or (),
        has_commands=not given.on("disable_slash_commands"),
        is_bare=given.on("bare"),
        is_safe=given.on("safe_mode"),
        debug="" if debug is True else debug,
        debug_file=given.text("debug_file"),
        mcp_configs=given.texts("mcp_config") or (),
        passed_over=given.passed_over,
        warnings=_warnings(given),
    )


def _effort(text: str | None) -> str | None:
    return text if text in EFFORTS else None


def _warnings(given: Given) -> tuple[str, ...]:
    effort = given.text("effort")
    if effort is None or effort in EFFORTS:
        return ()
    return (f"Warning: Unknown --effort value '{effort}', ignoring it. Valid values: {', '.join(EFFORTS)}",)


def _tools(given: Given) -> tuple[str, ...] | None:
    values = given.texts("tools")
    return None if values is None else tuple(split_list(values))


def _sources(text: str | None) -> tuple[str, ...] | None:
    if text is None:
        return None
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


def _turns(text: str | None) -> int | None:
    """A limit that is no number is none, as programs have seen it."""
    number = _number(text)
    return int(number) if number is not None and number >= 1 else None


def _budget(text: str | None) -> float | None:
    if text is None:
        return None
    number = _number(text)
    if number is None or number <= 0:
        raise UsageError("error: option '--max-budget-usd <amount>' argument must be a number above 0")
    return number


def _thinking(given: Given) -> int | None:
    """How much the model may think: a number, or 0 for not at all; None leaves it to the environment."""
    number = _number(given.text("max_thinking_tokens"))
    if number is not None:
        return max(0, int(number))
    return 0 if given.text("thinking") == "disabled" else None


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else None
    except ValueError:
        return None
    return None if value is None or value != value or abs(value) == float("inf") else value
