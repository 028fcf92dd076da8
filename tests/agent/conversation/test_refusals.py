"""Requests that an endpoint refuses for one block, and a subscription that is used up."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

from bridle.agent.conversation.refused_content import without_refused
from bridle.errors import ModelFailure
from tests.agent.fixtures.agent_on_stage import agent_on_stage, calls, says
from tests.fixtures.bridle_program import run_bridle

RESETS_AT = 1_795_017_600
LIMIT = {
    "anthropic-ratelimit-unified-status": "rejected",
    "anthropic-ratelimit-unified-reset": str(RESETS_AT),
    "anthropic-ratelimit-unified-representative-claim": "five_hour",
}


def refusal(message: str) -> dict[str, Any]:
    return {"kind": "error", "status": 400, "message": message}


def png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    rows = zlib.compress(b"".join(b"\0" + bytes(width) for _ in range(height)))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def test_a_picture_that_the_endpoint_refuses_is_removed_and_the_model_is_told(tmp_path: Path) -> None:
    refused = refusal("messages.2.content.0.tool_result: Could not process image")
    with agent_on_stage(tmp_path, calls("Read", file_path="a.png"), refused, says("I see.")) as place:
        (place.workspace / "a.png").write_bytes(png(2, 2))
        done = place.ask("look")
        assert '"type": "image"' in str(place.bodies()[1]).replace("'", '"')
        [result] = [block for block in place.blocks() if block["type"] == "tool_result"]
    assert (done.exit_code, done.result["result"], len(place.bodies())) == (0, "I see.", 3)
    [note] = result["content"]
    assert note["text"].startswith("[The picture that was here was removed, because the endpoint refused it:")
    assert "Could not process image" in note["text"]


def test_a_document_that_the_endpoint_refuses_is_removed(tmp_path: Path) -> None:
    refused = refusal("messages.2.content.1.pdf.source: The PDF specified was not valid.")
    with agent_on_stage(tmp_path, calls("Read", file_path="a.pdf"), refused, says("I see.")) as place:
        (place.workspace / "a.pdf").write_bytes(b"%PDF-1.4 broken")
        done = place.ask("look")
        kinds = [block["type"] for block in place.blocks()]
    assert (done.exit_code, done.result["result"]) == (0, "I see.")
    assert "document" not in kinds


def test_thoughts_whose_signature_is_refused_are_removed(tmp_path: Path) -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    call = {"blocks": [thought, {"type": "tool_use", "name": "Bash", "input": {"command": "echo 1"}}]}
    refused = refusal("messages.1.content.0: Invalid `signature` in `thinking` block")
    with agent_on_stage(tmp_path, call, refused, says("Done.")) as place:
        done = place.ask("go")
        kinds = [block["type"] for block in place.blocks()]
    assert (done.exit_code, done.result["result"]) == (0, "Done.")
    assert "thinking" not in kinds
    assert "tool_use" in kinds


def test_an_endpoint_that_refuses_for_ever_ends_the_turn(tmp_path: Path) -> None:
    with agent_on_stage(
        tmp_path, calls("Read", file_path="a.png"), otherwise=refusal("Could not process image")
    ) as place:
        (place.workspace / "a.png").write_bytes(png(2, 2))
        done = place.ask("look")
    assert (done.exit_code, done.result["api_error_status"], len(place.bodies())) == (1, 400, 3)


@pytest.mark.parametrize(("text", "status"), [("image", 500), ("no such model", 400)])
def test_other_failures_remove_nothing(text: str, status: int) -> None:
    failure = ModelFailure(text, error="unknown", status=status)
    picture = {"type": "image", "source": {}}
    assert without_refused([{"role": "user", "content": [picture]}], failure) is None


def test_a_subscription_that_is_used_up_says_when_it_resets_and_the_runner_reads_it(tmp_path: Path) -> None:
    limited = {"kind": "error", "status": 429, "message": "used up", "headers": LIMIT, "times": "forever"}
    with agent_on_stage(tmp_path, limited) as place:
        done = place.ask("go", TZ="UTC")
    [event] = done.of("rate_limit_event")
    assert event["rate_limit_info"] == {
        "status": "rejected",
        "resetsAt": RESETS_AT,
        "rateLimitType": "five_hour",
        "isUsingOverage": False,
    }
    assert done.result["result"].startswith("You've hit your session limit · resets ")
    assert done.result["result"].endswith("4pm (UTC)")
    assert (done.exit_code, done.result["api_error_status"], len(place.bodies())) == (1, 429, 1)
    log = tmp_path / "log.ndjson"
    log.write_text(done.stdout)
    read = run_bridle("inspect", str(log), "--json", cwd=tmp_path)
    document = json.loads(read.stdout)
    assert (document["rate_limit_status"], document["resets_at"]) == ("rejected", RESETS_AT)
