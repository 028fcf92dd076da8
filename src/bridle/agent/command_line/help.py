"""What `bridle-agent --help` prints: made from the table of flags, so that it cannot say anything else."""

from __future__ import annotations

from bridle.agent.command_line.flags import FLAGS, Fate, Flag, Takes

# One line for each flag that does something.
SAYS = {
    "print": "answer a prompt and end; also meant by --input-format stream-json, and without a terminal",
    "version": "the version of the protocol, and of this program",
    "help": "this text",
    "verbose": "every event, not only the result; stream-json needs it",
    "output_format": "text, json or stream-json",
    "input_format": "text, or stream-json: messages over standard input, one JSON document a line",
    "include_partial_messages": "also the pieces of an answer as they come",
    "replay_user_messages": "give the messages of standard input back as they are taken",
    "model": "haiku, sonnet, opus, fable, default, or a full name",
    "fallback_model": "who goes on when the model is overloaded; several with commas",
    "effort": "low, medium, high, xhigh or max",
    "max_thinking_tokens": "how much the model may think; 0 for not at all",
    "thinking": "adaptive or disabled",
    "betas": "more beta headers for the endpoint",
    "max_turns": "end with an error after so many requests",
    "max_budget_usd": "end with an error when this is spent",
    "json_schema": "the answer must be data that fits this JSON Schema",
    "tools": "the tools to offer; an empty text for none, default for the usual ones",
    "allowedTools": 'what may run unasked, as "Bash(git *)" Edit',
    "disallowedTools": "what must not run; a bare name takes the tool away",
    "permission_mode": "default, acceptEdits, plan, dontAsk, auto or bypassPermissions",
    "dangerously_skip_permissions": "everything may run; refused as root unless IS_SANDBOX=1",
    "allow_dangerously_skip_permissions": "a host may switch to that later",
    "add_dir": "more folders to read and, where allowed, write",
    "settings": "more settings: a file or JSON",
    "setting_sources": "which settings count: user, project, local; empty for none",
    "system_prompt": "in place of the usual one",
    "system_prompt_file": "the same, from a file",
    "append_system_prompt": "after the usual one",
    "append_system_prompt_file": "the same, from a file",
    "exclude_dynamic_system_prompt_sections": "what differs from machine to machine goes into the first message",
    "continue": "go on with the newest conversation of this folder",
    "resume": "go on with the conversation of this id or title",
    "resume_session_at": "leave behind what was said after this message",
    "fork_session": "go on with a copy under a new id",
    "session_id": "the id of the conversation, a UUID",
    "no_session_persistence": "write no transcript",
    "name": "the title of the conversation",
    "plugin_dir": "skills and commands of a plugin",
    "disable_slash_commands": "no skills and no commands",
    "bare": "no settings, instructions and skills; only Bash, Edit and Read",
    "safe_mode": "no settings, instructions and skills",
    "debug": "write a debug log",
    "debug_file": "where to write it",
    "mcp_config": "MCP servers; they are named in init as failed, since this version starts none",
    "strict_mcp_config": "no other MCP servers",
}

_HEAD = """\
Usage: bridle-agent [options] [prompt]
       bridle-agent auth login|status|logout

Takes the place of the `claude` program for whatever drives it by flags and stream-json, on any Messages API endpoint.
"""


def text() -> str:
    """The whole help."""
    lines = [_HEAD]
    for flag in FLAGS:
        if flag.fate is Fate.USED:
            lines.append(f"  {_shown(flag)}\n      {SAYS[flag.key]}")
    passed = ", ".join(name for flag in FLAGS if flag.fate is Fate.PASSED for name in flag.names)
    refused = ", ".join(name for flag in FLAGS if flag.fate is Fate.REFUSED for name in flag.names)
    lines += ["", f"Accepted and passed over: {passed}", f"Not part of this program: {refused}"]
    return "\n".join(lines)


def _shown(flag: Flag) -> str:
    names = ", ".join(flag.names)
    match flag.takes:
        case Takes.NOTHING:
            return names
        case Takes.VALUE:
            return f"{names} VALUE"
        case Takes.MAYBE:
            return f"{names} [VALUE]"
        case Takes.LIST:
            return f"{names} VALUES..."
