"""Attack: the objects of a verified commit are exchanged: by a ref in `refs/replace`, or in `.git/objects`.

The attacker wants the commit that a receipt or a journal proves to show other files. The id of the commit stays. Bridle
reads and hashes the commit, its trees and the files in which it differs from its parent.

With the sandbox: the same; the files are changed after the run, by a program with your rights.
Without: found.
Reported: by `bridle verify` and the audit, which name the object.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import pytest

from bridle.cli import main as dispatcher
from tests.attacks.fixtures.finished_run import GROUP, copy_finished_run
from tests.attacks.fixtures.git_forgery import forge_object

pytestmark = GROUP


def test_verify_and_audit_name_the_object(
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here = copy_finished_run(tmp_path, tmp_path_factory)
    monkeypatch.chdir(here.folder)

    def verify() -> str:
        capsys.readouterr()
        code = dispatcher.run(["verify", "HEAD", "--json"])
        text = capsys.readouterr().out
        assert json.loads(text)["ok"] == (code == 0)
        return "" if code == 0 else text

    commit, tree, parent = (here.git("rev-parse", name).strip() for name in ("HEAD", "HEAD^{tree}", "HEAD~1^{tree}"))
    blob = here.git("rev-parse", "HEAD:two").strip()
    objects = here.folder / ".git/objects"
    assert (verify(), here.wrong(capsys)) == ("", {})
    here.git("replace", commit, here.git("rev-parse", "HEAD~1").strip())
    assert f"refs/replace/{commit}" in verify()
    here.git("replace", "-d", commit)
    text = here.git("cat-file", "commit", commit).replace(tree, parent).encode()
    other = zlib.compress(b"commit %d\0" % len(text) + text)
    for name, content in ((commit, other), (tree, (objects / parent[:2] / parent[2:]).read_bytes())):
        place = objects / name[:2] / name[2:]
        before = place.read_bytes()
        place.chmod(0o644)
        place.write_bytes(content)
        assert name == commit or f"the object {name} " in verify()  # git itself refuses to name such a commit
        assert f"the object {name} " in here.wrong(capsys)[f"commit {commit}"]
        place.write_bytes(before)
    assert verify() == ""
    forge_object(here.folder, blob, b"EVIL\n")
    assert f"the object {blob} (two) was replaced" in verify()
