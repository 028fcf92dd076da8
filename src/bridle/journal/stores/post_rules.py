"""The rules for requests and results that every store applies before it writes."""

from __future__ import annotations

from bridle.errors import EffectNotFound, EffectResolved, InternalError, KeyMismatch, UsageError
from bridle.journal.format import codec
from bridle.journal.format.entries import BREAKPOINT, DRIVER_PREFIX, OK, Effect, Posted, Request
from bridle.journal.format.state import State

# Enough of a value to recognise it in a message.
SHOWN_CHARACTERS = 200

# Letters and symbols without ink: fillers of Hangul, the blanks of Braille, music and hieroglyphs.
_BLANK_LETTERS = "\u115f\u1160\u3164\uffa0\u2800\U0001d159\U00013441\U00013442"


def pending_effect(state: State, effect_id: str, *, key: str | None) -> Effect:
    """Return a pending effect; raise an EffectError for any other."""
    effect = state.effects.get(effect_id)
    if effect is None:
        raise not_found(effect_id)
    if not effect.is_pending:
        raise EffectResolved(
            f"effect {effect_id} is not requested (status={effect.status}): it already has a result",
            remedy="Nothing was written. `bridle task:show` prints the result.",
        )
    check_key(effect, key)
    return effect


def check_poster(effect: Effect) -> None:
    """Raise a UsageError for an effect that only the driver resolves."""
    if effect.kind.startswith(DRIVER_PREFIX):
        raise UsageError(
            f"effect {effect.effect_id} is of kind {effect.kind}: only the driver of its run resolves it",
            remedy="Nothing was written. Continue the run with: bridle resume",
        )


def check_answer(effect: Effect, posted: Posted) -> None:
    """Raise a UsageError for the answer of a breakpoint that is neither an approval nor a rejection."""
    if effect.kind != BREAKPOINT or posted.status != OK:
        return
    answer = posted.value if isinstance(posted.value, dict) else {}
    response = answer.get("response", "none")
    if not isinstance(answer.get("approved"), bool) or not isinstance(response, str):
        raise UsageError(
            f"the answer of breakpoint {effect.effect_id} must be an object with `approved`, true or false, and an "
            f"optional text `response`, got {_preview(posted.value)}",
            remedy='Nothing was written. Post {"approved": true, "response": "the answer of the user"}, or false.',
        )
    if answer["approved"] and is_blank(response):
        raise UsageError(
            f"an empty response does not approve breakpoint {effect.effect_id}",
            remedy="Nothing was written. Ask the user again; a rejection has `approved` false.",
        )


def is_blank(text: str) -> bool:
    """Return whether a text has no visible character: no letter, number, punctuation mark or symbol."""
    from unicodedata import category  # a shared library, needed only for answers

    return not any(category(letter)[0] in "LNPS" and letter not in _BLANK_LETTERS for letter in text)


def check_unused(state: State, request: Request) -> None:
    """Raise if the step or the id was requested before."""
    for known, what in ((state.by_key.get(request.key), "key"), (state.effects.get(request.effect_id), "id")):
        if known is not None:
            raise InternalError(f"the {what} of effect {request.effect_id} ({request.key}) is in use", payload=known)


def check_key(effect: Effect, key: str | None) -> None:
    """Raise if the caller's invocation key is of another effect."""
    if key is not None and key != effect.key:
        raise KeyMismatch(
            f"invocation key mismatch for effect {effect.effect_id}: it is {effect.key!r}, not {key!r}",
            remedy="Nothing was written. `bridle task:list --pending` lists the pending effects.",
        )


def not_found(effect_id: str) -> EffectNotFound:
    """Return the error for an unknown effect id."""
    return EffectNotFound(
        f"effect {effect_id} not found: no entry of the journal requests it",
        remedy="`bridle task:list RUN` lists the effects of the run.",
    )


def _preview(value: object) -> str:
    text = codec.compact(value)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"
