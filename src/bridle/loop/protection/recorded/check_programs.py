"""Programs in the working copy that checks would start: those of `node_modules/.bin`, `.venv/bin` and the PATH.

Git ignores most of them, and each worktree has its own. So they are recorded before every agent, and restored after it.
The names of installed Python modules are recorded too: a module that the agent adds may not replace them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from bridle.loop.protection.imports.installed_modules import installed_names
from bridle.loop.protection.imports.python_modules import find_replacing, is_in_text
from bridle.loop.protection.protected_parts import Protected
from bridle.loop.protection.recorded import recorded_files
from bridle.loop.protection.repairs import MAY_EDIT, Repair
from bridle.loop.protection.shell_commands import join
from bridle.loop.text.path_patterns import matches
from bridle.loop.working_copy.run_context import RunContext
from bridle.workspace.restore_paths import folders_above, is_behind_link, is_file

FOLDER = "bridle-programs"
# Programs that start others: one of that name in a folder of packages would decide every check.
_STARTERS = ("bash", "env", "git", "make", "node", "npm", "npx", "python", "python3", "sh")
_NODE = "node_modules/.bin"
_PACKAGES = (_NODE, ".venv/bin", "venv/bin")
# A path of links may be so long.
_LINKS = 8
# Programs that were found outside of the working copy, by name and PATH.
_found: set[tuple[str, str]] = set()


def record(context: RunContext, protected: Protected, name: str) -> None:
    """Record the programs of checks before an agent starts; keep what an interrupted attempt has recorded."""
    path = _path(context, name)
    if context.records.read(path, context.worker) is not None:
        return
    context.records.keep_only(path, context.worker)
    entries, forbidden = _read(context, protected, path.parent), sorted(_forbidden(context, protected))
    recorded = {"entries": entries, "forbidden": forbidden, "modules": _installed(context, protected)}
    context.records.write_json(path, recorded, context.worker)


def carry_changes(context: RunContext, protected: Protected, name: str, is_of_user: Callable[[str], bool]) -> None:
    """Record the programs and modules again that the user changed after an interrupted attempt had recorded them."""
    path = _path(context, name)
    value = context.records.read_json(path, context.worker)
    if not isinstance(value, dict):
        return
    replacing = find_replacing(context.folder, protected.python_folders, value.get("modules", ()))
    added = {module for file, module in replacing if is_of_user(file)}
    carried = {
        "entries": recorded_files.carry_changes(value["entries"], _read(context, protected, path.parent), is_of_user),
        "forbidden": [file for file in value["forbidden"] if not is_of_user(file)],
        "modules": [module for module in value.get("modules", ()) if module not in added],
    }
    if carried != value:
        context.records.write_json(path, carried, context.worker)


def _read(context: RunContext, protected: Protected, folder: Path) -> dict[str, list[str]]:
    return recorded_files.record(context, _existing(context, protected), folder)


def _installed(context: RunContext, protected: Protected) -> list[str]:
    """Return the names of installed Python modules, without those that the working copy has too."""
    folders = protected.python_folders
    if not folders:
        return []
    names = installed_names(context.folder, protected.programs, context.environment)
    return sorted(names - {module for _, module in find_replacing(context.folder, folders, names)})


def find_changed(context: RunContext, protected: Protected, name: str, may_edit: Sequence[str]) -> list[Repair]:
    """Return the repairs of the programs and modules that were changed, deleted or added since they were recorded."""
    value = context.records.read_json(_path(context, name), context.worker) if name else None
    if not isinstance(value, dict):
        return []
    why = f"a check starts it; {MAY_EDIT}"
    repairs = list(recorded_files.find_changed(context, value["entries"], _path(context, name).parent, why))
    for path in value["forbidden"]:
        if os.path.lexists(context.folder / path):
            repairs.append(
                Repair(path, f"it was added, and a check would start it instead of another; {MAY_EDIT}", None)
            )
    for path, module in find_replacing(context.folder, protected.python_folders, value.get("modules", ())):
        if not is_in_text(path, context.plan.text):
            what = f"it was added, and python would import it instead of the installed module {module}"
            repairs.append(Repair(path, f"{what}; {MAY_EDIT}", None))
    return [repair for repair in repairs if not any(matches(pattern, repair.path) for pattern in may_edit)]


def _path(context: RunContext, name: str) -> Path:
    return context.run_folder / FOLDER / f"{name}.json"


def _existing(context: RunContext, protected: Protected) -> list[str]:
    """Return the programs of checks that exist in the working copy, and what they are links to."""
    words = protected.programs
    named = [word for word in words if "/" in word and not os.path.isabs(word)]
    installed = [join(place, name) for place in _places(protected) for name in _PACKAGES]
    found = [f"{folder}/{word}" for folder in (*_on_path(context), *installed) for word in (*words, *_STARTERS)]
    paths = [os.path.normpath(path) for path in (*named, *found)]
    return list(dict.fromkeys(target for path in paths for target in _links(context.folder, path)))


def _places(protected: Protected) -> list[str]:
    """Return the folders in which checks start programs and those above them, where npm searches too."""
    folders = [folder for folder in protected.program_folders if not folder.startswith(("/", ".."))]
    return list(dict.fromkeys(("", *(place for folder in folders for place in (*folders_above(folder), folder)))))


def _forbidden(context: RunContext, protected: Protected) -> Iterator[str]:
    """Yield the programs that do not exist, and would be started instead of one elsewhere.

    Their folder need not exist either: an agent can make it.
    """
    words = protected.programs
    on_path = list(_on_path(context))
    of_node = {join(place, _NODE): ("", *folders_above(place)) if place else () for place in _places(protected)}
    outside = os.pathsep.join(
        part for part in context.environment.get("PATH", "").split(os.pathsep) if _inside(context, part) is None
    )
    for folder in dict.fromkeys((*on_path, *of_node)):
        for word in dict.fromkeys((*words, *_STARTERS)):
            path = f"{folder}/{word}"
            is_free = "/" not in word and not os.path.lexists(f"{context.folder}/{path}")
            if not is_free or is_behind_link(context.folder, path):
                continue
            above = (f"{context.folder}/{join(place, _NODE)}/{word}" for place in of_node.get(folder, ()))
            is_searched = folder in on_path or word in _STARTERS
            if (is_searched and _is_found(word, outside)) or any(map(os.path.lexists, above)):
                yield path


def _is_found(word: str, path: str) -> bool:
    """Return whether a program is on a PATH, or has been during this driver: most of them stay there."""
    if (word, path) in _found or shutil.which(word, path=path) is None:
        return (word, path) in _found
    _found.add((word, path))
    return True


def _on_path(context: RunContext) -> Iterator[str]:
    """Yield the folders of the PATH inside the working copy."""
    for part in context.environment.get("PATH", "").split(os.pathsep):
        inside = _inside(context, part)
        if inside is not None:
            yield inside


def _inside(context: RunContext, part: str) -> str | None:
    top = str(context.folder)
    path = os.path.normpath(os.path.join(top, part))
    return os.path.relpath(path, top) if f"{path}/".startswith(f"{top}/") else None


def _links(top: Path, path: str) -> Iterable[str]:
    """Yield a path and what it leads to, as far as that exists inside a folder and not behind a link to a folder."""
    for _ in range(_LINKS):
        if path.startswith("../") or not is_file(top, path):
            return
        yield path
        place = f"{top}/{path}"
        if not os.path.islink(place):
            return
        path = os.path.relpath(os.path.join(os.path.dirname(place), os.readlink(place)), top)
