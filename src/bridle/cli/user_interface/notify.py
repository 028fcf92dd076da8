"""Notifications at the end of a run, to the addresses in the settings: a desktop, a chat, a webhook.

The library apprise is an extra, and large: it is imported only if an address is set. Addresses contain tokens, so only
the scheme of one is ever printed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from bridle.errors import UsageError
from bridle.ground.threads import in_thread
from bridle.loop.process.receipt import Receipt
from bridle.loop.process.task_state import Verdict
from bridle.views.format_amounts import format_usd
from bridle.views.terminal.receipt import headline

if TYPE_CHECKING:
    from apprise import Apprise

# The library allows each address about four seconds to connect and four to answer; the run is over and waits.
LIMIT_SECONDS = 30.0
# A desktop notification shows no more lines.
_TASKS = 20

Say = Callable[[str], None]


def check_addresses(addresses: Sequence[str]) -> None:
    """Raise for an invalid address, before the run starts."""
    for address in addresses:
        if not _library().add(address):
            raise UsageError(
                f"cannot notify {_scheme(address)}: not an address that apprise knows",
                remedy="Correct `notify` in the settings; the documentation of apprise lists the addresses.",
            )


async def send(addresses: Sequence[str], receipt: Receipt, reason: str, say: Say) -> None:
    """Send a notification about a finished run; a failure is printed and changes nothing."""
    if not addresses:
        return
    title, body = notification(receipt, reason)
    for address in addresses:
        try:
            async with asyncio.timeout(LIMIT_SECONDS):
                is_sent = await in_thread(partial(_send, address, title, body), name="notify")
        except UsageError as error:
            say(f"cannot notify {_scheme(address)}: {error.message}. {error.remedy}")
            continue
        except TimeoutError:
            is_sent = False
        if not is_sent:
            say(f"cannot notify {_scheme(address)}: not delivered")


def notification(receipt: Receipt, reason: str) -> tuple[str, str]:
    """Return the title and the text of the notification."""
    tasks = [f"{task.title}: {task.verdict}" for task in receipt.tasks]
    listed = tasks[:_TASKS] + ([f"… and {len(tasks) - _TASKS} more"] if len(tasks) > _TASKS else [])
    cost = f"cost: {format_usd(receipt.cost_usd, known=receipt.known_cost_usd)}"
    resume = [] if receipt.verdict == Verdict.DONE else [f"continue: {receipt.resume}"]
    return f"Bridle: {headline(receipt, reason)}", "\n".join([*listed, cost, *resume])


def _send(address: str, title: str, body: str) -> bool:
    library = _library()
    return library.add(address) and bool(library.notify(title=title, body=body))


def _library() -> Apprise:
    import logging

    try:
        from apprise import Apprise
    except ImportError as error:
        raise UsageError(
            "`notify` is set, but apprise is not installed",
            remedy="Run `pip install 'bridle-cli[notify]'`, or remove `notify` from the settings.",
        ) from error
    logger = logging.getLogger("apprise")  # it would print addresses
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    return Apprise()


def _scheme(address: str) -> str:
    kind, mark, _ = address.partition("://")
    return f"{kind}://…" if mark else "an address without a scheme"
