"""Assembles a run from its parts: settings, permissions, session, tools, prompt, model and standard streams."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path

import msgspec

from bridle.agent.assemble import tools as run_tools
from bridle.agent.assemble.approval import make_approver, without_prompt_tool
from bridle.agent.assemble.checkpoints import file_checkpoints
from bridle.agent.assemble.hooks import session_hooks
from bridle.agent.assemble.host_control import HostControl, HostParts
from bridle.agent.assemble.mcp_servers import RunServers
from bridle.agent.assemble.permission_policy import make_policy
from bridle.agent.assemble.prompt import nested_instructions
from bridle.agent.assemble.read_inputs import read_inputs
from bridle.agent.assemble.resumed_state import keep_tasks, restore_state
from bridle.agent.assemble.run_inputs import RunInputs, folder_warnings, plugins_of
from bridle.agent.assemble.session_description import SessionDescription
from bridle.agent.assemble.subagents import AgentFactory, find_agents, with_main_agent
from bridle.agent.command_line.options import Options
from bridle.agent.compaction.compact_history import Compactor
from bridle.agent.control.host_requests import HostRequests
from bridle.agent.conversation.background_events import BackgroundEvents
from bridle.agent.conversation.conversation import Conversation
from bridle.agent.conversation.message_log import MessageLog
from bridle.agent.conversation.message_loop import MessageLoop
from bridle.agent.conversation.model_requests import ModelRequests
from bridle.agent.conversation.model_setup import ConversationOptions, Limits, ModelSetup, PromptSource
from bridle.agent.conversation.session_hooks import SessionHooks
from bridle.agent.model.api import models
from bridle.agent.model.api.credentials import CredentialSource
from bridle.agent.model.api.stream_pieces import ModelClient
from bridle.agent.permissions.rules.file_access import is_hidden
from bridle.agent.permissions.rules.policy import Policy
from bridle.agent.prompt.instructions import links_out
from bridle.agent.sessions import open_session
from bridle.agent.sessions.session import Session, new_uuid
from bridle.agent.skills.catalogue import Skills, discover_skills
from bridle.agent.stdio.debug_log import DebugLog, log_path
from bridle.agent.stdio.event_writer import EventWriter
from bridle.agent.stdio.inbox import Inbox
from bridle.agent.stdio.output import SDK_LINE_LIMIT_BYTES, Output
from bridle.agent.stdio.output_events import Status
from bridle.agent.tools.files.known_files import FileMemory
from bridle.agent.tools.shell.background import BackgroundTasks
from bridle.agent.tools.shell.limits import limits_from_environment
from bridle.agent.tools.shell.shell import Shell
from bridle.agent.tools.structured_output import Schema, StructuredOutput
from bridle.agent.version import PROTOCOL_VERSION


class Run(msgspec.Struct, frozen=True):
    """An assembled run."""

    conversation: Conversation
    loop: MessageLoop
    writer: EventWriter
    shell: Shell
    control: HostControl
    servers: RunServers
    warnings: tuple[str, ...]

    async def close(self) -> None:
        """End the control requests that run, the MCP servers and the shell, and close connections and transcript."""
        self.control.close()
        await self.servers.close()
        await self.shell.close()
        await self.conversation.close()
        self.conversation.log.session.close()


def assemble(options: Options, cwd: Path, outer: Mapping[str, str], *, output: Output | None = None) -> Run:
    """Assemble a run; `output` replaces standard output. Raises UserError if a flag or a setting is invalid."""
    inputs, credentials = read_inputs(options, cwd, outer)
    agents, agent_warnings = find_agents(inputs)
    inputs = with_main_agent(inputs, agents)
    options = inputs.options
    policy, may_bypass = make_policy(inputs)
    model = models.resolve_model(options.model, inputs.environment, setting=inputs.settings.model)
    session = _session(inputs)
    debug_log = _debug_log(inputs, session)
    shell, background = _shell(inputs, session, policy, model)
    setup = ModelSetup(model, policy, lambda: str(shell.cwd), options.thinking_tokens)
    skills = _skills(inputs, policy)

    async def ask_small_model(question: str) -> str:  # WebFetch calls it during a turn, when `requests` exists
        small = models.small_model(inputs.environment)
        # A chat endpoint without a named small model has the model of the conversation.
        return await requests.ask_once(setup.model if small.id == models.DEFAULT_CHAT_MODEL else small, question)

    memory = FileMemory()
    checkpoints = file_checkpoints(inputs, session, memory)
    tools = run_tools.make_tools(
        inputs,
        setup,
        session.id,
        shell,
        background,
        ask_small_model,
        memory,
        search_web=lambda system, question, tool: requests.ask_server_tool(system, question, tool),
    )
    restore_state(inputs, session, memory, tools)
    keep_tasks(inputs, session, tools)
    inline = run_tools.inline_commands(tools, setup)
    if options.has_commands:
        tools.append(run_tools.skill_tool(inputs, skills, session.id, inline))
    structured = StructuredOutput(Schema.parse(options.json_schema)) if options.json_schema is not None else None
    log = MessageLog(session, writer := _writer(inputs, output))
    if options.mirrors:
        from bridle.agent.stdio.transcript_mirror import mirror  # late: for hosts that store sessions

        session.on_written = mirror(writer.output.write_json)
    inbox = Inbox(received={uuid for uuid, role in session.history.lines if role == "user"})
    host = _host(inputs, inbox, writer)
    hooks, hook_warnings = session_hooks(inputs, setup, log, host, debug_log.note)
    servers = RunServers(inputs, session.id, host, debug_log.note)

    def report_mode(mode: str) -> None:
        log.emit(Status(permission_mode=mode))

    approver = make_approver(inputs, setup, host, servers.tools, report_mode, may_bypass=may_bypass)
    if approver is not None:
        tools += run_tools.host_tools(setup, report_mode)
    factory = AgentFactory(
        inputs,
        setup,
        agents,
        skills,
        log,
        writer,
        hooks,
        approver,
        background,
        memory,
        ask_small_model=ask_small_model,
        note=debug_log.note,
        may_bypass=may_bypass,
    )
    tools += factory.tools()
    toolbox = run_tools.make_toolbox(inputs, setup, tools, structured, debug_log.note, approver, hooks)
    log.tool_source = lambda: run_tools.not_denied(without_prompt_tool(inputs, servers.tools()), setup.policy)
    toolbox.add_source(log.tool_source)
    description = SessionDescription(inputs, setup, toolbox, skills, agents, servers, credentials)
    conversation_options = _conversation_options(inputs)
    listings = (servers.instructions, factory.listing, *((skills.listing,) if "Skill" in toolbox.names else ()))
    prompt = PromptSource(description.request_head, listings, servers.refreshed)
    connect = partial(_connect, credentials, inputs.environment)
    requests = ModelRequests(
        log=log,
        setup=setup,
        options=conversation_options,
        prompt=prompt,
        toolbox=toolbox,
        compactor=Compactor(inputs.environment, dropped_tokens=session.history.dropped_tokens),
        connect=connect,
        hooks=hooks,
        on_compacted=memory.forget_views,
        model_for=partial(_current_model, inputs.environment),
        resolve=lambda name: models.resolve_model(name, inputs.environment),
    )
    if hooks is not None:
        hooks.hooks.ask = requests.ask_hook
    conversation = Conversation(
        options=conversation_options,
        setup=setup,
        log=log,
        requests=requests,
        toolbox=toolbox,
        structured=structured,
        inbox=inbox,
        background=BackgroundEvents(background, log, inbox.changed),
        init_event=description.init_event,
        mentioned_files=run_tools.mentioned_files(inputs, setup, memory),
        nested_instructions=nested_instructions(inputs, setup, memory),
        hooks=hooks,
        on_prompt=checkpoints.begin if checkpoints is not None else lambda _uuid: None,
    )
    factory.join(toolbox, requests, conversation)
    parts = HostParts(
        inputs=inputs,
        conversation=conversation,
        requests=requests,
        description=description,
        skills=skills,
        background=background,
        memory=memory,
        checkpoints=checkpoints,
        folder=lambda: shell.cwd,
        hooks=hooks,
        factory=factory,
        host=host,
        may_bypass=may_bypass,
    )
    control = HostControl(parts, writer.output.write_json)
    control.attach(inbox)
    inbox.on_repeated = conversation.acknowledge
    warnings = (
        *options.warnings,
        *folder_warnings(inputs),
        *inputs.settings.warnings,
        *hook_warnings,
        *servers.warnings,
        *agent_warnings,
        *links_out(inputs.cwd),
        *skills.links_out,
        *skills.faults,
    )
    return Run(
        conversation,
        MessageLoop(
            conversation,
            background,
            skills,
            inline,
            _start(session, shell, hooks, servers),
            servers.expand,
            partial(run_tools.rules_of_skill, inputs),
            partial(run_tools.model_of_skill, inputs),
        ),
        writer,
        shell,
        control,
        servers,
        warnings,
    )


def _session(inputs: RunInputs) -> Session:
    place = open_session.Place(
        inputs.config_folder, inputs.cwd, PROTOCOL_VERSION, open_session.entrypoint(inputs.environment)
    )
    return open_session.open_session(inputs.options.session, place)


def _shell(inputs: RunInputs, session: Session, policy: Policy, model: models.Model) -> tuple[Shell, BackgroundTasks]:
    """Return the shell of Bash, and its commands in the background."""
    folders = [Path(folder) for folder in policy.folders]
    shell = Shell(inputs.cwd, environment=dict(inputs.environment), session_id=session.id, folders=folders)
    if (effort := models.effort_for(model, inputs.options.effort, inputs.environment)) is not None:
        shell.export({"CLAUDE_EFFORT": effort})
    outputs = Path(_temporary_folder()) / f"bridle-agent-{os.geteuid()}" / session.id / "tasks"
    tail_characters = limits_from_environment(inputs.environment).task_output_characters
    return shell, BackgroundTasks(shell, outputs, tail_characters=tail_characters)


def _current_model(environment: Mapping[str, str], setup: ModelSetup) -> models.Model:
    """Return the model of the next request; plan mode may have one of its own."""
    return models.plan_model(setup.model, environment) if setup.policy.mode == "plan" else setup.model


async def _connect(credentials: CredentialSource | None, environment: Mapping[str, str]) -> ModelClient:
    from bridle.agent.model.client import connect  # late: after the first event is printed

    return connect(credentials, environment)


def _skills(inputs: RunInputs, policy: Policy) -> Skills:
    options = inputs.options
    if not options.has_commands or options.is_bare or options.is_safe:
        return Skills(())
    return discover_skills(
        inputs.cwd,
        inputs.config_folder,
        plugins=plugins_of(inputs).loaded,
        folders=[Path(folder) for folder in policy.folders],
        sources=options.setting_sources,
        is_hidden=lambda path: is_hidden(path, policy),
    )


def _start(
    session: Session, shell: Shell, hooks: SessionHooks | None, servers: RunServers
) -> Callable[[], Awaitable[None]]:
    """Return the function that starts a session: it waits for the MCP servers and runs the SessionStart hooks.

    Variables that the hooks export are those of later commands.
    """

    async def start() -> None:
        await servers.started()
        if hooks is None or not hooks.hooks.has("SessionStart"):
            return
        from bridle.agent.assemble.env_file import exported_by

        source = "resume" if session.history.messages else "startup"
        shell.export(await exported_by(lambda variables: hooks.start(source, variables), shell.environment))

    return start


def _host(inputs: RunInputs, inbox: Inbox, writer: EventWriter) -> HostRequests | None:
    """Return the requests to the host; None without a host: only a host sends messages on standard input."""
    if not inputs.options.is_stream:
        return None
    host = HostRequests(writer.output.write_json, new_uuid, line_limit_bytes=writer.output.line_limit_bytes)
    inbox.on_response, inbox.on_end = host.receive, host.close
    return host


def _temporary_folder() -> str:
    """Return the same as `tempfile.gettempdir`, whose import would delay every start by several milliseconds."""
    named = next(filter(None, map(os.environ.get, ("TMPDIR", "TEMP", "TMP"))), "/tmp")  # noqa: S108 -- as tempfile does
    if os.path.isdir(named) and os.access(named, os.W_OK | os.X_OK):
        return os.path.abspath(named)
    import tempfile

    return tempfile.gettempdir()


def _debug_log(inputs: RunInputs, session: Session) -> DebugLog:
    """Open the debug log and note the flags and settings that have no effect."""
    options, settings = inputs.options, inputs.settings
    log = DebugLog(
        log_path(
            options.debug,
            options.debug_file,
            cwd=inputs.cwd,
            config_folder=inputs.config_folder,
            session_id=session.id,
        )
    )
    for flag in options.ignored_flags:
        log.note(f"{flag} is accepted and ignored")
    for note in (*settings.notes, *settings.warnings):
        log.note(note)
    return log


def _conversation_options(inputs: RunInputs) -> ConversationOptions:
    options = inputs.options
    return ConversationOptions(
        is_stream=options.is_stream,
        shows_frames=options.shows_frames,
        replays=options.replays,
        limits=Limits(options.max_turns, options.max_budget_usd),
        effort=options.effort,
        thinking_display=options.thinking_display,
        task_budget=options.task_budget,
        fallbacks=tuple(models.resolve_model(name, inputs.environment) for name in options.fallback_models),
    )


def _writer(inputs: RunInputs, output: Output | None) -> EventWriter:
    is_python_sdk = open_session.entrypoint(inputs.environment) == "sdk-py"
    output = output or Output(line_limit_bytes=SDK_LINE_LIMIT_BYTES if is_python_sdk else None)
    return EventWriter(output, inputs.options.output_format, is_verbose=inputs.options.is_verbose)
