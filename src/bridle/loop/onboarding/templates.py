"""The first `bridle.toml` and `PLAN.md` of a repository. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from bridle.loop.onboarding.candidates import Candidate
from bridle.loop.plan.model import Item, Task
from bridle.loop.plan.render_plan import render
from bridle.loop.settings.model import KEYS
from bridle.loop.settings.value_kinds import Key

# The keys that users change first; docs/settings.md has all of them.
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
# Settings of Bridle for this repository. Lines that begin with # are comments and show the defaults.
# Flags of `bridle run` override this file, and this file overrides bridle.toml in your own Bridle folder.
"""


def first_settings(
    checks: Sequence[Candidate],
    others: Sequence[Candidate],
    setup: Candidate | None,
    agent: str | None,
    *,
    schema: str | None = None,
) -> str:
    """Return a bridle.toml with what was detected, and the other keys as comments.

    Editors read the file `schema` beside it from the first line.
    """
    parts = [_HEAD if schema is None else f"#:schema ./{schema}\n{_HEAD}", "\n".join(_checks(checks, others))]
    if setup is not None:
        parts.append(f"{_comment(KEYS['setup'])}\n{_line('setup', (setup.command,))}  # {setup.reason}")
    line = [_line("agent", (agent,))] if agent is not None else [f"# {_line('agent', KEYS['agent'].default)}"]
    parts.append("\n".join([_comment(KEYS["agent"]), *line]))
    parts += [f"{_comment(KEYS[name])}\n# {_line(name, KEYS[name].default)}" for name in _SHOWN]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def first_plan(name: str, guard: Sequence[str], *, has_agents_file: bool) -> str:
    """Return a plan with one small task that is useful in any repository, and an explanation of the format."""
    plan = render(f"{name}: first plan", [_correct_readme() if has_agents_file else _write_agents_file()], guard=guard)
    title, rest = plan.split("\n", 1)
    return f"{title}\n\n{_EXPLANATION if guard else _EXPLANATION + _NO_GUARD}\n{rest.lstrip()}"


_EXPLANATION = """\
<!--
Each section that begins with ## is a task. A fresh agent works on it, and Bridle itself runs the commands that
decide whether it is done. Write your own tasks below, and delete this one.

  `Check:`     a command that must pass for this task
  `Needs:`     the titles of tasks that must be done first
  `May edit:`  protected files that this task may change

`Checks:` above the first task must pass for every task. Try it with: bridle run PLAN.md --dry-run
-->
"""
_NO_GUARD = """\
<!--
No test command was found for this repository. Add one here, outside this comment, after `Checks:`.
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
        body="Compare the README with the code, and correct what is outdated. Change no other file.",
        checklist=(
            Item("every command in it has been run"),
            Item("nothing is added that a newcomer does not need"),
        ),
    )


def _checks(checks: Sequence[Candidate], others: Sequence[Candidate]) -> Iterator[str]:
    yield _comment(KEYS["checks"])
    if checks:
        yield f"{_line('checks', [check.command for check in checks])}  # {'; '.join(check.reason for check in checks)}"
    else:
        yield "# No test command was found. Without one, work cannot be verified."
        yield '# checks = ["make test"]'
    yield from (f"# also found: {_line('checks', (other.command,))}  ({other.reason})" for other in others)


def _line(name: str, value: object) -> str:
    return f"{name} = {KEYS[name].kind.show(value)}"


def _comment(key: Key) -> str:
    return textwrap.fill(key.help, _WIDTH_COLUMNS, initial_indent="# ", subsequent_indent="# ")
