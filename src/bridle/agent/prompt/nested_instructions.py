"""Instructions for a part of the project: they reach the model when it reads the first file there.

These are `CLAUDE.md` and related files of the directories below the working directory, with their imports, and rules
whose `paths` fit the file.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from bridle.agent.prompt.instructions import LOCAL, PROJECT, USER, InstructionReader, InstructionScope


class NestedInstructions:
    """The instructions of one session that are not in its opening reminder; each is returned once."""

    def __init__(self, scope: InstructionScope) -> None:
        self._scope = scope
        self._reader: InstructionReader | None = None

    def text_for(self, paths: Iterable[str]) -> str | None:
        """Return the instructions for files that were read, without those returned before, or None."""
        if self._reader is None:
            self._reader = InstructionReader(self._scope)
            self._reader.add_opening()  # the model has these already
            self._reader.files.clear()
        for path in paths:
            self._add(self._reader, Path(path))
        files = self._reader.files
        text = "\n\n".join(f"Contents of {file.path}:\n\n{file.text}\n" for file in files)
        files.clear()
        return text or None

    def _add(self, reader: InstructionReader, path: Path) -> None:
        cwd, sources = self._scope.cwd, self._scope.sources
        if not path.is_relative_to(cwd):
            return
        if "user" in sources:
            reader.add_rules(self._scope.config_folder / "rules", USER, about=str(path.relative_to(cwd)))
        below = [folder for folder in reversed(path.parents) if folder.is_relative_to(cwd)]
        for folder in (*reversed(cwd.parents), *below):
            if folder != cwd and folder in below:
                reader.add_folder(folder)
            if "project" in sources:
                reader.add_rules(folder / ".claude" / "rules", PROJECT, about=str(path.relative_to(folder)))
        if "local" in sources:
            for folder in below[1:]:
                reader.add(folder / "CLAUDE.local.md", LOCAL)
