"""One turn: ask the model, run its calls, and ask again, until there is an answer or an error."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from bridle.agent.conversation.answer_receiver import AnswerReceiver
from bridle.agent.conversation.message_log import REJECTED, MessageLog, rejected
from bridle.agent.conversation.model_requests import ModelRequests
from bridle.agent.conversation.model_setup import ConversationOptions, ModelSetup
from bridle.agent.conversation.partial_answer import PartialAnswer
from bridle.agent.conversation.session_hooks import SessionHooks
from bridle.agent.conversation.stop_hooks import StopHooks
from bridle.agent.conversation.turn_result import Ending, TurnCounts
from bridle.agent.model.api.request_errors import RequestError
from bridle.agent.model.api.stream_pieces import AnswerFinished
from bridle.agent.stdio.output_events import Denial, ModelRefusal, Notification, RateLimit
from bridle.agent.tools.structured_output import ATTEMPTS, NUDGE, NUDGES, TOOL, StructuredOutput
from bridle.agent.tools.toolbox import DEFERRED, FinishedCall, Toolbox, ToolCall
from bridle.errors import ModelFailure

INTERRUPTED = "[Request interrupted by user]"
INTERRUPTED_TOOL = "[Request interrupted by user for tool use]"
EMPTY = "[Your previous response had no visible output. Please continue and produce a user-visible response.]"
NO_CALL = "Your answer ended with a tool call that did not arrive or could not be read. Make the call again."
CUT_OFF = (
    "Your answer reached its length limit and was cut off. Continue exactly where it stopped, without apology or "
    "repetition. If much is left, do it in smaller steps."
)

# Stop reasons of an answer that is not complete: the output limit, or the context window.
CUT_SHORT = ("max_tokens", "model_context_window_exceeded")
# A model that is cut off more often than this in one turn will not finish.
CONTINUATIONS = 3
# A model with an empty answer is asked once more; then the empty answer counts.
EMPTY_NUDGES = 1
# A model that announces a call and makes none more often than this in one turn will not make it.
CALL_NUDGES = 3
# Forces the structured output when a reminder did not help.
_FORCED = {"type": "tool", "name": TOOL}


class Turn:
    """A turn from its first request to its ending."""

    def __init__(
        self,
        *,
        log: MessageLog,
        requests: ModelRequests,
        setup: ModelSetup,
        options: ConversationOptions,
        toolbox: Toolbox,
        structured: StructuredOutput | None,
        counts: TurnCounts,
        prompt_uuid: str,
        before_result: Callable[[], None],
        before_request: Callable[[], None],
        hooks: SessionHooks | None = None,
    ) -> None:
        """`before_result` runs before a tool result is printed, `before_request` before the next request."""
        self._log, self._requests, self._setup, self._limits = log, requests, setup, options.limits
        self._structured, self._counts, self._prompt_uuid = structured, counts, prompt_uuid
        self._before_result, self._before_request = before_result, before_request
        self._hooks, self._stop_hooks = hooks, StopHooks(hooks)
        self._receiver = AnswerReceiver(log, requests, setup, toolbox, counts, shows_frames=options.shows_frames)
        self._folder = setup.shell_folder()
        """The working folder before the calls of an answer: they begin while it still comes."""
        self._answered: Ending | None = None
        """The ending of a turn that only its Stop hooks hold."""
        self._has_compacted = False
        self._nudges = self._empties = self._continuations = self._missing_calls = 0

    @property
    def has_fallen_back(self) -> bool:
        """Whether another model answered a part of the turn."""
        return self._receiver.has_fallen_back

    async def run(self) -> Ending:
        """Send requests until there is an ending."""
        if self._structured is not None:
            self._structured.begin_turn()
        if (ending := self._budget_reached()) is not None:  # an earlier turn used it up: nothing more is paid for
            return ending
        while True:
            try:
                answer = await self._receiver.receive(_FORCED if self._nudges == NUDGES else None)
            except ModelFailure as failure:
                if await self._has_made_room(failure) or self._has_dropped_content(failure):
                    continue
                await self.abandon()
                ending = self._api_error(failure, stop_reason="stop_sequence")
                if self._hooks is not None:
                    await self._hooks.failed(failure.error, failure.text)
                return ending
            ending = await self._after(answer)
            if ending is not None:
                ending = await self._checked_by_hooks(ending)
            if ending is not None:
                return ending

    async def interrupted(self) -> Ending:
        """End a cancelled turn: stop its calls, report them, and leave a history that can continue.

        One that has its answer keeps it: only its Stop hooks were interrupted.
        """
        if self._answered is not None:
            return self._answered
        answer = self._receiver.answer
        in_tools = answer is not None and not answer.calls.is_empty
        if answer is not None:
            await answer.calls.cancel()
            self._receiver.keep_partial(answer)
            for call in answer.calls.unanswered:
                self._report(rejected(call))
            self._add_results(answer)
        self._note(INTERRUPTED_TOOL if in_tools else INTERRUPTED, is_meta=False)
        reason = "aborted_tools" if in_tools else "aborted_streaming"
        return self._error("error_during_execution", "Request interrupted by user", terminal_reason=reason)

    async def abandon(self) -> None:
        """End a failed turn: stop its calls, and leave a history that can continue."""
        if self._receiver.answer is not None:
            await self._receiver.answer.calls.cancel()
            self._add_results(self._receiver.answer)

    async def _checked_by_hooks(self, ending: Ending) -> Ending | None:
        """Return the ending after the Stop hooks; None if they send the model back to work."""
        self._answered = ending
        checked = await self._stop_hooks.check(ending)
        self._answered = None
        if isinstance(checked, Ending):
            return checked
        if checked.is_context:
            self._log.note(checked.text, is_meta=True, is_printed=False)
            return None
        self._note(checked.text, is_meta=True)
        if checked.is_first:
            self._log.emit(Notification(key="stop-hook-error", text="A Stop hook sent the model back to work"))
        return self._max_turns_reached()

    async def _stopped_by_hook(self) -> Ending:
        """End the turn as a hook of a call demands: its other calls are cancelled."""
        answer = self._receiver.answer
        if answer is not None:
            await answer.calls.cancel()
            for call in answer.calls.unanswered:
                self._report(rejected(call))
            self._add_results(answer)
            self._receiver.answer = None
        return Ending(stop_reason=self._counts.stop_reason, terminal_reason="hook_stopped")

    async def _has_made_room(self, failure: ModelFailure) -> bool:
        """Compact a conversation that was too long; once, since a second time would not help."""
        if failure.terminal_reason != "prompt_too_long" or self._has_compacted:
            return False
        self._has_compacted = await self._requests.compact("auto") is None
        return self._has_compacted

    def _has_dropped_content(self, failure: ModelFailure) -> bool:
        """Remove a picture, a document or thoughts that the endpoint refused; there are fewer each time."""
        from bridle.agent.conversation.refused_content import refused_media, without_refused  # late: rarely needed
        from bridle.agent.sessions.refused_media import removal_text

        kept = without_refused(self._log.messages, failure)
        if kept is None:
            return False
        self._log.messages = kept
        if (kind := refused_media(failure)) is not None:  # a resumed session reads that it is removed
            about = ModelFailure(removal_text(kind), error="invalid_request", status=failure.status)
            self._log.api_error(about, stop_reason="stop_sequence")
        return True

    async def _after(self, answer: PartialAnswer) -> Ending | None:
        """Process a complete answer; return an ending, or None for another request."""
        self._log.answer(answer)
        if (ending := self._budget_reached()) is not None:
            await answer.calls.cancel()
            self._add_results(answer)
            return ending
        if not answer.calls.is_empty:
            return await self._after_calls(answer)
        await self._log.save()
        reason = answer.ended.stop_reason if answer.ended is not None else None
        if reason == "refusal" and answer.ended is not None:
            return self._refused(answer, answer.ended)
        if reason in CUT_SHORT and self._continuations < CONTINUATIONS:
            self._continuations += 1
            self._log.note(CUT_OFF, is_meta=True, is_printed=False)
            return None
        if reason == "tool_use":
            return self._without_call()
        if not answer.is_visible and self._empties < EMPTY_NUDGES:
            self._empties += 1
            self._note(EMPTY, is_meta=True)
            return None
        if self._structured is not None:
            return self._without_structured_output()
        return Ending(text=answer.texts[-1] if answer.texts else "", stop_reason=reason)

    async def _after_calls(self, answer: PartialAnswer) -> Ending | None:
        finished: list[FinishedCall] = []
        deferred: ToolCall | None = None
        while answer.calls.unanswered:
            done = await answer.calls.next_done()
            if done.is_deferred:
                deferred = done.call
                continue
            finished.append(done)
            self._before_result()
            self._report(done)
            await self._log.wait_for_reader()
            if done.interrupts:
                return await self.interrupted()
            if done.stops is not None:
                return await self._stopped_by_hook()
        self._add_results(answer, missing=REJECTED if deferred is None else DEFERRED)
        self._receiver.answer = None
        await self._log.save()
        if deferred is not None:
            return _deferred_ending(deferred)
        if self._hooks is not None and (ending := await self._after_batch(self._hooks, finished)) is not None:
            return ending
        structured = self._structured
        if structured is not None and structured.has_value:
            return _structured_ending(structured.value)
        if structured is not None and structured.failures >= ATTEMPTS:
            return self._structured_error(f"Failed to provide valid structured output after {ATTEMPTS} attempts")
        self._stop_hooks.note_calls()
        ending = self._budget_reached() or self._max_turns_reached()
        if ending is None:
            self._before_request()
        return ending

    async def _after_batch(self, hooks: SessionHooks, finished: list[FinishedCall]) -> Ending | None:
        """Run the hooks that follow the calls of an answer."""
        after = await hooks.after_batch(finished)
        before, self._folder = self._folder, self._setup.shell_folder()
        await hooks.folder_changed(before, self._folder)
        if after.stops is not None:
            return Ending(stop_reason=self._counts.stop_reason, terminal_reason="hook_stopped")
        for text in after.texts:
            self._log.note(text, is_meta=True, is_printed=False)
        return None

    def _without_call(self) -> Ending | None:
        """Ask again for a call that the model announced and did not make; the text before it is not an answer."""
        self._missing_calls += 1
        if self._missing_calls <= CALL_NUDGES:
            self._note(NO_CALL, is_meta=True)
            return self._max_turns_reached()
        return self._error("error_during_execution", "The model announced a tool call and made none")

    def _budget_reached(self) -> Ending | None:
        """Return the ending of a turn whose budget is used up, by its own requests or by those of sub-agents."""
        budget = self._limits.max_budget_usd
        if budget is None or self._requests.totals.cost_usd < budget:
            return None
        return self._error("error_max_budget_usd", f"Reached maximum budget (${budget:g})")

    def _max_turns_reached(self) -> Ending | None:
        limit = self._limits.max_turns
        if limit is None or self._counts.requests < limit:
            return None
        message = f"Reached maximum number of turns ({limit})"
        ending = self._error("error_max_turns", message, terminal_reason="max_turns")
        return msgspec.structs.replace(ending, turns=limit + 1)  # as Claude Code counts, also with parallel calls

    def _without_structured_output(self) -> Ending | None:
        if self._nudges < NUDGES:
            self._nudges += 1
            self._note(NUDGE, is_meta=True)
            return None
        return self._structured_error("The model ended its turn without providing structured output")

    def _structured_error(self, message: str) -> Ending:
        return self._error("error_max_structured_output_retries", message)

    def _refused(self, answer: PartialAnswer, ended: AnswerFinished) -> Ending:
        from bridle.agent.model.api.error_texts import model_refused

        details = ended.stop_details or {}
        self._log.emit(
            ModelRefusal(
                original_model=self._setup.model.shown,
                request_id=answer.request_id,
                api_refusal_category=details.get("category"),
                api_refusal_explanation=details.get("explanation"),
                refused_user_message_uuid=self._prompt_uuid,
            )
        )
        failure = model_refused(ended.stop_details, answer.request_id)
        return self._api_error(failure, stop_reason="refusal", stop_details=ended.stop_details)

    def _api_error(self, failure: ModelFailure, *, stop_reason: str, stop_details: object = None) -> Ending:
        limit = failure.payload.used_up if isinstance(failure.payload, RequestError) else None
        if limit is not None:
            self._log.emit(RateLimit(rate_limit_info=limit.info))
        self._log.api_error(failure, stop_reason=stop_reason, stop_details=stop_details)
        return Ending(
            text=failure.text,
            is_error=True,
            stop_reason=stop_reason,
            terminal_reason=failure.terminal_reason,
            api_error_status=failure.status,
        )

    def _report(self, done: FinishedCall) -> None:
        """Print the result of a call and count it."""
        self._counts.denials += self._requests.totals.take_denials()
        if done.is_denied:
            self._counts.denials.append(Denial(done.call.name, done.call.call_id, done.call.arguments))
        self._counts.user_events += self._log.tool_result(done)

    def _note(self, text: str, *, is_meta: bool) -> None:
        self._counts.user_events += 1
        self._log.note(text, is_meta=is_meta)

    def _add_results(self, answer: PartialAnswer, *, missing: str = REJECTED) -> None:
        if not answer.calls.is_empty:
            self._log.add_results(answer, missing=missing)

    def _error(self, subtype: str, message: str, *, terminal_reason: str | None = None) -> Ending:
        return Ending(
            subtype,
            is_error=True,
            stop_reason=self._counts.stop_reason,
            terminal_reason=terminal_reason,
            errors=(message,),
        )


def _deferred_ending(call: ToolCall) -> Ending:
    """Return the ending of a turn with a call that a hook deferred: the host decides about it later."""
    named = {"id": call.call_id, "name": call.name, "input": call.arguments}
    return Ending(stop_reason="tool_deferred", terminal_reason="tool_deferred", deferred=named)


def _structured_ending(value: object) -> Ending:
    from bridle.wire.events.loose_json import to_bytes

    return Ending(text=to_bytes(value).decode(), stop_reason="tool_use", structured=value)
