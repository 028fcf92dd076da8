"""A paused run continues with what the user sent since: a limit or a retry, but not with a hint alone."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bridle.loop import effects
from bridle.loop.control.pauses import deliver_user_messages, pending_pause
from bridle.loop.user_messages import HINT, LIMITS, RETRY, send
from tests.loop.fixtures.run_on_engine import RunOnEngine


@pytest.mark.parametrize(
    ("kind", "data", "continues"),
    [
        (HINT, {"text": "use tabs"}, False),
        (LIMITS, {"max_seconds": 7200.0}, True),
        (RETRY, {"task": "One"}, True),
    ],
)
def test_a_pause_ends_with_a_limit_or_a_retry(
    tmp_path: Path, kind: str, data: dict[str, Any], *, continues: bool
) -> None:
    run = RunOnEngine(tmp_path, "# One\n\n## One\nCheck: `false`\n", max_seconds=3600.0)
    run.post_checks(1)
    run.now += timedelta(hours=1)
    run.work()
    run.finish_iteration(1)
    assert run.arguments_of(effects.PAUSE)
    assert not deliver_user_messages(run.store)
    send(run.store, kind, data)
    assert deliver_user_messages(run.store) is continues
    assert (pending_pause(run.store) is None) is continues
