from __future__ import annotations

import os
from pathlib import Path

import pytest

from bridle.errors import UsageError
from bridle.run.isolation.choose_sandbox import check_owner, choose_sandbox, find_sandbox
from bridle.run.isolation.sandbox_rules import ChosenSandbox, SandboxRules


def test_auto_is_the_sandbox_that_works_and_off_is_none() -> None:
    chosen = choose_sandbox(SandboxRules(), os.environ)
    assert (chosen.name, chosen.description) == ("bwrap", "bwrap")
    assert choose_sandbox(SandboxRules("bwrap", network="none"), os.environ).is_on
    off = choose_sandbox(SandboxRules("off"), os.environ)
    assert (off.is_on, off.description) == (False, "none: it is off")


def test_one_that_was_named_and_does_not_work_is_refused_with_the_way_to_get_it() -> None:
    with pytest.raises(UsageError, match="the sandbox seatbelt cannot be used: sandbox-exec was not found") as caught:
        choose_sandbox(SandboxRules("seatbelt"), os.environ)
    assert "macOS" in (caught.value.remedy or "")


def test_the_systems_bwrap_comes_first_and_one_that_fails_is_passed_over(tmp_path: Path) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'setting up uid map: Permission denied' >&2\nexit 1\n")
    broken.chmod(0o755)
    program, failure = find_sandbox("bwrap", {"PATH": str(tmp_path)}, tmp_path / "r")
    assert failure is None
    assert program != str(broken)
    assert ChosenSandbox("bwrap", program) == choose_sandbox(SandboxRules(), {"PATH": str(tmp_path)})


def test_a_working_copy_that_root_could_not_write_in_the_sandbox_is_refused(tmp_path: Path) -> None:
    chosen = choose_sandbox(SandboxRules(), os.environ)
    check_owner(chosen, tmp_path)
    if os.geteuid() == 0:  # nobody else can give files away
        os.chown(tmp_path, 1001, 1001)
        with pytest.raises(UsageError, match="belongs to the user 1001"):
            check_owner(chosen, tmp_path)
        check_owner(choose_sandbox(SandboxRules("off"), os.environ), tmp_path)
        tmp_path.chmod(0o777)
    check_owner(chosen, tmp_path)
