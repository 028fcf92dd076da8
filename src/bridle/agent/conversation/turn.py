"""One turn: the model is asked, its calls are run, and it is asked again, until there is an answer or an end.

Events leave as things happen. The history and the transcript are what the next turn, and the next process, go on with.
"""

from __future__ import annotations

from typing import Any

from bridle.agent.conversation.partial_answer import PartialAnswer
from bridle.agent.conversation.receive_answer import AnswerReceiver
from bridle.agent.conversation.turn_events import TurnEvents, rejected
from bridle.agent.conversation.turn_host import TurnHost
from bridle.agent.conversation.turn_result import Ending, Turn
from bridle.agent.model.api.stream_pieces import AnswerFinished
from bridle.agent.sessions.session import new_uuid
from bridle.agent.tools.structured_output import ATTEMPTS, NUDGE, NUDGES, TOOL
from bridle.agent.tools.toolbox import FinishedCall
from bridle.errors import ModelFailure

INTERRUPTED = "[Request interrupted by user]"
INTERRUPTED_TOOL = "[Request interrupted by user for tool use]"
EMPTY = "[Your previous response had no visible output. Please continue and produce a user-visible response.]"
CUT_OFF = (
    "Your answer reached the limit of its length and was cut off. Go on at exactly the place where it stopped: "
    "no apology, no repetition. If much is left, do it in smaller steps."
)

# Stops that come in the middle of an answer: its length is reached, or the model's window.
CUT_SHORT = ("max_tokens", "model_context_window_exceeded")
# A model that is cut off more often than this in one answer will not come to an end.
CONTINUATIONS = 3
# A model that says nothing is asked once more; then nothing is its answer.
EMPTY_NUDGES = 1
# The structured output that a turn owes, chosen for the model when words did not help.
_FORCED = {"type": "tool", "name": TOOL}


class TurnUnderWay:
    """A turn from its first request to its ending."""

    def __init__(self, house: TurnHost, tally: Turn, *, prompt_uuid: str) -> None:
        self._house, self.tally, self._prompt_uuid = house, tally, prompt_uuid
        self._teller = TurnEvents(house, tally)
        self._hearing = AnswerReceiver(house, tally, self._teller)
        self._results: list[tuple[FinishedCall, str]] = []
        self._has_room = False
        self._nudges = self._empties = self._continuations = 0

    async def run(self) -> Ending:
        """Go on until there is an ending."""
        if self._house.structured is not None:
            self._house.structured.begin_turn()
        while True:
            choice = _FORCED if self._nudges == NUDGES else None
            try:
                spoken = await self._hearing.hear(choice)
            except ModelFailure as failure:
                if await self._has_made_room(failure):
                    continue
                return await self._failed(failure)
            ending = await self._after(spoken)
            if ending is not None:
                return ending

    async def interrupted(self) -> Ending:
        """The turn was cancelled from outside: end what runs, say so, and leave a history that can go on."""
        spoken = self._hearing.spoken
        in_tools = spoken is not None and not spoken.calls.is_empty
        if spoken is not None:
            await spoken.calls.cancel()
            self._hearing.close(spoken)
            for call in spoken.calls.unanswered:
                self._tell(rejected(call))
            self._settle(spoken)
        self._teller.say(INTERRUPTED_TOOL if in_tools else INTERRUPTED, is_synthetic=False)
        reason = "aborted_tools" if in_tools else "aborted_streaming"
        return self._error("error_during_execution", "Request interrupted by user", terminal_reason=reason)

    async def abandon(self) -> None:
        """Something broke inside: end what runs, and leave a history that can go on."""
        if self._hearing.spoken is not None:
            await self._hearing.spoken.calls.cancel()
            self._settle(self._hearing.spoken)

    async def _has_made_room(self, failure: ModelFailure) -> bool:
        """Whether a conversation that did not fit was made shorter; once, since one that still does not never will."""
        if failure.terminal_reason != "prompt_too_long" or self._has_room:
            return False
        self._has_room = await self._house.make_room()
        return self._has_room

    async def _after(self, spoken: PartialAnswer) -> Ending | None:
        """What an answer leads to: an ending, or another request."""
        ledger = self._house.ledger
        ledger.heard(spoken)
        if self._is_over_budget():
            return await self._over_budget(spoken)
        if not spoken.calls.is_empty:
            return await self._after_calls(spoken)
        await ledger.keep()
        reason = spoken.ended.stop_reason if spoken.ended is not None else None
        if reason == "refusal" and spoken.ended is not None:
            return self._refused(spoken, spoken.ended)
        if reason in CUT_SHORT and self._continuations < CONTINUATIONS:
            self._continuations += 1
            ledger.told(CUT_OFF, new_uuid(), is_meta=True)
            return None
        if not spoken.is_visible and self._empties < EMPTY_NUDGES:
            self._empties += 1
            self._teller.say(EMPTY, is_synthetic=True)
            return None
        if self._house.structured is not None:
            return self._owed_structure()
        return Ending(text=spoken.last_text, stop_reason=reason)

    async def _after_calls(self, spoken: PartialAnswer) -> Ending | None:
        while spoken.calls.unanswered:
            done = await spoken.calls.next_done()
            self._house.catch_up()
            self._tell(done)
            await self._house.pace()
        self._settle(spoken)
        self._hearing.spoken = None
        await self._house.ledger.keep()
        structured = self._house.structured
        if structured is not None and structured.has_value:
            return _structured_ending(structured.value)
        if structured is not None and structured.failures >= ATTEMPTS:
            return self._without_structure(f"Failed to provide valid structured output after {ATTEMPTS} attempts")
        limit = self._house.limits.max_turns
        if limit is not None and self.tally.requests >= limit:
            why = f"Reached maximum number of turns ({limit})"
            return self._error("error_max_turns", why, terminal_reason="max_turns")
        self._house.take_meanwhile()
        return None

    def _owed_structure(self) -> Ending | None:
        if self._nudges < NUDGES:
            self._nudges += 1
            self._teller.say(NUDGE, is_synthetic=True)
            return None
        return self._without_structure("The model ended its turn without providing structured output")

    def _without_structure(self, why: str) -> Ending:
        return self._error("error_max_structured_output_retries", why)

    def _is_over_budget(self) -> bool:
        limit = self._house.limits.max_budget_usd
        return limit is not None and self._house.totals.cost_usd >= limit

    async def _over_budget(self, spoken: PartialAnswer) -> Ending:
        await spoken.calls.cancel()
        self._settle(spoken)
        limit = self._house.limits.max_budget_usd or 0
        return self._error("error_max_budget_usd", f"Reached maximum budget (${limit:g})")

    async def _failed(self, failure: ModelFailure) -> Ending:
        """The model could not be asked."""
        await self.abandon()
        return self._teller.in_its_place(failure, stop_reason="stop_sequence")

    def _refused(self, spoken: PartialAnswer, ended: AnswerFinished) -> Ending:
        """The model will not answer this."""
        from bridle.agent.model.api.error_texts import model_refused

        details = ended.stop_details or {}
        self._teller.system(
            "model_refusal_no_fallback",
            {
                "original_model": self._house.shown_model,
                "request_id": spoken.request_id,
                "api_refusal_category": details.get("category"),
                "api_refusal_explanation": details.get("explanation"),
                "refused_user_message_uuid": self._prompt_uuid,
                "content": "",
            },
        )
        failure = model_refused(ended.stop_details, spoken.request_id)
        return self._teller.in_its_place(failure, stop_reason="refusal", details=ended.stop_details)

    def _tell(self, done: FinishedCall) -> None:
        """Show a call's result, and keep it for the next request."""
        self._results.append((done, self._teller.result(done)))

    def _settle(self, spoken: PartialAnswer) -> None:
        """Put the results of an answer's calls into history and transcript; a call without one gets words for it."""
        if not spoken.calls.is_empty:
            uuids = {str(block.get("id")): uuid for block, uuid in zip(spoken.blocks, spoken.uuids, strict=True)}
            self._house.ledger.answered(self._results, uuids_of_calls=uuids)
            self._results = []

    def _error(self, subtype: str, why: str, *, terminal_reason: str | None = None) -> Ending:
        return Ending(
            subtype,
            is_error=True,
            stop_reason=self.tally.stop_reason,
            terminal_reason=terminal_reason,
            errors=(why,),
        )


def _structured_ending(value: Any) -> Ending:
    from bridle.wire.events.loose_json import to_bytes

    return Ending(text=to_bytes(value).decode(), stop_reason="tool_use", structured=value, has_structured=True)
