"""Signs and verifies with the user's own programs: `ssh-keygen -Y` and `gpg`, as git does."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from bridle.errors import UsageError
from bridle.ground import program_path
from bridle.ground.children.query import query
from bridle.ground.children.query_result import QueryResult
from bridle.loop.evidence.git_keys import SSH, GitKeys

# Git's own namespace, so that the allowed signers of the user count, which are mostly limited to it. What is signed
# begins with "DSSEv1", as no object of git does.
NAMESPACE = "git"
# The user may have to enter a passphrase, or to touch a hardware key.
LIMIT_SECONDS = 300.0
_OUTPUT_LIMIT_BYTES = 1024 * 1024
_SSH_ARMOUR = b"-----BEGIN SSH SIGNATURE-----"
_GPG_ARMOUR = b"-----BEGIN PGP SIGNATURE-----"

_ALLOW = (
    "If you know this key, write a line `NAME KEYTYPE KEY` into a file of yours and name it: "
    "git config --global gpg.ssh.allowedSignersFile FILE"
)

GOOD = "good"
UNKNOWN_SIGNER = "unknown signer"
BAD = "bad"
UNSIGNED = "unsigned"


class Verdict(Struct, frozen=True):
    """What a signature is worth."""

    state: str
    """`good`, `unknown signer` (the signature is good, but the key is not known), `bad`, or `unsigned`."""
    signer: str | None = None
    key: str | None = None
    details: str = ""


class Signatures(Struct, frozen=True):
    """Signs and verifies in a controlled environment."""

    keys: GitKeys
    environment: Mapping[str, str]

    async def sign(self, data: bytes) -> tuple[bytes, str]:
        """Return a signature in its armour, and the key that made it."""
        key = self.keys.signing_key()
        if self.keys.format == SSH:
            return await self._sign_with_ssh(key, data), key
        done = await self._run((self.keys.gpg_program, "--status-fd=2", "-bsau", key), data)
        if done.exit_code != 0 or not done.stdout.startswith(_GPG_ARMOUR):
            raise _failed(self.keys.gpg_program, key, done)
        return done.stdout, key

    async def verify(self, data: bytes, signature: bytes) -> Verdict:
        """Return what a signature of the data is worth."""
        if not signature:
            return Verdict(UNSIGNED, details="it is not signed")
        with tempfile.TemporaryDirectory(prefix="bridle-verify-") as folder:
            path = Path(folder, "signature")
            path.write_bytes(signature)
            if signature.startswith(_SSH_ARMOUR):
                return await self._verify_with_ssh(data, path)
            if signature.startswith(_GPG_ARMOUR):
                return await self._verify_with_gpg(data, path)
        return Verdict(BAD, details="its signature is neither of SSH nor of GPG")

    async def _sign_with_ssh(self, key: str, data: bytes) -> bytes:
        literal = key.removeprefix("key::")
        is_literal = key.startswith(("key::", "ssh-"))
        with tempfile.TemporaryDirectory(prefix="bridle-sign-") as folder:
            path = Path(os.path.expanduser(key))
            if is_literal:
                path = Path(folder, "key.pub")
                path.write_text(literal + "\n", encoding="utf-8")
            words = (self.keys.ssh_program, "-Y", "sign", "-n", NAMESPACE, "-f", str(path))
            done = await self._run((*words, "-U") if is_literal else words, data)
        if done.exit_code != 0 or not done.stdout.startswith(_SSH_ARMOUR):
            raise _failed(self.keys.ssh_program, key, done)
        return done.stdout

    async def _verify_with_ssh(self, data: bytes, signature: Path) -> Verdict:
        program, signers = self.keys.ssh_program, self.keys.allowed_signers
        place = ("-n", NAMESPACE, "-s", str(signature))
        checked = await self._run((program, "-Y", "check-novalidate", *place), data)
        if checked.exit_code != 0:
            return Verdict(BAD, details=_output(checked))
        found = re.search(rb"with (\S+ key \S+)", checked.stdout)
        key = found[1].decode("utf-8", "replace") if found is not None else None
        if signers is None:
            return Verdict(UNKNOWN_SIGNER, key=key, details=f"gpg.ssh.allowedSignersFile is not set. {_ALLOW}")
        named = await self._run((program, "-Y", "find-principals", "-f", str(signers), "-s", str(signature)), b"")
        for signer in named.stdout.decode("utf-8", "replace").splitlines() if named.exit_code == 0 else ():
            words = (program, "-Y", "verify", *place, "-f", str(signers), "-I", signer)
            if (await self._run(words, data)).exit_code == 0:
                return Verdict(GOOD, signer, key)
        return Verdict(UNKNOWN_SIGNER, key=key, details=f"{signers} does not allow it. {_ALLOW}")

    async def _verify_with_gpg(self, data: bytes, signature: Path) -> Verdict:
        done = await self._run((self.keys.gpg_program, "--status-fd=1", "--verify", str(signature), "-"), data)
        status = {
            words[1]: words[2:]
            for words in (line.split(" ") for line in done.stdout.decode("utf-8", "replace").splitlines())
            if words[0] == "[GNUPG:]" and len(words) > 1
        }
        key = status["VALIDSIG"][0] if status.get("VALIDSIG") else None
        if "GOODSIG" in status and done.exit_code == 0:
            trust = next((name for name in status if name.startswith("TRUST_")), "")
            return Verdict(GOOD, " ".join(status["GOODSIG"][1:]), key, trust.removeprefix("TRUST_").lower())
        if "NO_PUBKEY" in status:
            return Verdict(BAD, key=status["NO_PUBKEY"][0], details="its public key is not in your keyring")
        return Verdict(BAD, key=key, details=_output(done))

    async def _run(self, words: tuple[str, ...], data: bytes) -> QueryResult:
        return await query(
            words,
            cwd=Path.cwd(),
            environment=program_path.outside_environment(self.environment, Path.cwd()),
            limit_seconds=LIMIT_SECONDS,
            limit_bytes=_OUTPUT_LIMIT_BYTES,
            stdin=data,
        )


def _failed(program: str, key: str, done: QueryResult) -> UsageError:
    return UsageError(
        f"{program} could not sign with {key}: {_output(done)}",
        remedy="Check that git can sign with it: git commit -S --allow-empty -m test",
    )


def _output(done: QueryResult) -> str:
    text = (done.stderr + done.stdout).decode("utf-8", "replace").strip()
    lines = [line for line in text.splitlines() if not line.startswith("[GNUPG:]")]
    return " ".join(lines)[-500:] or f"exit code {done.exit_code}"
