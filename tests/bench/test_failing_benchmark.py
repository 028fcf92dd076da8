"""The benchmarks: one that fails is named and hides none of the others, and the exit code says so."""

from __future__ import annotations

import os
import sys
from types import ModuleType

import pytest

from bench import run
from bench.measure import Target


def bench(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str]:
    """Run two benchmarks, of which the first fails."""
    monkeypatch.setenv("BRIDLE_HOME", "/nonexistent")
    homes = []

    def fail() -> None:
        raise SystemExit("the peer is missing")

    def measure() -> dict[str, object]:
        homes.append(os.environ["BRIDLE_HOME"])
        return {"rows": [{"what": "a"}], "targets": [Target(claim="c", found=2, wanted=1)], "remarks": []}

    for name, function in (("fails", fail), ("works", measure)):
        module = ModuleType(f"bench.{name}")
        module.run = function  # type: ignore[attr-defined]  # what a benchmark has
        monkeypatch.setitem(sys.modules, f"bench.{name}", module)
    monkeypatch.setattr(run, "BENCHES", ("fails", "works"))
    monkeypatch.setattr(sys, "argv", ["run.py", *options])
    code = run.main()
    assert homes
    assert "/nonexistent" not in homes, "a benchmark writes into the user's home"
    return code, capsys.readouterr().out


def test_a_benchmark_that_fails_hides_no_other(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, printed = bench(monkeypatch, capsys)
    assert code == 1
    assert "== fails\nFAIL  SystemExit: the peer is missing" in printed
    assert "PASS  c: 2.00x (at least 1x)" in printed


def test_the_exit_code_is_that_of_the_named_ones(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench(monkeypatch, capsys, "works")[0] == 0
    code, printed = bench(monkeypatch, capsys, "--json")
    assert code == 1
    assert '"fails": {"error": "SystemExit: the peer is missing"}' in printed
