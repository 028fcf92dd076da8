"""The receipt as a person reads it: every verdict, every figure, at any width, and harmless to the terminal."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from bridle.loop.effect_results import TIMED_OUT
from bridle.loop.effects import OF_GUARD
from bridle.views.terminal.receipt import plain_lines
from bridle.views.terminal.styled_lines import cell_width
from tests.views.fixtures.sample_receipts import check, receipt, task

COMMANDS = ("git ", "bridle ", "bridle/")


def text(*tasks: dict[str, Any], reason: str = "", width: int = 80, **more: Any) -> str:
    return "\n".join(plain_lines(receipt(*tasks, **more), reason, width=width))


def test_a_successful_run_is_one_screen_with_its_commits_checks_and_next_commands() -> None:
    done = task(
        "Prices", commit="1a2b3c4d5e6f7890", checks=[check("python3 -m unittest tests/test_prices.py"), check("true")]
    )
    again = task("Rebates", iterations=2, tries=1, commit="2b3c4d5e6f789012", checks=[check("make rebates")])
    assert text(done, again) == (
        "✓ PLAN.md: 2 of 2 tasks verified\n"
        "\n"
        "  ✓ Prices            done               1 iteration     0.0500 USD\n"
        "      10 tokens in, 2 out, 2.0 s of agent time\n"
        "      1a2b3c4d5e  python3 -m unittest tests/test_pri… and 1 more passed in 0.2 s\n"
        "  ✓ Rebates           done               2 iterations    0.0500 USD\n"
        "      10 tokens in, 2 out, 2.0 s of agent time\n"
        "      2b3c4d5e6f  make rebates passed in 0.1 s\n"
        "\n"
        "  3 of 50 iterations, 2 min 7 s of 8 h, 0.2500 USD of 20\n"
        "  12,345 tokens in, 67 out\n"
        "  0.2500 USD for verified iterations, 0.0000 USD wasted\n"
        "\n"
        "  branch     bridle/01run (2 commits)\n"
        "  review     git log --stat -n 2 bridle/01run\n"
        "  merge      git checkout main && git merge bridle/01run\n"
        "  undo       bridle undo 01run"
    )


def test_a_failed_task_shows_its_reason_and_the_end_of_an_output_without_a_known_failure() -> None:
    output = "".join(f"line {number}\n" for number in range(20)) + "AssertionError: 2 != 3\n\n"
    failed = task("Rebates", "failed", reason="5 tries are used up", checks=[check("make test", 1, output=output)])
    shown = text(failed, verdict="failed", verified_usd=0.2, wasted_usd=0.05)
    assert "✗ Rebates" in shown
    assert "      5 tries are used up" in shown
    assert "      ✗ make test  (exit code 1)\n" in shown
    assert "        AssertionError: 2 != 3\n" in shown
    assert "line 10" in shown
    assert "line 9\n" not in shown
    assert "0.2000 USD for verified iterations, 0.0500 USD wasted" in shown
    assert shown.endswith("retry      bridle retry Rebates 01RUN --resume")


def test_an_interrupted_task_shows_no_checks_before_its_first_try() -> None:
    looked = [check(exit_code=1, output="AssertionError")]
    started = task("One", "pending", checks=looked, cost_usd=0.0, input_tokens=0, output_tokens=0, seconds=0.0)
    shown = "\n".join(plain_lines(receipt(started, verdict="pending")))
    assert "AssertionError" not in shown
    assert "agent time" not in shown
    tried = task("One", "pending", checks=looked, tries=1)
    assert "AssertionError" in "\n".join(plain_lines(receipt(tried, verdict="pending")))


def test_the_last_line_is_the_next_command() -> None:
    failed, pending = task("It's red", "failed"), task("Two", "pending")
    asks, done = task("Three", "needs you"), task("Four", "done", commit="c" * 40)
    assert text(failed, pending, verdict="failed").endswith("resume     bridle resume 01RUN")
    assert text(failed, asks, verdict="needs you").endswith("resume     bridle resume 01RUN")
    limits = {"max_iterations": 4, "max_cost_usd": 0.5, "max_seconds": 5400.0, "tries": 5}
    stopped = text(pending, iterations=4, known_cost_usd=0.5, seconds=5400.0, limits=limits)
    assert stopped.endswith("bridle resume 01RUN --max-iterations 8 --max-cost 1 --max-time 3h")
    again = """retry      bridle retry 'It'"'"'s red' 01RUN --resume"""
    assert text(done, failed, task("Five", "blocked"), verdict="failed").endswith(again)
    assert text(task("--all", "failed"), verdict="failed").endswith("bridle retry --resume -- --all 01RUN")
    for verdict in ("done", "unverified"):
        ended = text(task("One", verdict, commit="c" * 40), verdict=verdict)
        assert ended.endswith("undo       bridle undo 01run")


def test_a_failed_task_offers_the_command_that_takes_a_corrected_plan() -> None:
    shown = text(task("One", "stuck"), verdict="failed")
    assert "  new plan   bridle resume 01RUN --replan\n" in shown
    assert "--replan" not in text(task("One", "done", commit="c" * 40), verdict="done")


def test_the_limit_that_is_offered_is_above_what_is_used() -> None:
    """A limit may have been lowered in mid-run."""
    limits = {"max_iterations": 1, "max_cost_usd": 0.0001, "max_seconds": 1.0, "tries": 5}
    shown = text(task("One", "pending"), iterations=3, known_cost_usd=0.086, seconds=30.5, limits=limits)
    assert shown.endswith("bridle resume 01RUN --max-iterations 6 --max-cost 0.172 --max-time 62s")


def test_changes_that_are_put_aside_are_not_offered_while_agents_work() -> None:
    aside: dict[str, Any] = {"put_aside": "refs/bridle/snapshots/x"}
    assert "git stash apply --index refs/bridle/snapshots/x" in text(task("One", "pending"), **aside)
    running = replace(receipt(task("One", "pending"), **aside), driver=7)
    assert "git stash" not in "\n".join(plain_lines(running))


def test_what_the_sandbox_hides_is_wrapped_between_words() -> None:
    shown = text(task("One"), isolation_scope="hides keys and logins; " + "leaves open the network of agents, " * 4)
    lines = [line for line in shown.splitlines() if "network" in line]
    assert len(lines) > 1
    assert max(map(cell_width, lines)) <= 80


def test_a_guard_that_never_ends_is_told_from_one_that_fails() -> None:
    slow = text(task("One", "pending"), verdict="pending", baseline=[check("npm start", TIMED_OUT, of=OF_GUARD)])
    assert "a check must end by itself" in " ".join(slow.split())
    red = text(task("One", "pending"), verdict="pending", baseline=[check("npm test", 1, of=OF_GUARD)])
    assert "a check must end by itself" not in " ".join(red.split())


def test_before_any_work_only_checks_that_cannot_start_are_shown_with_their_output() -> None:
    red = check("pytest tests/test_a.py", 4, output="ERROR: file or directory not found: tests/test_a.py")
    typo = check("pytset -q", 127, output="/bin/sh: 1: pytset: not found")
    shown = text(task("One", "pending"), verdict="pending", baseline=[red, typo])
    assert "before any work 0 of 2 checks passed" in shown
    assert "✗ pytset -q  (exit code 127)" in shown
    assert "test_a.py" not in shown


def test_a_long_reason_is_wrapped_between_words() -> None:
    reason = "no agent is available: claude is not logged in. Run claude and log in, or set ANTHROPIC_API_KEY"
    lines = text(
        task("One", "pending"), verdict="pending", reason=reason, found=["you changed a file " * 9]
    ).splitlines()
    assert lines[0].endswith("claude is not logged")
    assert lines[1].startswith("  in. Run")
    assert max(map(cell_width, lines)) <= 80


def test_a_check_that_took_too_long_is_not_shown_as_an_exit_code() -> None:
    slow = task("Rebates", "failed", checks=[check("make test", TIMED_OUT)])
    assert "✗ make test  (timed out)" in text(slow, verdict="failed")


def test_a_question_is_shown_with_the_command_that_answers_it() -> None:
    asks = task("Rebates", "needs you", question="Round up or down?", effect="01EFFECT")
    shown = text(asks, verdict="needs you")
    assert "      question: Round up or down?\n" in shown
    assert 'bridle answer 01EFFECT "…"' in shown


def test_remarks_beside_the_verdict_are_shown() -> None:
    shown = text(
        task(
            "A",
            undone=["tests/test_a.py", "tests/test_a.py"],
            reported=[{"path": "tests/test_b.py", "what": "2 tests were deleted"}],
            folded=["1a", "2b"],
            cut=[{"iteration": 2, "section": "AGENTS.md", "characters": 30000, "kept": 12000}],
        )
    )
    assert shown.count("restored tests/test_a.py") == 1
    assert "review tests/test_b.py: 2 tests were deleted" in shown
    assert "squashed 2 commits made while the agent worked: git log -2 1a" in shown
    assert "prompt of iteration 2 truncated: AGENTS.md (12000 of 30000 characters)" in shown


def test_the_reason_of_the_end_is_in_the_first_line() -> None:
    head = text(task("A", "pending"), verdict="pending", reason="50 iterations are used up").splitlines()[0]
    assert head == "· PLAN.md: 0 of 1 task verified (50 iterations are used up)"


@pytest.mark.parametrize(
    ("verdict", "mark"),
    [
        ("done", "✓"),
        ("done (guard only)", "✓"),
        ("already satisfied", "✓"),
        ("unverified", "?"),
        ("failed", "✗"),
        ("stuck", "✗"),
        ("needs you", "!"),
        ("blocked", "·"),
        ("pending", "·"),
    ],
)
def test_every_verdict_has_its_mark_and_its_name(verdict: str, mark: str) -> None:
    assert f"  {mark} A                 {verdict}" in text(task("A", verdict))


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
def test_no_line_but_a_command_to_copy_is_wider_than_the_terminal(width: int) -> None:
    long = "a very long title " * 20
    busy = task(long, "failed", reason="why " * 100, checks=[check("x" * 300, 1, output="y" * 500)], undone=["z" * 150])
    wide = task("漢字の長い題名" * 20, commit="1" * 40, checks=[check("漢" * 200)] * 3)
    whole = receipt(busy, wide, verdict="failed", isolation="bwrap", isolation_scope="hides keys, " * 30)
    for line in plain_lines(whole, "because", width=width):
        assert cell_width(line) <= width or any(mark in line for mark in COMMANDS), line


def test_what_an_agent_wrote_cannot_drive_the_terminal() -> None:
    evil = "\x1b[2J\x1b]0;owned\x07\u202e"
    worst = task(
        f"A{evil}", "needs you", reason=evil, question=evil, effect="01E", checks=[check(evil, 1, output=evil)]
    )
    shown = text(worst, verdict="needs you", reason=evil)
    assert all(character.isprintable() or character == "\n" for character in shown)
    assert "\\x1b[2J" in shown


def test_a_cost_that_is_not_known_is_called_unknown_and_a_part_of_it_is_a_lower_bound() -> None:
    unknown = task("Rebates", cost_usd=None, known_cost_usd=0.0)
    lines = plain_lines(receipt(unknown, cost_usd=None, known_cost_usd=0.0, verified_usd=None))
    assert any("1 iteration" in line and line.endswith("unknown") for line in lines)
    assert any(line.endswith("unknown of 20") for line in lines)
    assert any("--max-cost cannot act" in line for line in lines)
    assert "  unknown for verified iterations, 0.0000 USD wasted" in lines
    lines = plain_lines(receipt(unknown, task("Other"), cost_usd=None, known_cost_usd=0.05))
    assert any(line.endswith("at least 0.0500 USD of 20") for line in lines)
    assert not any("cannot act" in line for line in plain_lines(receipt(task("Rebates"))))
