"""The output of `bridle-agent --help`, generated from the table of flags."""

from __future__ import annotations

from bridle.agent.command_line.flags import FLAGS, Flag, FlagArgument, Handling

# One line for each flag that is used.
DESCRIPTIONS = {
    "print": "print the answer and exit; implied by --input-format stream-json and without a terminal",
    "version": "print the protocol version and the version of bridle-agent",
    "help": "print this help",
    "verbose": "print every event, not only the result; required by stream-json",
    "output_format": "text, json or stream-json",
    "input_format": "text, or stream-json: one JSON message per line on standard input",
    "include_partial_messages": "also print the server-sent events of answers",
    "include_hook_events": "print an event when a hook starts and ends",
    "replay_user_messages": "echo the messages of standard input when they are processed",
    "model": "haiku, sonnet, opus, fable, default, or a full name",
    "fallback_model": "the model to use when the first is overloaded; separate several with commas",
    "effort": "low, medium, high, xhigh or max",
    "max_thinking_tokens": "the thinking budget in tokens; 0 disables thinking",
    "thinking": "adaptive or disabled",
    "thinking_display": "summarized or omitted: how the endpoint shows thoughts",
    "task_budget": "how many tokens the endpoint tells the model to spend on the task",
    "betas": "beta features of the endpoint; only context-1m-2025-08-07",
    "max_turns": "stop with an error after this many requests",
    "max_budget_usd": "stop with an error when this amount is spent",
    "json_schema": "return structured output that matches this JSON Schema",
    "tools": 'the tools to offer; "" for none, default for the usual ones',
    "allowedTools": 'tools and commands that need no permission, such as "Bash(git *)" Edit',
    "disallowedTools": "tools and commands that are denied; a bare name removes the tool",
    "permission_mode": "default, acceptEdits, plan, dontAsk, auto or bypassPermissions",
    "permission_prompt_tool": "what decides about calls that need approval: stdio for the host, or mcp__server__tool",
    "dangerously_skip_permissions": "allow everything; refused as root unless IS_SANDBOX=1",
    "allow_dangerously_skip_permissions": "let a host switch to bypassPermissions later",
    "add_dir": "additional working folders",
    "settings": "additional settings: a file or JSON",
    "setting_sources": "the settings to load: user, project, local; empty for none",
    "system_prompt": "replace the system prompt",
    "system_prompt_file": "replace the system prompt by the content of a file",
    "append_system_prompt": "append to the system prompt",
    "append_system_prompt_file": "append the content of a file to the system prompt",
    "exclude_dynamic_system_prompt_sections": "move sections that differ between machines to the first message",
    "continue": "resume the newest session of this folder",
    "resume": "resume the session with this id or title",
    "resume_session_at": "drop the messages after this one from the resumed session",
    "fork_session": "resume a copy under a new id",
    "session_id": "the id of the session, a UUID",
    "no_session_persistence": "do not write a transcript",
    "session_mirror": "also print the lines of the transcript, for a host that stores them",
    "name": "the title of the session",
    "plugin_dir": "load skills and commands of a plugin",
    "agent": "the agent whose prompt, tools and model the main thread has",
    "agents": "definitions of sub-agents, as JSON: name, description, prompt",
    "disable_slash_commands": "disable skills and slash commands",
    "bare": "load no settings, instructions or skills; offer only Bash, Edit and Read",
    "safe_mode": "load no settings, instructions or skills",
    "debug": "write a debug log",
    "debug_file": "the path of the debug log",
    "mcp_config": "MCP servers, from files or as JSON",
    "strict_mcp_config": "use no other MCP servers",
}

_HEAD = """\
Usage: bridle-agent [options] [prompt]
       bridle-agent auth login|status|logout
       bridle-agent acp [options]      for editors: the Agent Client Protocol

A replacement for the `claude` program on any Messages API or chat endpoint,
for clients that use its flags and stream-json.
"""


# The width of the lists at the end.
_WIDTH = 90


def text() -> str:
    """Return the help text."""
    from textwrap import fill

    used = [f"  {_usage(flag)}\n      {DESCRIPTIONS[flag.key]}" for flag in FLAGS if flag.handling is Handling.USED]
    lists = [
        fill(f"{title}: {', '.join(_names(handling))}", _WIDTH, subsequent_indent="  ", break_on_hyphens=False)
        for title, handling in (("Accepted and ignored", Handling.IGNORED), ("Not supported", Handling.REFUSED))
    ]
    return "\n".join([_HEAD, *used, "", *lists])


def _names(handling: Handling) -> list[str]:
    return [name for flag in FLAGS if flag.handling is handling for name in flag.names]


def _usage(flag: Flag) -> str:
    names = ", ".join(flag.names)
    match flag.takes:
        case FlagArgument.NOTHING:
            return names
        case FlagArgument.VALUE:
            return f"{names} VALUE"
        case FlagArgument.MAYBE:
            return f"{names} [VALUE]"
        case FlagArgument.LIST:
            return f"{names} VALUES..."
