"""A process sees the same value in the same order of keys: from the cache, from the files and after a rebuild."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from bridle.engine.iterate.compare import compare
from bridle.journal.format import layout
from bridle.journal.format.key_order import canonical
from bridle.journal.stores import read_pack
from bridle.journal.stores.file_reader import FileReader
from bridle.journal.stores.file_store import FileStore
from tests.engine.fixtures.iterated_runs import IteratedRun

# What the process returns and requests depends on the order of keys.
SOURCE = """
import json

async def process(inputs, ctx):
    seen = json.dumps(await ctx.task(step, {}))
    await ctx.task(other, {"seen": seen})
    return seen
"""
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
# Keys that differ only in what the order ignores, and keys that look like numbers, are likely.
KEYS = st.text(max_size=4) | st.text("aA\x00\x01é́01", max_size=3)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=20
)


def shuffled(value: object) -> object:
    """The same value with the keys of every object in the opposite order."""
    if isinstance(value, dict):
        return {key: shuffled(item) for key, item in reversed(value.items())}
    return [shuffled(item) for item in value] if isinstance(value, list) else value


@given(value=VALUES)
def test_the_order_of_stored_keys_does_not_depend_on_the_order_of_the_given_ones(value: object) -> None:
    assert json.dumps(canonical(value)) == json.dumps(canonical(shuffled(value)))


@settings(max_examples=40)  # each is a run of its own
@given(value=VALUES)
def test_a_value_is_seen_in_one_order_in_all_three_ways(value: object) -> None:
    with tempfile.TemporaryDirectory() as folder:
        iterated = IteratedRun(Path(folder), SOURCE)
        iterated.iterate()
        iterated.post("1", value)
        iterated.iterate()
        iterated.post("2", None)
        seen = iterated.iterate().output
        assert json.loads(str(seen)) == value
        assert compare(iterated.run).differences == (), "from the files"
        effect = iterated.effect("1")
        packed = read_pack.read_all(iterated.run / layout.STATE / layout.PACK_FILE, FileReader(iterated.run).load)
        cached = packed.values.get(effect.effect_id, FileReader(iterated.run).result(effect).value)
        assert json.dumps(cached) == seen, "from the cache"
        with FileStore(iterated.run).write("test") as writer:
            writer.rebuild()
        assert json.dumps(FileReader(iterated.run).result(effect).value) == seen, "after a rebuild"
        shutil.rmtree(iterated.run / layout.STATE)
        assert json.dumps(FileReader(iterated.run).result(effect).value) == seen, "without a cache"
