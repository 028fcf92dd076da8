"""Settings come from one table; the nearest source wins; invalid values are refused with file and line."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.cli.commands.agents.ask import AGENTS as ASKED
from bridle.errors import SettingsError
from bridle.loop.settings.bridle_toml import LIMIT_BYTES, find_file, line_of, load_settings, read_text
from bridle.loop.settings.limits import Limits
from bridle.loop.settings.model import AGENTS, KEYS, Settings
from bridle.loop.text.durations import parse_duration, render_duration
from bridle.run.isolation.sandbox_rules import SandboxRules


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    (folder / ".git").mkdir(parents=True)
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "user"
    folder.mkdir()
    return folder


def refused(folder: Path, home: Path, text: str, flags: dict[str, object] | None = None) -> list[str]:
    (folder / "bridle.toml").write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError) as caught:
        load_settings(folder, home, flags)
    assert isinstance(caught.value.payload, list)
    return [problem.replace(f"{folder}/", "") for problem in caught.value.payload]


def test_the_defaults_are_those_of_the_contract(repository: Path, home: Path) -> None:
    settings = load_settings(repository, home)
    assert settings == Settings()
    assert (settings.agents, settings.model, settings.reasoning) == (("claude",), "sonnet", "med")
    assert settings.limits == Limits(max_iterations=50, tries=5, max_seconds=8 * 3600, max_cost_usd=20)
    assert settings.chosen == ()


def test_every_default_is_a_value_that_its_own_key_accepts(repository: Path, home: Path) -> None:
    lines = [f"{key.name} = {key.kind.show(key.default)}" for key in KEYS.values()]
    (home / "bridle.toml").write_text("\n".join(lines))
    settings = load_settings(repository, home)
    assert settings.chosen == tuple(KEYS)
    assert settings == Settings(chosen=tuple(KEYS))


def test_a_flag_overrides_the_repository_which_overrides_the_user(repository: Path, home: Path) -> None:
    (home / "bridle.toml").write_text('model = "haiku"\ntries = 2\nchecks = ["a", "b"]\nparallel = 3\n')
    (repository / "bridle.toml").write_text('model = "opus"\ntries = 3\nchecks = ["c"]\n')
    settings = load_settings(repository, home, {"tries": 4, "model": None, "max_time": "90m"})
    assert (settings.model, settings.tries, settings.checks, settings.parallel) == ("opus", 4, ("c",), 3)
    assert settings.max_seconds == 5400
    assert settings.chosen == ("model", "max_time", "tries", "parallel", "checks")


def test_the_nearest_file_up_to_the_top_of_the_repository_is_taken(repository: Path) -> None:
    deep = repository / "a" / "b"
    deep.mkdir(parents=True)
    (repository.parent / "bridle.toml").write_text("tries = 1\n")
    assert find_file(deep) is None
    (repository / "bridle.toml").write_text("tries = 2\n")
    assert find_file(deep) == repository / "bridle.toml"
    (repository / "a" / "bridle.toml").write_text("tries = 3\n")
    assert find_file(deep) == repository / "a" / "bridle.toml"


def test_outside_of_a_repository_only_the_folder_itself_counts(tmp_path: Path) -> None:
    (tmp_path / "bridle.toml").write_text("")
    (tmp_path / "below").mkdir()
    assert find_file(tmp_path / "below") is None
    assert find_file(tmp_path) == tmp_path / "bridle.toml"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("max_cots = 5", "max_cots is not a setting; did you mean max_cost"),
        ("max-cost = 5", "max-cost is not a setting; did you mean max_cost?"),
        ("zzz = 5", "zzz is not a setting"),
        ('"a\\u001b[2J" = 5', "'a\\x1b[2J' is not a setting"),
        ("[prompt]\nplan = 5", "prompt is not a setting; did you mean prompt_"),
        ("max_cost = '5'", "max_cost must be a number above 0, got '5'"),
        ("max_cost = 0", "max_cost must be a number above 0, got 0"),
        ("max_cost = -1", "max_cost must be a number above 0, got -1"),
        ("max_cost = 1000001", "got 1000001 (the largest value is 1000000)"),
        ("max_cost = inf", "max_cost must be a number above 0, got inf"),
        ("max_cost = nan", "max_cost must be a number above 0, got nan"),
        ("max_cost = true", "max_cost must be a number above 0, got true"),
        ("max_iterations = 0", "max_iterations must be an integer of at least 1, got 0"),
        ("max_iterations = 2.5", "max_iterations must be an integer of at least 1, got 2.5"),
        ("max_iterations = true", "max_iterations must be an integer of at least 1, got true"),
        (
            "tries = 99999999999999999999",
            "tries must be an integer of at least 1, got 99999999999999999999 (the largest value is 1000000)",
        ),
        (
            "max_time = '8 hours'",
            "max_time must be a duration above 0, such as 90s, 15m or 8h, or a number of seconds, got '8 hours'",
        ),
        ("max_time = 0", "max_time must be a duration"),
        ("max_time = 2026-11-15", "max_time must be a duration"),
        ("reasoning = 'medium'", "reasoning must be one of none, low, med, high, got 'medium'; did you mean"),
        ("reasoning = 3", "reasoning must be one of none, low, med, high, got 3"),
        ("agent = []", "agent must be one or more of claude, "),
        (
            "agent = 'cluade'",
            "agent must be one or more of claude, bridle-agent, codex, gemini, opencode, got 'cluade'; did you",
        ),
        ("agent = ['claude', 3]", "agent must be one or more of claude, "),
        ("checks = 3", "checks must be text or a list of texts, got 3"),
        ("checks = ['a', 3]", "checks must be text or a list of texts, got 3"),
        ("checks = ['a', ' ']", "checks must be text or a list of texts, got an empty text"),
        ('checks = ["a\\u0000"]', "got the control character '\\x00'"),
        ('checks = ["a\\nb"]', "got the control character '\\n'"),
        ("red_first = 'yes'", "red_first must be true or false, got 'yes'"),
        ("red_first = 1", "red_first must be true or false, got 1"),
        ("clean = 'fresh'", "clean must be one of working, checkout"),
        (
            "protect = ['../x']",
            "protect must be a pattern or a list of patterns inside the repository, got '../x', which leaves",
        ),
        ("protect = '/etc'", "got '/etc', which is outside the repository"),
        ("model = ''", "model must be text, got an empty text"),
        ("model = {a = 1}", "model must be text, got a table"),
        (
            "permission = 'bypass'",
            "permission must not be 'bypass' in a repository. Set it in your own bridle.toml",
        ),
        ("auth = 'key'", "auth must not be 'key' in a repository. Set it in your own bridle.toml"),
    ],
)
def test_an_invalid_value_is_refused_with_its_line(repository: Path, home: Path, line: str, message: str) -> None:
    first = line.split("\n")[0]
    (problem,) = refused(repository, home, f"# {first}\nnotify = [\n  'x', # {first}\n]\n\n{line}\n")
    assert problem.startswith("bridle.toml:6: ")
    assert message in problem


def test_a_key_in_a_text_of_several_lines_is_not_taken_for_the_key(repository: Path, home: Path) -> None:
    text = 'model = """\\\ntries = 1 \\\n"""\n"tries" = "x"\n'
    (problem,) = refused(repository, home, text)
    assert problem.startswith("bridle.toml:4: tries must be")


def test_all_problems_of_all_sources_are_reported_at_once(repository: Path, home: Path) -> None:
    (home / "bridle.toml").write_text("tris = 3\n")
    problems = refused(repository, home, "model = 1\n\nparallel = 0\n", {"max_time": "soon", "tries": 0})
    assert [problem.partition(" ")[0] for problem in problems] == [
        f"{home}/bridle.toml:1:",
        "bridle.toml:1:",
        "bridle.toml:3:",
        "--max-time",
        "--tries",
    ]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"model = \n", "bridle.toml:1: Invalid value (column 9)"),
        (b"tries = 1\ntries = 2\n", "bridle.toml:2: Cannot overwrite a value"),
        (b"model = '\xff'\n", "is not UTF-8"),
        (b"#" * (LIMIT_BYTES + 1), "is larger than"),
        (b"a = " + b"[" * 100_000, "bridle.toml"),
    ],
)
def test_a_file_that_is_not_toml_is_refused(repository: Path, home: Path, data: bytes, message: str) -> None:
    (repository / "bridle.toml").write_bytes(data)
    with pytest.raises(SettingsError) as caught:
        load_settings(repository, home)
    assert message in str(caught.value)


def test_the_users_own_file_and_a_flag_may_set_what_a_repository_may_not(repository: Path, home: Path) -> None:
    assert load_settings(repository, home, {"permission": "bypass", "auth": "key"}).permission == "bypass"
    (home / "bridle.toml").write_text("permission = 'bypass'\nauth = 'key'\n")
    assert load_settings(repository, home).auth == "key"


def test_a_repository_that_is_the_users_own_folder_is_read_once(repository: Path) -> None:
    (repository / "bridle.toml").write_text("permission = 'bypass'\n")
    assert load_settings(repository, repository).permission == "bypass"


@pytest.mark.parametrize("given", ["claude, codex", ["claude", "codex"], " claude,,codex,claude "])
def test_agents_are_a_list_in_any_form(repository: Path, home: Path, given: object) -> None:
    assert load_settings(repository, home, {"agent": given}).agents == ("claude", "codex")


def test_settings_survive_the_journal(repository: Path, home: Path) -> None:
    settings = load_settings(repository, home, {"tries": 2, "checks": ["a", "b"], "max_time": 60, "max_cost": 1})
    value = json.loads(json.dumps(settings.as_json()))
    assert Settings.from_json(value) == settings
    assert value["limits"] == {"max_iterations": 50, "max_seconds": 60, "max_cost_usd": 1, "tries": 2}
    assert "tries" not in value


def test_settings_of_another_version_are_read_with_defaults() -> None:
    value = Settings(model="opus").as_json() | {"from_the_future": 1}
    del value["parallel"]
    assert Settings.from_json(value) == Settings(model="opus")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("90s", 90),
        ("15m", 900),
        ("8h", 28800),
        ("1h30m", 5400),
        ("2d", 172800),
        ("0.5h", 1800),
        ("1H 5 M", 3900),
    ],
)
def test_durations_are_parsed_as_users_write_them(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "h", "-5m", "5x", "1:30", "0", "0s", "1e9h", "9" * 400, "٣m", "5 m 3", "nan"])
def test_an_invalid_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="got "):
        parse_duration(text)


@given(st.integers(1, 10**9) | st.floats(0.001, 10**6).map(lambda value: round(value, 3)))
def test_a_formatted_duration_parses_back(seconds: float) -> None:
    assert parse_duration(render_duration(seconds)) == pytest.approx(seconds, rel=1e-5)


@given(st.text(max_size=200))
def test_no_text_of_a_file_raises_anything(text: str) -> None:
    values, problems = read_text(text, Path("bridle.toml"), is_repository=True)
    assert set(values) <= set(KEYS)
    assert isinstance(problems, list)


@given(
    st.dictionaries(
        st.sampled_from([*(name for name in KEYS if "." not in name), "other", "x"]),
        st.integers() | st.booleans() | st.sampled_from(["med", "5m", "a", "", "claude"]) | st.lists(st.just("a")),
        max_size=6,
    )
)
def test_every_key_of_a_file_is_found_on_its_line(given: dict[str, object]) -> None:
    lines = [f"{name} = {json.dumps(value)}" for name, value in given.items()]
    text = "\n# x = 1\n".join(lines)
    assert tomllib.loads(text) == given
    assert [line_of(text, name) for name in given] == [1 + 2 * index for index in range(len(lines))]


def test_only_the_users_own_file_can_set_the_sandbox(repository: Path, home: Path) -> None:
    (home / "bridle.toml").write_text('[sandbox]\nmode = "bwrap"\nwritable = ["~/shared"]\nnetwork = "none"\n')
    rules = load_settings(repository, home, {"sandbox.mode": "off"}).sandbox
    assert rules == SandboxRules("off", writable=("~/shared",), network="none")
    expected = [
        f"bridle.toml:2: sandbox.{name} must not be set in a repository. Set it in your own bridle.toml"
        for name in ("mode", "hidden")
    ]
    assert refused(repository, home, "model = 'opus'\n[sandbox]\nmode = 'off'\nhidden = []\n") == expected
    assert refused(repository, home, "sandbox = 'off'\n") == ["bridle.toml:1: sandbox must be a table, got 'off'"]
    unknown = "bridle.toml:1: sandbox.mod is not a setting; did you mean sandbox.mode or sandbox.hidden?"
    assert refused(repository, home, "[sandbox]\nmod = 'off'\n") == [unknown]


def test_the_loop_can_use_every_agent_that_can_be_run() -> None:
    assert AGENTS == ASKED
