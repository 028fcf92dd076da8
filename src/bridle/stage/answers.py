"""The script and its answers as structs: one for each kind of answer."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from bridle.wire.events.loose_json import JsonObject

# The models that the server lists if the script has none.
DEFAULT_MODELS = ("claude-opus-4-8", "claude-sonnet-5", "claude-haiku-4-5-20251001")
# An hour: longer than any delay worth testing, short enough that a typo ends by itself.
MAX_DELAY_SECONDS = 3600.0
# Small enough that even a short sentence arrives in pieces.
DEFAULT_CHUNK_CHARS = 20

Seconds = Annotated[float, Meta(ge=0, le=MAX_DELAY_SECONDS)]
Count = Annotated[int, Meta(ge=0, le=1_000_000_000)]
Word = Annotated[str, Meta(min_length=1)]
Source = Literal["last_user", "tool_results", "messages", "system", "all"]
Times = Annotated[int, Meta(ge=1)] | Literal["forever"] | None


class When(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The conditions on a request; all that are present must hold."""

    contains: Annotated[Word | None, Meta(description="The part named by `in` contains this text.")] = None
    matches: Annotated[Word | None, Meta(description="The part named by `in` matches this regular expression.")] = None
    source: Annotated[
        Source, Meta(description="Where `contains` and `matches` search; by default the last user message.")
    ] = field(name="in", default="last_user")
    system_contains: Annotated[Word | None, Meta(description="The system prompt contains this text.")] = None
    model: Annotated[Word | None, Meta(description="The requested model, as a shell pattern: `*haiku*`.")] = None
    has_tool: Annotated[Word | None, Meta(description="The request offers a tool of this name.")] = None
    tool_result_of: Annotated[Word | None, Meta(description="The last user message has a result of this tool.")] = None
    turn: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="One more than the assistant messages in the request."),
    ] = None
    stream: Annotated[bool | None, Meta(description="Whether the request is for a stream.")] = None


class Capture(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A value from the request, for `${name}` in this answer and all later ones."""

    source: Annotated[Source, Meta(description="Where to search.")] = field(name="from")
    pattern: Annotated[Word, Meta(description="A regular expression with one group: the value.")]
    take: Annotated[Literal["first", "last"], Meta(description="Which of several matches is used.")] = "last"


class Usage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The token counts of a message; missing ones are estimated from the text's length."""

    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_creation_input_tokens: Count = 0
    cache_read_input_tokens: Count = 0
    web_search_requests: Annotated[Count, Meta(description="Searches of the server tool `web_search`.")] = 0


class Text(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type", tag="text"):
    """A text block."""

    text: str


class Thinking(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type", tag="thinking"):
    """A thinking block, with the signature that clients send back."""

    thinking: str
    signature: str = "c3RhZ2U="


class ToolUse(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type", tag="tool_use"):
    """A tool call."""

    name: Word
    input: JsonObject = {}
    id: Word | None = None
    raw_input: Annotated[
        str | None, Meta(description="Text streamed instead of the input's JSON, to test a truncated input.")
    ] = None


class Raw(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="type", tag="raw"):
    """Any other content block, sent unchanged."""

    block: JsonObject


Block = Text | Thinking | ToolUse | Raw


class Answer(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    """The fields of every kind of answer."""

    when: Annotated[When | None, Meta(description="Conditions on the request; without them it always matches.")] = None
    times: Annotated[Times, Meta(description='How often it can be used; null or "forever": without limit.')] = 1
    capture: Annotated[dict[str, Capture], Meta(description="Values to capture from the request.")] = {}
    delay_seconds: Annotated[Seconds, Meta(description="The delay before the first byte.")] = 0.0
    headers: Annotated[dict[str, str], Meta(description="Additional headers of the answer, by name.")] = {}


class MessageAnswer(Answer, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fields of every kind that sends a message or its beginning."""

    blocks: Annotated[tuple[Block | str, ...], Meta(description="Content blocks; a bare string is a text block.")] = ()
    stop_reason: Annotated[Word | None, Meta(description="By default tool_use if a tool is called, else end_turn.")] = (
        None
    )
    stop_sequence: str | None = None
    usage: Usage = Usage()
    model: Annotated[Word | None, Meta(description="By default the requested model.")] = None
    id: Word | None = None
    token_delay_seconds: Annotated[Seconds, Meta(description="The delay before each delta.")] = 0.0
    chunk_chars: Annotated[Annotated[int, Meta(ge=1)], Meta(description="The number of characters in a delta.")] = (
        DEFAULT_CHUNK_CHARS
    )


class Message(MessageAnswer, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="message"):
    """A complete message."""

    blocks: Annotated[tuple[Block | str, ...], Meta(description="Content blocks; a bare string is a text block.")]


class Failure(Answer, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="error"):
    """An API error with this status."""

    status: Annotated[int, Meta(ge=400, le=599)]
    type: Annotated[Word | None, Meta(description="By default the API's type for the status.")] = None
    message: Annotated[Word | None, Meta(description="By default a sentence for the status.")] = None


class Overloaded(MessageAnswer, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="overloaded_in_stream"):
    """A stream that begins and then has an error event; status 529 if no stream was requested."""

    after_events: Annotated[Count, Meta(description="The number of events before the error.")] = 1
    type: Word = "overloaded_error"
    message: Word = "Overloaded"


class Drop(MessageAnswer, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="drop_connection"):
    """A dropped connection: before the headers, or after some events or bytes of the message."""

    after_events: Count | None = None
    after_bytes: Annotated[Count | None, Meta(description="Bytes of the body.")] = None


class Hang(MessageAnswer, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="hang"):
    """Silence from the start or after some events, until the client disconnects or the time is over."""

    seconds: Annotated[
        Annotated[float, Meta(ge=0, le=86_400)] | None,
        Meta(description="By default until the client disconnects, at most a day."),
    ] = None
    after_events: Count | None = None


class Malformed(MessageAnswer, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="malformed"):
    """A body that breaks the API's contract, alone or after some events."""

    text: Annotated[str, Meta(description="Sent unchanged.")]
    status: Annotated[int, Meta(ge=200, le=599)] = 200
    content_type: Annotated[Word | None, Meta(description="By default that of a valid answer.")] = None
    after_events: Count = 0


AnyAnswer = Message | Failure | Overloaded | Drop | Hang | Malformed


class Conversation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Separate answers for the requests that match `when`."""

    when: When
    answers: tuple[AnyAnswer, ...] = ()
    otherwise: AnyAnswer | None = None


class Script(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The answers of the stage, and the models that it lists."""

    answers: tuple[AnyAnswer, ...] = ()
    conversations: tuple[Conversation, ...] = ()
    otherwise: AnyAnswer | None = None
    models: tuple[str, ...] = DEFAULT_MODELS
