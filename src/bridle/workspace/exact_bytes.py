"""Git commands that read and write files byte for byte: no line-ending conversion, no filters such as LFS, no `ident`.

Attributes can be overridden only by the file `info/attributes` of a git folder. So such a command gets a git folder of
its own, inside that of the working copy, in which everything else is a link.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from bridle.errors import DiskError
from bridle.ground import disk
from bridle.workspace.git import Git
from bridle.workspace.git_folder import read_git_files
from bridle.workspace.git_folder.git_links import EXACT_FOLDER as FOLDER

_ATTRIBUTES = b"* -text !crlf !eol !ident !filter !working-tree-encoding\n"
_CONVERTING = frozenset({"text", "crlf", "eol", "ident", "filter", "working-tree-encoding"})
# A split index has a part of it in the git folder.
_PLAIN = ("-c", "core.autocrlf=false", "-c", "core.splitIndex=false", "-c", "index.sparse=false")
_SYSTEM_ATTRIBUTES = "/etc/gitattributes"
# Settings that an included file may have: a path from our folder would lead elsewhere.
_REPEATED = ("core.excludesfile", "core.filemode", "core.symlinks", "core.ignorecase", "core.bigfilethreshold")


async def flags(git: Git) -> list[str]:
    """Return the flags with which git stores and writes files byte for byte."""
    own, common = await _git_folders(git)
    folder = Path(own) / FOLDER
    links = {
        "config": f"{common}/config",
        "config.worktree": f"{own}/config.worktree",
        "objects": f"{common}/objects",
        "refs": f"{common}/refs",
        "reftable": f"{common}/reftable",
        "info/exclude": f"{common}/info/exclude",
        "info/sparse-checkout": f"{own}/info/sparse-checkout",
    }
    try:
        (folder / "info").mkdir(parents=True, exist_ok=True)
        for name, target in links.items():
            _link(folder / name, target)
        for name, content in (("HEAD", b"ref: refs/heads/main\n"), ("info/attributes", _ATTRIBUTES)):
            if disk.read_if_exists(folder / name, len(content) + 1) != content:
                disk.replace_cache(folder / name, content)
    except OSError as error:
        raise DiskError(f"cannot write {folder}: {error.strerror}", payload=error.errno) from error
    settings = await git.settings()
    repeated = [word for name in _REPEATED if name in settings for word in ("-c", f"{name}={settings[name]}")]
    return [f"--git-dir={folder}", f"--work-tree={os.path.abspath(git.folder)}", *_PLAIN, *repeated]


async def may_convert(git: Git, index: bytes | None) -> bool:
    """Return whether a commit may have other bytes than the files, in a working copy with this index."""
    settings = await git.settings()
    if settings.get("core.autocrlf", "false").lower() not in ("false", "0", "no", "off", ""):
        return True
    if "attr.tree" in settings:  # attributes of another tree, since git 2.43
        return True
    # Version 4 of the index abbreviates names.
    if index is not None and (b".gitattributes" in index or index[:8] == b"DIRC\0\0\0\4"):
        return True
    _, common = await _git_folders(git)
    named = settings.get("core.attributesfile") or _default_attributes(git.environment)
    places = (git.folder / ".gitattributes", f"{common}/info/attributes", _SYSTEM_ATTRIBUTES, os.path.expanduser(named))
    return any(os.path.lexists(place) for place in places)


async def forget_converted(git: Git, variables: Mapping[str, str]) -> bool:
    """Remove the stat data of files with conversions from an index; return whether there are any.

    For git such a file is unchanged, and the index has its converted bytes.
    """
    entries = {}
    for line in await git.names("ls-files", "-v", "-s", "-z", variables=variables):
        facts, _, name = line.partition("\t")
        if facts[0] not in "Ss" and facts[2:4] == "10":  # on the disk, and a regular file
            entries[name] = f"{facts[2:]}\t{name}"
    setting = (await git.settings()).get("core.autocrlf", "false").lower()
    if setting in ("false", "0", "no", "off", ""):
        stdin = "".join(f"{name}\0" for name in entries).encode("utf-8", "surrogateescape")
        _, text = await git.run("check-attr", "-z", "--stdin", "-a", stdin=stdin)
        fields = iter(text.split("\0"))
        listed = zip(fields, fields, fields, strict=False)
        converted = {
            name for name, key, value in listed if key in _CONVERTING and value not in ("unset", "unspecified")
        }
    else:
        converted = set(entries)
    if converted:
        stdin = "".join(f"{entries[name]}\0" for name in converted).encode("utf-8", "surrogateescape")
        await git.run(*await flags(git), "update-index", "-z", "--index-info", stdin=stdin, variables=variables)
    return bool(converted)


async def _git_folders(git: Git) -> tuple[str, str]:
    try:
        own, common = read_git_files.git_folders(git.folder)
    except read_git_files.NeedsGit:
        own, common = str(await git.git_path(".")), str(await git.common_folder())
    return os.path.realpath(own), os.path.realpath(common)


def _default_attributes(environment: Mapping[str, str]) -> str:
    folder = environment.get("XDG_CONFIG_HOME") or f"{environment.get('HOME', '')}/.config"
    return f"{folder}/git/attributes"


def _link(path: Path, target: str) -> None:
    """Make a relative link to a file that exists; programs that walk the folder fail at one that leads nowhere."""
    link = os.path.relpath(target, path.parent) if os.path.lexists(target) else None
    if link is not None and path.is_symlink() and os.readlink(path) == link:
        return
    path.unlink(missing_ok=True)
    if link is not None:
        path.symlink_to(link)
