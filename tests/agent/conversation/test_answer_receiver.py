"""What is kept of an answer that is interrupted."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from bridle.agent.conversation.answer_receiver import AnswerReceiver
from bridle.agent.conversation.turn_result import TurnCounts
from bridle.agent.model.api.stream_pieces import AnswerFinished
from bridle.agent.sessions.api_messages import text_block
from tests.agent.fixtures.message_sinks import Sinks, answer_with, call

NOT_USED = cast("Any", None)


@pytest.mark.parametrize("is_whole", [False, True])
def test_an_interrupted_answer_is_in_the_history_once(tmp_path: Path, is_whole: bool) -> None:
    sinks = Sinks(tmp_path)
    answer = answer_with(sinks.log, call("a"))
    sinks.log.messages.clear()
    answer.is_logged, answer.is_counted, answer.partial_text = False, True, "unfinished"
    answer.ended = AnswerFinished("tool_use", None, {}) if is_whole else None
    receiver = AnswerReceiver(sinks.log, NOT_USED, NOT_USED, NOT_USED, TurnCounts(0.0), shows_frames=False)
    receiver.keep_partial(answer)
    receiver.keep_partial(answer)
    rest = [] if is_whole else [text_block("unfinished")]
    assert sinks.log.messages == [{"role": "assistant", "content": [call("a").block, *rest]}]
