"""What every git of Bridle has in common: its limits, its environment, and the error where it fails."""

from __future__ import annotations

import re

from bridle.errors import GitError
from bridle.ground import program_path
from bridle.ground.children.query_result import QueryResult
from bridle.ground.light.abc_names import Mapping
from bridle.ground.light.quick_path import Path

# Adding a very large tree takes a minute on a slow disk; a git that takes longer is blocked.
LIMIT_SECONDS = 300.0

# Few calls take longer. Then a named pipe may block git, which is searched for.
PATIENCE_SECONDS = 5.0

# Enough for the names of all files of the largest repositories.
OUTPUT_LIMIT_BYTES = 64 * 1024 * 1024

_MESSAGE_CHARACTERS = 800
# What git prints about its own files when it cannot read one.
_UNREADABLE = (
    r"not a git repository|packed-refs|index file|bad signature|reference broken|to be broken|bad ref|resolve HEAD"
)


def check_output(
    words: tuple[str, ...], folder: Path, result: QueryResult, accepts: tuple[int, ...] = (0,)
) -> tuple[int, str]:
    """Return exit code and output of a git command; raise GitError for an exit code that is not accepted."""
    if result.exit_code in accepts and result.exit_code is not None:
        return result.exit_code, result.stdout.decode("utf-8", "surrogateescape")
    output = (result.stderr + result.stdout).decode("utf-8", "replace").strip()[-_MESSAGE_CHARACTERS:]
    ending = f"exited {result.exit_code}" if result.exit_code is not None else f"took over {LIMIT_SECONDS:g} seconds"
    if result.is_truncated:
        ending = f"printed over {OUTPUT_LIMIT_BYTES} bytes"
    if re.search(_UNREADABLE, output):
        from bridle.workspace.git_folder import damaged_files  # late: most commands succeed

        damage = damaged_files.find(folder)
        if damage is not None:
            raise GitError(damage.message, remedy=damage.remedy, payload=result.exit_code)
    raise GitError(
        f"`git {' '.join(words[:6])}` in {folder} {ending}: {output or 'without output'}",
        remedy="Run the same command in that folder to see the cause.",
        payload=result.exit_code,
    )


def quiet_environment(environment: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Return an environment in which git never prompts or pages, and uses only the repository of its folder.

    No hook of the repository runs, not even those for a written ref or index, replace refs are ignored, and no command
    goes into submodules. Settings that the environment has (`safe.directory`, for example) hold, unless they are ours.
    Git and the programs that it starts by name are not searched in the repository of the folder.
    """
    kept = {name: value for name, value in environment.items() if not name.startswith("GIT_") or _is_kept(name)}
    ours = " ".join(f"'{name}={value}'" for name, value in _OUR_SETTINGS.items())
    return {
        **program_path.outside_environment(kept, folder),
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_EDITOR": "true",
        "GIT_PAGER": "cat",
        "GIT_NO_REPLACE_OBJECTS": "1",
        _PARAMETERS: f"{environment.get(_PARAMETERS, '')} {ours}".strip(),  # of one setting the last value counts
        "LC_ALL": "C",
    }


def _is_kept(name: str) -> bool:
    return name in _KEPT or name.startswith(("GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"))


# With this variable git itself passes settings to the programs that it starts; it counts more than all others.
_PARAMETERS = "GIT_CONFIG_PARAMETERS"
_OUR_SETTINGS = {
    "core.hooksPath": "/dev/null",
    # A program of the repository, if its configuration names one.
    "core.fsmonitor": "false",
    "log.showSignature": "false",
    "protocol.ext.allow": "never",
    # A checkout that goes into submodules overwrites what is not committed there, and no snapshot contains that.
    "submodule.recurse": "false",
    # By default git syncs no loose object and no ref: a commit that the journal has would be gone after a power cut.
    # Git before 2.36 does not know these settings, and ignores them.
    "core.fsync": "committed,reference",
    "core.fsyncMethod": "batch",
}

# Variables that users set for all commands. Others, such as GIT_DIR, would select another repository.
_KEPT = frozenset(
    {
        "GIT_CONFIG_COUNT",
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_SYSTEM",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_AUTHOR_NAME",
        "GIT_AUTHOR_EMAIL",
        "GIT_COMMITTER_NAME",
        "GIT_COMMITTER_EMAIL",
        "GIT_SSH_COMMAND",
    }
)
