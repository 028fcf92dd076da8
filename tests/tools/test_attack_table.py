from __future__ import annotations

import pytest

from tools.attack_table import ATTACKS, PAGE, Attack, attacks, page

LISTED = list(attacks())
FIXTURES = ("sandbox: str", "sandbox=request.param")
"""How a test, or the fixture of a module, gets the mode."""


def test_the_page_of_attacks_is_what_make_docs_would_write() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


def test_there_is_an_attack_for_every_file_and_the_real_claude_code_tries_ten() -> None:
    assert {attack.file for attack in LISTED} == set(ATTACKS.glob("test_*.py"))
    assert len({attack.file for attack in LISTED}) >= 60
    assert len([attack for attack in LISTED if "real_claude" in attack.file.name]) >= 10


@pytest.mark.parametrize("attack", LISTED, ids=lambda attack: attack.file.stem)
def test_an_attack_on_which_the_sandbox_has_an_effect_runs_with_it_and_without(attack: Attack) -> None:
    text = attack.file.read_text(encoding="utf-8")
    assert attack.is_run_twice == any(fixture in text for fixture in FIXTURES)
