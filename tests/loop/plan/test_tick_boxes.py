"""`--tick` writes into a person's file: boxes, and nothing else."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from bridle.errors import DiskError
from bridle.loop.plan.tick_boxes import tick

PLAN = """\
# T
- [ ] not of a task
## Token bucket
* [ ] one
1. [/] two
- [] three
- [x] four
```
- [ ] in a fence
```
Checks:
- [ ] `make`
## [ ] With a box
- [ ] five
##   Without any  ##
words
##Crowded
words
"""


def ticked(path: Path, *titles: str) -> list[tuple[str, str]]:
    """The lines that changed: before and after."""
    before = path.read_bytes().decode().split("\n")
    tick(path, titles)
    after = path.read_bytes().decode().split("\n")
    return [(old, new) for old, new in zip(before, after, strict=True) if old != new]


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "PLAN.md"
    path.write_bytes(PLAN.encode())
    return path


def test_the_boxes_of_a_task_are_ticked(plan: Path) -> None:
    assert ticked(plan, "token  BUCKET") == [
        ("* [ ] one", "* [x] one"),
        ("1. [/] two", "1. [x] two"),
        ("- [] three", "- [x] three"),
    ]


def test_a_heading_with_a_box_is_ticked_with_the_others(plan: Path) -> None:
    assert ticked(plan, "With a box") == [("## [ ] With a box", "## [x] With a box"), ("- [ ] five", "- [x] five")]


def test_a_task_without_boxes_gets_one_in_its_heading(plan: Path) -> None:
    assert ticked(plan, "Without any", "Crowded") == [
        ("##   Without any  ##", "## [x] Without any  ##"),
        ("##Crowded", "## [x] Crowded"),
    ]


def test_ticked_titles_are_returned_once(plan: Path) -> None:
    assert tick(plan, ["With a box", "Without any", "Not there"]) == ("With a box", "Without any")
    assert tick(plan, ["With a box", "Without any", "Not there"]) == ()


def test_line_endings_byte_order_mark_and_mode_stay(tmp_path: Path) -> None:
    path = tmp_path / "PLAN.md"
    before = "\ufeff## A\r\n- [ ] one\r\n\r\n\t- [ ] two  \r\nno end".encode()
    path.write_bytes(before)
    path.chmod(0o640)
    assert tick(path, ["A"]) == ("A",)
    assert path.read_bytes() == before.replace(b"[ ]", b"[x]")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_file_that_needs_no_tick_is_not_written(plan: Path) -> None:
    before = plan.stat().st_ino
    assert tick(plan, ["Not there"]) == ()
    assert plan.stat().st_ino == before


def test_a_link_stays_a_link(tmp_path: Path, plan: Path) -> None:
    link = tmp_path / "link.md"
    link.symlink_to(plan.name)
    assert tick(link, ["Crowded"]) == ("Crowded",)
    assert link.is_symlink()
    assert "## [x] Crowded" in plan.read_text()


def test_a_missing_file_or_one_that_is_not_text_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DiskError, match="could not be read"):
        tick(tmp_path / "PLAN.md", ["A"])
    (tmp_path / "PLAN.md").write_bytes(b"## A\xff")
    with pytest.raises(DiskError, match="is not UTF-8"):
        tick(tmp_path / "PLAN.md", ["A"])


def test_a_story_passes_and_no_other_byte_is_changed(tmp_path: Path) -> None:
    path = tmp_path / "prd.json"
    before = (
        '{ "note": "\\"passes\\": false",\n  "userStories" : [\n'
        '\t{"title":"A", "passes" :\tfalse , "x": {"passes": false}},\n'
        '\t{"title": "B", "passes": false},\r\n'
        '\t{"title": "C"\n\t}\n] }'
    )
    path.write_bytes(before.encode())
    assert tick(path, ["A", "C"]) == ("A", "C")
    expected = before.replace('"passes" :\tfalse', '"passes" :\ttrue').replace('"C"\n', '"C", "passes": true\n')
    assert path.read_bytes() == expected.encode()
    assert tick(path, ["A", "C"]) == ()
