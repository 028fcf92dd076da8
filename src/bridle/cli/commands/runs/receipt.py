"""`bridle receipt`: print the receipt of a run as a document, signed with the user's git key."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bridle.cli.exit_codes import SUCCESS
from bridle.cli.machine_interface.refuse_inside_agent import SIGN, refuse_inside_agent
from bridle.cli.user_interface.options import json_option, run_argument, runs_dir_option
from bridle.cli.user_interface.terminal import chosen_run, say, shown_run
from bridle.errors import JournalBroken, UsageError

if TYPE_CHECKING:
    from bridle.loop.process.receipt import Receipt


@click.command("receipt", short_help="Print a run's receipt as a document, signed with your git key.")
@run_argument
@runs_dir_option
@json_option
@click.option("--markdown", is_flag=True, help="Print Markdown, for a pull request.")
@click.option("--intoto", is_flag=True, help="Print an in-toto statement; its subjects are the commits.")
@click.option("--sign", is_flag=True, help="Print the in-toto statement signed with git's signing key.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write it to FILE.")
def command(
    *, run: str, runs_dir: str | None, as_json: bool, markdown: bool, intoto: bool, sign: bool, out: Path | None
) -> int:
    """Print the receipt of RUN (default: the last run) as a document. The run is not changed.

    With --sign it is audited first, and signed with the key and the program that `git commit -S` uses (gpg.format,
    user.signingkey; of a repository's own settings only these two). Commit the file, or publish it with a release:
    `bridle verify FILE` needs only it and the commits.
    """
    import asyncio

    if as_json + markdown + (intoto or sign) > 1:
        raise UsageError("--json, --markdown and --intoto or --sign cannot be combined")
    folder = chosen_run(run, runs_dir)
    if sign:
        refuse_inside_agent(SIGN, folder)
        _refuse_foreign(folder)
    from bridle.loop.control.branch_facts import with_branch_facts
    from bridle.loop.control.current_state import read_receipt

    receipt = with_branch_facts(read_receipt(folder), folder, os.environ)
    if as_json:
        from bridle.ground.light import quick_json

        text = quick_json.pretty(receipt.as_json()).encode() + b"\n"
    elif markdown:
        from bridle.views.receipt_markdown import markdown_receipt

        text = markdown_receipt(receipt).encode("utf-8", "replace")
    elif intoto or sign:
        if sign:
            _check_audit(folder)
        text = asyncio.run(_statement(receipt, folder, is_signed=sign))
    else:
        from bridle.views.terminal.receipt import plain_lines

        text = "".join(f"{line}\n" for line in plain_lines(receipt, receipt.stopped or "")).encode("utf-8", "replace")
    _write(text, out)
    return SUCCESS


def _refuse_foreign(folder: Path) -> None:
    """Raise UsageError for a run that came with its repository: its author can write any journal."""
    from bridle.loop.control.foreign_runs import FOREIGN, is_foreign

    if is_foreign(folder):
        raise UsageError(
            f"the run {folder.name} is not signed: {FOREIGN}",
            remedy="Only the user that began a run can sign its receipt. Ask for it, and verify it: bridle verify FILE",
        )


def _check_audit(folder: Path) -> None:
    """Raise JournalBroken if the run has a problem: nothing that was changed is signed."""
    from bridle.cli.commands.runs.audit import audit_with_commits

    report, _ = audit_with_commits(folder)
    if not report.is_good:
        first = report.wrong[0]
        raise JournalBroken(
            f"the run {folder.name} is not signed: {first.file}: {first.fault}",
            remedy=f"See all problems: bridle audit {shown_run(folder)}",
        )


async def _statement(receipt: Receipt, folder: Path, *, is_signed: bool) -> bytes:
    from bridle import __version__
    from bridle.journal.stores.file_store import FileStore
    from bridle.loop.evidence import envelope
    from bridle.loop.evidence.git_keys import read_git_keys
    from bridle.loop.evidence.signatures import Signatures
    from bridle.loop.evidence.statement import build_statement, encode_statement
    from bridle.loop.run_inputs import read_inputs
    from bridle.workspace.commit import CommitInfo, read_commits
    from bridle.workspace.git import Git
    from bridle.workspace.inert_git import inert_git

    inputs = read_inputs(FileStore(folder))
    git = Git(Path(inputs.repository))
    found = await read_commits(await inert_git(git.folder), ids=receipt.commits) if receipt.commits else []
    by_id = {info.commit: info for info in found}
    commits = [by_id.get(commit, CommitInfo(commit, (), {})) for commit in receipt.commits]
    payload = encode_statement(build_statement(receipt, inputs, commits, version=__version__))
    if not is_signed:
        return payload
    signatures = Signatures(await read_git_keys(git), dict(os.environ))
    signature, key = await signatures.sign(envelope.signed_bytes(payload))
    say(f"signed with {key}")
    return envelope.Envelope(payload, signature, key).encode()


def _write(text: bytes, out: Path | None) -> None:
    if out is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(text)
        sys.stdout.flush()
        return
    from bridle.ground import disk

    disk.write_atomic(out, text, mode=0o644)
    say(f"wrote {out}")
