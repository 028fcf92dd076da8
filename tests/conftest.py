"""What every test gets (a home of its own, the chosen sizes) and what a run reports at its end."""

from __future__ import annotations

import gc
import os
import signal
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from bridle.run.isolation import choose_sandbox
from bridle.run.isolation.description import CACHES_FOLDER
from bridle.run.isolation.sandbox_rules import OFF
from tests.fixtures import sandbox
from tests.sizes import SIZES, SOAK, VARIABLE, described

TESTS = Path(__file__).parent
REAL_COUNT = TESTS / "real-count.txt"

# Settings of the person who runs the tests must reach neither Bridle nor the agents that the tests start.
FOREIGN_PREFIXES = (
    "ANTHROPIC_",
    "BABYSITTER_",
    "BRIDLE_",
    "CLAUDE",
    "CODEX_",
    "DIRENV_",
    "GEMINI_",
    "GIT_",
    "GOOGLE_",
    "OPENAI_",
    "OPENCODE",
    "XDG_",
)
FOREIGN_NAMES = ("AGENT_SESSION_ID", "CLICOLOR", "COLUMNS", "FORCE_COLOR", "LINES", "NO_COLOR")

# Here agents are real, and `auto` finds the sandbox, also where it is off for the fake agents of other tests.
WITH_SANDBOX = (
    "cli/commands/repository/test_demo.py",
    "real/test_claude.py",
    "real/test_drive.py",
    "real/test_loop.py",
    "real/test_other_agents.py",
)

settings.register_profile(
    "bridle",
    max_examples=SIZES.hypothesis_examples,
    deadline=None,  # a busy machine is not a failure
    suppress_health_check=[HealthCheck.too_slow],  # the same reason: it measures the machine
)
settings.load_profile("bridle")

# A shell starts what it puts into the background deaf to Ctrl-C, and the children of the tests would be deaf too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# The same with nohup; a handler of ours, so that the tests go on, and their children have the default.
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)


@pytest.fixture(scope="session", autouse=True)
def _clean_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Fixtures that live longer than one test see a temporary home too."""
    with pytest.MonkeyPatch.context() as patch:
        for name in os.environ:
            if name != VARIABLE and (name.startswith(FOREIGN_PREFIXES) or name in FOREIGN_NAMES):
                patch.delenv(name)
        _move_home(patch, tmp_path_factory.mktemp("home"))
        yield


@pytest.fixture(scope="module", autouse=True)
def _sandbox(request: pytest.FixtureRequest) -> Iterator[None]:
    """What the fixtures of a file start is in the sandbox of the run too."""
    with pytest.MonkeyPatch.context() as patch:
        _choose_sandbox(patch, request)
        yield


@pytest.fixture(autouse=True)
def _home(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Each test starts in an empty home; what it sets in the environment or the interpreter ends with it."""
    before = dict(os.environ)
    with pytest.MonkeyPatch.context() as patch:
        home = tmp_path_factory.mktemp("home")
        _move_home(patch, home)
        _choose_sandbox(patch, request)
        yield
        # Made by the first sandbox of a repository.
        if (home / ".bridle" / CACHES_FOLDER).exists():
            request.node.user_properties.append(("sandboxed", True))
    os.environ.clear()
    os.environ.update(before)
    gc.enable()  # `run:iterate` disables it until its process ends; some tests call the command in theirs


def _choose_sandbox(patch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    if request.path.relative_to(TESTS).as_posix() in WITH_SANDBOX:
        patch.delenv(choose_sandbox.VARIABLE, raising=False)
    else:
        is_exempt = request.node.get_closest_marker(sandbox.MARKER) is not None
        patch.setenv(choose_sandbox.VARIABLE, OFF if is_exempt else sandbox.MODE)


def _move_home(patch: pytest.MonkeyPatch, home: Path) -> None:
    patch.setenv("HOME", str(home))
    patch.setenv("XDG_CACHE_HOME", str(home / ".cache"))
    patch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    patch.setenv("XDG_DATA_HOME", str(home / ".local/share"))
    patch.setenv("XDG_STATE_HOME", str(home / ".local/state"))
    patch.setenv("CLAUDE_CONFIG_DIR", str(home / ".claude"))
    patch.setenv("BRIDLE_HOME", str(home / ".bridle"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep the tests of a file that is marked as a group on one worker: they share what one of them has made.

    xdist itself would write the group into a test's id, where pytest 9.2 does not look any more.
    """
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]  # it brings no types

    class ByFile(LoadScopeScheduling):  # type: ignore[misc]  # the same
        def _split_scope(self, nodeid: str) -> str:
            path = nodeid.partition("::")[0]
            return path if _is_grouped(path) else nodeid

        def schedule(self) -> None:
            """Give a worker that replaces another two tests at once: it starts none before it knows the next."""
            super().schedule()
            super().schedule()

        def remove_node(self, node: Any) -> str | None:
            """Name the test during which a worker ended, and do not start it again: it would end the next one too."""
            work = {
                scope: {nodeid: False for nodeid, completed in unit.items() if not completed}
                for scope, unit in self.assigned_work[node].items()
            }
            first = next((unit for unit in work.values() if unit), {})
            crashed = next(iter(first), None)
            first.pop(crashed, None)
            self.assigned_work[node] = {scope: unit for scope, unit in work.items() if unit}
            super().remove_node(node)
            return crashed

    return ByFile(config, log) if config.getoption("dist") == "loadgroup" else None


@cache
def _is_grouped(path: str) -> bool:
    return "pytest.mark.xdist_group(" in (TESTS.parent / path).read_text("utf-8")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """At the size `soak`, leave out what has no size. Mark the reports of real tests: a marker stays in its worker."""
    if SIZES is SOAK:
        without_size = [item for item in items if not _has_size(item)]
        config.hook.pytest_deselected(items=without_size)
        items[:] = [item for item in items if _has_size(item)]
    for item in items:
        if item.get_closest_marker("real") is not None:
            item.user_properties.append(("real", True))
        exempt = item.get_closest_marker(sandbox.MARKER)
        if exempt is not None:
            item.user_properties.append((sandbox.MARKER, exempt.args[0]))


def _has_size(item: pytest.Item) -> bool:
    """Whether the test does more work at another size: it is a property, or its file reads `SIZES`."""
    is_property = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
    return is_property or _reads_sizes(item.path)


@cache
def _reads_sizes(path: Path) -> bool:
    return "import SIZES" in path.read_text("utf-8") or "sizes.SIZES" in path.read_text("utf-8")


class _PrintFailures:
    """Print a failed test at once: a run that is ended from outside prints no summary."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        reporter = _reporter(self.config)
        if report.failed and reporter is not None:
            reporter.write_line(f"\nFAILED {report.nodeid} ({report.when})")


def pytest_configure(config: pytest.Config) -> None:
    """Report failures as they happen."""
    config.pluginmanager.register(_PrintFailures(config))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A full run in which fewer real tests passed than the repository promises is a failed run."""
    reporter = _reporter(session.config)
    if reporter is None or not _is_full_run(session.config):
        return
    if _real_passed(reporter) < _real_promised():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The sizes, the seconds of each layer, and the real tests that passed."""
    write = terminalreporter.write_line
    write(f"sizes     {described(SIZES)}")
    seconds, tests = _by_layer(terminalreporter)
    for layer in sorted(tests):
        write(f"{layer:<9} {tests[layer]:>5} tests {seconds[layer]:>8.1f} s")
    for line in _counts(terminalreporter):
        write(f"count     {line}")
    for line in _sandbox_lines(terminalreporter):
        write(f"sandbox   {line}")
    write(_real_line(terminalreporter))


def _sandbox_lines(reporter: pytest.TerminalReporter) -> Iterator[str]:
    """How many tests started something in a sandbox, and how many may not, by their reasons."""
    reports = [report for report in _reports(reporter) if report.when == "teardown"]
    ended: list[dict[str, object]] = [dict(report.user_properties) for report in reports]
    started = sum("sandboxed" in properties for properties in ended)
    yield f"{sandbox.MODE}: {started} tests started an agent or a check in it"
    exempt = Counter(str(properties[sandbox.MARKER]) for properties in ended if sandbox.MARKER in properties)
    if sandbox.MODE != OFF:
        yield from (f"off for {count} that {reason}" for reason, count in sorted(exempt.items()))


def _real_line(reporter: pytest.TerminalReporter) -> str:
    passed = _real_passed(reporter)
    if not _is_full_run(reporter.config):
        return f"real      {passed} passed (a part of the tests was chosen: not compared)"
    promised = _real_promised()
    line = f"real      {passed} passed, {promised} promised in {REAL_COUNT.relative_to(TESTS.parent)}"
    if passed < promised:
        return f"{line}: FAILED, real tests are missing, skipped or broken"
    return f"{line}: raise the number" if passed > promised else line


def _reporter(config: pytest.Config) -> pytest.TerminalReporter | None:
    """The reporter that holds every result; workers have none of their own."""
    if hasattr(config, "workerinput"):
        return None
    reporter: pytest.TerminalReporter | None = config.pluginmanager.get_plugin("terminalreporter")
    return reporter


def _is_full_run(config: pytest.Config) -> bool:
    chosen = config.option.keyword or config.option.markexpr or config.getoption("lf", default=False)
    ended_early = config.option.maxfail or config.option.collectonly
    everything = config.args_source is pytest.Config.ArgsSource.TESTPATHS and SIZES is not SOAK
    return everything and not chosen and not ended_early


def _reports(reporter: pytest.TerminalReporter) -> Iterator[pytest.TestReport]:
    for reports in reporter.stats.values():
        yield from (report for report in reports if isinstance(report, pytest.TestReport))


def _by_layer(reporter: pytest.TerminalReporter) -> tuple[Counter[str], Counter[str]]:
    """Seconds spent and tests run, for each folder under tests."""
    seconds: Counter[str] = Counter()
    tests: Counter[str] = Counter()
    for report in _reports(reporter):
        folders = report.nodeid.split("::")[0].split("/")[1:-1]
        layer = folders[0] if folders else "project"
        seconds[layer] += report.duration  # type: ignore[assignment]  # a Counter adds floats as well
        tests[layer] += report.when == "call"
    return seconds, tests


def _counts(reporter: pytest.TerminalReporter) -> list[str]:
    """What tests reported as done, under the property `count`."""
    properties = (pair for report in _reports(reporter) if report.when == "call" for pair in report.user_properties)
    return sorted(str(value) for name, value in map(tuple, properties) if name == "count")


def _real_passed(reporter: pytest.TerminalReporter) -> int:
    return sum(
        report.when == "call" and report.passed and ("real", True) in map(tuple, report.user_properties)
        for report in _reports(reporter)
    )


def _real_promised() -> int:
    return int(REAL_COUNT.read_text(encoding="utf-8"))
