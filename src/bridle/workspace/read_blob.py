"""Read a blob of the repository, and compare its content with its id.

Git does not compare them when it reads an object, and an agent can write to the folder of objects.
"""

from __future__ import annotations

from bridle.errors import GitError
from bridle.workspace.git import Git
from bridle.workspace.git_folder.loose_objects import blob_id


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
