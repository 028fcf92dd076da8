"""The policy that decisions depend on, and the possible verdicts."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from bridle.agent.permissions.rules.syntax import Rule

MODES: Final = ("acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan")


class Policy(msgspec.Struct, frozen=True):
    """All that a decision depends on, except the call itself."""

    cwd: str
    """The resolved folder of the project."""
    home: str
    mode: str = "default"
    allow: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    folders: tuple[str, ...] = ()
    """Further working folders, resolved."""
    shell_folder: str | None = None
    """The shell's current folder; None: the folder of the project."""
    checkout: str | None = None
    """Of an agent in a worktree: the working copy that it must not change, whose deny rules hold here as well."""

    @property
    def working_folders(self) -> tuple[str, ...]:
        """The folders in which reading, and with acceptEdits writing, needs no approval."""
        return (self.cwd, *self.folders)


class Allowed(msgspec.Struct, frozen=True):
    """The call may run."""

    reason: str
    """What allows it, for the debug log: `rule Bash(git *)`, `mode acceptEdits`, `read-only`."""
    path: str | None = None
    """The resolved path that a file tool may use, and no other."""


class Denied(msgspec.Struct, frozen=True):
    """The call must not run, and the host is not asked."""

    text: str
    """The message for the model."""
    is_listed: bool = True
    """Whether it counts among `permission_denials`."""


class NeedsApproval(msgspec.Struct, frozen=True):
    """The host must approve; without a host the call is denied with `text`."""

    reason: str
    """The reason, in Claude Code's text, which clients match."""
    advice: str = ""
    """How to allow it, in our own text."""
    blocked_path: str | None = None
    suggestions: tuple[dict[str, Any], ...] = ()
    """Permission updates that would allow it, as in the control protocol."""
    kind: str = "other"
    """The kind of reason: `rule`, `mode`, `workingDir`, `safetyCheck`, `subcommandResults`, `hook` or `other`."""
    path: str | None = None
    """The resolved path that a file tool may use once the host has approved, and no other."""

    @property
    def text(self) -> str:
        """The message for the model without a host."""
        return f"{self.reason} {self.advice}".rstrip()


Verdict = Allowed | Denied | NeedsApproval


def with_mode(policy: Policy, mode: str) -> Policy:
    return msgspec.structs.replace(policy, mode=mode)


def in_worktree(policy: Policy, worktree: str, checkout: str) -> Policy:
    """Return the policy of an agent that works in a worktree of `checkout`."""
    return msgspec.structs.replace(policy, cwd=worktree, shell_folder=None, checkout=checkout)


def with_shell_folder(policy: Policy, folder: str) -> Policy:
    return msgspec.structs.replace(policy, shell_folder=folder)
