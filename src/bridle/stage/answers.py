"""The answers that a script can give: values only, each kind with its own fields."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

# An hour: longer than any pause worth rehearsing, short enough that a slip of the pen ends by itself.
MAX_DELAY_SECONDS = 3600.0
# Small enough that a short sentence already arrives in pieces.
DEFAULT_CHUNK_CHARS = 20

Seconds = Annotated[float, Meta(ge=0, le=MAX_DELAY_SECONDS)]
Count = Annotated[int, Meta(ge=0, le=1_000_000_000)]
Word = Annotated[str, Meta(min_length=1)]
Source = Literal["last_user", "tool_results", "messages", "system", "all"]
Times = Annotated[int, Meta(ge=1)] | Literal["forever"] | None


class When(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a request must be like; every condition that is given must hold."""

    contains: Annotated[Word | None, Meta(description="This text stands in the part named by `in`.")] = None
    matches: Annotated[Word | None, Meta(description="This regular expression is found in the part named by `in`.")] = (
        None
    )
    source: Annotated[
        Source, Meta(description="Where `contains` and `matches` look; the last user message if not given.")
    ] = field(name="in", default="last_user")
    system_contains: Annotated[Word | None, Meta(description="This text stands in the system prompt.")] = None
    model: Annotated[Word | None, Meta(description="The model asked for, as a shell pattern: `*haiku*`.")] = None
    has_tool: Annotated[Word | None, Meta(description="A tool of this name is offered.")] = None
    tool_result_of: Annotated[Word | None, Meta(description="The last user message holds a result of this tool.")] = (
        None
    )
    turn: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="One more than the assistant messages in the request."),
    ] = None
    stream: Annotated[bool | None, Meta(description="Whether the request asks for a stream.")] = None


class Capture(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A value taken out of the request, for `${name}` in this answer and all later ones."""

    source: Annotated[Source, Meta(description="Where to look.")] = field(name="from")
    pattern: Annotated[Word, Meta(description="A regular expression with one group: the value.")]
    take: Annotated[Literal["first", "last"], Meta(description="Which match counts, where there are several.")] = "last"


class Usage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The token figures of a message; those not given are estimated from the text's length."""

    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_creation_input_tokens: Count = 0
    cache_read_input_tokens: Count = 0


class Text(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type", tag="text"):
    """Words of the model."""

    text: str


class Thinking(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type", tag="thinking"):
    """Thoughts of the model, with the signature that clients send back."""

    thinking: str
    signature: str = "c3RhZ2U="


class ToolUse(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type", tag="tool_use"):
    """A call of a tool."""

    name: Word
    input: dict[str, Any] = {}
    id: Word | None = None
    raw_input: Annotated[
        str | None, Meta(description="Text streamed in place of the input's JSON, to rehearse a cut input.")
    ] = None


class Raw(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type", tag="raw"):
    """Any other content block, sent as it stands."""

    block: dict[str, Any]


Block = Text | Thinking | ToolUse | Raw


class Answer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    """What every kind of answer may carry."""

    when: Annotated[When | None, Meta(description="Conditions on the request; none: always fits.")] = None
    times: Annotated[Times, Meta(description='How often it can be used; null or "forever": no end.')] = 1
    capture: Annotated[dict[str, Capture], Meta(description="Values to take out of the request.")] = {}
    delay_seconds: Annotated[Seconds, Meta(description="The wait before the first byte.")] = 0.0
    headers: Annotated[dict[str, str], Meta(description="More headers of the answer, by name.")] = {}


class Spoken(Answer, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every kind that sends a message, or the beginning of one, may carry."""

    blocks: Annotated[tuple[Block | str, ...], Meta(description="Content blocks; a bare string is a text block.")] = ()
    stop_reason: Annotated[
        Word | None, Meta(description="If not given: tool_use when a tool is called, else end_turn.")
    ] = None
    stop_sequence: str | None = None
    usage: Usage = Usage()
    model: Annotated[Word | None, Meta(description="If not given: the model asked for.")] = None
    id: Word | None = None
    token_delay_seconds: Annotated[Seconds, Meta(description="The wait before each delta.")] = 0.0
    chunk_chars: Annotated[Annotated[int, Meta(ge=1)], Meta(description="How many characters a delta holds.")] = (
        DEFAULT_CHUNK_CHARS
    )


class Message(Spoken, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="message"):
    """A complete message."""

    blocks: Annotated[tuple[Block | str, ...], Meta(description="Content blocks; a bare string is a text block.")]


class Failure(Answer, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="error"):
    """An API error by its status."""

    status: Annotated[int, Meta(ge=400, le=599)]
    type: Annotated[Word | None, Meta(description="If not given: the API's type for the status.")] = None
    message: Annotated[Word | None, Meta(description="If not given: a sentence for the status.")] = None


class Overloaded(Spoken, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="overloaded_in_stream"):
    """A stream that begins and then carries an error event; status 529 where no stream was asked for."""

    after_events: Annotated[Count, Meta(description="How many events come before the error.")] = 1
    type: Word = "overloaded_error"
    message: Word = "Overloaded"


class Drop(Spoken, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="drop_connection"):
    """A connection that is cut: before the headers, or after so many events or bytes of the message."""

    after_events: Count | None = None
    after_bytes: Annotated[Count | None, Meta(description="Bytes of the body.")] = None


class Hang(Spoken, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="hang"):
    """Silence, from the start or after so many events, until the client leaves or the seconds are over."""

    seconds: Annotated[
        Annotated[float, Meta(ge=0, le=86_400)] | None,
        Meta(description="If not given: until the client leaves, at most a day."),
    ] = None
    after_events: Count | None = None


class Malformed(Spoken, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="malformed"):
    """A body that is not what the API promises, alone or after so many events."""

    text: Annotated[str, Meta(description="Sent as it stands.")]
    status: Annotated[int, Meta(ge=200, le=599)] = 200
    content_type: Annotated[Word | None, Meta(description="If not given: that of a good answer.")] = None
    after_events: Count = 0


AnyAnswer = Message | Failure | Overloaded | Drop | Hang | Malformed
