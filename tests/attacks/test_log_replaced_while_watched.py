"""Attack: an agent replaces its log by a link to a file of the user, or by a named pipe, after a view has listed it.

The link would show any file that the user can read as a conversation. Opening a pipe waits for ever,
and with it every page of `bridle watch` that shows this log.

With the sandbox: the same; the logs of a run are read-only there.
Without: not opened; the log cannot be read.
Reported: to the view, as a file that cannot be read.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bridle.views.run_data.followed_log import FollowedLog
from bridle.views.run_data.log_list import ListedLog
from bridle.views.run_data.run_logs import NamedLog
from bridle.views.run_data.search import Search
from bridle.wire.dialects.dialect_table import DEFAULT_AGENT
from bridle.wire.mask import Mask

LINE = b'{"type":"user","message":{"role":"user","content":"the password"}}\n'


@pytest.mark.without_sandbox("changes what the sandbox protects")
def test_only_a_regular_file_is_opened(tmp_path: Path) -> None:
    secret, log = tmp_path / "secret", tmp_path / "1.jsonl"
    secret.write_bytes(LINE)
    log.write_bytes(LINE)
    known = FollowedLog(log, DEFAULT_AGENT, Mask())
    known.read_new()
    item_id = known.transcript.item_ids(None)[0]
    assert list(known.raw_lines(item_id, 1000)) == [LINE.rstrip()]
    assert hits(log) == 1

    log.unlink()
    log.symlink_to(secret)
    with pytest.raises(OSError, match="symbolic links"):
        FollowedLog(log, DEFAULT_AGENT, Mask()).read_new()
    with pytest.raises(OSError, match="symbolic links"):
        list(known.raw_lines(item_id, 1000))
    assert hits(log) == 0

    log.unlink()
    os.mkfifo(log)
    with pytest.raises(OSError, match="not a regular file"):
        FollowedLog(log, DEFAULT_AGENT, Mask()).read_new()
    assert hits(log) == 0


def hits(log: Path) -> int:
    search = Search("password", lambda _: True, Mask())
    search.add_log("r", ListedLog("1", NamedLog(log)), None)
    return len(search.hits)
