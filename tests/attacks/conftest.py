"""An attack whose outcome depends on the sandbox runs with it and without it."""

from __future__ import annotations

import pytest

from bridle.run.isolation.sandbox_rules import BWRAP, OFF


@pytest.fixture(params=[BWRAP, OFF], ids=["sandbox", "no-sandbox"])
def sandbox(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Set the mode for every `bridle` that the test starts, and return it."""
    mode = str(request.param)
    monkeypatch.setenv("BRIDLE_SANDBOX", mode)
    return mode
