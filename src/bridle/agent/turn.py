"""One turn: the model is asked, its calls are run, and it is asked again, until there is an answer or an end.

Events leave as things happen. The history and the transcript are what the next turn, and the next process, go on with.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, Protocol, cast

import msgspec

from bridle.agent import events
from bridle.agent.calls import Calls
from bridle.agent.model.pieces import (
    Begun,
    BlockDone,
    Broken,
    Ended,
    FellBack,
    Frame,
    Piece,
    Restarted,
    Retrying,
    Thought,
)
from bridle.agent.permissions.policy import Policy
from bridle.agent.results import Ending, Totals, Turn
from bridle.agent.session import new_uuid
from bridle.agent.structured import ATTEMPTS, NUDGE, NUDGES, TOOL, StructuredOutput
from bridle.agent.tools.tool import Answer, as_block
from bridle.agent.tools.toolbox import Done, Prepared, Toolbox
from bridle.errors import ModelFailure

INTERRUPTED = "[Request interrupted by user]"
INTERRUPTED_TOOL = "[Request interrupted by user for tool use]"
REJECTED = (
    "This call was stopped before it was done: the user interrupted. Whatever it had not done yet did not happen. "
    "Stop here, and wait for the user to say how to go on."
)
REJECTED_DETAIL = "User rejected tool use"
EMPTY = "[Your previous response had no visible output. Please continue and produce a user-visible response.]"
CUT_OFF = (
    "Your answer reached the limit of its length and was cut off. Go on at exactly the place where it stopped: "
    "no apology, no repetition. If much is left, do it in smaller steps."
)

# A model that is cut off more often than this in one answer will not come to an end.
CONTINUATIONS = 3
# A model that says nothing is asked once more; then nothing is its answer.
EMPTY_NUDGES = 1
# The structured output that a turn owes, chosen for the model when words did not help.
_FORCED = {"type": "tool", "name": TOOL}


class Asker(Protocol):
    """Asks the model with the history as it is."""

    def __call__(self, *, tool_choice: dict[str, Any] | None) -> AsyncGenerator[Piece, None]: ...


class Spoken(msgspec.Struct):
    """An answer of the model as far as it has come."""

    calls: Calls
    message: dict[str, Any] = msgspec.field(default_factory=dict)
    request_id: str | None = None
    is_final: bool = False
    blocks: list[dict[str, Any]] = msgspec.field(default_factory=list)
    uuids: list[str] = msgspec.field(default_factory=list)
    partial: str = ""
    """Text of a block that is not complete yet."""
    ended: Ended | None = None

    @property
    def text(self) -> str:
        """Its words."""
        return "".join(block["text"] for block in self.blocks if block.get("type") == "text")

    @property
    def is_visible(self) -> bool:
        """Whether there is anything that a person would see."""
        return any(
            block.get("type") == "tool_use" or (block.get("type") == "text" and block.get("text", "").strip())
            for block in self.blocks
        )


class Ledger(Protocol):
    """Where a turn writes what must last; the conversation gives it."""

    def heard(self, spoken: Spoken) -> None:
        """The model's answer is complete, as far as it will ever be."""

    def answered(self, results: list[tuple[Done, str]], *, uuids_of_calls: dict[str, str]) -> None:
        """The calls of an answer have their results: each with the id of its event."""

    def told(self, text: str, uuid: str, *, is_meta: bool) -> None:
        """The program said something to the model on the user's side."""

    def failed(self, message: dict[str, Any], uuid: str, failure: ModelFailure) -> None:
        """The model could not be asked; this stands in its place."""

    async def keep(self) -> None:
        """Make all of it durable."""


class Limits(msgspec.Struct, frozen=True):
    """Where a turn ends without an answer."""

    max_turns: int | None = None
    max_budget_usd: float | None = None


class TurnUnderWay:
    """A turn from its first request to its ending."""

    def __init__(
        self,
        *,
        ask: Asker,
        toolbox: Toolbox,
        policy: Callable[[], Policy],
        run: Callable[[Prepared], Awaitable[Done]],
        ledger: Ledger,
        emit: Callable[[dict[str, Any]], None],
        pace: Callable[[], Awaitable[None]],
        session_id: str,
        tally: Turn,
        totals: Totals,
        count: Callable[[str, dict[str, Any]], None],
        limits: Limits,
        structured: StructuredOutput | None,
        shows_frames: bool,
        meanwhile: Callable[[], None],
        catch_up: Callable[[], None],
        now: Callable[[], str],
        on_fallback: Callable[[FellBack], dict[str, Any]],
        shown_model: Callable[[], str],
        make_room: Callable[[], Awaitable[bool]],
        prompt_uuid: str,
    ) -> None:
        self._ask, self._toolbox, self._policy, self._run = ask, toolbox, policy, run
        self._ledger, self._emit, self._pace = ledger, emit, pace
        self._session_id, self.tally, self._totals = session_id, tally, totals
        self._count, self._limits, self._structured = count, limits, structured
        self._shows_frames, self._meanwhile, self._now = shows_frames, meanwhile, now
        self._catch_up = catch_up
        self._on_fallback, self._shown_model, self._prompt_uuid = on_fallback, shown_model, prompt_uuid
        self._make_room, self._has_room = make_room, False
        self._spoken: Spoken | None = None
        self._results: list[tuple[Done, str]] = []
        self._nudges = self._empties = self._continuations = 0

    async def run(self) -> Ending:
        """Go on until there is an ending."""
        if self._structured is not None:
            self._structured.begin_turn()
        choice: dict[str, Any] | None = None
        while True:
            try:
                spoken = await self._hear(choice)
            except ModelFailure as failure:
                if failure.terminal_reason == "prompt_too_long" and not self._has_room and await self._make_room():
                    self._has_room = True  # once: a conversation that still does not fit never will
                    continue
                return await self._failed(failure)
            choice = None
            ending = await self._after(spoken)
            if ending is not None:
                return ending
            if self._nudges == NUDGES:
                choice = _FORCED

    async def interrupted(self) -> Ending:
        """The turn was cancelled from outside: end what runs, say so, and leave a history that can go on."""
        spoken = self._spoken
        in_tools = spoken is not None and not spoken.calls.is_empty
        if spoken is not None:
            await spoken.calls.cancel()
            self._close_partial(spoken)
            for call in spoken.calls.unanswered:
                self._tell_rejected(call)
            self._settle(spoken)
        self._say(INTERRUPTED_TOOL if in_tools else INTERRUPTED, is_synthetic=False)
        return Ending(
            "error_during_execution",
            is_error=True,
            stop_reason=self.tally.stop_reason,
            terminal_reason="aborted_tools" if in_tools else "aborted_streaming",
            errors=("Request interrupted by user",),
        )

    async def abandon(self) -> None:
        """Something broke inside: end what runs, and leave a history that can go on."""
        if self._spoken is not None:
            await self._spoken.calls.cancel()
            self._settle(self._spoken)

    async def _hear(self, choice: dict[str, Any] | None) -> Spoken:
        """Ask the model once, and let its calls begin as they come."""
        self.tally.requests += 1
        self._results = []
        if self._shows_frames:
            self._system("status", {"status": "requesting"})
        spoken = self._spoken = Spoken(Calls(self._run))
        started = time.monotonic()
        stream = self._ask(tool_choice=choice)
        try:
            async for piece in stream:
                if self.tally.first_request is None:
                    self.tally.first_request = started
                if isinstance(piece, Restarted):
                    if not spoken.calls.is_empty:
                        break  # what was begun is not begun again: the answer ends with the calls it has
                    spoken = self._spoken = Spoken(Calls(self._run))
                else:
                    self._take(piece, spoken)
                await self._pace()
        finally:
            self._totals.api_ms += (time.monotonic() - started) * 1000
            await stream.aclose()
        return spoken

    def _take(self, piece: Piece, spoken: Spoken) -> None:
        match piece:
            case Begun():
                spoken.message, spoken.request_id, spoken.is_final = piece.message, piece.request_id, piece.final
                self.tally.first_byte = self.tally.first_byte or time.monotonic()
            case BlockDone():
                self._block(piece.block, spoken)
            case Frame():
                self._frame(piece.data, spoken)
            case Thought():
                self._system(
                    "thinking_tokens",
                    {"estimated_tokens": piece.estimated_tokens, "estimated_tokens_delta": piece.delta},
                )
            case Ended():
                spoken.ended = piece
                self.tally.stop_reason = piece.stop_reason
                self.tally.add(piece.usage)
                self._count(str(spoken.message.get("model") or ""), piece.usage)
            case Retrying():
                self._system("api_retry", _retry(piece))
            case FellBack():
                self._system("model_fallback", self._on_fallback(piece))
            case Broken():
                self.tally.add(piece.usage)
                self._count(str(spoken.message.get("model") or ""), piece.usage)
                if spoken.calls.is_empty:
                    raise ModelFailure(piece.text, error=piece.error, status=piece.status, request_id=piece.request_id)
            case Restarted():
                pass

    def _block(self, block: dict[str, Any], spoken: Spoken) -> None:
        self.tally.first_block = self.tally.first_block or time.monotonic()
        spoken.partial = ""
        call = self._toolbox.prepare(block) if block.get("type") == "tool_use" else None
        shown = call.block if call is not None else block
        event_id = new_uuid()
        spoken.blocks.append(shown)
        spoken.uuids.append(event_id)
        self._emit(
            events.assistant(
                spoken.message,
                shown,
                session_id=self._session_id,
                uuid=event_id,
                request_id=spoken.request_id,
                is_final=spoken.is_final,
            )
        )
        if call is not None:
            spoken.calls.begin(call, is_shared=self._toolbox.is_shared(call, self._policy()))

    def _frame(self, data: dict[str, Any], spoken: Spoken) -> None:
        delta = data.get("delta")
        if isinstance(delta, dict) and delta.get("type") == "text_delta":
            spoken.partial += str(delta.get("text") or "")
        if not self._shows_frames:
            return
        ttft = None
        if data.get("type") == "message_start" and self.tally.first_byte is not None:
            ttft = round((self.tally.first_byte - self.tally.started) * 1000)
        self._emit(events.frame(data, session_id=self._session_id, uuid=new_uuid(), ttft_ms=ttft))

    async def _after(self, spoken: Spoken) -> Ending | None:
        """What an answer leads to: an ending, or another request."""
        self._ledger.heard(spoken)
        if self._is_over_budget():
            return await self._over_budget(spoken)
        if not spoken.calls.is_empty:
            return await self._after_calls(spoken)
        await self._ledger.keep()
        reason = spoken.ended.stop_reason if spoken.ended is not None else None
        if reason == "refusal" and spoken.ended is not None:
            return self._refused(spoken, spoken.ended)
        if reason == "max_tokens" and self._continuations < CONTINUATIONS:
            self._continuations += 1
            self._ledger.told(CUT_OFF, new_uuid(), is_meta=True)
            return None
        if not spoken.is_visible and self._empties < EMPTY_NUDGES:
            self._empties += 1
            self._say(EMPTY, is_synthetic=True)
            return None
        if self._structured is not None:
            return self._owed_structure()
        return Ending(text=_last_text(spoken), stop_reason=reason)

    async def _after_calls(self, spoken: Spoken) -> Ending | None:
        while spoken.calls.unanswered:
            done = await spoken.calls.next_done()
            self._catch_up()
            self._tell(done)
            await self._pace()
        self._settle(spoken)
        self._spoken = None
        await self._ledger.keep()
        structured = self._structured
        if structured is not None and structured.has_value:
            return _structured_ending(structured.value)
        if structured is not None and structured.failures >= ATTEMPTS:
            return self._without_structure(f"Failed to provide valid structured output after {ATTEMPTS} attempts")
        limit = self._limits.max_turns
        if limit is not None and self.tally.requests >= limit:
            return Ending(
                "error_max_turns",
                is_error=True,
                stop_reason=self.tally.stop_reason,
                terminal_reason="max_turns",
                errors=(f"Reached maximum number of turns ({limit})",),
            )
        self._meanwhile()
        return None

    def _owed_structure(self) -> Ending | None:
        if self._nudges < NUDGES:
            self._nudges += 1
            self._say(NUDGE, is_synthetic=True)
            return None
        return self._without_structure("The model ended its turn without providing structured output")

    def _without_structure(self, why: str) -> Ending:
        return Ending(
            "error_max_structured_output_retries",
            is_error=True,
            stop_reason=self.tally.stop_reason,
            terminal_reason=None,
            errors=(why,),
        )

    def _is_over_budget(self) -> bool:
        limit = self._limits.max_budget_usd
        return limit is not None and self._totals.cost_usd >= limit

    async def _over_budget(self, spoken: Spoken) -> Ending:
        await spoken.calls.cancel()
        self._settle(spoken)
        limit = self._limits.max_budget_usd or 0
        return Ending(
            "error_max_budget_usd",
            is_error=True,
            stop_reason=self.tally.stop_reason,
            terminal_reason=None,
            errors=(f"Reached maximum budget (${limit:g})",),
        )

    async def _failed(self, failure: ModelFailure) -> Ending:
        """The model could not be asked: its place is taken by words that say why."""
        spoken = self._spoken
        if spoken is not None:
            await spoken.calls.cancel()
            self._settle(spoken)
        return self._in_its_place(failure, stop_reason="stop_sequence")

    def _refused(self, spoken: Spoken, ended: Ended) -> Ending:
        """The model will not answer this."""
        from bridle.agent.model.failure import refused

        details = ended.stop_details or {}
        self._system(
            "model_refusal_no_fallback",
            {
                "original_model": self._shown_model(),
                "request_id": spoken.request_id,
                "api_refusal_category": details.get("category"),
                "api_refusal_explanation": details.get("explanation"),
                "refused_user_message_uuid": self._prompt_uuid,
                "content": "",
            },
        )
        failure = refused(ended.stop_details, spoken.request_id)
        return self._in_its_place(failure, stop_reason="refusal", details=ended.stop_details)

    def _in_its_place(
        self, failure: ModelFailure, *, stop_reason: str, details: dict[str, Any] | None = None
    ) -> Ending:
        message = events.synthetic_message(
            failure.text, message_id=new_uuid(), stop_reason=stop_reason, stop_details=details
        )
        event_id = new_uuid()
        self._emit(
            events.synthetic(
                message,
                session_id=self._session_id,
                uuid=event_id,
                error=failure.error,
                request_id=failure.request_id,
            )
        )
        self._ledger.failed(message, event_id, failure)
        return Ending(
            text=failure.text,
            is_error=True,
            stop_reason=stop_reason,
            terminal_reason=failure.terminal_reason,
            api_error_status=failure.status,
        )

    def _tell(self, done: Done) -> None:
        """Show a call's result, and keep it for the next request."""
        answer, call = done.answer, done.call
        if done.is_denied:
            self.tally.denials.append(
                {"tool_name": call.name, "tool_use_id": call.call_id, "tool_input": call.arguments}
            )
        block = events.tool_result(
            call.call_id, answer.content, is_error=answer.is_error, names_success=answer.names_success
        )
        event_id = new_uuid()
        self._user([block], event_id, detail=answer.detail)
        self._results.append((done, event_id))
        for item in answer.follow_up:
            self._user([as_block(item)], new_uuid(), is_synthetic=True)

    def _tell_rejected(self, call: Prepared) -> None:
        self._tell(Done(call, Answer(REJECTED, detail=REJECTED_DETAIL, is_error=True)))

    def _settle(self, spoken: Spoken) -> None:
        """Put the results of an answer's calls into history and transcript; a call without one gets words for it."""
        if spoken.calls.is_empty:
            return
        uuids = dict(zip((block.get("id") for block in spoken.blocks), spoken.uuids, strict=True))
        self._ledger.answered(self._results, uuids_of_calls=cast("dict[str, str]", uuids))
        self._results = []

    def _close_partial(self, spoken: Spoken) -> None:
        """Keep what a model had said when it was interrupted."""
        if spoken.ended is None and (spoken.blocks or spoken.partial):
            if spoken.partial.strip():
                self._block({"type": "text", "text": spoken.partial}, spoken)
            self._ledger.heard(spoken)

    def _say(self, text: str, *, is_synthetic: bool) -> None:
        event_id = new_uuid()
        self._user([{"type": "text", "text": text}], event_id, is_synthetic=is_synthetic)
        self._ledger.told(text, event_id, is_meta=is_synthetic)

    def _user(
        self, content: list[dict[str, Any]], event_id: str, *, detail: Any = None, is_synthetic: bool = False
    ) -> None:
        self.tally.user_events += 1
        self._emit(
            events.user(
                content,
                session_id=self._session_id,
                uuid=event_id,
                timestamp=self._now(),
                detail=detail,
                is_synthetic=is_synthetic,
            )
        )

    def _system(self, subtype: str, fields: dict[str, Any]) -> None:
        self._emit(events.system(subtype, fields, session_id=self._session_id, uuid=new_uuid()))


def _structured_ending(value: Any) -> Ending:
    from bridle.wire.loose import to_bytes

    return Ending(text=to_bytes(value).decode(), stop_reason="tool_use", structured=value, has_structured=True)


def _last_text(spoken: Spoken) -> str:
    """The last words of the answer, which programs take for the result."""
    texts = [block["text"] for block in spoken.blocks if block.get("type") == "text"]
    return texts[-1] if texts else ""


def _retry(piece: Retrying) -> dict[str, Any]:
    return {
        "attempt": piece.attempt,
        "max_retries": piece.max_retries,
        "retry_delay_ms": piece.delay_ms,
        "error_status": piece.status,
        "error": piece.error,
    }
