"""What is read and written without `json` is what `json` reads and writes."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import bridle
from bridle.ground.light import quick_json

# A hang is a failure; a start on a busy machine takes a few seconds.
LIMIT_SECONDS = 60
SOURCE = str(Path(bridle.__file__).parents[1])

DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(DOCUMENTS)
@example({"": [], "a": {}, "é\u2028\x7f": [[{}], -0.0, 1e300, 2**70]})
def test_documents_are_written_as_json_writes_them(value: object) -> None:
    assert quick_json.pretty(value) == json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    assert quick_json.compact(value) == json.dumps(value, separators=(",", ":"), allow_nan=False)
    assert quick_json.readable(value) == json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    assert quick_json.readable(value, pretty=True) == json.dumps(value, indent=2, ensure_ascii=False)
    by_key = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    assert quick_json.compact_sorted(value) == by_key


@given(DOCUMENTS, st.sampled_from(["", " ", "\n\t \r"]))
def test_documents_are_read_as_json_reads_them(value: object, space: str) -> None:
    text = f"{space}{json.dumps(value)}{space}"
    assert quick_json.loads(text) == quick_json.strict(text) == quick_json.loads(text.encode()) == json.loads(text)


@pytest.mark.parametrize("value", [{2: "a", None: 2, True: 3, 1.5: 4}, (1, (2,)), {"a": (1, 2)}])
def test_what_is_not_plain_is_written_as_json_writes_it(value: object) -> None:
    assert quick_json.pretty(value) == json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    assert quick_json.compact(value) == json.dumps(value, separators=(",", ":"), allow_nan=False)
    assert quick_json.readable(value) == json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def test_numbers_that_json_does_not_know_are_readable_as_json_writes_them() -> None:
    value = [math.nan, math.inf, {"a": -math.inf}]
    assert quick_json.readable(value) == json.dumps(value, separators=(",", ":")) == '[NaN,Infinity,{"a":-Infinity}]'


@pytest.mark.parametrize("write", [quick_json.pretty, quick_json.compact, quick_json.compact_sorted])
@pytest.mark.parametrize("value", [math.nan, math.inf, [-math.inf], {"a": object()}, {b"a": 1}])
def test_what_is_not_json_is_refused(write: object, value: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        write(value)  # type: ignore[operator]  # each is a function of one value


def test_a_document_that_holds_itself_is_refused() -> None:
    value: list[object] = []
    value.append(value)
    for write in (quick_json.pretty, quick_json.compact):
        with pytest.raises(ValueError, match="Circular"):
            write(value)


BROKEN = ["", " ", "{", '{"a":}', "[1,]", "nul", '"\x01"', "1 2", "{}x", '{"a" 1}', "\ufeff{}", "[" * 100_000, "'a'"]


@pytest.mark.parametrize("text", BROKEN, ids=lambda text: ascii(text[:8]))
def test_what_json_refuses_is_refused_in_the_same_words(text: str) -> None:
    # In a process of its own: the scanner alone cannot say what is wrong while nobody has imported `json`.
    probe = (
        "import sys; from bridle.ground.light import quick_json; text = sys.stdin.buffer.read().decode()\n"
        "try: quick_json.strict(text)\n"
        "except (ValueError, RecursionError) as error: quick = error\n"
        "import json\n"
        "try: json.loads(text)\n"
        "except (ValueError, RecursionError) as error: assert (type(error), str(error)) == (type(quick), str(quick))\n"
        "else: raise AssertionError\n"
        "print('json.decoder' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", probe],
        input=text.encode(),
        capture_output=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, b"True\n"), done.stderr.decode()


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a": -Infinity}'])
def test_constants_that_json_does_not_know_are_read_but_not_strictly(text: str) -> None:
    assert repr(quick_json.loads(text)) == repr(json.loads(text))
    with pytest.raises(ValueError, match="is not JSON"):
        quick_json.strict(text)


@pytest.mark.parametrize("text", ["1e999", "[-1e400]", '{"a": 1.5e309}'])
def test_numbers_that_no_float_can_hold_are_refused_strictly(text: str) -> None:
    with pytest.raises(ValueError, match="is too large for JSON"):
        quick_json.strict(text)
    assert quick_json.strict(text.replace("e", "e-")) == json.loads(text.replace("e", "e-"))


def test_bytes_that_are_no_utf_8_are_refused() -> None:
    with pytest.raises(ValueError, match="utf-8"):
        quick_json.loads(b'{"a": "\xff"}')


def test_neither_json_nor_regular_expressions_are_imported() -> None:
    probe = (
        "import sys; before = set(sys.modules); from bridle.ground.light import quick_json\n"
        "quick_json.strict(quick_json.pretty({'a': [1, 2.5, None]}))\n"
        "quick_json.loads(quick_json.compact({'a': 'ü'}))\n"
        "print(sorted({'re', 'json'} & (set(sys.modules) - before)))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {SOURCE!r})\n" + probe],
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert done.stdout == "[]\n", done.stderr
