"""How git is set up to sign: its format, key and programs.

Programs and the list of known signers count only from the user's own configuration. That of a repository, which an
agent can change, would run its program, or declare its key as known.
"""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from bridle.errors import UsageError
from bridle.workspace.git import Git

SSH = "ssh"
OPENPGP = "openpgp"

_FORMAT = "gpg.format"
_KEY = "user.signingkey"
_ALLOWED_SIGNERS = "gpg.ssh.allowedsignersfile"
_OWN_SCOPES = ("system", "global", "command")

_SET_A_KEY = (
    "Set one as for signed commits. With SSH: git config --global gpg.format ssh && "
    "git config --global user.signingkey ~/.ssh/id_ed25519.pub. With GPG: git config --global user.signingkey KEYID"
)


class GitKeys(Struct, frozen=True):
    """The settings of git for signatures."""

    format: str
    key: str | None
    ssh_program: str
    gpg_program: str
    allowed_signers: Path | None
    ignored: tuple[str, ...] = ()
    """Settings of the repository that do not count."""

    def signing_key(self) -> str:
        """Return the key to sign with; raise UsageError with the commands that set one."""
        if self.format not in (SSH, OPENPGP):
            raise UsageError(
                f"{_FORMAT} must be {SSH} or {OPENPGP} to sign a receipt, got {self.format}", remedy=_SET_A_KEY
            )
        if self.key is None:
            raise UsageError(f"git has no signing key: {_KEY} is not set", remedy=_SET_A_KEY)
        return self.key


async def read_git_keys(git: Git) -> GitKeys:
    """Read the settings of git that concern signatures."""
    pattern = r"^(gpg\..*|user\.signingkey)$"
    text = (await git.run("config", "--show-scope", "-z", "--get-regexp", pattern, accepts=(0, 1)))[1]
    fields = text.split("\0")
    values: dict[str, str] = {}
    ignored: list[str] = []
    for scope, setting in zip(fields[::2], fields[1::2], strict=False):
        name, _, value = setting.partition("\n")
        if scope in _OWN_SCOPES or name in (_FORMAT, _KEY):
            values[name] = value
        else:
            ignored.append(name)
    signers = values.get(_ALLOWED_SIGNERS)
    return GitKeys(
        format=values.get(_FORMAT, OPENPGP),
        key=values.get(_KEY) or None,
        ssh_program=values.get("gpg.ssh.program", "ssh-keygen"),
        gpg_program=values.get("gpg.openpgp.program") or values.get("gpg.program", "gpg"),
        allowed_signers=Path(os.path.expanduser(signers)) if signers else None,
        ignored=tuple(dict.fromkeys(ignored)),
    )
