"""The scripted model of the demo: one conversation for each iteration. Pure.

Every answer depends on the request: the task in the prompt, the output of a check that really failed, the lines of a
file that was really read. Any other request gets an API error that names what was expected. An interrupted iteration
is repeated on the files as it left them; the script expects that too.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

_INTERRUPTED = "An interrupted iteration did this already. I only check that it works."
# The tool result for an existing file that the agent has not read.
_NOT_READ = "File has not been read yet"
# The error for every request without an answer in the script; the demo reports it at the end.
UNEXPECTED = "the demo's script does not match this repository: expected {}"

Answer = dict[str, Any]

_REBATE = '''\
"""What a customer saves."""


def rebate(cents: int, percent: int) -> int:
    """The cents off a price, at so many percent."""
    if not 0 <= percent <= 100:
        raise ValueError(f"percent must be between 0 and 100, got {percent}")
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
    """Return the script for a repository at this path, with a delay before each answer."""
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
        _first("I read how prices are parsed.", _call("Read", file_path=path)),
        _after(
            "Read",
            wrong,
            "`3.5` returns 305: the digits after the point are used as they are.",
            _call(
                "Edit",
                file_path=path,
                old_string=f'    whole, _, rest = text.partition(".")\n{wrong}',
                new_string='    whole, _, rest = text.strip().replace(",", ".").partition(".")\n'
                '    return int(whole) * 100 + int(f"{rest:0<2}")',
            ),
        ),
        _after("Read", 'int(f"{rest:0<2}")', _INTERRUPTED, _test("tests/test_prices.py")),
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
    append = "        self.items.append((name, cents, count))"
    refusal = _call(
        "Edit",
        file_path=path,
        old_string=append,
        new_string='        if count < 1:\n            raise ValueError(f"count must be at least 1, got {count}")\n'
        + append,
    )
    return _conversation(
        "Count what is in the basket",
        _first("I start with the basket itself.", _call("Read", file_path=path)),
        _after(
            "Read",
            wrong,
            "The count is stored but never used.",
            _call("Edit", file_path=path, old_string=wrong, new_string=right),
            refusal,
        ),
        _after("Read", "if count < 1:", _INTERRUPTED, _test("tests/test_basket.py")),
        _after("Read", right, "The total is right already; a count below one is not refused yet.", refusal),
        _after("Edit", "has been updated", _test("tests/test_basket.py")),
        _after("Bash", r"Ran 3 tests.*OK", _end("The total counts every item, and a count below one is refused.")),
    )


def _rebates(repository: Path) -> list[dict[str, Any]]:
    """Return two conversations: the first rounds as Python does, the second fixes that after the check failed."""
    title, path = "Rebates", str(repository / "till/rebate.py")
    rounded, right = "    return round(cents * percent / 100)", "    return (cents * percent + 50) // 100"
    too_early = _end("till/rebate.py is written; it is simple enough to be right.")
    second = _conversation(
        title,
        _first("The check got 2 instead of 3. I read the code first.", _call("Read", file_path=path)),
        _after(
            "Read",
            rounded,
            "`round` rounds a half to the even number. Integer arithmetic avoids that.",
            _call("Edit", file_path=path, old_string=rounded, new_string=right),
        ),
        _after("Read", right, _INTERRUPTED, _test("tests/test_rebate.py")),
        _after("Edit", "has been updated", _test("tests/test_rebate.py")),
        _after(
            "Bash",
            r"Ran 3 tests.*OK",
            _end(
                "Rebates are rounded with integers, half a cent up.",
                patterns=["round() rounds a half to the even number: (n + 50) // 100 rounds half a cent up"],
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
            "The test shows the widths; I read it first.",
            _call("Read", file_path=str(repository / "tests/test_slip.py")),
        ),
        _after("Read", "rebate 10%        -0.50", _call("Write", file_path=path, content=_SLIP)),
        _after("Write", "File created successfully", "Now all tests.", everything),
        _after("Write", _NOT_READ, _call("Read", file_path=path)),
        _after("Read", "def slip(", _INTERRUPTED, everything),
        _after("Bash", r"Ran 13 tests.*OK", _end("The slip is printed, and all thirteen tests pass.")),
    )


def _conversation(title: str, *answers: Answer, also: str = "") -> dict[str, Any]:
    """Return the answers to an iteration on one task; its prompt must also match `also`."""
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
    """Return the answer to a tool result that contains a pattern."""
    is_pattern = ".*" in pattern
    return {
        "when": {"tool_result_of": tool, "matches": pattern if is_pattern else re.escape(pattern)},
        "blocks": list(blocks),
    }


def _call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "name": tool, "input": arguments}


def _test(path: str) -> dict[str, Any]:
    return _call("Bash", command=f"python3 -m unittest {path}")


def _end(summary: str, patterns: list[str] | None = None) -> dict[str, Any]:
    return _call("StructuredOutput", summary=summary, done=True, question="", patterns=patterns or [])


def _refuse(expected: str) -> Answer:
    return {"kind": "error", "status": 400, "message": UNEXPECTED.format(expected)}
