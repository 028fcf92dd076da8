"""What `bridle run` was given is a file, a folder or a goal by the rule; and the file's bytes are read as they are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bridle.errors import PlanError
from bridle.loop.plan.goal import TITLE_CHARACTERS, parse_goal
from bridle.loop.plan.model import GOAL, MARKDOWN, PRD, Plan
from bridle.loop.plan.read_plan import LIMIT_BYTES, read_plan
from bridle.loop.settings.model import Settings

PLAN = "# T\nChecks: `make`\n## A\nDo it.\n- [ ] one\nCheck: `true`\n## B\nNeeds: A\n"
SETTINGS = Settings(checks=("make test",), setup=("make deps",))


def read(argument: str | None, cwd: Path) -> Plan:
    return read_plan(argument, cwd, SETTINGS)


def refused(argument: str | None, cwd: Path) -> str:
    with pytest.raises(PlanError) as caught:
        read(argument, cwd)
    return str(caught.value)


@pytest.mark.parametrize("name", ["missing.md", "missing.json", "missing.MD", "plans/missing", "/missing", "a b/c d"])
def test_the_name_of_a_missing_file_is_refused(tmp_path: Path, name: str) -> None:
    assert refused(name, tmp_path).startswith(f"no such file: {name}")


def test_a_missing_file_suggests_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "PLAN.md").write_text(PLAN)
    assert "Did you mean PLAN.md?" in refused("PLNA.md", tmp_path)


@pytest.mark.parametrize("argument", ["PLAN.md", None])
def test_a_plan_at_the_top_of_the_repository_is_suggested_in_a_folder_of_it(
    tmp_path: Path, argument: str | None
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "src" / "app").mkdir(parents=True)
    (tmp_path / "PLAN.md").write_text(PLAN)
    with pytest.raises(PlanError) as caught:
        read(argument, tmp_path / "src" / "app")
    assert caught.value.remedy == "Did you mean: bridle run ../../PLAN.md"
    (tmp_path / "src" / ".git").mkdir()  # another repository
    with pytest.raises(PlanError) as caught:
        read(argument, tmp_path / "src" / "app")
    assert "../" not in str(caught.value.remedy)


def test_a_goal_with_a_slash_is_refused_with_the_reason(tmp_path: Path) -> None:
    assert "Text with a slash" in refused("fix src/app.py and go home", tmp_path)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "plans").mkdir()
    (tmp_path / "odd.md").mkdir()
    for name in ("plans", "plans/", ".", "odd.md"):
        assert "is a folder" in refused(name, tmp_path)


def test_any_name_of_an_existing_file_is_that_file(tmp_path: Path) -> None:
    (tmp_path / "todo").write_text(PLAN)
    plan = read("todo", tmp_path)
    assert (plan.kind, plan.source, plan.path) == (MARKDOWN, "todo", str(tmp_path / "todo"))


def test_a_name_that_ends_in_json_is_read_as_stories(tmp_path: Path) -> None:
    (tmp_path / "Stories.JSON").write_text('{"userStories": [{"title": "A"}]}')
    plan = read("Stories.JSON", tmp_path)
    assert (plan.kind, plan.guard, plan.setup) == (PRD, ("make test",), ("make deps",))


def test_anything_else_is_a_goal_with_the_checks_of_the_settings(tmp_path: Path) -> None:
    plan = read("make it faster", tmp_path)
    assert (plan.kind, plan.path, plan.guard, plan.setup) == (GOAL, None, ("make test",), ("make deps",))
    assert [(task.title, task.body) for task in plan.tasks] == [("make it faster", "make it faster")]
    assert plan.warnings == ()


@pytest.mark.parametrize("argument", ["PLAN", "plan", "Plan "])
def test_the_name_of_a_plan_without_its_ending_is_no_goal(tmp_path: Path, argument: str) -> None:
    (tmp_path / "PLAN.md").write_text("# x\n## y\ndo it\n")
    with pytest.raises(PlanError) as caught:
        read(argument, tmp_path)
    assert caught.value.message == f"no such file: {argument.strip()}"
    assert caught.value.remedy == "Did you mean PLAN.md? Nothing was started."


def test_the_name_of_a_plan_with_a_space_is_no_goal_either(tmp_path: Path) -> None:
    (tmp_path / "my plan.md").write_text("# x\n## y\ndo it\n")
    with pytest.raises(PlanError) as caught:
        read("my plan", tmp_path)
    assert "Did you mean my plan.md?" in str(caught.value.remedy)


def test_a_goal_of_one_word_is_refused(tmp_path: Path) -> None:
    (tmp_path / "PLAN.md").write_text("# x\n## y\ndo it\n")
    with pytest.raises(PlanError) as caught:
        read("PLAM", tmp_path)
    assert caught.value.message == "'PLAM' is not a file, and a goal must have more than one word"
    assert "PLAN.md" in str(caught.value.remedy)
    assert "describe the goal in a sentence" in str(caught.value.remedy)


def test_a_goal_in_a_script_without_spaces_is_a_goal(tmp_path: Path) -> None:
    assert read("添加速率限制", tmp_path).tasks[0].body == "添加速率限制"


@pytest.mark.parametrize("goal", ["", "  ", "\n\t\n"])
def test_an_empty_goal_is_refused(tmp_path: Path, goal: str) -> None:
    assert "the goal is empty" in refused(goal, tmp_path)


@pytest.mark.parametrize("goal", ["do\0it", "do \x1b[31mit", "half \udcff"])
def test_a_goal_with_control_characters_is_refused(tmp_path: Path, goal: str) -> None:
    refused(goal, tmp_path)


def test_a_long_goal_keeps_every_word_and_has_a_short_title() -> None:
    text = "Rewrite " + "the parser " * 40
    plan = parse_goal(f"{text}\nand more")
    (task,) = plan.tasks
    assert len(task.title) <= TITLE_CHARACTERS
    assert task.title.endswith("parser…") or task.title.endswith("the…")
    assert task.body == f"{text}\nand more"
    assert plan.text == f"{text}\nand more"
    assert parse_goal("x" * 500).tasks[0].title == "x" * (TITLE_CHARACTERS - 1) + "…"


def test_the_title_of_a_goal_is_its_first_sentence() -> None:
    assert parse_goal("Mend v1.2 of it. Then rest.").title == "Mend v1.2 of it"
    assert parse_goal("...").title == "..."


def test_a_goal_without_checks_warns_that_nothing_verifies_it() -> None:
    assert "nothing can be verified" in parse_goal("do it").warnings[0]


@pytest.mark.parametrize("name", ["do it", "prd.json"])
def test_without_a_settings_file_the_warning_names_the_command_that_writes_one(tmp_path: Path, name: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "prd.json").write_text('{"userStories": [{"title": "A"}]}')
    (warning,) = read_plan(name, tmp_path, Settings()).warnings
    assert "there is no bridle.toml" in warning
    assert "bridle init" in warning
    (tmp_path / "bridle.toml").write_text('model = "opus"\n')
    (warning,) = read_plan(name, tmp_path, Settings()).warnings
    assert "bridle.toml has no `checks`" in warning


def test_without_an_argument_the_usual_names_are_tried(tmp_path: Path) -> None:
    assert "has no PLAN.md or prd.json" in refused(None, tmp_path)
    (tmp_path / "prd.json").write_text('{"userStories": [{"title": "A"}]}')
    assert read(None, tmp_path).kind == PRD
    (tmp_path / "PLAN.md").write_text(PLAN)
    assert read(None, tmp_path).kind == MARKDOWN


def test_a_plan_takes_the_setup_of_the_settings_but_not_their_checks(tmp_path: Path) -> None:
    (tmp_path / "PLAN.md").write_text("## A\n")
    plan = read("PLAN.md", tmp_path)
    assert (plan.guard, plan.setup) == ((), ("make deps",))
    (tmp_path / "PLAN.md").write_text("Setup: own\n## A\n")
    assert read("PLAN.md", tmp_path).setup == ("own",)


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_endings_and_a_byte_order_mark_change_nothing(tmp_path: Path, ends: str, mark: str) -> None:
    (tmp_path / "plain.md").write_bytes(PLAN.encode())
    (tmp_path / "other.md").write_bytes((mark + PLAN.replace("\n", ends)).encode())
    plain, other = read("plain.md", tmp_path), read("other.md", tmp_path)
    assert other.tasks == plain.tasks
    assert (other.title, other.guard) == (plain.title, plain.guard)
    assert other.text == PLAN.replace("\n", ends)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"## A\n\xff\xfe", "PLAN.md:2: not UTF-8"),
        ("## A\n".encode("utf-16"), "PLAN.md:1: not UTF-8"),
        (b"## A\nx\0y\n", "PLAN.md:2: remove the control character '\\x00'"),
        (b"## A\n\n\x1b[31m\n", "PLAN.md:3: remove the control character '\\x1b'"),
        (b"## A\rCheck: x\n", "PLAN.md:1: remove a carriage return within the line"),
        ("## A\x85\n".encode(), "PLAN.md:1: remove the control character '\\x85'"),
        (b"", "the plan has no task"),
    ],
)
def test_invalid_bytes_are_refused_with_their_line(tmp_path: Path, data: bytes, words: str) -> None:
    (tmp_path / "PLAN.md").write_bytes(data)
    assert words in refused("PLAN.md", tmp_path)


def test_a_command_with_bidirectional_controls_is_refused(tmp_path: Path) -> None:
    (tmp_path / "PLAN.md").write_text("## A\nCheck: `make \u202etset`\n", encoding="utf-8")
    assert "bidirectional" in refused("PLAN.md", tmp_path)


def test_a_plan_above_the_cap_is_refused_and_one_at_the_cap_is_not(tmp_path: Path) -> None:
    path = tmp_path / "PLAN.md"
    path.write_bytes(b"## A\n" + b"x" * (LIMIT_BYTES - 5))
    assert len(read("PLAN.md", tmp_path).text) == LIMIT_BYTES
    path.write_bytes(b"## A\n" + b"x" * (LIMIT_BYTES - 4))
    assert "larger than 1024 KiB" in refused("PLAN.md", tmp_path)


def test_a_special_file_is_refused_without_blocking(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    assert "not a regular file" in refused("pipe.md", tmp_path)


def test_a_link_to_a_plan_is_that_plan(tmp_path: Path) -> None:
    (tmp_path / "real").write_text(PLAN)
    (tmp_path / "link.md").symlink_to("real")
    assert read("link.md", tmp_path).title == "T"


def test_a_long_title_or_command_is_refused(tmp_path: Path) -> None:
    (tmp_path / "PLAN.md").write_text(f"## {'x' * 201}\nCheck: {'y' * 4001}\n## {'z' * 200}\n")
    text = refused("PLAN.md", tmp_path)
    assert "PLAN.md:1: the title must be at most 200 characters, got 201" in text
    assert "PLAN.md:2: invalid `Check:`: the value must be at most 4000 characters, got 4001" in text
    assert "PLAN.md:3" not in text


def test_many_problems_are_counted_and_the_first_are_listed(tmp_path: Path) -> None:
    (tmp_path / "PLAN.md").write_text("## A\n" + "Check:\n\n" * 100)
    with pytest.raises(PlanError) as caught:
        read("PLAN.md", tmp_path)
    assert "and 70 more" in str(caught.value)
    assert isinstance(caught.value.payload, list)
    assert len(caught.value.payload) == 100
    assert caught.value.payload[0]["line"] == 2
