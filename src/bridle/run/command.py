"""Build argv and environment of an agent from a request. Pure; one function for each agent.

Flags that take lists are written with `=` and commas, and the prompt comes last after `--`, so that no
prompt, tool pattern or id can be read as another flag.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from msgspec import Struct

from bridle.errors import UsageError
from bridle.run.request import Auth, Mode, Permission, Reasoning, Request

# One argument may have 128 KiB on Linux. A longer prompt is sent over stdin where the agent supports that.
PROMPT_ARGUMENT_LIMIT_BYTES = 100 * 1024

KEY_VARIABLE = "ANTHROPIC_API_KEY"
CLAUDE_LIKE = ("claude", "bridle-agent")  # agents that take Claude Code's flags and keep its sessions

MODE_TOOLS: dict[Mode, tuple[str, ...]] = {
    Mode.PLANNER: ("Read", "Bash", "StructuredOutput"),
    Mode.CODER: ("Read", "Write", "Edit", "Glob", "Grep", "Bash", "Skill", "StructuredOutput"),
    Mode.SUMMARIZER: ("Read", "Glob", "Grep", "StructuredOutput"),
}

# The model's largest thinking budget in tokens, and the share of it for each level.
THINKING_BUDGET = {"haiku": 16_384, "sonnet": 32_768, "opus": 16_384}
REASONING_SHARE = {Reasoning.NONE: 0.0, Reasoning.LOW: 0.25, Reasoning.MED: 0.5, Reasoning.HIGH: 1.0}
# Models with adaptive thinking ignore the budget and take an effort; the others the other way round.
_CLAUDE_EFFORT = {Reasoning.LOW: "low", Reasoning.MED: "medium", Reasoning.HIGH: "high"}
_CODEX_EFFORT = {Reasoning.NONE: "minimal", Reasoning.LOW: "low", Reasoning.MED: "medium", Reasoning.HIGH: "high"}

# Variables of a surrounding session. An agent that inherits them is taken for a part of that session.
_SESSION_VARIABLES = (
    "AGENT_SESSION_ID",
    "BABYSITTER_SESSION_ID",
    "CLAUDECODE",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_ENV_FILE",
    "CODEX_SESSION_ID",
    "CODEX_THREAD_ID",
)
# Variables that replace the login, in the order in which Claude Code checks them.
_OTHER_CREDENTIALS = (
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
)
_LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")


class Command(Struct, frozen=True):
    """The process to start, and its stdin."""

    argv: tuple[str, ...]
    environment: dict[str, str]
    auth: str
    """The credential that pays, for display."""
    is_conversation: bool = False
    """stdin is a stream-json conversation; the prompt is its first message."""
    stdin_text: str | None = None
    """The text for stdin, where the agent reads its prompt from there."""


def build_command(request: Request, program: str, inherited: Mapping[str, str]) -> Command:
    """Build the command; `program` is the executable, `inherited` Bridle's own environment."""
    builders: dict[str, Callable[[Request, str], Command]] = {
        "claude": _claude,
        "bridle-agent": _claude,
        "codex": _codex,
        "gemini": _gemini,
        "opencode": _opencode,
    }
    if request.agent not in builders:
        known = ", ".join(builders)
        raise UsageError(f"the agent must be one of {known}, got {request.agent!r}")
    command = builders[request.agent](request, program)
    environment, auth = _environment(request, inherited)
    return Command(command.argv, environment | command.environment, auth, command.is_conversation, command.stdin_text)


def tools_of(request: Request) -> tuple[str, ...]:
    """Return the allowed tools: those of the request, else those of its mode."""
    if request.allowed_tools is not None:
        return request.allowed_tools
    unneeded = () if request.json_schema is not None else ("StructuredOutput",)
    return tuple(name for name in MODE_TOOLS[request.mode] if name not in unneeded)


def thinking_tokens(model: str | None, reasoning: Reasoning | None) -> int | None:
    """Return the thinking budget for a model and a level; None leaves it to the agent, 0 turns thinking off."""
    if reasoning is None:
        return None
    family = next((name for name in THINKING_BUDGET if name in (model or "sonnet")), None)
    if family is None:
        return 0 if reasoning is Reasoning.NONE else None
    return int(THINKING_BUDGET[family] * REASONING_SHARE[reasoning])


def needs_conversation(request: Request) -> bool:
    """Return whether stdin must be a conversation: for corrections, or a prompt too long for argv."""
    too_long = len(request.prompt.encode("utf-8", "surrogatepass")) > PROMPT_ARGUMENT_LIMIT_BYTES
    return request.json_schema is not None or too_long


def _claude(request: Request, program: str) -> Command:
    talk = needs_conversation(request)
    argv = [program, "-p", "--output-format", "stream-json", "--verbose"]
    if talk:
        argv += ["--input-format", "stream-json"]
    if request.partial_messages:
        argv.append("--include-partial-messages")
    argv += _claude_surface(request)
    argv += _claude_session(request)
    if request.model is not None:
        argv.append(f"--model={request.model}")
    if request.system_prompt is not None:
        argv.append(f"--system-prompt={request.system_prompt}")
    if request.json_schema is not None:
        argv.append(f"--json-schema={json.dumps(dict(request.json_schema), separators=(',', ':'))}")
    argv += request.extra_args
    if not talk:
        argv += ["--", request.prompt]
    return Command(tuple(argv), _claude_reasoning(request), "", talk)


def _claude_reasoning(request: Request) -> dict[str, str]:
    """Return the variables for the level; unlike the flag `--effort`, every version of Claude Code accepts them."""
    budget = thinking_tokens(request.model, request.reasoning)
    variables = {} if budget is None else {"MAX_THINKING_TOKENS": str(budget)}
    if request.reasoning in _CLAUDE_EFFORT:
        variables["CLAUDE_CODE_EFFORT_LEVEL"] = _CLAUDE_EFFORT[request.reasoning]
    return variables


def _claude_surface(request: Request) -> list[str]:
    """Return the flags for available tools, pre-approved tools and the permission mode.

    A pattern such as `Bash(git *)` pre-approves a part of a tool; --tools needs the tool's bare name.
    """
    allowed = tools_of(request)
    bare = dict.fromkeys(name.partition("(")[0] for name in allowed if not name.startswith("mcp__"))
    flags = [f"--tools={','.join(bare)}", f"--allowedTools={','.join(allowed)}"]
    if request.permission is Permission.BYPASS:
        return [*flags, "--dangerously-skip-permissions"]
    return [*flags, "--permission-mode", request.permission.value]


def _claude_session(request: Request) -> list[str]:
    if request.resume is not None:
        return [f"--resume={request.resume}"]
    return ["--continue"] if request.continue_session else []


def _codex(request: Request, program: str) -> Command:
    _refuse_unsupported(request, json_schema="codex accepts a schema only as a file")
    argv = [program, "exec", "--json", "--skip-git-repo-check"]
    if request.permission is Permission.BYPASS:
        argv.append("--dangerously-bypass-approvals-and-sandbox")
    else:
        argv += ["--sandbox", "workspace-write" if request.mode is Mode.CODER else "read-only"]
    if request.model is not None:
        argv += ["--model", request.model]
    if request.reasoning is not None:
        argv += ["-c", f'model_reasoning_effort="{_CODEX_EFFORT[request.reasoning]}"']
    argv += request.extra_args
    if request.resume is not None:
        argv += ["resume", request.resume]
    elif request.continue_session:
        argv += ["resume", "--last"]
    return Command((*argv, "-"), {}, "", stdin_text=_with_system(request))


def _gemini(request: Request, program: str) -> Command:
    _refuse_unsupported(request, json_schema="gemini has no structured output")
    approval = {Permission.DEFAULT: "default", Permission.ACCEPT_EDITS: "auto_edit", Permission.BYPASS: "yolo"}
    argv = [program, "--output-format", "stream-json", "--approval-mode", approval[request.permission]]
    if request.model is not None:
        argv += ["--model", request.model]
    if request.resume is not None or request.continue_session:
        argv += ["--resume", request.resume or "latest"]
    argv += request.extra_args
    return Command((*argv, f"--prompt={_argument_prompt(request)}"), {}, "")


def _opencode(request: Request, program: str) -> Command:
    _refuse_unsupported(request, json_schema="opencode has no structured output")
    argv = [program, "run", "--format", "json"]
    if request.permission is Permission.BYPASS:
        argv.append("--auto")
    if request.model is not None:
        argv += ["--model", request.model]
    if request.resume is not None:
        argv += ["--session", request.resume]
    elif request.continue_session:
        argv.append("--continue")
    argv += request.extra_args
    return Command((*argv, "--", _argument_prompt(request)), {}, "")


def _refuse_unsupported(request: Request, *, json_schema: str) -> None:
    """Raise UsageError for options that this agent does not support."""
    if request.json_schema is not None:
        raise UsageError(f"--json-schema is not supported with {request.agent}: {json_schema}", remedy="Use claude.")
    if request.allowed_tools is not None:
        reason = f"{request.agent} cannot restrict its tools"
        raise UsageError(f"--allowed-tools is not supported with {request.agent}: {reason}", remedy="Use claude.")


def _with_system(request: Request) -> str:
    """Return system prompt and prompt as one text, for agents without a system prompt."""
    return f"{request.system_prompt}\n\n{request.prompt}" if request.system_prompt else request.prompt


def _argument_prompt(request: Request) -> str:
    text = _with_system(request)
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > PROMPT_ARGUMENT_LIMIT_BYTES:
        raise UsageError(
            f"the prompt for {request.agent} must have at most {PROMPT_ARGUMENT_LIMIT_BYTES} bytes, got {size}",
            remedy="Put the long part into a file and name the file in the prompt.",
        )
    return text


def _environment(request: Request, inherited: Mapping[str, str]) -> tuple[dict[str, str], str]:
    environment = {name: value for name, value in inherited.items() if name not in _SESSION_VARIABLES}
    environment |= request.environment
    return _choose_auth(request, environment)


def _choose_auth(request: Request, environment: dict[str, str]) -> tuple[dict[str, str], str]:
    """Prefer the login to a key that is in the environment: a forgotten key is a surprise bill."""
    if request.agent not in CLAUDE_LIKE:
        return environment, f"{request.agent}'s own"
    login = next((name for name in _OTHER_CREDENTIALS if environment.get(name)), "login")
    if not environment.get(KEY_VARIABLE):
        if request.auth is Auth.KEY:
            raise UsageError("auth is key, but ANTHROPIC_API_KEY is not set", remedy="Set it, or use the login.")
        return environment, login
    is_meant = KEY_VARIABLE in request.environment or _is_loopback(environment.get("ANTHROPIC_BASE_URL"))
    if request.auth is Auth.KEY or (request.auth is Auth.AUTO and is_meant):
        return environment, KEY_VARIABLE
    environment[KEY_VARIABLE] = ""  # empty counts as unset, and keeps a project's .env from setting it
    return environment, f"{login} ({KEY_VARIABLE} is set but not used; --auth key uses it)"


def _is_loopback(url: str | None) -> bool:
    try:
        return url is not None and urlsplit(url).hostname in _LOOPBACK_HOSTS
    except ValueError:
        return False
