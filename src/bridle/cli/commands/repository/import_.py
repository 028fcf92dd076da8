"""`bridle import`: a plan from the issues of a tracker."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bridle.cli.user_interface.terminal import print_document, say
from bridle.errors import MachineError, UsageError

if TYPE_CHECKING:
    from bridle.cli.user_interface.github_program import GitHub
    from bridle.loop.plan.issue_plan import Issue

PLAN = "PLAN.md"
FIELDS = "number,title,body,url"
# As many as a run of days could do; GitHub's own default is 30.
MOST_ISSUES = 100
_ISSUE = re.compile(r"#?(\d{1,9}|https://[\w.-]+/[\w.-]+/[\w.-]+/issues/\d{1,9})")
_REPOSITORY = re.compile(r"(?:[\w.-]+/)?[\w.-]+/[\w.-]+")


@click.command("import", short_help="Write a plan from GitHub issues.")
@click.argument("tracker", type=click.Choice(["github"]))
@click.argument("issues", nargs=-1, metavar="[ISSUE]...")
@click.option("--label", help="All open issues with this label.")
@click.option("--repo", metavar="OWNER/NAME", help="The repository.  [default: that of the current folder]")
@click.option("--out", metavar="FILE", default=PLAN, show_default=True, help="The file to write; it must not exist.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document on stdout.")
def command(
    *, tracker: str, issues: tuple[str, ...], label: str | None, repo: str | None, out: str, as_json: bool
) -> int:
    """Write a plan with one task for each ISSUE, a number or an address, through GitHub's program `gh`.

    The text of an issue is written as a quotation: nothing in it is a check, and no command of it is run. The checks
    are those of bridle.toml. "Depends on #12" becomes `Needs:`. Read the plan before you run it.
    """
    from bridle.cli.user_interface.github_program import GitHub
    from bridle.ground import disk
    from bridle.ground.home import bridle_home
    from bridle.loop.plan.issue_plan import plan_of_issues
    from bridle.loop.plan.markdown import parse_markdown
    from bridle.loop.settings.bridle_toml import load_settings

    del tracker  # there is one so far
    named = [_argument(issue) for issue in issues]
    if not named and label is None:
        raise UsageError("no issue given", remedy="Name issues, or give --label.")
    if repo is not None and not _REPOSITORY.fullmatch(repo):
        raise UsageError(f"--repo must be OWNER/NAME, got {repo!r}")
    target = Path.cwd() / out
    if os.path.lexists(target):
        raise UsageError(f"{out} exists", remedy="Move it, or give another name with --out.")
    settings = load_settings(Path.cwd(), bridle_home(os.environ))
    program = GitHub.find(Path.cwd(), os.environ)
    found = asyncio.run(_fetch(program, named, label, ["--repo", repo] if repo else []))
    text = plan_of_issues(f"Issues{f' of {repo}' if repo else ''}", found, guard=settings.checks, setup=settings.setup)
    plan = parse_markdown(text, out)  # what is written can be run
    disk.write_new(target, text.encode("utf-8", "replace"), mode=0o644)
    if as_json:
        tasks = [{"number": issue.number, "title": issue.task_title, "url": issue.url} for issue in found]
        print_document({"written": str(target), "tasks": tasks, "warnings": list(plan.warnings)})
    for warning in plan.warnings:
        say(warning)
    say(f"wrote {out}: {len(found)} {'task' if len(found) == 1 else 'tasks'}. Read it, then: bridle run {out}")
    return 0


def _argument(text: str) -> str:
    """Return the number or the address of an issue."""
    match = _ISSUE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{text!r} is not the number or the address of an issue", remedy="Write 12, or its address.")
    return match[1]


async def _fetch(program: GitHub, named: list[str], label: str | None, repository: list[str]) -> list[Issue]:
    views = [("issue", "view", name, "--json", FIELDS, *repository) for name in dict.fromkeys(named)]
    found = [_issue(await program.json(*view)) for view in views]
    if label is not None:
        options = (f"--label={label}", "--state=open", f"--limit={MOST_ISSUES}", "--json", FIELDS)
        listed = await program.json("issue", "list", *options, *repository)
        if not isinstance(listed, list):
            raise MachineError("`gh issue list` did not print a list")
        known = {issue.number for issue in found}
        found += [issue for issue in map(_issue, listed) if issue.number not in known]
        if len(listed) == MOST_ISSUES:
            say(f"only the first {MOST_ISSUES} issues with the label {label!r} were read")
    if not found:
        raise UsageError(f"no open issue has the label {label!r}", remedy="Nothing was written.")
    return found


def _issue(value: Any) -> Issue:
    from bridle.loop.plan.issue_plan import Issue

    number = value.get("number") if isinstance(value, dict) else None
    if type(number) is not int or number < 1:
        raise MachineError("`gh` printed an issue without a number")
    texts = {name: value[name] for name in ("title", "body", "url") if isinstance(value.get(name), str)}
    return Issue(number, **texts)
