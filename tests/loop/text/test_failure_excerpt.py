"""Of a failed check the first failure and the runner's summary are shown, for outputs that real runners printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle.loop.text.failure_excerpt import failure_excerpt

RECORDINGS = Path(__file__).parents[2] / "recordings" / "check-output"
# What a user needs of each output, and what of it is noise.
EXPECTED = {
    "pytest": (["assert -1 == 3", "FAILED test_plain.py::test_more", "2 failed, 1 passed"], "Captured stdout"),
    "unittest": (["FAIL: test_adds", "AssertionError: -1 != 3", "FAILED (failures=2)"], "3 != 7"),
    "make": (["FAIL: test_adds", "AssertionError: -1 != 3", "make: *** [Makefile:2: test] Error 1"], "3 != 7"),
    "jest": (["● adds", "Received: -1", "Tests:       2 failed, 1 passed, 3 total"], "Received: 3"),
    "vitest": (
        ["FAIL  js/sum.spec.mjs > sum > adds", "expected -1 to be 3", "2 failed | 1 passed"],
        "expected 3 to be",
    ),
    "node": (["not ok 1 - adds", "-1 !== 3", "# fail 1"], "runInAsyncScope"),
    "go": (["--- FAIL: TestAdds", "total(1, 2) = -1, want 3", "FAIL\texample.com/sum"], "PASS"),
    "cargo": (["---- tests::more stdout ----", " right: 7", "test result: FAILED. 1 passed; 2 failed"], "rustc"),
    "cargo-error": (["error[E0425]: cannot find value `x`", "^ not found in this scope", "could not compile"], "XX"),
    "tsc": (["js/bad.ts(1,7): error TS2322"], "XX"),
    "eslint": (["'a' is assigned a value but never used", "✖ 2 problems"], "XX"),
}


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize("size", ["short", "long"])
def test_the_first_failure_and_the_summary_of_a_runner(name: str, size: str) -> None:
    output = (RECORDINGS / f"{name}.txt").read_text(encoding="utf-8")
    if size == "long":  # much was printed before, and a caller said something after
        output = "".join(f"compiling part {number}\n" for number in range(5000)) + output + "took 3 s\n" * 20
    excerpt = failure_excerpt(output, lines=12)
    wanted, noise = EXPECTED[name]
    assert [text for text in wanted if text not in excerpt] == []
    assert len(excerpt.splitlines()) <= 13
    if size == "long":
        assert noise not in excerpt
        assert "compiling part" not in excerpt
    assert failure_excerpt(excerpt, lines=12).splitlines()[0] == excerpt.splitlines()[0]


def test_every_recording_is_tested() -> None:
    assert {path.stem for path in RECORDINGS.glob("*.txt")} == set(EXPECTED)


def test_an_unknown_runner_has_its_first_error_and_its_end() -> None:
    lines = [*(f"step {number}" for number in range(100)), "x.c:3: ERROR: no brace", "more", *map(str, range(100))]
    excerpt = failure_excerpt("\n".join(lines), lines=12).splitlines()
    assert excerpt[:3] == ["step 99", "x.c:3: ERROR: no brace", "more"]
    assert excerpt[-1] == "99"
    assert len(excerpt) <= 12


def test_an_output_without_any_error_has_its_end() -> None:
    assert failure_excerpt("\n".join(map(str, range(100))), lines=4) == "…\n97\n98\n99"


def test_a_short_output_is_whole_without_colours_and_empty_lines() -> None:
    assert failure_excerpt("\x1b[31mred\x1b[0m\n\n  two  \n", lines=12) == "red\n  two"


def test_a_line_without_end_is_cut() -> None:
    assert len(failure_excerpt("error: " + "x" * 100_000)) == 400


def test_hostile_outputs_take_no_longer_than_their_size(recwarn: pytest.WarningsRecorder) -> None:
    for text in ("_" * 50_000, "=" * 50_000, "● " * 20_000, "\n" * 50_000, "error: \n" * 20_000, "\x00\ud800"):
        assert len(failure_excerpt(text).splitlines()) <= 42
    assert not recwarn.list
