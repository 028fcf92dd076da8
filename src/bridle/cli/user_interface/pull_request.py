"""A pull request for the branch of a run, through git and GitHub's program; or the commands to copy."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from bridle.cli.user_interface.github_program import GitHub, find_github_program
from bridle.cli.user_interface.terminal import say
from bridle.errors import Error, MachineError
from bridle.ground import program_path
from bridle.ground.children.capture import capture
from bridle.ground.threads import in_thread
from bridle.journal.stores.file_store import FileStore
from bridle.loop.control.branch_facts import with_branch_facts
from bridle.loop.control.current_state import read_receipt
from bridle.loop.control.push_target import find_remote, pull_request_title
from bridle.loop.process.receipt import Receipt
from bridle.loop.process.task_state import VERIFIED
from bridle.loop.run_inputs import plan_in_force, read_place
from bridle.views.receipt_markdown import markdown_receipt
from bridle.wire.mask import Mask, secret_values

# A push of a large branch over a slow network.
PUSH_SECONDS = 15 * 60.0


async def open_pull_request(run: Path, environment: Mapping[str, str], *, is_draft: bool) -> str | None:
    """Push the branch and open a pull request; return its address. If that fails, print why and the commands to copy.

    A run whose tasks are not all verified becomes a draft.
    """
    receipt = await in_thread(
        lambda: with_branch_facts(read_receipt(run), run, environment), name="reading the receipt"
    )
    if not receipt.commits:
        say("no pull request: the run has made no commit")
        return None
    unverified = [task.title for task in receipt.tasks if task.verdict not in VERIFIED]
    if unverified and not is_draft:
        say(f"the pull request is a draft: {len(unverified)} of {len(receipt.tasks)} tasks are not verified")
    try:
        address = await _open(run, receipt, environment, is_draft=is_draft or bool(unverified))
    except Error as error:
        say(f"no pull request: {error.message}. {error.remedy or ''}".rstrip())
        if receipt.pull_request:
            say(f"open it with: {receipt.pull_request}")
        return None
    say(f"pull request {address}")
    return address


def missing_for_pull_request(repository: Path, environment: Mapping[str, str]) -> str | None:
    """Return what is missing for a pull request at the end of a run, and what to do; None where nothing is known."""
    if find_remote(repository, environment) is None:
        return "--pr will open no pull request: the repository has no remote. Add one: git remote add origin ADDRESS"
    if find_github_program(environment, repository) is None:
        return (
            "--pr will only print the commands at the end: gh is not installed. Install GitHub's program gh, and log"
            " in with `gh auth login`"
        )
    return None


async def _open(run: Path, receipt: Receipt, environment: Mapping[str, str], *, is_draft: bool) -> str:
    store = FileStore(run)
    place = read_place(store)
    repository = Path(place.repository)
    remote = await in_thread(lambda: find_remote(repository, environment), name="reading the remotes")
    if remote is None:
        raise MachineError("the repository has no remote", remedy="Add one: git remote add origin ADDRESS")
    program = GitHub.find(repository, environment)
    await _push(repository, remote, receipt.branch, environment)
    base = ["--base", place.came_from] if place.came_from else []
    title = pull_request_title(plan_in_force(store))
    arguments = ("pr", "create", "--head", receipt.branch, *base, "--title", title, "--body-file", "-")
    printed = await program.run(*arguments, *(["--draft"] if is_draft else []), stdin=markdown_receipt(receipt))
    return next((word for word in printed.split() if word.startswith("https://")), printed.strip())


async def _push(repository: Path, remote: str, branch: str, environment: Mapping[str, str]) -> None:
    git = program_path.find_outside("git", environment, repository)
    if git is None:
        raise MachineError("git was not found")
    quiet = {**program_path.outside_environment(environment, repository), "GIT_TERMINAL_PROMPT": "0"}
    command = (git, "push", "--quiet", "--set-upstream", remote, f"refs/heads/{branch}:refs/heads/{branch}")
    done = await capture(command, cwd=repository, environment=quiet, limit_seconds=PUSH_SECONDS)
    if done.exit_code != 0:
        words = Mask(secret_values(os.environ)).apply(done.stderr.decode("utf-8", "replace").strip())
        raise MachineError(f"`git push {remote}` failed: {words[-500:]}", remedy="Push it yourself.")
