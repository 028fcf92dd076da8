"""No stream, however broken, makes the conversation or its pictures raise."""

from __future__ import annotations

import copy
import io
import json
import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bridle.views.conversation_json import conversation_document
from bridle.views.terminal.conversation import PlainView
from bridle.views.terminal.page import DisplayOptions
from bridle.wire.events.decode import decode_stream
from bridle.wire.mask import Mask
from bridle.wire.transcript.items import Call
from bridle.wire.transcript.transcript import Transcript
from tests.wire.fixtures.conversations import RECORDINGS

LINES = [line for path in sorted(RECORDINGS.glob("*.ndjson")) for line in path.read_bytes().splitlines() if line]
LINES = [line for line in LINES if len(line) < 20_000]
VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1e308,
    "",
    "x",
    "toolu_0001_0",
    [],
    [None],
    {},
    {"type": "text"},
    [{"type": "text"}],
)


def mutated(line: bytes, chance: random.Random) -> bytes:
    """The line with values swapped, fields dropped, or bytes cut."""
    try:
        value = json.loads(line)
    except ValueError:
        return line
    for _ in range(chance.randrange(4)):
        mutate(value, chance)
    data = json.dumps(value).encode()
    return data[: chance.randrange(len(data))] if chance.random() < 0.05 else data


def mutate(value: Any, chance: random.Random) -> None:
    """Change one thing somewhere in a decoded value."""
    while isinstance(value, dict | list) and value:
        key = chance.choice(list(value)) if isinstance(value, dict) else chance.randrange(len(value))
        inner = value[key]
        if not isinstance(inner, dict | list) or not inner or chance.random() < 0.3:
            value[key] = copy.deepcopy(chance.choice(VALUES))
            return
        value = inner


@given(seed=st.integers(min_value=0), count=st.integers(min_value=1, max_value=40))
def test_mutated_recordings_never_raise_and_every_item_is_shown_once(seed: int, count: int) -> None:
    chance = random.Random(seed)  # noqa: S311  # picks mutations, guards nothing
    stream = b"\n".join(mutated(chance.choice(LINES), chance) for _ in range(count))
    transcript = Transcript(kept_characters=500)
    for place, event in enumerate(decode_stream([stream])):
        for changed in transcript.add(event, chance.choice((None, float(place)))):
            transcript.item(changed)
    transcript.finish()
    PlainView(transcript, Mask(), DisplayOptions(width=40, full=chance.random() < 0.5), io.StringIO()).finish()
    json.dumps(conversation_document(transcript, Mask()))
    seen: list[int] = []
    _walk(transcript, None, seen)
    assert sorted(seen) == sorted(item.id for thread in transcript.threads for item in transcript.items(thread))


@given(st.binary(max_size=400))
def test_arbitrary_bytes_never_raise(data: bytes) -> None:
    transcript = Transcript()
    for event in decode_stream([data]):
        transcript.add(event)
    transcript.finish()
    PlainView(transcript, Mask(), DisplayOptions(width=40), io.StringIO()).finish()


def _walk(transcript: Transcript, thread: str | None, seen: list[int]) -> None:
    for item in transcript.items(thread):
        seen.append(item.id)
        if isinstance(item, Call) and item.call_id:
            _walk(transcript, item.call_id, seen)
