from __future__ import annotations

import pytest

from bridle.agent.model.api.models import (
    ALIASES,
    EFFORTS,
    Thinking,
    display_name,
    effort_for,
    plan_model,
    resolve_model,
    small_model,
    thinking_for,
)
from bridle.agent.model.clouds.model_ids import bedrock_id, vertex_id

OPUS, SONNET, HAIKU, FABLE = "claude-opus-4-8", "claude-sonnet-5", "claude-haiku-4-5-20251001", "claude-fable-5"
PROFILE = "us.anthropic.claude-haiku-4-5-20251001-v1:0"


# Measured with Claude Code 2.1.197: the name, what the request names, what init shows, the window, the answer's tokens.
@pytest.mark.parametrize(
    ("name", "sent", "shown", "window", "most"),
    [
        (None, OPUS, f"{OPUS}[1m]", 1_000_000, 64_000),
        ("default", OPUS, f"{OPUS}[1m]", 1_000_000, 64_000),
        ("opus", OPUS, OPUS, 200_000, 64_000),
        ("best", OPUS, OPUS, 200_000, 64_000),
        ("opus[1m]", OPUS, f"{OPUS}[1m]", 1_000_000, 64_000),
        ("sonnet", SONNET, SONNET, 200_000, 64_000),
        ("sonnet[1m]", SONNET, f"{SONNET}[1m]", 1_000_000, 64_000),
        ("opusplan", SONNET, SONNET, 200_000, 64_000),
        ("haiku", HAIKU, HAIKU, 200_000, 32_000),
        ("Haiku", HAIKU, HAIKU, 200_000, 32_000),
        ("haiku[1m]", HAIKU, f"{HAIKU}[1m]", 1_000_000, 32_000),
        ("fable", FABLE, FABLE, 200_000, 64_000),
        ("claude-haiku-4-5", "claude-haiku-4-5", "claude-haiku-4-5", 200_000, 32_000),
        ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5-20250929", "claude-sonnet-4-5-20250929", 200_000, 32_000),
        ("claude-3-5-haiku-20241022", "claude-3-5-haiku-20241022", "claude-3-5-haiku-20241022", 200_000, 8_192),
        ("custom-model-x", "custom-model-x", "custom-model-x", 200_000, 32_000),
        ("Custom-X[1m]", "Custom-X", "Custom-X[1m]", 1_000_000, 32_000),
        (PROFILE, PROFILE, PROFILE, 200_000, 32_000),
    ],
)
def test_a_name_means_the_model_that_was_measured(
    name: str | None, sent: str, shown: str, window: int, most: int
) -> None:
    model = resolve_model(name, {})
    assert (model.id, model.shown) == (sent, shown)
    assert (model.context_window, model.max_output_tokens, model.max_tokens) == (window, most, most)
    assert ("context-1m-2025-08-07" in model.betas) is (window == 1_000_000)


def test_a_flag_wins_over_the_environment_and_that_over_the_settings() -> None:
    environment = {"ANTHROPIC_MODEL": "sonnet"}
    assert resolve_model("haiku", environment, setting="fable").id == HAIKU
    assert resolve_model(None, environment, setting="fable").id == SONNET
    assert resolve_model("", environment).id == SONNET
    assert resolve_model(None, {}, setting="fable").id == FABLE
    assert resolve_model(None, {"ANTHROPIC_MODEL": ""}).id == OPUS


@pytest.mark.parametrize(
    ("variable", "name", "sent", "shown"),
    [
        ("ANTHROPIC_DEFAULT_HAIKU_MODEL", "haiku", "mine", "mine"),
        ("ANTHROPIC_DEFAULT_SONNET_MODEL", "sonnet", "mine", "mine"),
        ("ANTHROPIC_DEFAULT_SONNET_MODEL", "opusplan", "mine", "mine"),
        ("ANTHROPIC_DEFAULT_OPUS_MODEL", "opus", "mine", "mine"),
        ("ANTHROPIC_DEFAULT_OPUS_MODEL", None, "mine", "mine[1m]"),
        ("ANTHROPIC_DEFAULT_FABLE_MODEL", "fable", "mine", "mine"),
        ("ANTHROPIC_DEFAULT_HAIKU_MODEL", "sonnet", SONNET, SONNET),
        ("ANTHROPIC_SMALL_FAST_MODEL", "haiku", HAIKU, HAIKU),
    ],
)
def test_the_environment_can_say_what_an_alias_means(variable: str, name: str | None, sent: str, shown: str) -> None:
    model = resolve_model(name, {variable: "mine"})
    assert (model.id, model.shown) == (sent, shown)


def test_a_variable_can_ask_for_the_wide_window_too() -> None:
    model = resolve_model("sonnet", {"ANTHROPIC_DEFAULT_SONNET_MODEL": "mine[1m]"})
    assert (model.id, model.shown, model.context_window) == ("mine", "mine[1m]", 1_000_000)


@pytest.mark.parametrize("name", [None, "sonnet[1m]", "x[1m]"])
def test_the_wide_window_can_be_turned_off(name: str | None) -> None:
    model = resolve_model(name, {"CLAUDE_CODE_DISABLE_1M_CONTEXT": "1"})
    assert (model.context_window, model.shown) == (200_000, model.id)
    assert "context-1m-2025-08-07" not in model.betas


@pytest.mark.parametrize(
    ("name", "planner"),
    [("haiku", "claude-sonnet-5"), ("opusplan", "claude-opus-4-8[1m]"), ("claude-haiku-4-5-20251001", None)],
)
def test_a_short_name_may_have_another_model_for_plan_mode(name: str, planner: str | None) -> None:
    model = resolve_model(name, {})
    assert plan_model(model, {}).shown == (planner or model.shown)


def test_the_beta_of_the_large_window_makes_it_large_where_a_model_can_have_it() -> None:
    betas = {"BRIDLE_BETAS": "context-1m-2025-08-07"}
    sonnet = resolve_model("sonnet", betas)
    assert (sonnet.context_window, sonnet.shown) == (1_000_000, "claude-sonnet-5")
    assert "context-1m-2025-08-07" in sonnet.betas
    assert resolve_model("haiku", betas).context_window == 200_000


def test_small_tasks_go_to_the_small_model() -> None:
    assert small_model({}).id == HAIKU
    assert small_model({"ANTHROPIC_DEFAULT_HAIKU_MODEL": "h"}).id == "h"
    assert small_model({"ANTHROPIC_DEFAULT_HAIKU_MODEL": "h[1m]"}).shown == "h[1m]"
    assert small_model({"ANTHROPIC_DEFAULT_HAIKU_MODEL": "h", "ANTHROPIC_SMALL_FAST_MODEL": "s"}).id == "s"


@pytest.mark.parametrize(
    ("name", "set_to", "asked", "shown"),
    [
        ("haiku", "1000", 1_000, 32_000),
        ("haiku", "999999", 64_000, 32_000),
        ("opus", "999999", 128_000, 64_000),
        ("haiku", "junk", 32_000, 32_000),
        ("haiku", "0", 32_000, 32_000),
        ("haiku", "", 32_000, 32_000),
        ("custom-x", "999999", 128_000, 32_000),
    ],
)
def test_the_length_of_an_answer_can_be_set_up_to_what_the_model_takes(
    name: str, set_to: str, asked: int, shown: int
) -> None:
    model = resolve_model(name, {"CLAUDE_CODE_MAX_OUTPUT_TOKENS": set_to})
    assert (model.max_tokens, model.max_output_tokens) == (asked, shown)


@pytest.mark.parametrize(
    ("name", "tokens", "set_to", "sent"),
    [
        ("opus", None, None, {"type": "adaptive"}),
        ("opus", None, "4096", {"type": "adaptive"}),
        ("sonnet", None, "16384", {"type": "adaptive"}),
        ("opus", None, "0", {"type": "disabled"}),
        ("custom-x", None, None, {"type": "adaptive"}),
        ("haiku", None, None, {"type": "enabled", "budget_tokens": 31_999}),
        ("haiku", None, "100", {"type": "enabled", "budget_tokens": 100}),
        ("haiku", None, "99999", {"type": "enabled", "budget_tokens": 31_999}),
        ("haiku", None, "0", {"type": "disabled"}),
        ("haiku", None, "junk", {"type": "disabled"}),
        ("haiku", None, "", {"type": "enabled", "budget_tokens": 31_999}),
        ("haiku", 500, "100", {"type": "enabled", "budget_tokens": 500}),
        ("haiku", 0, "100", {"type": "disabled"}),
        ("opus", 0, None, {"type": "disabled"}),
        ("claude-sonnet-4-5-20250929", None, "4096", {"type": "enabled", "budget_tokens": 4_096}),
        ("claude-3-5-haiku-20241022", None, "4096", None),
    ],
)
def test_thinking_is_asked_for_as_measured(name: str, tokens: int | None, set_to: str | None, sent: object) -> None:
    environment = {} if set_to is None else {"MAX_THINKING_TOKENS": set_to}
    assert thinking_for(resolve_model(name, environment), tokens, environment) == sent


def test_the_budget_of_thinking_stays_below_the_answer() -> None:
    environment = {"CLAUDE_CODE_MAX_OUTPUT_TOKENS": "1000"}
    assert thinking_for(resolve_model("haiku", environment), None, environment) == {
        "type": "enabled",
        "budget_tokens": 999,
    }


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("opus", ("low", "medium", "high", "xhigh", "max")),
        ("sonnet", ("low", "medium", "high", "xhigh", "max")),
        ("fable", ("low", "medium", "high", "xhigh", "max")),
        ("custom-x", ("low", "medium", "high", "xhigh", "max")),
        ("claude-opus-4-6", ("low", "medium", "high", "high", "max")),
        ("claude-sonnet-4-6", ("low", "medium", "high", "high", "max")),
        ("claude-opus-4-5", ("low", "medium", "high", "high", "high")),
        ("haiku", (None,) * 5),
    ],
)
def test_effort_is_sent_as_the_model_takes_it(name: str, sent: tuple[str | None, ...]) -> None:
    assert tuple(effort_for(resolve_model(name, {}), effort, {}) for effort in EFFORTS) == sent


def test_the_default_effort_is_the_models_own() -> None:
    assert effort_for(resolve_model("opus", {}), None, {}) == "high"
    assert effort_for(resolve_model("claude-opus-4-7", {}), None, {}) == "xhigh"
    assert effort_for(resolve_model("opus", {}), None, {"CLAUDE_CODE_EFFORT_LEVEL": "low"}) == "low"
    assert effort_for(resolve_model("opus", {}), "nonsense", {}) == "high"


@pytest.mark.parametrize(
    ("name", "takes"), [("opus", True), ("sonnet", True), ("fable", True), ("custom-x", True), ("haiku", False)]
)
def test_messages_of_the_program_are_for_the_models_that_take_them(name: str, takes: bool) -> None:
    model = resolve_model(name, {})
    assert model.takes_system_messages is takes
    assert ("mid-conversation-system-2026-04-07" in model.betas) is takes


def test_every_alias_means_a_model_of_the_table() -> None:
    assert {resolve_model(name, {}).thinking for name in ALIASES} == {Thinking.ADAPTIVE, Thinking.BUDGET}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (OPUS, "Opus 4.8"),
        (HAIKU, "Haiku 4.5"),
        (SONNET, "Sonnet 5"),
        ("claude-3-5-haiku-20241022", "claude-3-5-haiku-20241022"),
        ("custom-model-x", "custom-model-x"),
        ("claude-", "claude-"),
    ],
)
def test_a_model_has_a_display_name(name: str, words: str) -> None:
    assert display_name(name) == words


@pytest.mark.parametrize(
    ("name", "region", "bedrock", "vertex"),
    [
        (HAIKU, "us-west-2", f"us.anthropic.{HAIKU}-v1:0", "claude-haiku-4-5@20251001"),
        (OPUS, "eu-central-1", f"eu.anthropic.{OPUS}", OPUS),
        (OPUS, "ap-northeast-1", f"global.anthropic.{OPUS}", OPUS),
        (OPUS, "us-gov-west-1", f"us-gov.anthropic.{OPUS}", OPUS),
        ("claude-opus-4-6", "us-east-1", "us.anthropic.claude-opus-4-6-v1", "claude-opus-4-6"),
        ("us.anthropic.claude-x-v1:0", "eu-west-1", "us.anthropic.claude-x-v1:0", "us.anthropic.claude-x-v1:0"),
        ("arn:aws:bedrock:x:1:p/x", "us-east-1", "arn:aws:bedrock:x:1:p/x", "arn:aws:bedrock:x:1:p/x"),
        (
            "claude-haiku-4-5@20251001",
            "us-east-1",
            "us.anthropic.claude-haiku-4-5@20251001",
            "claude-haiku-4-5@20251001",
        ),
    ],
)
def test_the_clouds_have_names_of_their_own(name: str, region: str, bedrock: str, vertex: str) -> None:
    assert bedrock_id(name, region) == bedrock
    assert vertex_id(name) == vertex
