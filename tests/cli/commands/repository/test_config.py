"""`bridle config` shows every setting in force, and where it comes from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.fixtures.bridle_program import run_bridle


def config(here: Path, *words: str) -> dict[str, Any]:
    variables = {"BRIDLE_HOME": str(here.parent / "home"), "BRIDLE_SANDBOX": ""}
    done = run_bridle("config", "--json", *words, cwd=here, variables=variables)
    assert done.returncode == 0, done.stderr
    settings: dict[str, Any] = json.loads(done.stdout)["settings"]
    return settings


def test_every_value_names_its_file_and_line(tmp_path: Path) -> None:
    here, home = tmp_path / "repository", tmp_path / "home"
    (here / ".git").mkdir(parents=True)
    home.mkdir()
    own, shipped = home / "bridle.toml", here / "bridle.toml"
    own.write_text('tries = 3\nmodel = "opus"\nnotify = ["ntfy://secret-topic"]\n[sandbox]\nmode = "off"\n')
    shipped.write_text('\nmodel = "haiku"\nmax_cost = 900\nchecks = ["make test"]\n')
    found = config(here)
    assert found["model"] == {"value": "haiku", "source": str(shipped), "line": 2}
    assert found["checks"] == {"value": ["make test"], "source": str(shipped), "line": 4}
    assert found["tries"] == {"value": 3, "source": str(own), "line": 1}
    assert found["sandbox.mode"] == {"value": "off", "source": str(own), "line": 4}
    assert found["reasoning"] == {"value": "med", "source": "default"}
    assert found["max_cost"] == {"value": 20.0, "source": "default", "ignored": str(shipped)}
    assert "secret-topic" not in json.dumps(found)
    assert set(config(here, "--changed")) == {"model", "checks", "tries", "notify", "sandbox.mode"}
    assert list(config(here, "tries")) == ["tries"]


def test_the_variable_and_wrong_names(tmp_path: Path) -> None:
    variables = {"BRIDLE_HOME": str(tmp_path / "home"), "BRIDLE_SANDBOX": "off"}
    done = run_bridle("config", "sandbox.mode", cwd=tmp_path, variables=variables)
    assert done.stdout == 'sandbox.mode = "off"  # BRIDLE_SANDBOX\n'
    refused = run_bridle("config", "trys", cwd=tmp_path, variables=variables)
    assert (refused.returncode, "Did you mean tries?" in refused.stderr) == (2, True)
