"""Joins the parts of a run: settings, permissions, tools, session, model and standard streams."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from bridle.agent.assemble.parts import Parts, rules_of
from bridle.agent.command_line.options import Options
from bridle.agent.compaction.compact_history import Compactor
from bridle.agent.conversation.control_requests import ControlDesk, Welcome
from bridle.agent.conversation.conversation import Conversation
from bridle.agent.conversation.message_log import MessageLog
from bridle.agent.conversation.message_loop import MessageLoop
from bridle.agent.conversation.model_setup import ConversationOptions
from bridle.agent.conversation.turn_host import Limits
from bridle.agent.model.api import models
from bridle.agent.permissions.decide import bypass_refusal
from bridle.agent.permissions.rules.policy import Policy
from bridle.agent.sessions import open_session
from bridle.agent.sessions.session import Session
from bridle.agent.settings.load_settings import Settings, load_settings
from bridle.agent.stdio import debug_log
from bridle.agent.stdio.debug_log import DebugLog
from bridle.agent.stdio.formats import Speaker
from bridle.agent.stdio.input import Inbox
from bridle.agent.stdio.output import SDK_LINE_LIMIT_BYTES, Output
from bridle.agent.tools.shell.shell import Shell
from bridle.agent.tools.structured_output import Schema, StructuredOutput
from bridle.agent.version import PROTOCOL_VERSION
from bridle.errors import UsageError


class Run(msgspec.Struct, frozen=True):
    """Everything that a run is made of."""

    conversation: Conversation
    talk: MessageLoop
    speaker: Speaker
    output: Output
    shell: Shell
    warnings: tuple[str, ...]

    async def close(self) -> None:
        """End what runs and let go of what is held; nothing is left behind."""
        await self.shell.close()
        await self.conversation.close()
        self.conversation.book.session.close()


def assemble(asked: Options, cwd: Path, outer: Mapping[str, str]) -> Run:
    """Join the parts; UserError says what of the command line or the settings cannot be used."""
    cwd = Path(os.path.realpath(cwd))
    config_folder = _config_folder(outer)
    settings = _settings(asked, cwd, config_folder, outer)
    environment = {**outer, **settings.environment}
    policy, may_bypass = _policy(asked, settings, cwd, environment)
    model = models.resolve_model(asked.model, environment, setting=settings.model)
    session = _session(asked, cwd, config_folder, environment)
    log = _debug_log(asked, cwd, config_folder, session, settings)
    parts = Parts(asked, cwd, config_folder, environment, settings, policy, session)
    structured = StructuredOutput(Schema.parse(asked.json_schema)) if asked.json_schema is not None else None
    toolbox = parts.toolbox(structured, log)
    persona = parts.persona(model, toolbox)
    output = Output(line_limit_bytes=_line_limit(environment))
    speaker = Speaker(output, asked.output_format, is_verbose=asked.is_verbose)
    conversation = Conversation(
        manner=_manner(asked, environment),
        persona=persona,
        book=MessageLog(session),
        toolbox=toolbox,
        structured=structured,
        connect=parts.connect,
        speaker=speaker,
        inbox=Inbox(),
        compactor=Compactor(environment, dropped_tokens=session.history.dropped_tokens),
        shell_folder=lambda: str(parts.shell.cwd),
        attached=parts.attached,
    )
    parts.conversation = conversation
    welcome = Welcome(
        commands=parts.skills.commands,
        account=parts.account(),
        accept=parts.accept,
        may_bypass=may_bypass,
        environment=environment,
    )
    conversation.inbox.on_control = ControlDesk(conversation, welcome, output.write)
    talk = MessageLoop(conversation, parts.background, parts.skills, parts.inline)
    return Run(conversation, talk, speaker, output, parts.shell, parts.warnings)


def _config_folder(environment: Mapping[str, str]) -> Path:
    chosen = environment.get("CLAUDE_CONFIG_DIR")
    return Path(chosen) if chosen else Path(environment.get("HOME") or Path.home()) / ".claude"


def _settings(asked: Options, cwd: Path, config_folder: Path, environment: Mapping[str, str]) -> Settings:
    sources = () if asked.is_bare or asked.is_safe else asked.setting_sources
    return load_settings(cwd, config_folder, sources, asked.settings, environment)


def _policy(asked: Options, settings: Settings, cwd: Path, environment: Mapping[str, str]) -> tuple[Policy, bool]:
    """What the model may do, and whether it may be given everything later."""
    skips = asked.skips_permissions or settings.skips_permissions
    mode = "bypassPermissions" if skips else asked.permission_mode or settings.default_mode or "default"
    may_bypass = mode == "bypassPermissions" or asked.may_skip_permissions
    refusal = bypass_refusal(environment, os.geteuid()) if may_bypass else None
    if refusal is not None:
        raise UsageError(refusal)
    folders = [os.path.realpath(cwd / folder) for folder in asked.add_dirs]
    policy = Policy(
        cwd=str(cwd),
        home=environment.get("HOME") or str(Path.home()),
        mode=mode,
        allow=(*rules_of(asked.allowed_tools), *settings.allow),
        deny=(*rules_of(asked.disallowed_tools), *settings.deny),
        ask=settings.ask,
        folders=tuple(dict.fromkeys([*folders, *settings.additional_folders])),
    )
    return policy, may_bypass


def _session(asked: Options, cwd: Path, config_folder: Path, environment: Mapping[str, str]) -> Session:
    wanted = open_session.Wanted(
        session_id=asked.session_id,
        resume=asked.resume,
        continues=asked.continues,
        forks=asked.forks,
        resume_at=asked.resume_at,
        name=asked.name,
        keeps=asked.keeps_session,
    )
    place = open_session.Place(config_folder, cwd, PROTOCOL_VERSION, open_session.entrypoint(environment))
    return open_session.open_session(wanted, place)


def _debug_log(asked: Options, cwd: Path, config_folder: Path, session: Session, settings: Settings) -> DebugLog:
    """The log, beginning with what was asked for and is not done."""
    where = debug_log.place(asked.debug, asked.debug_file, cwd=cwd, config_folder=config_folder, session_id=session.id)
    log = DebugLog(where)
    for flag in asked.passed_over:
        log.note(f"{flag} is accepted and passed over")
    for source, hooks in settings.hooks:
        log.note(f"the hooks of the {source} settings are not run by this version: {', '.join(hooks)}")
    for note in (*settings.notes, *settings.warnings):
        log.note(note)
    return log


def _manner(asked: Options, environment: Mapping[str, str]) -> ConversationOptions:
    return ConversationOptions(
        is_stream=asked.is_stream,
        shows_frames=asked.shows_frames,
        replays=asked.replays,
        limits=Limits(asked.max_turns, asked.max_budget_usd),
        effort=asked.effort,
        thinking_tokens=asked.thinking_tokens,
        fallbacks=tuple(models.resolve_model(name, environment) for name in asked.fallback_models),
    )


def _line_limit(environment: Mapping[str, str]) -> int | None:
    return SDK_LINE_LIMIT_BYTES if environment.get("CLAUDE_CODE_ENTRYPOINT") == "sdk-py" else None
