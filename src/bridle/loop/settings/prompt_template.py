"""The user's own form of an iteration's prompt: `prompts/iteration.md` in BRIDLE_HOME or in the repository.

A repository's file counts only after the user has agreed to it, and only if it has a placeholder for the task: many
repositories have a folder of that name. A run freezes the text, so an agent cannot change it.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from bridle.errors import SettingsError
from bridle.ground import disk, trust
from bridle.ground.git_folder import folders_up_to_top

FILE = "prompts/iteration.md"
TASK = "task"
# The placeholders, and the section of each.
SECTIONS = {
    "rules": "Rules",
    TASK: "Task",
    "answer": "The user's answer to your question",
    "earlier_answers": "Earlier questions and their answers",
    "hints": "Hints from the user",
    "notes": "Notes on the last iteration",
    "failure": "Output of the checks that failed",
    "agents": "AGENTS.md",
    "progress": "Progress so far",
    "plan": "The whole plan, for context",
    "form": "Your answer",
}
OPTIONAL = frozenset({"agents", "progress", "plan"})
"""What a prompt does without where the template does not name it; everything else is added at its end."""
PLACEHOLDER = re.compile(r"\{\{[ \t]*([A-Za-z_]+)[ \t]*\}\}")
_LIMIT_BYTES = 64 * 1024


def find_template(cwd: Path, home: Path) -> tuple[str, str]:
    """Return the template for a folder, empty without one, and a message about one that does not count yet.

    Raises SettingsError for a template that cannot be used.
    """
    ignored = ""
    for folder in folders_up_to_top(cwd.resolve()):
        text = _read(folder / FILE)
        if text is None or TASK not in PLACEHOLDER.findall(text):
            continue
        if trust.is_trusted(folder, home, trust.PROMPTS):
            return _checked(text, folder / FILE), ""
        ignored = (
            f"{folder / FILE} counts only after you have agreed to it: cd {shlex.quote(str(folder))} && bridle trust"
        )
        break
    text = _read(home / FILE)
    return ("" if text is None else _checked(text, home / FILE)), ignored


def _read(path: Path) -> str | None:
    data = disk.read_if_exists(path, _LIMIT_BYTES) if path.is_file() else None
    return None if data is None else data.decode("utf-8-sig", "replace")


def _checked(text: str, path: Path) -> str:
    names = PLACEHOLDER.findall(text)
    unknown = [name for name in names if name not in SECTIONS]
    if unknown:
        known = ", ".join(f"{{{{{name}}}}}" for name in SECTIONS)
        raise SettingsError(f"{path}: {{{{{unknown[0]}}}}} is not a placeholder", remedy=f"Use some of: {known}.")
    if TASK not in names:
        raise SettingsError(f"{path} has no {{{{{TASK}}}}}", remedy="Add it where the task's text belongs.")
    return text
