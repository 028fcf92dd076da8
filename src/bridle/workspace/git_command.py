"""What every git of Bridle has in common: its limits, its environment, and the error where it fails."""

from __future__ import annotations

import re
import shlex

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

# A git of the user holds the lock of the index or of a ref for moments; one that commits in a loop frees it between.
LOCK_SECONDS = 5.0
LOCK_POLL_SECONDS = 0.05
_LOCKED = re.compile(rb"Unable to create '([^\n]+\.lock)': File exists")

# What git prints, or how it ends, where the machine is short of something.
_SHORTAGES = (
    ("^-25 |File too large", "Raise the limit on file sizes (ulimit -f) and run again."),
    ("^-24 ", "Raise the limit on CPU time (ulimit -t) and run again."),
    ("No space left on device|[Oo]ut of disk ?space", "Free some space on that disk and run again."),
    ("Disk quota exceeded", "Free some space within your disk quota and run again."),
    ("Read-only file system", "The file system is read-only; make it writable, or use another folder."),
    ("Too many open files", "Raise the limit on open files (ulimit -n) and run again."),
    (
        "^-9 |Cannot allocate memory|[Oo]ut of memory|unable to create thread|Resource temporarily unavailable",
        "Run less at once, or raise the limits: check ulimit -u, ulimit -v and memory.",
    ),
)

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
    if (lock := find_lock(result)) is not None:
        raise refuse_lock(lock, f"`git {' '.join(words[:6])}` in {folder}", payload=result.exit_code)
    output = (result.stderr + result.stdout).decode("utf-8", "replace").strip()[-_MESSAGE_CHARACTERS:]
    ending = f"exited {result.exit_code}" if result.exit_code is not None else f"took over {LIMIT_SECONDS:g} seconds"
    if result.is_truncated:
        ending = f"printed over {OUTPUT_LIMIT_BYTES} bytes"
    if re.search(_UNREADABLE, output):
        from bridle.workspace.git_folder import damaged_files  # late: most commands succeed

        damage = damaged_files.find(folder)
        if damage is not None:
            raise GitError(damage.message, remedy=damage.remedy, payload=result.exit_code)
    if result.exit_code is not None and result.exit_code < 0:
        ending = f"was ended by {_describe_signal(-result.exit_code)}"
    raise GitError(
        f"`git {' '.join(words[:6])}` in {folder} {ending}: {output or 'without output'}",
        remedy=_find_remedy(result.exit_code, output),
        payload=result.exit_code,
    )


def _describe_signal(number: int) -> str:
    import signal  # late: most commands succeed

    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    causes = {
        signal.SIGXFSZ: "the limit on file sizes (ulimit -f) lets it write no more",
        signal.SIGXCPU: "the limit on CPU time (ulimit -t) is used up",
        signal.SIGKILL: "another program or the machine's memory limit ended it",
    }
    cause = causes.get(signal.Signals(number)) if number in set(signal.Signals) else None
    return f"{name}, because {cause}" if cause is not None else name


def _find_remedy(exit_code: int | None, output: str) -> str:
    """Return what to do about a failed command: about the machine, if git names a shortage."""
    words = f"{exit_code} {output}"
    remedies = (remedy for pattern, remedy in _SHORTAGES if re.search(pattern, words))
    return next(remedies, "Run the same command in that folder to see the cause.")


def find_lock(result: QueryResult) -> str | None:
    """Return the lock of another git because of which a command failed, or None."""
    match = _LOCKED.search(result.stderr) if result.exit_code else None
    return None if match is None else match[1].decode("utf-8", "surrogateescape")


def refuse_lock(lock: str, what: str, *, payload: object = None) -> GitError:
    """Return the error for a lock that another git holds for longer than any command of a user."""
    return GitError(
        f"{what}: another git has held {lock} for {LOCK_SECONDS:g} seconds",
        remedy=f"If no git is running there, remove it: rm {shlex.quote(lock)}; then run the same command again.",
        payload=payload,
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
