"""What the stage says in the place of a model: one conversation for each iteration of the demo. Pure.

Every answer is bound to what stands in the request: to the task in the prompt, to the output of a check that really
failed, to the lines of a file that was really read. Where that is not so, the answer is an API error that says so.
An iteration that was broken off is begun again on the files as it left them: that is expected too, and nothing else.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

_BROKEN_OFF = "This was done already, by an iteration that was broken off. I only see whether it holds."
# What a tool says of a file that is there and that this agent has not seen.
_NOT_READ = "File has not been read yet"
# What is said on every request that the script has no answer for; the demo looks for it at its end.
UNEXPECTED = "the demo's script does not fit this repository: {} was expected"

Answer = dict[str, Any]

_REBATE = '''\
"""What a customer saves."""


def rebate(cents: int, percent: int) -> int:
    """The cents off a price, at so many percent."""
    if not 0 <= percent <= 100:
        raise ValueError(f"{percent} percent is no rebate")
    return round(cents * percent / 100)
'''

_SLIP = '''\
"""The slip that a customer takes home."""

from till.basket import Basket
from till.prices import show
from till.rebate import rebate


def slip(basket: Basket, percent: int = 0) -> str:
    """Every item, the rebate if there is one, and what is to be paid."""
    lines = [_line(f"{count} x {name}", show(cents * count)) for name, cents, count in basket.items]
    total = basket.total()
    off = rebate(total, percent)
    if off:
        lines.append(_line(f"rebate {percent}%", "-" + show(off)))
    return "".join([*lines, _line("total", show(total - off))])


def _line(what: str, amount: str) -> str:
    return f"{what:<16}{amount:>7}\\n"
'''


def script(repository: Path, *, delay_seconds: float = 0.0) -> dict[str, Any]:
    """The whole script, for a repository at this place; the delay is how long the model seems to think."""
    conversations = [_prices(repository), _basket(repository), *_rebates(repository), _slip(repository)]
    for conversation in conversations:
        for answer in conversation["answers"]:
            answer |= {"times": "forever", "delay_seconds": delay_seconds}
    return {"conversations": conversations, "otherwise": _refuse("one of the four tasks of PLAN.md")}


def _prices(repository: Path) -> dict[str, Any]:
    path = str(repository / "till/prices.py")
    wrong = "    return int(whole) * 100 + int(rest or 0)"
    return _conversation(
        "Prices as people write them",
        _first("I will look at how prices are read.", _call("Read", file_path=path)),
        _after(
            "Read",
            wrong,
            "`3.5` gives 305, since the places behind the point are taken as they stand.",
            _call(
                "Edit",
                file_path=path,
                old_string=f'    whole, _, rest = text.partition(".")\n{wrong}',
                new_string='    whole, _, rest = text.strip().replace(",", ".").partition(".")\n'
                '    return int(whole) * 100 + int(f"{rest:0<2}")',
            ),
        ),
        _after("Read", 'int(f"{rest:0<2}")', _BROKEN_OFF, _test("tests/test_prices.py")),
        _after("Edit", "has been updated", _test("tests/test_prices.py")),
        _after(
            "Bash",
            r"Ran 5 tests.*OK",
            _end(
                "Prices are read with one place, two places, a point or a comma.",
                patterns=["`python3 -m unittest tests/test_….py` runs the tests of one module in a tenth of a second"],
            ),
        ),
    )


def _basket(repository: Path) -> dict[str, Any]:
    path = str(repository / "till/basket.py")
    wrong = "        return sum(cents for _, cents, _ in self.items)"
    right = "        return sum(cents * count for _, cents, count in self.items)"
    kept = "        self.items.append((name, cents, count))"
    refusal = _call(
        "Edit",
        file_path=path,
        old_string=kept,
        new_string=f'        if count < 1:\n            raise ValueError(f"{{count}} is no count")\n{kept}',
    )
    return _conversation(
        "Count what is in the basket",
        _first("I begin with the basket itself.", _call("Read", file_path=path)),
        _after(
            "Read",
            wrong,
            "The count is kept but never used.",
            _call("Edit", file_path=path, old_string=wrong, new_string=right),
            refusal,
        ),
        _after("Read", "if count < 1:", _BROKEN_OFF, _test("tests/test_basket.py")),
        _after("Read", right, "The total is right already; a count below one is not refused yet.", refusal),
        _after("Edit", "has been updated", _test("tests/test_basket.py")),
        _after("Bash", r"Ran 3 tests.*OK", _end("The total counts every item, and a count below one is refused.")),
    )


def _rebates(repository: Path) -> list[dict[str, Any]]:
    """Two conversations: the first one rounds as Python does and says it is done; the second one hears of it."""
    title, path = "Rebates", str(repository / "till/rebate.py")
    rounded, right = "    return round(cents * percent / 100)", "    return (cents * percent + 50) // 100"
    too_early = _end("till/rebate.py is written; it is simple enough to be right.")
    second = _conversation(
        title,
        _first("The check says 2 where 3 is right. I look at what is there.", _call("Read", file_path=path)),
        _after(
            "Read",
            rounded,
            "`round` takes a half to the even number. In whole numbers there is no half to lose.",
            _call("Edit", file_path=path, old_string=rounded, new_string=right),
        ),
        _after("Read", right, _BROKEN_OFF, _test("tests/test_rebate.py")),
        _after("Edit", "has been updated", _test("tests/test_rebate.py")),
        _after(
            "Bash",
            r"Ran 3 tests.*OK",
            _end(
                "Rebates are rounded in whole numbers, half a cent up.",
                patterns=["round() goes to the even number: (n + 50) // 100 rounds half a cent up"],
            ),
        ),
        also=r"AssertionError: 2 != 3",
    )
    first = _conversation(
        title,
        _first("A rebate is one line of arithmetic.", _call("Write", file_path=path, content=_REBATE)),
        _after("Write", "File created successfully", too_early),
        _after("Write", _NOT_READ, _call("Read", file_path=path)),
        _after("Read", rounded, too_early),
    )
    return [second, first]


def _slip(repository: Path) -> dict[str, Any]:
    path = str(repository / "till/slip.py")
    everything = _call("Bash", command="python3 -m unittest")
    return _conversation(
        "Print the slip",
        _first(
            "The test shows the widths; I look at it first.",
            _call("Read", file_path=str(repository / "tests/test_slip.py")),
        ),
        _after("Read", "rebate 10%        -0.50", _call("Write", file_path=path, content=_SLIP)),
        _after("Write", "File created successfully", "Now everything.", everything),
        _after("Write", _NOT_READ, _call("Read", file_path=path)),
        _after("Read", "def slip(", _BROKEN_OFF, everything),
        _after("Bash", r"Ran 13 tests.*OK", _end("The slip is printed, and all thirteen tests pass.")),
    )


def _conversation(title: str, *answers: Answer, also: str = "") -> dict[str, Any]:
    """The answers to an iteration on one task; `also` must stand in its prompt as well."""
    pattern = rf"\*\*{re.escape(title)}\*\*" + (f".*{also}" if also else "")
    expected = " or ".join(dict.fromkeys(repr(answer["when"].get("matches", title)) for answer in answers))
    return {
        "when": {"matches": pattern, "in": "messages"},
        "answers": list(answers),
        "otherwise": _refuse(f"in the task {title!r}, {expected}"),
    }


def _first(*blocks: Any) -> Answer:
    return {"when": {"turn": 1}, "blocks": list(blocks)}


def _after(tool: str, pattern: str, *blocks: Any) -> Answer:
    """What follows on the result of a tool, if this stands in it."""
    is_pattern = ".*" in pattern
    return {
        "when": {"tool_result_of": tool, "matches": pattern if is_pattern else re.escape(pattern)},
        "blocks": list(blocks),
    }


def _call(tool: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "name": tool, "input": given}


def _test(path: str) -> dict[str, Any]:
    return _call("Bash", command=f"python3 -m unittest {path}")


def _end(summary: str, patterns: list[str] | None = None) -> dict[str, Any]:
    return _call("StructuredOutput", summary=summary, done=True, question="", patterns=patterns or [])


def _refuse(expected: str) -> Answer:
    return {"kind": "error", "status": 400, "message": UNEXPECTED.format(expected)}
