from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bridle.loop.plan.issue_plan import Issue, plan_of_issues
from bridle.loop.plan.markdown import parse_markdown

LINES = st.sampled_from(
    ["Check: `id`", "Setup: `id`", "## x", "# y", "- [x] z", "<!--", "```", "~~~", "---", "Needs: a", "\x00", "text"]
)
TEXT = st.one_of(st.text(max_size=200), st.lists(LINES, max_size=8).map("\n".join))


@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=4))
def test_whatever_an_issue_says_it_is_one_task_without_checks(texts: list[tuple[str, str]]) -> None:
    issues = [Issue(number, title, body) for number, (title, body) in enumerate(texts, 1)]
    text = plan_of_issues("Issues", issues, guard=["make test"])
    plan = parse_markdown(text.encode("utf-8", "replace").decode("utf-8"), "PLAN.md")
    assert len(plan.tasks) == len(issues)
    assert plan.guard == ("make test",)
    assert plan.setup == ()
    for task in plan.tasks:
        assert (task.checks, task.may_edit, task.checklist) == ((), (), ())


def test_a_long_issue_is_cut() -> None:
    assert len(plan_of_issues("I", [Issue(1, "t" * 900, "b" * 99_999)], guard=[])) < 22_000


def test_an_issue_that_depends_on_another_waits_for_it() -> None:
    issues = [Issue(2, "b", "Depends on #1 and needs #7; blocked by #2"), Issue(1, "a")]
    plan = parse_markdown(plan_of_issues("I", issues, guard=["true"]), "PLAN.md")
    assert [(task.title, task.needs) for task in plan.tasks] == [("#2 b", ("#1 a",)), ("#1 a", ())]


def test_an_issue_without_text_is_its_title_and_its_address() -> None:
    [task] = parse_markdown(plan_of_issues("I", [Issue(1, "a \u202e b", "", "https://x/1")], guard=[]), "PLAN.md").tasks
    assert (task.title, task.body) == ("#1 a b", "Issue https://x/1")
