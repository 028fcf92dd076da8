"""The limits of a turn, seen by a host."""

from __future__ import annotations

from pathlib import Path

from tests.agent.fixtures.raw_host import raw_host, says


def test_a_prompt_after_the_budget_is_used_up_asks_nothing_of_the_model(tmp_path: Path) -> None:
    with raw_host(tmp_path, says("expensive"), says("never"), flags=("--max-budget-usd", "0.0001")) as host:
        host.prompt("one")
        first = host.result()
        host.prompt("two")
        second = host.result()
        assert (first["subtype"], second["subtype"]) == ("error_max_budget_usd", "error_max_budget_usd")
        assert (second["total_cost_usd"], second["num_turns"]) == (first["total_cost_usd"], 1)
        assert len(host.bodies()) == 1
        assert host.end() == 1
