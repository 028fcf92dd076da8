"""The tools of a run: which exist, which are offered, and how they follow the current permissions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from bridle.agent.assemble.run_inputs import RunInputs
from bridle.agent.conversation.message_loop import COMMANDS
from bridle.agent.conversation.model_setup import ModelSetup
from bridle.agent.model.api.models import DEFAULT_CHAT_MODEL, Model, has_web_search, resolve_model
from bridle.agent.permissions.approval import Approver
from bridle.agent.permissions.decide import decide
from bridle.agent.permissions.offered_tools import DEFAULT_CHOICE, offered
from bridle.agent.permissions.rules.file_access import is_hidden
from bridle.agent.permissions.rules.policy import Allowed, Policy, with_mode
from bridle.agent.permissions.rules.syntax import Rule, names_tool, parse_rules
from bridle.agent.sessions.open_session import project_folder
from bridle.agent.skills.catalogue import Skills
from bridle.agent.skills.skill_files import Skill
from bridle.agent.tools.call_hooks import CallHooks
from bridle.agent.tools.contract.tool import AskServerTool, ContentBlock, Tool
from bridle.agent.tools.file_tools import FileToolSetup, file_tools
from bridle.agent.tools.files.known_files import FileMemory
from bridle.agent.tools.shell.background import BackgroundTasks
from bridle.agent.tools.shell.limits import limits_from_environment
from bridle.agent.tools.shell.shell import Shell
from bridle.agent.tools.shell_tools import shell_tools
from bridle.agent.tools.skill import SkillTool
from bridle.agent.tools.structured_output import StructuredOutput
from bridle.agent.tools.toolbox import Toolbox
from bridle.ground import trust

BARE_TOOLS = ("Bash", "Edit", "Read")
TASK_LIST = ("TaskCreate", "TaskGet", "TaskList", "TaskUpdate")

Inline = Callable[[str], Awaitable[str]]


def make_tools(
    inputs: RunInputs,
    setup: ModelSetup,
    session_id: str,
    shell: Shell,
    background: BackgroundTasks,
    ask_small_model: Callable[[str], Awaitable[str]],
    memory: FileMemory,
    search_web: AskServerTool | None = None,
) -> list[Tool]:
    """Make all tools except Skill. `ask_small_model` answers WebFetch's question about a page.

    `search_web` asks the endpoint for a web search, if it has them.
    """
    limits = limits_from_environment(inputs.environment)
    results = project_folder(inputs.config_folder, inputs.cwd) / session_id / "tool-results"
    tools = [
        *file_tools(
            FileToolSetup(
                lambda: shell.cwd,
                memory=memory,
                environment=inputs.environment,
                results_folder=results,
                ask_small_model=ask_small_model,
                search_web=search_web if has_web_search(inputs.environment) else None,
                is_hidden=lambda path: is_hidden(path, setup.current_policy()),
            )
        ),
        *shell_tools(shell, background, results_folder=results, limits=limits),
    ]
    # A model needs only one of the two kinds of task list.
    with_tasks = inputs.environment.get("CLAUDE_CODE_ENABLE_TASKS", "1").lower() not in ("0", "false")
    unused = ("TodoWrite",) if with_tasks else TASK_LIST
    return [tool for tool in tools if tool.name not in unused]


def skill_tool(inputs: RunInputs, skills: Skills, session_id: str, inline: Inline) -> Tool:
    """Make the Skill tool."""
    return SkillTool(
        skills,
        session_id=session_id,
        inline=inline,
        local_commands=COMMANDS,
        model_of=lambda skill: model_of_skill(inputs, skill),
    )


def model_of_skill(inputs: RunInputs, skill: Skill) -> Model | None:
    """Return the model that a skill names; None if it has the model of the conversation."""
    if skill.model is None or skill.model.lower() == "inherit":
        return None
    model = resolve_model(skill.model, inputs.environment)
    # A chat endpoint without a model of that name has the model of the conversation.
    return None if model.id == DEFAULT_CHAT_MODEL else model


def rules_of_skill(inputs: RunInputs, skill: Skill) -> tuple[Rule, ...]:
    """Return what a skill allows in the turn in which the user calls it; one of a project if the user trusts it."""
    if skill.source == "project" and not trust.are_settings_trusted(
        inputs.cwd, inputs.environment, inputs.config_folder
    ):
        return ()
    return tuple(parse_rules(skill.allowed_tools))


def host_tools(setup: ModelSetup, on_mode: Callable[[str], None]) -> list[Tool]:
    """Make the tools that a host answers; `on_mode` reports a mode that one of them has set."""
    from bridle.agent.tools.interaction.ask_user_question import AskUserQuestion
    from bridle.agent.tools.interaction.plan_mode import EnterPlanMode, ExitPlanMode, ModeSwitch

    def change(mode: str) -> None:
        setup.policy = with_mode(setup.policy, mode)
        on_mode(mode)

    switch = ModeSwitch(lambda: setup.policy.mode, change)
    return [AskUserQuestion(), EnterPlanMode(switch), ExitPlanMode(switch)]


def make_toolbox(
    inputs: RunInputs,
    setup: ModelSetup,
    tools: list[Tool],
    structured: StructuredOutput | None,
    note: Callable[[str], None],
    approver: Approver | None,
    hooks: CallHooks | None,
) -> Toolbox:
    """Make the toolbox, with the tools that command line and permissions offer to the model."""
    options = inputs.options
    chosen = options.tools if not options.is_bare or options.tools is not None else BARE_TOOLS
    if structured is not None:
        tools = [*tools, structured]
        chosen = chosen if chosen in (None, DEFAULT_CHOICE) else (*chosen, structured.name)
    tools = sorted(tools, key=lambda tool: tool.name)
    names = [tool.name for tool in tools]
    return Toolbox(
        tools,
        offered(
            names,
            tools=chosen,
            allowed=setup.policy.allow,
            denied=setup.policy.deny,
            has_host=approver is not None,
        ),
        note=note,
        approver=approver,
        hooks=hooks,
    )


def not_denied(tools: Mapping[str, Tool], policy: Policy) -> dict[str, Tool]:
    """Return the tools of MCP servers without those that a rule denies as a whole."""
    denied = [rule for rule in policy.deny if rule.specifier is None]
    return {name: tool for name, tool in tools.items() if not any(names_tool(rule, name) for rule in denied)}


def inline_commands(tools: list[Tool], setup: ModelSetup) -> Inline:
    """Return the function that runs the commands in a skill's text, if permissions allow them."""

    async def run(command: str) -> str:
        from bridle.agent.tools.shell import skill_commands

        bash = next(tool for tool in tools if tool.name == "Bash")
        return await skill_commands.inline_commands(bash, lambda text: refusal(setup, "Bash", command=text))(command)

    return run


def mentioned_files(inputs: RunInputs, setup: ModelSetup, memory: FileMemory) -> Callable[[str], list[ContentBlock]]:
    """Return the function that reads what a prompt mentions as @path; `memory` records files as read."""

    def read(text: str) -> list[ContentBlock]:
        if "@" not in text:
            return []
        from bridle.agent.prompt.mentions import read_mentions

        folders = [Path(folder) for folder in setup.policy.folders]
        mentions = read_mentions(
            text,
            inputs.cwd,
            folders,
            memory=memory,
            may_read=lambda path: refusal(setup, "Read", file_path=str(path)) is None,
        )
        return [block for mention in mentions for block in mention.blocks]

    return read


def refusal(setup: ModelSetup, tool: str, **arguments: str) -> str | None:
    """Return why a call is not allowed now; None if it is."""
    verdict = decide(tool, arguments, setup.policy)
    return None if isinstance(verdict, Allowed) else verdict.text
