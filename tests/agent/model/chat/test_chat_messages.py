"""Messages of the Messages API as messages of a chat."""

from __future__ import annotations

import json
from typing import Any

from bridle.agent.model.api.stream_pieces import UNPARSED
from bridle.agent.model.chat.chat_messages import chat_messages

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
IMAGE_PART = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}


def call(call_id: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "Bash", "input": arguments}


def result(call_id: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **fields}


def test_a_conversation_with_parallel_calls_has_a_message_for_each_result() -> None:
    chat = chat_messages(
        [{"type": "text", "text": "You help."}, {"type": "text", "text": "In short."}],
        [
            {"role": "user", "content": "hello"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
                    {"type": "text", "text": "Let me look."},
                    call("a", command="ls"),
                    call("b", command="pwd"),
                ],
            },
            {
                "role": "user",
                "content": [
                    result("a", "x.py"),
                    result("b", [{"type": "text", "text": "no"}], is_error=True),
                    {"type": "text", "text": "and now?"},
                ],
            },
        ],
    )
    assert chat == [
        {"role": "system", "content": "You help.\n\nIn short."},
        {"role": "user", "content": "hello"},
        {
            "role": "assistant",
            "content": "Let me look.",
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "Bash", "arguments": '{"command":"ls"}'}},
                {"id": "b", "type": "function", "function": {"name": "Bash", "arguments": '{"command":"pwd"}'}},
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "x.py"},
        {"role": "tool", "tool_call_id": "b", "content": "Error: no"},
        {"role": "user", "content": "and now?"},
    ]


def test_images_are_parts_and_those_of_a_result_follow_it() -> None:
    chat = chat_messages(
        [],
        [
            {"role": "user", "content": [{"type": "text", "text": "see"}, IMAGE]},
            {"role": "assistant", "content": [call("a")]},
            {"role": "user", "content": [result("a", [{"type": "text", "text": "1 image"}, IMAGE])]},
        ],
    )
    assert chat[0] == {"role": "user", "content": [{"type": "text", "text": "see"}, IMAGE_PART]}
    assert chat[1]["content"] == ""
    assert chat[2] == {"role": "tool", "tool_call_id": "a", "content": "1 image\n[image: see the next message]"}
    assert chat[3]["role"] == "user"
    assert chat[3]["content"][1:] == [IMAGE_PART]


def test_what_a_chat_does_not_have_becomes_text_and_the_user_never_speaks_twice() -> None:
    chat = chat_messages(
        [],
        [
            {"role": "user", "content": "one"},
            {"role": "system", "content": "The date has changed."},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "only", "signature": "s"}]},
            {
                "role": "user",
                "content": [
                    {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "eA=="}},
                    {"type": "document", "source": {"type": "text", "data": "plain"}},
                ],
            },
        ],
    )
    assert [message["role"] for message in chat] == ["user"]
    assert chat[0]["content"].split("\n\n") == [
        "one",
        "<system-reminder>\nThe date has changed.\n</system-reminder>",
        "[a PDF document was here; this endpoint takes text and images only]",
        "plain",
    ]


def test_arguments_that_were_no_json_are_sent_inside_of_json() -> None:
    chat = chat_messages([], [{"role": "assistant", "content": [call("a", **{UNPARSED: {"raw": "{oops", "len": 5}})]}])
    assert json.loads(chat[0]["tool_calls"][0]["function"]["arguments"]) == {"unparsed": "{oops"}
