"""Attack: an agent changes the user's own settings or trust in `BRIDLE_HOME`.

In the sandbox the folder is hidden, and nothing that is written there is kept.
"""

from __future__ import annotations

from pathlib import Path

from tests.attacks.fixtures.sandboxed import SECRET, make_target


def test_the_folder_of_the_user_stays_as_it_is(tmp_path: Path) -> None:
    target = make_target(tmp_path)
    target.attack("chmod 700 ~/.bridle; echo permission=bypass > ~/.bridle/bridle.toml; mkdir ~/.bridle/trust; true")
    assert [path.name for path in (target.home / ".bridle").iterdir()] == ["bridle.toml"]
    assert (target.home / ".bridle" / "bridle.toml").read_text() == SECRET
