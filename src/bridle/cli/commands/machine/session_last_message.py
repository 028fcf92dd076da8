"""`bridle session:last-message`: show the agent's last message in its transcript."""

from __future__ import annotations

import os

from bridle.cli.machine_interface.light_command import Arguments, LightCommand, Option, print_json
from bridle.cli.machine_interface.session_argument import warn
from bridle.errors import DiskError
from bridle.hosts.hooks.stop_rules import promise_in
from bridle.hosts.hooks.transcript_tail import last_text

NOT_FOUND = "TRANSCRIPT_NOT_FOUND"
UNREADABLE = "TRANSCRIPT_PARSE_ERROR"

_OPTIONS = (
    Option(
        "--transcript-path",
        "The session's transcript (transcript_path of a hook's payload).",
        value="FILE",
        is_required=True,
    ),
)


def _run(args: Arguments) -> int:
    path = args.required("--transcript-path")
    error = None if os.path.lexists(path) else NOT_FOUND
    text = None
    if error is None:
        try:
            text = last_text(path)
        except DiskError as failure:
            warn(failure.message)
            error = UNREADABLE
    promise = promise_in(text) if text is not None else None
    document: dict[str, object] = {
        "found": text is not None,
        "text": text,
        "hasPromise": promise is not None,
        "promiseValue": promise,
        **({"error": error} if error is not None else {}),
    }
    if args.has("--json"):
        print_json(document, pretty=True)
    else:
        fields = (f"{name}={value}" for name, value in document.items() if name != "text" and value is not None)
        print("[session:last-message] " + " ".join(fields))
    return 0


command = LightCommand("Show the agent's last message in its transcript.", _run, options=_OPTIONS)
