"""The images of an exported conversation, inside the file."""

from __future__ import annotations

import base64

from bridle.views.export.size_limit import SizeLimit
from bridle.views.format_amounts import format_size
from bridle.views.run_data.followed_log import FollowedLog
from bridle.views.run_data.log_images import read_image
from bridle.wire.events.loose_json import JsonObject

# Of one image, as bytes: a screenshot of a large screen has a third of it.
IMAGE_BYTES = 4 * 1024 * 1024


def with_inline_images(document: JsonObject, log: FollowedLog, limit: SizeLimit) -> JsonObject:
    """Return an item whose images are `data:` addresses; one that is too large has none, and is named as left out."""
    images = document.get("images") or []
    if not any("href" in image for image in images):
        return document
    return {
        **document,
        "images": [_inline(image, number, document["id"], log, limit) for number, image in enumerate(images)],
    }


def _inline(image: JsonObject, number: int, item_id: int, log: FollowedLog, limit: SizeLimit) -> JsonObject:
    kept = {name: value for name, value in image.items() if name != "href"}
    if "href" not in image:
        return kept
    if image["size_bytes"] > IMAGE_BYTES:
        limit.omit(f"an image of item {item_id}, {format_size(image['size_bytes'])}, of the log {log.path.name}")
        return kept
    found = read_image(log, item_id, number)
    if found is None:
        return kept
    return kept | {"href": f"data:{found.media_type};base64,{base64.b64encode(found.data).decode()}"}
