"""Messages for the model and the host when a call is not allowed.

The first sentence is Claude Code's, which clients match. What follows is our own and names the rule that would allow
the call.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

DENIED_FOLDER: Final = (
    "<tool_use_error>File is in a directory that is denied by your permission settings.</tool_use_error>"
)
BACKGROUND: Final = (
    "This command uses the `&` background operator, which defers execution past approval-time safety checks."
    " Approve only if you trust it."
)
GIT_ELSEWHERE: Final = (
    "This command changes directory before running git, which can execute untrusted hooks from the target directory."
    " Approve only if you trust it."
)
WRITE_ELSEWHERE: Final = (
    "Compound command contains cd with write operation - manual approval required to prevent path resolution bypass"
)
NEEDS_APPROVAL: Final = "This command requires approval"

# A longer rule is not suggested, because users copy suggested rules.
_RULE_LIMIT_CHARACTERS: Final = 200
_SOURCES: Final = {
    "flag": "cliArg",
    "local": "localSettings",
    "managed": "policySettings",
    "project": "projectSettings",
    "settings": "flagSettings",
    "user": "userSettings",
}
_ACTIONS: Final = {
    "base64": "encode/decode files from",
    "cat": "concatenate files from",
    "cd": "change directories to",
    "cp": "copy files to/from",
    "cut": "extract columns from files in",
    "diff": "compare files from",
    "file": "examine file types in",
    "find": "search files in",
    "grep": "search for patterns in files from",
    "head": "read the beginning of files from",
    "ls": "list files in",
    "md5sum": "compute MD5 checksums for files in",
    "mkdir": "create directories in",
    "mv": "move files to/from",
    "nl": "number lines in files from",
    "paste": "merge files from",
    "rm": "remove files from",
    "rmdir": "remove directories from",
    "sed": "edit files in",
    "sort": "sort contents of files from",
    "stat": "read file stats from",
    "strings": "extract strings from files in",
    "tail": "read the end of files from",
    "touch": "create or modify files in",
    "wc": "count lines/words/bytes in files from",
}


def isolated(worktree: str) -> str:
    return (
        f"<tool_use_error>This agent is isolated in the worktree {worktree}. Edit the worktree copy of this file"
        " instead of the shared-checkout path.</tool_use_error>"
    )


def bypass_as_root(source: str) -> str:
    return f"{source} cannot be used with root/sudo privileges for security reasons"


def denied_tool(tool: str) -> str:
    """Return the message for a rule that denies every call of a tool."""
    return f"Permission to use {tool} has been denied."


def denied_call(tool: str, specifier: str | None) -> str:
    """Return the message for a rule that denies this call."""
    return f"Permission to use {tool} with {specifier} has been denied." if specifier else denied_tool(tool)


def denied_agent(kind: str | None, rule: str, source: str) -> str:
    """Return the message for a rule that denies an agent type."""
    return f"Agent type '{kind}' has been denied by permission rule '{rule}' from {_SOURCES.get(source, source)}."


def denied_command(command: str) -> str:
    """Return the message for a rule that denies this command."""
    return f"Permission to use Bash with command {command} has been denied."


def denied_files(command: str) -> str:
    """Return the message for a command that could show or change a file which a rule denies."""
    return (
        f"{denied_command(command)} It uses, or could show, a file that a rule denies. Leave such files out: name the"
        " files or folders that you need, or exclude them: grep --exclude=NAME"
        " --exclude-dir=NAME, rg -g '!NAME', git ... -- . ':(exclude,glob)**/NAME' ':(exclude,glob)**/NAME/**'."
    )


def denied_search(path: str) -> str:
    """Return the message for a rule that denies searching a path."""
    return f"Permission to read {path} has been denied."


def dont_ask(tool: str, advice: str) -> str:
    """Return the message for a call that would need approval in don't ask mode."""
    first = f"Permission to use {tool} has been denied because Claude Code is running in don't ask mode."
    return (
        f"{first} {advice} You may use another tool for the same purpose if the denial does not apply to it, but do not"
        " work around the denial. If you cannot continue without this call, stop and tell the user what you wanted"
        " to do and why."
    )


def plan_write(path: str) -> str:
    return f"Cannot write to {path} while in plan mode."


def ask_read(path: str) -> str:
    """Return the request for approval to read a file."""
    return f"Claude requested permissions to read from {path}, but you haven't granted it yet."


def ask_write(path: str) -> str:
    """Return the request for approval to change a file."""
    return f"Claude requested permissions to write to {path}, but you haven't granted it yet."


def ask_protected(path: str) -> str:
    """Return the request for approval to change a protected file."""
    return f"Claude requested permissions to edit {path} which is a sensitive file."


def ask_tool(tool: str) -> str:
    """Return the request for approval to use a tool."""
    return f"Claude requested permissions to use {tool}, but you haven't granted it yet."


def no_path(tool: str) -> str:
    """Return the message for a path that cannot be resolved."""
    return f"Claude requested permissions to use {tool}, but its path cannot be resolved."


def link_loop(tool: str, path: str) -> str:
    """Return the error for a path whose links lead to each other: no rule could allow it."""
    error = f"ELOOP: too many symbolic links encountered, statx '{path}'"
    return error if tool == "Read" else f"<tool_use_error>Error calling tool ({tool}): {error}</tool_use_error>"


def blocked(program: str, path: str, folders: Iterable[str]) -> str:
    """Return the message for a command that uses a path outside the allowed folders."""
    action = _ACTIONS.get(program, "access files in")
    return _confined(f"{program} in '{path}' was blocked.", action, folders)


def blocked_redirect(path: str, folders: Iterable[str], *, is_read: bool) -> str:
    """Return the message for a redirection outside the allowed folders."""
    if is_read:
        return _confined(f"Input redirection from '{path}' was blocked.", "read files in", folders)
    return _confined(f"Output redirection to '{path}' was blocked.", "write to files in", folders)


def dangerous_removal(program: str, path: str) -> str:
    """Return the message for a removal of a working directory or its ancestor."""
    return f"Dangerous {program} operation on working directory or its ancestor: {path}"


def ask_parts(texts: list[str]) -> str:
    """Return the request for approval of some parts of a command."""
    verb = "part requires" if len(texts) == 1 else "parts require"
    return f"This Bash command contains multiple operations. The following {verb} approval: {', '.join(texts)}"


def advise(*rules: str) -> str:
    """Return how to allow a call: the flag with the missing rules, or the settings."""
    short = [rule for rule in dict.fromkeys(rules) if len(rule) <= _RULE_LIMIT_CHARACTERS and rule.isprintable()]
    if len(short) < len(set(rules)) or not rules:
        return "To allow it, add a rule with --allowedTools or in permissions.allow of the settings."
    flags = " ".join("'" + rule.replace("'", "'\\''") + "'" for rule in short)
    return f"To allow it: --allowedTools {flags}, or the same in permissions.allow of the settings."


def advise_simpler() -> str:
    """Return how to allow a command that cannot be analyzed."""
    return (
        "No pattern allows a command that cannot be analyzed before it runs. Write it as separate calls with plain"
        " words, or allow every command with --allowedTools Bash."
    )


def _confined(first: str, action: str, folders: Iterable[str]) -> str:
    shown = ", ".join(f"'{folder}'" for folder in folders)
    allowed = f"the allowed working directories for this session: {shown}"
    return f"{first} For security, Claude Code may only {action} {allowed}."
