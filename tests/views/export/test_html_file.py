"""An export as one HTML file: its data cannot end its element, and its policy allows only what it contains."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from bridle.views.export.export_source import ExportSource, export_of_log
from bridle.views.export.html_file import html_pieces
from bridle.views.export.inline_images import IMAGE_BYTES
from bridle.views.export.size_limit import SizeLimit
from bridle.wire.mask import Mask
from tests.views.fixtures.exported_page import page_document
from tests.wire.fixtures.conversations import RECORDINGS, assistant_line, result, text, use, user_line

SECRET = "sk-ant-" + "a" * 20
HOSTILE = f"</script><script>window.pwned = 1</script><!-- <img src=x onerror=alert(1)> ]]> \u2028 &lt; {SECRET}"
PNG = b"\x89PNG\r\n\x1a\n"


def log_of(folder: Path, *lines: dict[str, Any]) -> ExportSource:
    path = folder / "a.ndjson"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return export_of_log(path, None, version="1", at=0.0, environment={})


def page(source: ExportSource, limit: SizeLimit | None = None) -> str:
    return b"".join(html_pieces(source, Mask(), limit or SizeLimit(), lambda _: None)).decode()


def image(data: bytes, media_type: str = "image/png") -> dict[str, Any]:
    source = {"type": "base64", "media_type": media_type, "data": base64.b64encode(data).decode()}
    return {"type": "image", "source": source}


def test_nothing_in_the_data_can_leave_its_element(tmp_path: Path) -> None:
    call = use("c", HOSTILE, file_path=HOSTILE)
    shown = page(log_of(tmp_path, assistant_line(text(HOSTILE), call), user_line(result("c", HOSTILE))))
    data = shown.split('id="bridle-data">', 1)[1].rsplit('<script type="module">', 1)[0].rsplit("</script>", 1)[0]
    assert "<" not in data
    assert "sk-ant" not in shown
    items = page_document(shown)["logs"]["file"]["log"]["items"]
    assert items[0]["text"] == HOSTILE.replace(SECRET, "***")
    assert shown.count("<script") == 2
    assert shown.count("</script") == 2


def test_a_title_that_is_not_utf8_is_written_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "<b>bad\udcff.ndjson"
    path.write_text("")
    shown = page(export_of_log(path, None, version="1", at=0.0, environment={}))
    assert "<title>&lt;b&gt;bad\ufffd.ndjson" in shown


def test_the_policy_allows_the_script_and_the_style_of_the_file_alone(tmp_path: Path) -> None:
    shown = page(log_of(tmp_path, assistant_line(text("hi"))))
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', shown)
    script = shown.rsplit('<script type="module">', 1)[1].rsplit("</script>", 1)[0]
    style = shown.split("<style>", 1)[1].split("</style>", 1)[0]
    for name, content in (("script", script), ("style", style)):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not re.search(r'(?:src|href)="(?!data:,)', shown.split("<style>")[0]), "nothing is loaded"


def test_images_are_inside_the_file(tmp_path: Path) -> None:
    svg = image(b"<svg onload='alert(1)'/>", "image/svg+xml")
    lines = assistant_line(use("c", "Read", file_path="a")), user_line(result("c", [image(PNG), svg]), image(PNG))
    call, shown, _ = page_document(page(log_of(tmp_path, *lines)))["logs"]["file"]["log"]["items"]
    address = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    assert [picture.get("href") for picture in call["images"]] == [address, None]
    assert [picture.get("href") for picture in shown["images"]] == [address]


def test_an_image_that_is_too_large_is_named_as_left_out(tmp_path: Path) -> None:
    limit = SizeLimit()
    source = log_of(tmp_path, user_line(image(PNG + b"x" * IMAGE_BYTES)))
    document = page_document(page(source, limit))
    assert "href" not in document["logs"]["file"]["log"]["items"][0]["images"][0]
    assert document["omitted"] == limit.omitted
    assert "an image of item 1" in limit.omitted[0]


def test_what_does_not_fit_is_named_with_its_log(tmp_path: Path) -> None:
    limit = SizeLimit(3000)
    lines = [assistant_line(use(f"c{number}", "Bash", command="x" * 500)) for number in range(20)]
    document = page_document(page(log_of(tmp_path, *lines), limit))
    kept = document["logs"]["file"]["log"]
    assert 0 < len(kept["items"]) < 20
    assert document["omitted"] == [
        f"{len(lines) + 1 - len(kept['items'])} items of a.ndjson, its log is {tmp_path}/a.ndjson"
    ]


def test_a_log_is_shown_as_a_run_of_its_own() -> None:
    source = export_of_log(RECORDINGS / "12-subagent.ndjson", None, version="9", at=5.0, environment={})
    document = page_document(page(source))
    assert (document["format"], document["version"], document["exported_at"]) == (1, "9", 5.0)
    (card,) = document["board"]["runs"]
    assert (card["run"], card["plan"], card["state"], card["input_tokens"]) == (
        "file",
        "12-subagent.ndjson",
        "done",
        200,
    )
    assert document["runs"]["file"]["logs"][0]["log"] == "log"


@pytest.mark.parametrize("name", ["app.js", "app.css"])
def test_the_page_itself_can_be_inlined(name: str) -> None:
    content = Path("src/bridle/views/web/static", name).read_text(encoding="utf-8").lower()
    assert "</script" not in content
    assert "</style" not in content
    assert "<!--" not in content
