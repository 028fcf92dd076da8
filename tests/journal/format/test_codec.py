"""Entries and their text: written as the format writes them, and verified over the raw text."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.errors import UsageError
from bridle.journal.format import codec
from tests.journal.fixtures.recorded_samples import FOLDER

ULID = "01M7EB7NK2X29EXB02ZCA0GEZ3"
FILES = sorted(FOLDER.glob("*/journal/*.json"))

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parents[1].name}-{path.name[:6]}")
def test_an_entry_of_the_other_implementation_is_verified_and_written_with_the_same_bytes(path: Path) -> None:
    name = codec.parse_name(path.name)
    assert name is not None
    entry = codec.decode(*name, path.read_bytes())
    assert codec.encode(entry.type, entry.recorded_at, entry.data) == path.read_bytes()


@given(data=st.dictionaries(st.text(), values, max_size=5), entry_type=st.text(min_size=1))
def test_what_is_written_comes_back(data: dict[str, object], entry_type: str) -> None:
    entry = codec.decode(7, ULID, codec.encode(entry_type, "2026-11-15T00:00:00.000Z", data))
    assert (entry.seq, entry.ulid, entry.type, entry.data) == (7, ULID, entry_type, data)


def javascript_text(body: str) -> bytes:
    """An entry as JavaScript writes it, with its numbers and its order of keys."""
    whole = body + "\n}\n"
    return (body + f',\n  "checksum": "{sha256(whole.encode()).hexdigest()}"\n}}\n').encode()


def test_a_checksum_is_of_the_raw_text_however_its_numbers_are_written() -> None:
    body = (
        '{\n  "type": "X",\n  "recordedAt": "t",\n  "data": {\n    "n": 1e21,\n    "small": 1e-7,\n    "one": 1.0\n  }'
    )
    entry = codec.decode(1, ULID, javascript_text(body))
    assert entry.data == {"n": 1e21, "small": 1e-7, "one": 1.0}


def test_further_fields_of_later_versions_are_covered_by_the_checksum() -> None:
    body = '{\n  "type": "X",\n  "recordedAt": "t",\n  "data": {},\n  "sdkVersion": "6.0.0"'
    assert codec.decode(1, ULID, javascript_text(body)).type == "X"
    with pytest.raises(codec.BadText, match="checksum does not match"):
        codec.decode(1, ULID, javascript_text(body).replace(b"6.0.0", b"6.0.1"))


def test_every_single_changed_byte_is_noticed() -> None:
    good = FILES[0].read_bytes()
    for position in range(len(good)):
        changed = good[:position] + bytes([good[position] ^ 1]) + good[position + 1 :]
        with pytest.raises(codec.BadText):
            codec.decode(1, ULID, changed)


def test_every_torn_text_is_noticed() -> None:
    good = FILES[0].read_bytes()
    for length in range(len(good)):
        with pytest.raises(codec.BadText):
            codec.decode(1, ULID, good[:length])


@pytest.mark.parametrize(
    "body",
    [
        '[\n  "type"\n]',
        '{\n  "type": 3,\n  "recordedAt": "t",\n  "data": {}',
        '{\n  "recordedAt": "t",\n  "data": {}',
        '{\n  "type": "X",\n  "recordedAt": "t",\n  "data": []',
        '{\n  "type": "X",\n  "recordedAt": "t",\n  "data": {\n    "n": NaN\n  }',
    ],
)
def test_what_is_no_entry_is_refused_even_with_a_good_checksum(body: str) -> None:
    with pytest.raises(codec.BadText):
        codec.decode(1, ULID, javascript_text(body))


def test_a_lone_surrogate_is_escaped_as_the_format_does_and_other_letters_stay() -> None:
    text = codec.encode("X", "t", {"said": "héllo ✓ \ud83d"})
    assert '"said": "héllo ✓ \\ud83d"'.encode() in text
    assert codec.decode(1, ULID, text).data == {"said": "héllo ✓ \ud83d"}


@pytest.mark.parametrize("data", [{"n": float("nan")}, {"n": float("inf")}, {"n": {1, 2}}, {"n": b"raw"}])
def test_what_json_cannot_say_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="not JSON"):
        codec.encode("X", "t", data)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (f"000001.{ULID}.json", (1, ULID)),
        (f"1234567.{ULID}.json", (1234567, ULID)),
        (f"00001.{ULID}.json", None),
        (f"000001.{ULID}.json.tmp-12-34", None),
        (f"000001.{ULID}", None),
        (f"00000x.{ULID}.json", None),
        (f"٠٠٠٠٠١.{ULID}.json", None),
        (f"000001.{ULID.lower()}.json", None),
        (f"000001.{ULID[:-1]}.json", None),
        (f"000001.{ULID[:-1]}U.json", None),
        ("000001.json", None),
        ("notes.json", None),
        ("", None),
    ],
)
def test_a_name_is_an_entrys_or_it_is_not(name: str, expected: tuple[int, str] | None) -> None:
    assert codec.parse_name(name) == expected


@given(value=values)
def test_documents_are_laid_out_as_the_format_does(value: object) -> None:
    assert json.loads(codec.pretty(value)) == value
    assert codec.pretty({"a": [1, {"b": None}]}) == b'{\n  "a": [\n    1,\n    {\n      "b": null\n    }\n  ]\n}\n'
