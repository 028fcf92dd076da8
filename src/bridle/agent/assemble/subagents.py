"""The sub-agents of a run: which exist, and what each one is made of."""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from bridle.agent.assemble import tools as run_tools
from bridle.agent.assemble.prompt import context_scope
from bridle.agent.assemble.run_inputs import RunInputs, plugins_of
from bridle.agent.compaction.compact_history import Compactor
from bridle.agent.conversation.conversation import Conversation
from bridle.agent.conversation.message_log import MessageLog
from bridle.agent.conversation.model_requests import ModelRequests
from bridle.agent.conversation.model_setup import ConversationOptions, Limits, ModelSetup, PromptSource, RequestHead
from bridle.agent.conversation.session_hooks import SessionHooks
from bridle.agent.model.api.models import Model, effort_for
from bridle.agent.permissions.approval import Approver
from bridle.agent.prompt.environment_info import environment_section, gather_context, opening_reminder
from bridle.agent.sessions.api_messages import text_block
from bridle.agent.skills.catalogue import Skills
from bridle.agent.skills.expand import expand_skill
from bridle.agent.stdio.event_writer import EventWriter
from bridle.agent.subagents.agent_files import agents_in, plugin_agents
from bridle.agent.subagents.agent_log import AgentIdentity, AgentLog
from bridle.agent.subagents.agent_tool import DEPTH_LIMIT, AgentTool
from bridle.agent.subagents.builtin import BUILT_IN, NOTES
from bridle.agent.subagents.catalogue import Agents
from bridle.agent.subagents.definitions import AgentDefinition, Source, read_definition
from bridle.agent.subagents.git_worktree import GitWorktree, Worktrees
from bridle.agent.subagents.hooks import AgentHooks
from bridle.agent.subagents.live_agents import LiveAgents
from bridle.agent.subagents.make_subagent import (
    AgentApprover,
    AgentFolder,
    AgentSetup,
    chosen_mode,
    chosen_model,
    chosen_tools,
)
from bridle.agent.subagents.run_subagent import AgentParts, Subagent
from bridle.agent.subagents.send_message import SendMessage
from bridle.agent.subagents.transcript import AgentMeta, AgentSession, agent_transcript
from bridle.agent.tools.contract.tool import Tool
from bridle.agent.tools.files.known_files import FileMemory
from bridle.agent.tools.shell.background import BackgroundTasks
from bridle.agent.tools.toolbox import Toolbox
from bridle.errors import UsageError, UserError
from bridle.ground import clock, trust
from bridle.ground.git_folder import folders_up_to_top

if TYPE_CHECKING:
    from bridle.agent.subagents.past_agent import PastAgent

# Tools that each agent has for itself: they remember what was read, or run commands in its shell.
_OWN = frozenset({"Bash", "Edit", "Glob", "Grep", "NotebookEdit", "Read", "TaskStop", "Write"})

_SKILL = (
    "<command-message>{name}</command-message>\n<command-name>{name}</command-name>\n<skill-format>true</skill-format>"
)


def find_agents(inputs: RunInputs) -> tuple[Agents, tuple[str, ...]]:
    """Return the agents of the session, and warnings about definitions that cannot be used."""
    options, found = inputs.options, [*BUILT_IN]
    if not (options.is_bare or options.is_safe):
        sources = options.setting_sources
        found += plugin_agents(plugins_of(inputs).loaded)
        if sources is None or "user" in sources:
            found += agents_in(inputs.config_folder / "agents", "user")
        if sources is None or "project" in sources:
            for folder in reversed(folders_up_to_top(inputs.cwd)):
                found += agents_in(folder / ".claude" / "agents", "project")
    flag, warnings = _of_flag(options.agents)
    return Agents([*found, *flag]), warnings


def with_main_agent(inputs: RunInputs, agents: Agents) -> RunInputs:
    """Return the inputs of a run whose main thread is the agent of `--agent`. Raises UsageError if it is unknown."""
    options = inputs.options
    if options.agent is None:
        return inputs
    definition = agents.find(options.agent)
    if definition is None:
        raise UsageError(f"--agent '{options.agent}' not found. Available agents: {', '.join(agents.names)}")
    changed = msgspec.structs.replace(
        options,
        system_prompt=definition.prompt if options.system_prompt is None else options.system_prompt,
        tools=definition.tools if options.tools is None else options.tools,
        disallowed_tools=(*options.disallowed_tools, *definition.denied_tools),
        model=options.model or definition.model,
        permission_mode=options.permission_mode
        or chosen_mode(definition, "default", may_bypass=options.may_skip_permissions, is_trusted=_is_trusted(inputs)),
    )
    return msgspec.structs.replace(inputs, options=changed)


def host_agents(sent: object) -> list[AgentDefinition]:
    """Return the agents that a host sends in `initialize`. Raises UserError if one is invalid."""
    return _definitions(sent, "host") if sent else []


class AgentFactory:
    """Makes the sub-agents of a run; `join` adds the parts that exist later."""

    def __init__(
        self,
        inputs: RunInputs,
        setup: ModelSetup,
        agents: Agents,
        skills: Skills,
        log: MessageLog,
        writer: EventWriter,
        hooks: SessionHooks | None,
        approver: Approver | None,
        background: BackgroundTasks,
        memory: FileMemory,
        *,
        ask_small_model: Callable[[str], Awaitable[str]],
        note: Callable[[str], None],
        may_bypass: bool,
    ) -> None:
        self._inputs, self._setup, self.agents, self._skills = inputs, setup, agents, skills
        self._log, self._writer, self._hooks, self._approver = log, writer, hooks, approver
        self._background, self._ask_small_model, self._note = background, ask_small_model, note
        self._memory, self._may_bypass = memory, may_bypass
        self.shows_texts = False
        """Whether the host wants the texts of sub-agents too."""
        self._live = LiveAgents(background, lambda: self._main.background)
        self._worktrees = Worktrees(inputs.cwd, inputs.environment, base=_base(inputs))
        self._toolbox: Toolbox
        self._requests: ModelRequests
        self._main: Conversation

    def join(self, toolbox: Toolbox, requests: ModelRequests, conversation: Conversation) -> None:
        """Take the parts of the main agent that sub-agents use; no agent starts before."""
        self._toolbox, self._requests, self._main = toolbox, requests, conversation

    def tools(self, setup: ModelSetup | None = None, identity: AgentIdentity | None = None) -> list[Tool]:
        """Return Agent and SendMessage for the main agent, or for a sub-agent with this setup."""
        depth = 0 if identity is None else identity.depth
        return [self._agent_tool(setup, depth), SendMessage(self._live, self._resume, identity)]

    def _agent_tool(self, setup: ModelSetup | None, depth: int) -> Tool:
        make = partial(self._make, setup or self._setup)
        return AgentTool(
            self.agents,
            make,
            self._live,
            self._worktrees,
            policy=lambda: self._setup.policy,
            depth=depth,
        )

    async def stop(self, agent_id: str) -> None:
        """End the sub-agent of that id, if it runs."""
        await self._live.stop(agent_id)

    def listing(self) -> str | None:
        """Return the message that lists the agents, if the main agent can start any."""
        return self.agents.listing(self._setup.policy) if "Agent" in self._toolbox.names else None

    def _make(
        self,
        caller: ModelSetup,
        definition: AgentDefinition,
        identity: AgentIdentity,
        model: str | None,
        worktree: GitWorktree | None,
        past: PastAgent | None = None,
    ) -> AgentParts:
        inputs, main = self._inputs, self._requests
        place = worktree.path if worktree is not None else _folder(caller) or inputs.cwd
        meta = _meta(identity, worktree, model) if past is None else past.meta
        log = self._agent_log(identity, place, meta, past)
        folders = tuple(Path(folder) for folder in self._setup.policy.folders)
        shell = AgentFolder(place, inputs.environment, log.session.id, folders).shell()
        background = self._background.with_shell(shell)
        setup = AgentSetup(
            model=chosen_model(definition, model, caller.model, inputs.environment),
            policy=caller.policy,
            shell_folder=lambda: str(shell.cwd),
            thinking_tokens=0,
            caller=caller,
            worktree=worktree,
            mode=chosen_mode(
                definition, caller.policy.mode, may_bypass=self._may_bypass, is_trusted=_is_trusted(inputs)
            ),
        )
        hooks = self._agent_hooks(log, setup.model)
        names = chosen_tools(
            definition,
            self._toolbox.names,
            in_background=identity.in_background,
            may_start=identity.depth < DEPTH_LIMIT,
        )
        memory = FileMemory()
        memory.before_change = self._memory.before_change
        own = run_tools.make_tools(inputs, setup, log.session.id, shell, background, self._ask_small_model, memory)
        tools = self._toolbox.known | {tool.name: tool for tool in own if tool.name in _OWN}
        tools |= {tool.name: tool for tool in self.tools(setup, identity)}
        approver = AgentApprover(self._approver, identity.id) if self._approver is not None else None
        toolbox = Toolbox(list(tools.values()), names, note=self._note, approver=approver, hooks=hooks)
        options = self._options(definition)

        async def close() -> GitWorktree | None:
            await background.stop_commands()
            await shell.close()
            await log.save()
            log.session.close()
            is_kept = worktree is not None and await self._worktrees.leave(worktree)
            return worktree if is_kept else None

        return AgentParts(
            log=log,
            setup=setup,
            requests=ModelRequests(
                log=log,
                setup=setup,
                options=options,
                prompt=PromptSource(lambda: self._head(definition, setup, place), self._listings(names)),
                toolbox=toolbox,
                compactor=Compactor(inputs.environment),
                connect=main.client,
                on_compacted=memory.forget_views,
                totals=main.totals,
            ),
            toolbox=toolbox,
            options=options,
            hooks=hooks,
            read_texts=lambda: self._skill_texts(definition),
            interrupt_caller=self._main.interrupt,
            close=close,
        )

    def _resume(self, agent_id: str, text: str, call_id: str) -> Subagent:
        """Make an agent from the transcript of one that has ended. Raises UserError if it cannot be continued."""
        from bridle.agent.subagents.past_agent import open_past_agent  # late: every start would pay for it

        past = open_past_agent(agent_transcript(self._log.session, agent_id), agent_id)
        meta = past.meta
        definition = self.agents.find(meta.agent_type)
        if definition is None:
            os.close(past.fd)
            raise UserError(f"there is no agent {meta.agent_type}")
        identity = AgentIdentity(
            id=agent_id,
            type=meta.agent_type,
            description=meta.description,
            prompt=text,
            call_id=call_id,
            depth=meta.spawn_depth,
            in_background=True,
            parent_call_id=meta.tool_use_id,
        )
        worktree = past.worktree(self._worktrees.top)
        return Subagent(self._make(self._setup, definition, identity, meta.model, worktree, past))

    def _agent_log(self, identity: AgentIdentity, place: Path, meta: AgentMeta, past: PastAgent | None) -> AgentLog:
        main = self._log.session
        session = AgentSession(
            msgspec.structs.replace(main.origin, cwd=str(place)),
            agent_transcript(main, identity.id),
            agent_id=identity.id,
            meta=meta,
            prompt_id=main.prompt_id,
            history=None if past is None else past.history,
            fd=None if past is None else past.fd,
        )
        session.on_written = main.on_written
        return AgentLog(session, self._writer, identity, shows_texts=lambda: self.shows_texts, cwd=str(place))

    def _agent_hooks(self, log: AgentLog, model: Model) -> AgentHooks | None:
        if self._hooks is None:
            return None
        return AgentHooks(
            self._hooks,
            self._inputs.environment,
            partial(self._requests.ask_hook, log=log),
            lambda: effort_for(model, self._inputs.options.effort, self._inputs.environment),
            agent_id=log.identity.id,
            agent_type=log.identity.type,
            transcript_path=lambda: str(log.session.path or ""),
        )

    def _options(self, definition: AgentDefinition) -> ConversationOptions:
        options = self._main.options
        return ConversationOptions(
            is_stream=options.is_stream,
            limits=Limits(definition.max_turns, options.limits.max_budget_usd),
            effort=options.effort,
            fallbacks=options.fallbacks,
        )

    def _listings(self, names: list[str]) -> tuple[Callable[[], str | None], ...]:
        agents = (lambda: self.agents.listing(self._setup.policy),) if "Agent" in names else ()
        return (*agents, *((self._skills.listing,) if "Skill" in names else ()))

    async def _head(self, definition: AgentDefinition, setup: ModelSetup, place: Path) -> RequestHead:
        context = await gather_context(context_scope(self._inputs, self._setup))
        machine = msgspec.structs.replace(context.machine, cwd=place)
        environment = environment_section(machine, model=setup.model.id)
        system = f"{definition.prompt}\n\n{NOTES}\n\n# Environment\n{environment}"
        reminder = []
        if definition.reads_instructions:
            date = clock.now().astimezone().date().isoformat()
            reminder = [text_block(opening_reminder(context, date=date))]
        return RequestHead(system=[text_block(system)], reminder=reminder)

    async def _skill_texts(self, definition: AgentDefinition) -> tuple[str, ...]:
        """Return the texts of the skills that a definition names; a skill that cannot be used is noted."""
        texts: list[str] = []
        for name in definition.skills:
            skill = self._skills.find(name)
            if skill is None:
                self._note(f"agent {definition.name}: there is no skill {name}")
                continue
            try:
                text = await expand_skill(skill, "", skills=self._skills, session_id=self._log.session.id, inline=None)
            except UserError as error:
                self._note(f"agent {definition.name}: skill {name} cannot be used: {error.message}")
                continue
            texts += [_SKILL.format(name=name), text]
        return tuple(texts)


def _of_flag(text: str | None) -> tuple[list[AgentDefinition], tuple[str, ...]]:
    if text is None:
        return [], ()
    try:
        return _definitions(json.loads(text), "flag"), ()
    except ValueError as error:
        return [], (f"Ignoring --agents: it is not JSON: {error}",)
    except UserError as error:
        return [], (f"Ignoring --agents: {error.message}",)


def _definitions(sent: object, source: Source) -> list[AgentDefinition]:
    if not isinstance(sent, dict):
        raise UserError("agents must be an object of definitions by name")
    found: list[AgentDefinition] = []
    for name, value in sent.items():
        try:
            found.append(read_definition(name, value, source))
        except ValueError as error:
            raise UserError(f"agent {name}: {error}") from error
    return found


def _meta(identity: AgentIdentity, worktree: GitWorktree | None, model: str | None) -> AgentMeta:
    place = () if worktree is None else (str(worktree.path), worktree.branch, worktree.base)
    return msgspec.structs.replace(
        AgentMeta(identity.type, identity.description, identity.call_id, identity.depth, *place), model=model
    )


def _folder(setup: ModelSetup) -> Path | None:
    return setup.folder if isinstance(setup, AgentSetup) else None


def _base(inputs: RunInputs) -> str:
    """Return the setting `worktree.baseRef`: what new worktrees begin with."""
    chosen = inputs.settings.other.get("worktree")
    return str(chosen.get("baseRef", "fresh")) if isinstance(chosen, dict) else "fresh"


def _is_trusted(inputs: RunInputs) -> bool:
    return trust.are_settings_trusted(inputs.cwd, inputs.environment, inputs.config_folder)
