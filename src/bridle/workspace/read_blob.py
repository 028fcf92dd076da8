"""Read a blob of the repository, and compare its content with its id.

Git does not compare them when it reads an object, and an agent can write to the folder of objects.
"""

from __future__ import annotations

import hashlib

from bridle.errors import GitError
from bridle.workspace.git import Git


async def read_blob(git: Git, name: str) -> bytes:
    """Return the content of the blob with this id."""
    _, text = await git.run("cat-file", "blob", name)
    data = text.encode("utf-8", "surrogateescape")
    if blob_id(data, like=name) != name:
        raise GitError(
            f"the object {name} in {git.folder} was replaced: its content does not have this id",
            remedy="Fetch the repository anew, or restore .git/objects from a backup; `git fsck` lists such objects.",
        )
    return data


def blob_id(data: bytes, *, like: str) -> str:
    """Return git's object id of a file with this content, with the hash algorithm of another id."""
    digest = hashlib.sha256 if len(like) == 64 else hashlib.sha1
    return digest(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
