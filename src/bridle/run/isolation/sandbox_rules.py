"""The rules that a user sets for sandboxes, and the sandbox that is in force. Values only."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, field

from bridle.ground.descendants.proc_files import PROCESS_LIMIT

AUTO = "auto"
"""The sandbox of this system, if it works."""
BWRAP = "bwrap"
SEATBELT = "seatbelt"
OFF = "off"
MODES = (AUTO, BWRAP, SEATBELT, OFF)

NETWORK_OPEN = "open"
NETWORK_NONE = "none"

NONE = "none"


class SandboxRules(Struct, frozen=True):
    """What the user allows and forbids beyond the defaults."""

    mode: str = AUTO
    writable: tuple[str, ...] = ()
    """More files and folders that agents and checks may change; `~` is the home folder."""
    hidden: tuple[str, ...] = ()
    """More files and folders that they cannot read."""
    network: str = NETWORK_OPEN
    """The network of checks."""
    environment: tuple[str, ...] = ()
    """More variables that they get; a final `*` matches any ending."""
    visible: tuple[str, ...] = ()
    """More files and folders of the home that they can read."""
    max_processes: int = PROCESS_LIMIT
    """The most processes that one of them may have at the same time, also without a sandbox; 0 disables the limit."""


class ChosenSandbox(Struct, frozen=True):
    """The sandbox of agents and checks, or the reason why they run without one."""

    name: str = NONE
    program: str | None = None
    reason: str = ""
    rules: SandboxRules = field(default_factory=SandboxRules)
    variables: frozenset[str] = frozenset()
    """Variables that the working copy itself defines, through direnv: agents and checks get them."""
    on_refused: Callable[[list[str]], object] | None = None
    """Called with the commands of Bridle that were refused inside, when the program has ended."""

    @property
    def is_on(self) -> bool:
        return self.name != NONE

    @property
    def description(self) -> str:
        """What a receipt says: its name, or `none` and why."""
        return f"{self.name}: {self.reason}" if self.reason else self.name
