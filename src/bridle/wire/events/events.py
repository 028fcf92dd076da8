"""Events: one frozen struct for each kind of line that an agent prints, with fields in the order that agents use.

Every event has the bytes that it came from (`raw`); events are equal if their other fields are. An object of an
unknown type is kept as `Unknown`, a line that is not JSON as `Malformed`. See decode.py and encode.py.
"""

# No `from __future__ import annotations`: msgspec is slow to evaluate annotations that are text.
from typing import Any, ClassVar, TypeAlias

import msgspec

from bridle.wire.events.blocks import AnyBlock, Text, ToolUse
from bridle.wire.events.loose_json import JsonObject, from_json

ABSENT = msgspec.Raw(b"null")  # an undecoded part that is missing
SYNTHETIC_MODEL = "<synthetic>"  # Claude Code's model name for messages that it wrote itself

# Values in results that a dialect builds, where the agent's stream has none.
ERROR_RATE = "error_rate_limit"  # subtype: a quota or limit is reached, recognised by the message
ERROR_AUTH = "error_auth"  # subtype: the agent is not logged in, recognised by the message
SUCCESS = "success"  # the subtype of a result; every other one is an error
STREAM_ENDED = "stream_ended"  # terminal_reason: the stream ended without an end marker


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", eq=False, gc=False):
    """One line of an agent's output."""

    always: ClassVar[frozenset[str]] = frozenset()  # fields that are encoded even when they are null

    # Set after decoding. The bracketed name cannot collide with a field of the protocol.
    raw: bytes = msgspec.field(default=b"", name="(raw)")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and field_values(self) == field_values(other)

    def __hash__(self) -> int:
        return hash((type(self), repr(field_values(self))))


class Usage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Tokens of one message or turn. Claude's input_tokens exclude cache reads and writes."""

    input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0
    output_tokens: int = 0
    server_tool_use: Any = None
    service_tier: Any = None
    cache_creation: Any = None
    inference_geo: Any = None
    iterations: Any = None
    speed: Any = None
    cached_input_tokens: int = 0  # Codex: part of input_tokens
    reasoning_output_tokens: int = 0  # Codex: part of output_tokens

    @property
    def context_tokens(self) -> int:
        """The tokens in the model's context when it answered."""
        return self.input_tokens + self.cache_creation_input_tokens + self.cache_read_input_tokens


class Message(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The message inside an assistant or user event."""

    always: ClassVar[frozenset[str]] = frozenset({"role", "content"})

    id: str | None = None
    type: str | None = None
    role: str | None = None
    model: str | None = None
    content: tuple[AnyBlock, ...] | str = ()
    stop_reason: str | None = None
    stop_sequence: str | None = None
    usage: Usage | None = None

    @property
    def blocks(self) -> tuple[AnyBlock, ...]:
        """The content as blocks; a plain string becomes one text block."""
        if isinstance(self.content, str):
            return (Text(text=self.content),)
        return self.content


class Assistant(Event, frozen=True, kw_only=True, tag="assistant", eq=False, gc=False):
    """Printed for each block that the model finished; blocks of one answer share `message.id`."""

    always: ClassVar[frozenset[str]] = frozenset({"parent_tool_use_id"})

    message: Message = Message()
    parent_tool_use_id: str | None = None
    session_id: str | None = None
    uuid: str | None = None
    request_id: str | None = None
    error: str | None = None
    subagent_type: str | None = None
    task_description: str | None = None

    @property
    def is_failure_notice(self) -> bool:
        """Whether the agent program wrote this to report a failed request."""
        return self.error is not None

    @property
    def tool_uses(self) -> list[ToolUse]:
        """The tool calls in this event."""
        return [block for block in self.message.content if isinstance(block, ToolUse)]


class User(Event, frozen=True, kw_only=True, tag="user", eq=False, gc=False):
    """Printed for each tool result, and for text that the program inserted."""

    always: ClassVar[frozenset[str]] = frozenset({"parent_tool_use_id"})

    message: Message = Message()
    parent_tool_use_id: str | None = None
    session_id: str | None = None
    uuid: str | None = None
    timestamp: str | None = None
    tool_use_result: msgspec.Raw = ABSENT
    is_synthetic: bool | None = msgspec.field(default=None, name="isSynthetic")
    is_replay: bool | None = msgspec.field(default=None, name="isReplay")
    subagent_type: str | None = None
    task_description: str | None = None

    @property
    def details(self) -> Any:
        """What the tool reported besides the text for the model, such as a patch; None if nothing."""
        return from_json(self.tool_use_result)


class Result(Event, frozen=True, kw_only=True, tag="result", eq=False, gc=False):
    """Printed at the end of each turn; a run may have several."""

    always: ClassVar[frozenset[str]] = frozenset({"stop_reason"})

    subtype: str | None = None
    is_error: bool | None = None
    api_error_status: int | None = None
    duration_ms: int | float | None = None
    duration_api_ms: int | float | None = None
    ttft_ms: int | float | None = None
    num_turns: int | None = None
    result: Any = None
    stop_reason: str | None = None
    session_id: str | None = None
    total_cost_usd: float | None = None
    usage: Usage | None = None
    model_usage: Any = msgspec.field(default=None, name="modelUsage")
    permission_denials: Any = None
    structured_output: Any = None
    terminal_reason: str | None = None
    fast_mode_state: str | None = None
    origin: Any = None
    uuid: str | None = None
    errors: Any = None
    content: Any = None
    error: Any = None
    """The words of an error, where other programs put them: here and in `content`."""

    @property
    def has_failed(self) -> bool:
        """Whether the turn failed: it says so, its subtype is not `success`, or it has errors and no subtype."""
        has_errors = bool(self.errors or self.error)
        return self.is_error is True or (self.subtype != SUCCESS and (bool(self.subtype) or has_errors))


class StreamEvent(Event, frozen=True, kw_only=True, tag="stream_event", eq=False, gc=False):
    """Printed for each delta of an answer, if partial messages were requested."""

    always: ClassVar[frozenset[str]] = frozenset({"parent_tool_use_id"})

    event: msgspec.Raw = msgspec.Raw(b"{}")
    session_id: str | None = None
    parent_tool_use_id: str | None = None
    uuid: str | None = None
    ttft_ms: int | float | None = None

    @property
    def data(self) -> JsonObject:
        """The decoded delta; empty if it is not an object."""
        value = from_json(self.event)
        return value if isinstance(value, dict) else {}


class RateLimit(Event, frozen=True, kw_only=True, tag="rate_limit_event", eq=False, gc=False):
    """Printed when the state of the account's rate limits changes."""

    rate_limit_info: Any = None
    uuid: str | None = None
    session_id: str | None = None


class RateLimitInfo(msgspec.Struct, frozen=True):
    """The content of `RateLimit.rate_limit_info`."""

    status: Any = None
    kind: str | None = msgspec.field(default=None, name="rateLimitType")
    resets_at: Any = msgspec.field(default=None, name="resetsAt")


class ControlRequest(Event, frozen=True, kw_only=True, tag="control_request", eq=False, gc=False):
    """A request of either side to the other; request["subtype"] is its kind."""

    request_id: str = ""
    request: JsonObject = {}

    @property
    def subtype(self) -> str:
        return _text(self.request.get("subtype"))


class ControlResponse(Event, frozen=True, kw_only=True, tag="control_response", eq=False, gc=False):
    """The response to a control request; response["request_id"] is its id."""

    response: JsonObject = {}

    @property
    def subtype(self) -> str:
        """`success` or `error`."""
        return _text(self.response.get("subtype"))

    @property
    def request_id(self) -> str:
        return _text(self.response.get("request_id"))


class ControlCancel(Event, frozen=True, kw_only=True, tag="control_cancel_request", eq=False, gc=False):
    """The requester cancels its request."""

    request_id: str = ""


class KeepAlive(Event, frozen=True, kw_only=True, tag="keep_alive", eq=False, gc=False):
    """Printed to show that the program is alive."""


class Unknown(Event, frozen=True, kw_only=True, eq=False, gc=False):
    """A JSON object of an unknown type."""

    kind: str = ""
    value: JsonObject = {}


class StrayLine(Event, frozen=True, kw_only=True, eq=False, gc=False):
    """A line that is not an event."""

    @property
    def text(self) -> str:
        """The line as text, decoded when it is read: garbage can be millions of lines that are only counted."""
        return self.raw.decode("utf-8", "replace")


class Malformed(StrayLine, frozen=True, kw_only=True, eq=False, gc=False):
    """A line that is not JSON, or JSON that cannot be decoded."""

    reason: str = ""

    @property
    def is_protocol(self) -> bool:
        """Whether the line looks like a broken event rather than stray text."""
        head = self.text[:200].lstrip()
        return head[:1] == "{" and '"type"' in head


class Skipped(Event, frozen=True, kw_only=True, eq=False, gc=False):
    """A line over the size limit; its bytes are only in the log."""

    size_bytes: int = 0


class Ignored(StrayLine, frozen=True, kw_only=True, eq=False, gc=False):
    """A line of JSON that is not an object, so not an event."""


Plain: TypeAlias = (
    Assistant | User | Result | StreamEvent | RateLimit | ControlRequest | ControlResponse | ControlCancel | KeepAlive
)


def field_values(event: Event) -> list[Any]:
    """Return the values of an event's fields without `raw`; of a line that is not an event, its text as well."""
    names = (name for name in event.__struct_fields__ if name != "raw")
    values = (getattr(event, name) for name in (*names, *(["text"] if isinstance(event, StrayLine) else [])))
    return [from_json(value) if isinstance(value, msgspec.Raw) else value for value in values]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
