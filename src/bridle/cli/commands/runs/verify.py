"""`bridle verify`: verify commits by signed receipts and by the journal."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import asdict, replace

from bridle.cli.exit_codes import FAILED, SUCCESS
from bridle.cli.user_interface.options import json_option, runs_dir_option
from bridle.cli.user_interface.terminal import print_document, runs_here, say, show
from bridle.errors import GitError, UsageError

if TYPE_CHECKING:
    from bridle.loop.evidence.signatures import Verdict
    from bridle.loop.evidence.verify import Verification


@click.command("verify", short_help="Verify the receipts of commits: signature, trailers, journal.")
@click.argument("target", metavar="COMMIT|RANGE|FILE")
@click.option(
    "--receipt",
    "receipts",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="A signed receipt of the commits; may be repeated.",
)
@click.option(
    "--allowed-signers",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The known SSH keys.  [default: git's gpg.ssh.allowedSignersFile, of your own settings]",
)
@runs_dir_option
@json_option
def command(
    *, target: str, receipts: tuple[Path, ...], allowed_signers: Path | None, runs_dir: str | None, as_json: bool
) -> int:
    """Verify the commits of runs. A FILE is a receipt that `bridle receipt --sign` has written: its signature, and the
    commits that it names, with their trailers. A COMMIT or a RANGE (`main..HEAD`) is compared with receipts and, if
    the run was begun on this machine, with its journal.

    A clone needs only the receipt. Programs and known signers of a repository's own settings do not count. Exit code 0:
    every commit of a run is proved, and nothing is wrong.
    """
    import asyncio

    result = asyncio.run(_verify(target, receipts, allowed_signers, runs_dir))
    if as_json:
        print_document(_document(result))
    else:
        _print(result)
    return SUCCESS if result.is_good else FAILED


async def _verify(
    target: str, files: tuple[Path, ...], allowed_signers: Path | None, runs_dir: str | None
) -> Verification:
    from bridle.loop.evidence import verify
    from bridle.loop.evidence.git_keys import read_git_keys
    from bridle.loop.evidence.signatures import Signatures
    from bridle.workspace.git import Git
    from bridle.workspace.inert_git import inert_git

    keys, git = await read_git_keys(Git(Path.cwd())), await inert_git(Path.cwd())
    if allowed_signers is not None:
        keys = replace(keys, allowed_signers=allowed_signers)
    elif keys.ignored:
        say(f"settings of this repository do not count here: {', '.join(keys.ignored)}; see --allowed-signers")
    signatures = Signatures(keys, dict(os.environ))
    runs = runs_here(runs_dir)
    if Path(target).is_file():
        [receipt] = await verify.read_receipts([Path(target)], signatures)
        return await verify.verify_receipt(git, receipt, runs)
    read = await verify.read_receipts(files, signatures)
    words = (target,) if ".." in target else ("--no-walk=unsorted", f"{target}^{{commit}}")
    try:
        if target.startswith("-"):
            raise GitError("it begins with -")
        return await verify.verify_commits(git, (*words, "--"), read, runs)
    except GitError as error:
        raise UsageError(
            f"{target} must be a commit, a range such as main..HEAD, or a file: {error.message}"
        ) from error


def _print(result: Verification) -> None:
    from bridle.views.format_amounts import format_count

    for receipt in result.receipts:
        signature = f"; {_describe_signature(receipt.signature)}" if receipt.fault is None else ""
        show(f"{receipt.file}: receipt of run {receipt.facts.run}{signature}")
    for fault in result.faults:
        show(f"wrong: {fault}")
    for report in result.commits:
        for fault in report.faults:
            show(f"wrong: commit {report.commit}: {fault}")
        if report.is_proved:
            show(f"proved: commit {report.commit} {report.task or ''} ({', '.join(report.proofs)})")
        elif not report.faults:
            show(f"not proved: commit {report.commit} {report.task or ''}")
    for commit in result.not_in_head:
        show(f"not in HEAD: commit {commit}: it is on another branch, or was amended since")
    for commit in result.not_in_range:
        show(f"not in the range: commit {commit}, which a receipt names: it was amended or left out")
    others = f"; {format_count(result.others, 'other commit')} not by a run" if result.others else ""
    count = format_count(len(result.commits), "commit")
    show(f"{'verified' if result.is_good else 'not verified'}: {count} of runs{others}")


def _describe_signature(signature: Verdict) -> str:
    trust = f", trust: {signature.details}" if signature.details else ""
    return f"signed by {signature.signer} ({signature.key}{trust})"


def _document(result: Verification) -> dict[str, object]:
    return {
        "ok": result.is_good,
        "receipts": [
            {"file": receipt.file, "run": receipt.facts.run, "signature": asdict(receipt.signature)}
            for receipt in result.receipts
        ],
        "commits": [asdict(report) for report in result.commits],
        "others": result.others,
        "not_in_head": result.not_in_head,
        "not_in_range": result.not_in_range,
        "wrong": result.faults,
    }
