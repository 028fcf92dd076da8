"""Word at the end of a run, to wherever the settings say: a desktop, a chat, a webhook.

The library that knows all these places is an extra, and large: it is imported only where somebody has set an address.
Addresses hold tokens, so no more of one is ever shown than its first word.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from bridle.errors import UsageError
from bridle.ground.threads import in_thread
from bridle.views.terminal.receipt import headline

if TYPE_CHECKING:
    from apprise import Apprise

# The library gives each address about four seconds to connect and as many to answer; the run is over, and waits.
LIMIT_SECONDS = 30.0
# Of a plan with many tasks: what a notice on a desktop shows at all.
_TASKS = 20

Say = Callable[[str], None]


def check_addresses(addresses: Sequence[str]) -> None:
    """Refuse, before anything begins, what could not be used at the end."""
    for address in addresses:
        if not _library().add(address):
            raise UsageError(
                f"no word can be sent to {_shown(address)}: it is no address that is known",
                remedy="Correct `notify`; the library apprise says what addresses look like.",
            )


async def send(addresses: Sequence[str], receipt: Mapping[str, Any], reason: str, say: Say) -> None:
    """Send word of a run that has ended; what does not arrive is said, and changes nothing."""
    if not addresses:
        return
    title, body = words(receipt, reason)
    for address in addresses:
        try:
            async with asyncio.timeout(LIMIT_SECONDS):
                arrived = await in_thread(partial(_send, address, title, body), name="sending word")
        except UsageError as error:
            say(f"no word was sent to {_shown(address)}: {error.message}; {error.remedy}")
            continue
        except TimeoutError:
            arrived = False
        if not arrived:
            say(f"no word could be sent to {_shown(address)}")


def words(receipt: Mapping[str, Any], reason: str) -> tuple[str, str]:
    """Title and text of the notice."""
    tasks = [f"{task['title']}: {task['verdict']}" for task in receipt["tasks"]]
    shown = tasks[:_TASKS] + ([f"… and {len(tasks) - _TASKS} more"] if len(tasks) > _TASKS else [])
    go_on = [] if receipt["verdict"] == "done" else [f"go on: {receipt['resume']}"]
    return f"Bridle: {headline(receipt, reason)}", "\n".join([*shown, *go_on])


def _send(address: str, title: str, body: str) -> bool:
    library = _library()
    return library.add(address) and bool(library.notify(title=title, body=body))


def _library() -> Apprise:
    import logging

    try:
        from apprise import Apprise
    except ImportError as error:
        raise UsageError(
            "`notify` is set, but the library that sends word is not installed",
            remedy="Install it with `pip install 'bridle[notify]'`, or take `notify` out of the settings.",
        ) from error
    logger = logging.getLogger("apprise")  # it would write addresses to the terminal
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    return Apprise()


def _shown(address: str) -> str:
    kind, mark, _ = address.partition("://")
    return f"{kind}://…" if mark else "an address without a kind"
