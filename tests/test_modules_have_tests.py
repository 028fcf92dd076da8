"""A module with logic has a test of its own name, or a test of a claim in the table below covers its package."""

from __future__ import annotations

from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "bridle"
# A shorter module has little logic, and is tested with those that use it.
SHORT_LINES = 60

# Packages whose modules are tested together, and the tests that do it; a folder stands for all its tests.
TESTED_TOGETHER = {
    "agent/assemble": "agent/test_program.py agent/test_ralph.py",
    "agent/command_line": "agent/command_line/test_flags.py agent/test_program.py",
    "agent/compaction": "agent/compaction/test_compact_history.py",
    "agent/conversation": "agent/conversation agent/test_program.py agent/test_thousand_turns.py",
    "agent/model/api": "agent/model/api agent/model/test_client.py agent/model/test_credentials.py",
    "agent/model/clouds": "agent/model/clouds/test_clouds.py",
    "agent/model/http": "agent/model/http/test_http.py",
    "agent/permissions/bash": "agent/permissions agent/permissions/bash",
    "agent/permissions/rules": "agent/permissions/test_decide.py agent/permissions/rules",
    "agent/prompt": "agent/prompt",
    "agent/sessions": "agent/sessions",
    "agent/settings": "agent/settings/test_load_settings.py",
    "agent/skills": "agent/skills/test_skills.py",
    "agent/stdio": "agent/stdio agent/test_program.py",
    "agent/tools": "agent/tools",
    "agent/tools/contract": "agent/tools/test_arguments.py agent/tools/test_measured.py",
    "agent/tools/files": "agent/tools/files",
    "agent/tools/search": "agent/tools/search/test_glob_and_grep.py",
    "agent/tools/shell": "agent/tools/shell",
    "agent/tools/todo": "agent/tools/todo/test_task_tools.py",
    "agent/tools/web": "agent/tools/web/test_web_fetch.py",
    "cli": "cli/test_main.py",
    "cli/commands/agents": "cli/test_ask.py cli/test_inspect.py cli/test_show.py hosts/install stage",
    "cli/commands/machine": "cli/test_journal_commands.py cli/test_run_iterate.py hosts/test_session_commands.py",
    "cli/commands/repository": "cli/test_demo.py cli/test_init.py cli/test_plan.py",
    "cli/commands/runs": "cli/test_clean.py cli/test_drive.py cli/test_loop_runs.py",
    "cli/demo": "cli/test_demo.py",
    "cli/people": "cli/test_doctor.py cli/test_loop_runs.py cli/test_notify.py cli/test_run_display.py",
    "cli/programs": "cli/test_journal_commands.py hosts/test_session_commands.py",
    "engine/drive": "engine/drive",
    "engine/entries": "engine/test_inbox.py engine/drive/test_drive_kills.py",
    "engine/hooks": "engine/hooks/test_run_hooks.py",
    "engine/iterate": "engine/test_scenarios.py engine/iterate",
    "engine/process": "engine/process engine/test_process_docs.py",
    "engine/replay": "engine/replay engine/test_scenarios.py",
    "ground": "ground",
    "ground/children": "ground/children",
    "ground/descendants": "ground/descendants",
    "hosts/hooks": "hosts/hooks",
    "hosts/install": "hosts/install/test_install.py",
    "hosts/sessions": "hosts/sessions",
    "journal/format": "journal/format journal/stores/test_pack.py",
    "journal/stores": "journal/stores journal/test_kills.py",
    "loop": "loop/test_effects.py loop/test_run_and_resume.py",
    "loop/checks": "loop/checks",
    "loop/control": "loop/test_run_and_resume.py loop/process/test_active_time.py cli/test_clean.py",
    "loop/onboarding": "loop/onboarding/test_detect.py cli/test_init.py",
    "loop/performers": "loop/performers loop/protection/test_protect.py loop/test_parallel.py",
    "loop/plan": "loop/plan/test_plan_scenarios.py loop/plan/test_problems.py cli/test_plan.py",
    "loop/process": "loop/process/test_ralph.py loop/process/test_workers.py loop/test_parallel.py",
    "loop/protection": "loop/protection/test_find.py loop/protection/test_protect.py",
    "loop/protection/formats": "loop/protection/formats/test_formats.py",
    "loop/protection/suites": "loop/protection/test_weakened_tests.py",
    "loop/settings": "loop/settings/test_bridle_toml.py",
    "loop/working_copy": "loop/working_copy",
    "run": "run/test_runner.py run/test_sessions_and_budget.py",
    "stage": "stage",
    "views/terminal": "views/terminal",
    "wire/control": "wire/control/test_control_messages.py",
    "wire/dialects": "wire/dialects",
    "wire/events": "wire/events wire/test_properties.py",
    "wire/record": "wire/record",
    "wire/transcript": "wire/transcript",
    "workspace": "workspace/test_git.py workspace/test_read_git_files.py",
}


def modules_without_own_test() -> dict[str, str]:
    """Return each longer module without a test of its own name, with its package."""
    modules: dict[str, str] = {}
    for path in SOURCE.rglob("*.py"):
        module = path.relative_to(SOURCE)
        is_short = path.name == "__init__.py" or path.read_text(encoding="utf-8").count("\n") <= SHORT_LINES
        if not is_short and not (TESTS / module.parent / f"test_{module.name}").exists():
            modules[str(module)] = str(module.parent)
    return modules


def test_every_longer_module_is_tested_by_name_or_with_its_package() -> None:
    untested = {module for module, package in modules_without_own_test().items() if package not in TESTED_TOGETHER}
    assert untested == {"errors.py"}  # classes without logic; every layer raises them


def test_the_table_names_only_packages_that_need_it() -> None:
    assert set(TESTED_TOGETHER) <= set(modules_without_own_test().values())


@pytest.mark.parametrize("package", TESTED_TOGETHER)
def test_the_tests_that_the_table_names_exist(package: str) -> None:
    for name in TESTED_TOGETHER[package].split():
        place = TESTS / name
        assert place.is_file() or list(place.glob("test_*.py")), name
