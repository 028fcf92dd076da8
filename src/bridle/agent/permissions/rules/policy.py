"""What a decision depends on, and what it can be."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from bridle.agent.permissions.rules.syntax import Rule

MODES: Final = ("acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan")


class Policy(msgspec.Struct, frozen=True):
    """Everything a decision depends on but the call itself."""

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
    """Where the shell stands now; None means in the folder of the project."""

    @property
    def working_folders(self) -> tuple[str, ...]:
        """Where reading, and with acceptEdits writing, is unasked."""
        return (self.cwd, *self.folders)


class Allowed(msgspec.Struct, frozen=True):
    """The call may run."""

    reason: str
    """What allows it, for the debug log: `rule Bash(git *)`, `mode acceptEdits`, `read-only`."""


class Denied(msgspec.Struct, frozen=True):
    """The call must not run, and nobody is asked."""

    text: str
    """What the model reads."""
    is_listed: bool = True
    """Whether it counts among `permission_denials`."""


class Asks(msgspec.Struct, frozen=True):
    """Somebody must be asked; where nobody can be, the call is denied with the text."""

    reason: str
    """Why, in the words that programs know."""
    advice: str = ""
    """What would let it through, in our words."""
    blocked_path: str | None = None
    suggestions: tuple[dict[str, Any], ...] = ()
    """Changes of the permissions that would let it through, as a host is shown them."""
    kind: str = "other"
    """What sort of reason it is: `rule`, `mode`, `workingDir`, `safetyCheck`, `subcommandResults` or `other`."""

    @property
    def text(self) -> str:
        """What the model reads where nobody can be asked."""
        return f"{self.reason} {self.advice}".rstrip()


Verdict = Allowed | Denied | Asks


def with_mode(policy: Policy, mode: str) -> Policy:
    """The same policy in another mode."""
    return msgspec.structs.replace(policy, mode=mode)


def with_shell_folder(policy: Policy, folder: str) -> Policy:
    """The same policy with the shell in another folder."""
    return msgspec.structs.replace(policy, shell_folder=folder)
