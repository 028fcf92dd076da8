"""The sample repository of the demo: a small package with a failing test suite, and a plan of four tasks. Pure."""

from __future__ import annotations

PRICES = '''\
"""Prices in whole cents: a float cannot hold a tenth."""


def parse(text: str) -> int:
    """Parse a price into cents."""
    whole, _, rest = text.partition(".")
    return int(whole) * 100 + int(rest or 0)


def show(cents: int) -> str:
    """Format a price as on a slip."""
    return f"{cents // 100}.{cents % 100:02}"
'''

BASKET = '''\
"""The basket of a customer."""


class Basket:
    """Items with their prices."""

    def __init__(self) -> None:
        self.items: list[tuple[str, int, int]] = []

    def add(self, name: str, cents: int, count: int = 1) -> None:
        """Add an item, once or several times."""
        self.items.append((name, cents, count))

    def total(self) -> int:
        """Return the total in cents."""
        return sum(cents for _, cents, _ in self.items)
'''

_TEST_PRICES = """\
import unittest

from till.prices import parse, show


class Prices(unittest.TestCase):
    def test_two_places(self):
        self.assertEqual(parse("3.50"), 350)

    def test_one_place_is_a_tenth(self):
        self.assertEqual(parse("3.5"), 350)

    def test_a_comma_is_as_good_as_a_point(self):
        self.assertEqual(parse("3,05"), 305)

    def test_whole_amounts(self):
        self.assertEqual(parse("12"), 1200)

    def test_shown_and_parsed_again(self):
        self.assertEqual(parse(show(1999)), 1999)
"""

_TEST_BASKET = """\
import unittest

from till.basket import Basket


class BasketTest(unittest.TestCase):
    def test_an_empty_basket_costs_nothing(self):
        self.assertEqual(Basket().total(), 0)

    def test_everything_counts_as_often_as_it_is_there(self):
        basket = Basket()
        basket.add("apple", 45, 4)
        basket.add("bread", 320)
        self.assertEqual(basket.total(), 500)

    def test_a_count_below_one_is_refused(self):
        with self.assertRaises(ValueError):
            Basket().add("apple", 45, 0)
"""

_TEST_REBATE = """\
import unittest

from till.rebate import rebate


class Rebate(unittest.TestCase):
    def test_a_tenth(self):
        self.assertEqual(rebate(1000, 10), 100)

    def test_half_a_cent_is_rounded_up(self):
        self.assertEqual(rebate(50, 5), 3)

    def test_no_more_than_all_of_it(self):
        with self.assertRaises(ValueError):
            rebate(1000, 101)
"""

_TEST_SLIP = '''\
import unittest

from till.basket import Basket
from till.slip import slip

EXPECTED = """\\
4 x apple          1.80
1 x bread          3.20
rebate 10%        -0.50
total              4.50
"""


class Slip(unittest.TestCase):
    def test_every_item_the_rebate_and_the_total(self):
        basket = Basket()
        basket.add("apple", 45, 4)
        basket.add("bread", 320)
        self.assertEqual(slip(basket, percent=10), EXPECTED)

    def test_without_a_rebate_it_is_not_mentioned(self):
        basket = Basket()
        basket.add("bread", 320)
        self.assertNotIn("rebate", slip(basket))
'''

_AGENTS = """\
# For agents

A till for a small shop, in plain Python. Amounts are whole cents everywhere. `python3 -m unittest` runs all tests.
"""

PLAN = """\
# The till

The tests define how the till should work. Some of its code is wrong, and some is missing.

Checks: `python3 -m compileall -q till`

## Prices as people write them
`parse` in `till/prices.py` reads 3.5 as three and five cents, and fails on a comma.
- [ ] one digit after the point is a tenth
- [ ] a comma works like a point
Check: `python3 -m unittest tests/test_prices.py`

## Count what is in the basket
The total in `till/basket.py` ignores how often an item was added.
- [ ] every item counts as often as it was added
- [ ] a count below one is refused
Check: `python3 -m unittest tests/test_basket.py`

## Rebates
Write `till/rebate.py` with `rebate(cents, percent)`: how many cents the customer saves.
- [ ] half a cent is rounded up
- [ ] more than 100 percent, or less than 0, is refused
Check: `python3 -m unittest tests/test_rebate.py`

## Print the slip
Write `till/slip.py` with `slip(basket, percent=0)`: a line for each item, the rebate if any, the total.
Needs: Prices as people write them, Count what is in the basket, Rebates
Check: `python3 -m unittest`
"""

FILES: dict[str, str] = {
    ".gitignore": "__pycache__/\n",
    "AGENTS.md": _AGENTS,
    "PLAN.md": PLAN,
    "till/__init__.py": '"""A till for a small shop."""\n',
    "till/prices.py": PRICES,
    "till/basket.py": BASKET,
    "tests/__init__.py": "",
    "tests/test_prices.py": _TEST_PRICES,
    "tests/test_basket.py": _TEST_BASKET,
    "tests/test_rebate.py": _TEST_REBATE,
    "tests/test_slip.py": _TEST_SLIP,
}
"""Every file of the repository, by its path."""
