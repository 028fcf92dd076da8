"""Keys are sorted as `localeCompare` sorts them; the expected orders were printed by node 20."""

from __future__ import annotations

from bridle.journal.format.key_order import canonical, text_order

ASCII = "\t\n\v\f\r _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789aAbBcCdDeEfFgGhHiIjJkKlLmMnNoOpPqQrRsStTuUvVwWxXyYzZ"
WORDS = (
    "a A ä a_b a-b aa ab aB Ab AB ab_ abc abd apple b B e é É f input_json inputJsonPath"
    " item10 item9 ñ Zebra zoo 中 日本"
)


def test_every_ascii_letter_has_its_place() -> None:
    assert "".join(sorted(sorted(ASCII), key=text_order)) == ASCII


def test_words_are_sorted_by_letter_then_accent_then_case() -> None:
    assert sorted(sorted(WORDS.split()), key=text_order) == WORDS.split()


def test_control_characters_do_not_count() -> None:
    assert sorted(["abd", "ab\x01c"], key=text_order) == ["ab\x01c", "abd"]


def test_integer_keys_come_first_by_number_as_in_javascript_objects() -> None:
    value = {"b": 1, "10": 2, "9": 3, "01": 4, "4294967295": 5, "4294967294": 6, "a": {"2": 0, "1": 0}}
    ordered = canonical(value)
    assert isinstance(ordered, dict)
    assert list(ordered) == ["9", "10", "4294967294", "01", "4294967295", "a", "b"]
    assert list(ordered["a"]) == ["1", "2"]


def test_the_order_reaches_into_lists_and_changes_no_value() -> None:
    value = {"z": [{"b": 1, "a": [2, {"d": 1, "c": 2}]}], "y": None}
    assert canonical(value) == value
    assert str(canonical(value)) == "{'y': None, 'z': [{'a': [2, {'c': 2, 'd': 1}], 'b': 1}]}"
