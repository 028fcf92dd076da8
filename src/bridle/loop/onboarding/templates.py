"""The first `bridle.toml` and the first plan of a repository, as texts. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from bridle.loop.onboarding.candidates import Candidate
from bridle.loop.plan.model import Item, Task
from bridle.loop.plan.render_plan import render
from bridle.loop.settings.model import KEYS
from bridle.loop.settings.value_kinds import Key

# What most people change first; docs/settings.md has all of them.
_SHOWN = (
    "model",
    "reasoning",
    "max_cost",
    "max_iterations",
    "max_time",
    "tries",
    "check_timeout",
    "clean",
    "protect",
    "notify",
)
_WIDTH_COLUMNS = 96

_HEAD = """\
# How Bridle works in this repository. A line that begins with # has no effect: the value there is the default.
# Flags of `bridle run` go before this file, and this file before bridle.toml in your own Bridle folder.
"""


def first_settings(
    checks: Sequence[Candidate], others: Sequence[Candidate], setup: Candidate | None, agent: str | None
) -> str:
    """The file: what was found as settings, and the rest as comments."""
    parts = [_HEAD, "\n".join(_checks(checks, others))]
    if setup is not None:
        parts.append(f"{_words(KEYS['setup'])}\n{_line('setup', (setup.command,))}  # {setup.reason}")
    given = [_line("agent", (agent,))] if agent is not None else [f"# {_line('agent', KEYS['agent'].default)}"]
    parts.append("\n".join([_words(KEYS["agent"]), *given]))
    parts += [f"{_words(KEYS[name])}\n# {_line(name, KEYS[name].default)}" for name in _SHOWN]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def first_plan(name: str, guard: Sequence[str], *, has_agents_file: bool) -> str:
    """A plan with one small task that is of use in any repository, to see a run with; and how to write one's own."""
    plan = render(f"{name}: first plan", [_correct_readme() if has_agents_file else _write_agents_file()], guard=guard)
    title, rest = plan.split("\n", 1)
    return f"{title}\n\n{_EXPLANATION if guard else _EXPLANATION + _NO_GUARD}\n{rest.lstrip()}"


_EXPLANATION = """\
<!--
Each section that begins with ## is a task: a fresh agent works on it, and Bridle itself runs the commands that
decide whether it is done. Write your own below, and take this one away.

  Check:     a command of the task's own; all of them must pass
  Needs:     the titles of tasks that must be done before it
  May edit:  files that its checks use, and that it may change all the same

Checks, above the first task, must pass for every task. Begin with: bridle run PLAN.md --dry-run
-->
"""
_NO_GUARD = """\
<!--
No command that tests this repository was found. Write it here, outside of this comment, as
  Checks: `the command`
-->
"""


def _write_agents_file() -> Task:
    return Task(
        title="Describe this repository for agents",
        body="Write AGENTS.md for an agent that has never seen this repository. Change no other file.",
        checklist=(
            Item("what it is for, and where the main parts are"),
            Item("how it is built and tested, with commands that you have run"),
            Item("at most 60 lines, and nothing that the code says by itself"),
        ),
        checks=("test -s AGENTS.md",),
    )


def _correct_readme() -> Task:
    return Task(
        title="Correct the README",
        body="Compare the README with the code, and correct what is no longer true. Change no other file.",
        checklist=(
            Item("every command in it has been run"),
            Item("nothing is added that a newcomer does not need"),
        ),
    )


def _checks(checks: Sequence[Candidate], others: Sequence[Candidate]) -> Iterator[str]:
    yield _words(KEYS["checks"])
    if checks:
        yield f"{_line('checks', [one.command for one in checks])}  # {'; '.join(one.reason for one in checks)}"
    else:
        yield "# No such command was found. Without one, work cannot be verified."
        yield '# checks = ["make test"]'
    yield from (f"# also found: {_line('checks', (one.command,))}  ({one.reason})" for one in others)


def _line(name: str, value: object) -> str:
    return f"{name} = {KEYS[name].kind.show(value)}"


def _words(key: Key) -> str:
    return textwrap.fill(key.help, _WIDTH_COLUMNS, initial_indent="# ", subsequent_indent="# ")
