"""A model of a disk that loses its power: what was not synced may be forgotten, each part of it by itself.

A file's content is safe once the file was synced; a name in a folder once the folder was. Between two syncs every
change to a name, and every change to a content, may have reached the disk or not. A renamed file has left its old
folder and come into its new one by two changes, which may be parted.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.journal.recorder import Change


@dataclass
class Node:
    """A file or a folder, whatever its names are."""

    is_folder: bool
    safe: bytes = b""
    """The content as of its last sync."""
    now: bytes = b""
    moment: int | None = None
    """A folder's time of change, where somebody has set it and nobody has changed its names since."""
    safe_moment: int | None = None
    """The same, as of the folder's last sync."""


@dataclass(frozen=True)
class Naming:
    """A name that came to be, or (without a node) ceased to be."""

    folder: str
    name: str
    node: Node | None


@dataclass
class Platter:
    """The disk below one folder: what is safe, and what is on its way."""

    root: str
    safe: dict[str, dict[str, Node]] = field(default_factory=dict)
    """The names in each folder, by the folder's path."""
    loose: list[Naming | tuple[str, int]] = field(default_factory=list)
    """Changes to names that are not safe yet, in order; and the times set on folders."""
    now: dict[str, Node] = field(default_factory=dict)
    """Every path as a running program sees it."""

    @classmethod
    def of(cls, root: Path) -> Platter:
        """The disk as it is, all of it safe."""
        platter = cls(str(root))
        platter.safe[str(root)] = {}
        platter.now[str(root)] = Node(is_folder=True)
        for path in sorted(root.rglob("*")):
            content = b"" if path.is_dir() else path.read_bytes()
            node = Node(is_folder=path.is_dir(), safe=content, now=content)
            if path.is_dir():
                node.moment = node.safe_moment = path.stat().st_mtime_ns
                platter.safe[str(path)] = {}
            platter.safe[str(path.parent)][path.name] = node
            platter.now[str(path)] = node
        return platter

    def take(self, change: Change) -> None:
        """One more change."""
        if not change.path.startswith(self.root):
            return
        match change.deed:
            case "create" | "mkdir":
                self._name(change.path, Node(is_folder=change.deed == "mkdir"))
            case "write":
                node = self.now[change.path]
                padded = node.now[: change.number].ljust(change.number, b"\0")
                node.now = padded + change.data + node.now[change.number + len(change.data) :]
            case "truncate":
                node = self.now[change.path]
                node.now = node.now[: change.number].ljust(change.number, b"\0")
            case "sync":
                self._sync(change.path)
            case "rename":
                self._rename(change.path, change.target)
            case "unlink":
                self._forget(change.path)
            case "utime":
                self.loose.append((change.path, change.number))
                self.now[change.path].moment = change.number
            case _:
                raise AssertionError(f"the model does not know {change}")

    def after_power_cut(self, chance: Random | None) -> dict[str, bytes | None]:
        """What the disk holds when power is back, None for folders; with no chance everything loose is forgotten."""
        folders = {path: dict(names) for path, names in self.safe.items()}
        moments = {path: node.safe_moment for path, node in self.now.items() if node.is_folder}
        for change in self.loose:
            if chance is not None and chance.random() < 0.5:
                if isinstance(change, Naming):
                    names = folders.setdefault(change.folder, {})
                    moments[change.folder] = None
                    if change.node is None:
                        names.pop(change.name, None)
                    else:
                        names[change.name] = change.node
                else:
                    moments[change[0]] = change[1]
        return self._tree(folders, moments, chance)

    def as_seen(self) -> dict[str, bytes | None]:
        """What a program sees that goes on running."""
        return {path: None if node.is_folder else node.now for path, node in self.now.items() if path != self.root}

    def _tree(
        self, folders: dict[str, dict[str, Node]], moments: dict[str, int | None], chance: Random | None
    ) -> dict[str, bytes | None]:
        found: dict[str, bytes | None] = {}
        self.moments = {path: moment for path, moment in moments.items() if moment is not None}
        todo = [self.root]
        while todo:
            folder = todo.pop()
            for name, node in folders.get(folder, {}).items():
                path = f"{folder}/{name}"
                found[path] = None if node.is_folder else _content(node, chance)
                if node.is_folder:
                    todo.append(path)
        return found

    def _name(self, path: str, node: Node) -> None:
        folder, name = os.path.split(path)
        self.now[path] = node
        self.now[folder].moment = None
        self.loose.append(Naming(folder, name, node))

    def _forget(self, path: str) -> None:
        folder, name = os.path.split(path)
        del self.now[path]
        self.now[folder].moment = None
        self.loose.append(Naming(folder, name, None))

    def _rename(self, source: str, target: str) -> None:
        node = self.now[source]
        inside = {path: one for path, one in self.now.items() if path.startswith(f"{source}/")}
        self._name(target, node)
        self._forget(source)
        for path, one in inside.items():
            del self.now[path]
            self.now[target + path[len(source) :]] = one
        for path in [path for path in self.safe if path == source or path.startswith(f"{source}/")]:
            self.safe[target + path[len(source) :]] = self.safe.pop(path)
        self.loose = [_moved(change, source, target) for change in self.loose]

    def _sync(self, path: str) -> None:
        node = self.now[path]
        if not node.is_folder:
            node.safe = node.now
            return
        for change in [change for change in self.loose if isinstance(change, Naming) and change.folder == path]:
            names = self.safe.setdefault(path, {})
            if change.node is None:
                names.pop(change.name, None)
            else:
                names[change.name] = change.node
        node.safe_moment = node.moment
        self.loose = [
            change for change in self.loose if (change.folder if isinstance(change, Naming) else change[0]) != path
        ]


def restore(root: Path, tree: dict[str, bytes | None], moments: dict[str, int]) -> None:
    """Make the real folder look so. Folders that stay are the same ones, as they are after a power cut."""
    wanted = {path for path, content in tree.items() if content is None}
    for path in sorted(root.rglob("*"), reverse=True):
        if path.is_dir() and str(path) not in wanted:
            shutil.rmtree(path)
        elif not path.is_dir():
            path.unlink()
    for name in sorted(wanted):
        Path(name).mkdir(exist_ok=True)
    for name, content in tree.items():
        if content is not None:
            Path(name).write_bytes(content)
    for name in sorted(wanted):
        if name in moments:
            os.utime(name, ns=(moments[name], moments[name]))


def _content(node: Node, chance: Random | None) -> bytes:
    """A file's content: as of its last sync, or as it is now, or cut somewhere, or of the right length and empty."""
    if chance is None or node.safe == node.now:
        return node.safe
    cut = chance.randrange(len(node.now) + 1)
    return chance.choice([node.safe, node.now, node.now[:cut], node.now[:cut].ljust(len(node.now), b"\0")])


def _moved(change: Naming | tuple[str, int], source: str, target: str) -> Naming | tuple[str, int]:
    if isinstance(change, Naming) and (change.folder == source or change.folder.startswith(f"{source}/")):
        return Naming(target + change.folder[len(source) :], change.name, change.node)
    return change
