from __future__ import annotations

from bridle.run.isolation.passed_variables import passed_variables

ENVIRONMENT = {
    **dict.fromkeys(("PATH", "HOME", "LC_ALL", "PYTHONPATH", "https_proxy", "BRIDLE_RUN_TOKEN"), "x"),
    **dict.fromkeys(("ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "OPENAI_API_KEY", "GEMINI_API_KEY"), "secret"),
    **dict.fromkeys(("AWS_SECRET_ACCESS_KEY", "NPM_TOKEN", "DATABASE_URL", "SSH_AUTH_SOCK", "GH_TOKEN"), "secret"),
    "TMPDIR": "/a/folder/outside",
}
EVERYBODY = {"PATH", "HOME", "LC_ALL", "PYTHONPATH", "https_proxy", "BRIDLE_RUN_TOKEN"}


def test_an_agent_gets_what_it_needs_to_reach_its_model_and_a_check_none_of_that() -> None:
    claude = {"ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"}
    assert passed_variables(ENVIRONMENT, agent=None).keys() == EVERYBODY
    assert passed_variables(ENVIRONMENT, agent="claude").keys() == EVERYBODY | claude
    assert passed_variables(ENVIRONMENT, agent="bridle-agent").keys() == EVERYBODY | claude
    assert passed_variables(ENVIRONMENT, agent="codex").keys() == EVERYBODY | {"OPENAI_API_KEY"}
    assert passed_variables(ENVIRONMENT, agent="gemini").keys() == EVERYBODY | {"GEMINI_API_KEY"}
    with_bedrock = {**ENVIRONMENT, "CLAUDE_CODE_USE_BEDROCK": "1"}
    assert "AWS_SECRET_ACCESS_KEY" in passed_variables(with_bedrock, agent="claude")


def test_bridle_agent_gets_the_key_of_a_chat_endpoint_only_where_it_may_use_one() -> None:
    chat = {"OPENAI_BASE_URL": "http://127.0.0.1:8080/v1", "OPENAI_MODEL": "m", "BRIDLE_CONTEXT_TOKENS": "8192"}
    passed = passed_variables({**ENVIRONMENT, **chat}, agent="bridle-agent")
    assert {*chat, "OPENAI_API_KEY"} <= passed.keys()
    assert "OPENAI_API_KEY" in passed_variables({**ENVIRONMENT, "BRIDLE_ENDPOINT": "chat"}, agent="bridle-agent")
    unused = {**ENVIRONMENT, **chat, "BRIDLE_ENDPOINT": "messages"}
    assert "OPENAI_API_KEY" not in passed_variables(unused, agent="bridle-agent")
    assert "OPENAI_API_KEY" not in passed_variables({**ENVIRONMENT, **chat}, agent="claude")
    assert "OPENAI_API_KEY" not in passed_variables({**ENVIRONMENT, **chat}, agent=None)


def test_a_check_gets_what_the_user_adds_but_no_key_of_a_model() -> None:
    extra = ("DATABASE_*", "GH_TOKEN", "ANTHROPIC_API_KEY")
    assert passed_variables(ENVIRONMENT, agent=None, extra=extra).keys() == EVERYBODY | {"DATABASE_URL", "GH_TOKEN"}
