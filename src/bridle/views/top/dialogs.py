"""The dialogs: answering a question, writing a line, confirming, help. Nothing is approved by default."""

from __future__ import annotations

import json
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Static

from bridle.views.terminal.page import Page
from bridle.wire.events.loose_json import JsonObject

ANSWER, APPROVE, REJECT = "answer", "approve", "reject"
AGAIN = "again"

Answer = tuple[str, str]
"""The action and its text."""

HELP = """\
enter   open the selected run
esc     back
a       answer what it asks you
s       stop it; it can be resumed
r       resume it
h       hint for its next iteration
t       try the selected task again
1 2 3   tasks, conversation, journal
[ ]     earlier, later conversation
q       quit

Each key runs the command of that name,
and the journal records it. Nothing is approved
unless you choose to approve it."""


class AnswerDialog(ModalScreen[Answer | None]):
    """Shows exactly what a run asks, and takes an explicit answer."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss_none", "back"),
        Binding("a", "approve", "approve"),
        Binding("r", "reject", "reject"),
    ]

    def __init__(self, need: JsonObject, page: Page) -> None:
        super().__init__()
        self._need = need
        self._page = page

    @property
    def _is_decision(self) -> bool:
        return bool(self._need["kind"] == "permission")

    def compose(self) -> ComposeResult:
        """Draw the question, what it is about, and the ways to answer."""
        need = self._need
        with Vertical(classes="dialog"):
            yield Static(self._text(f"{need['run']}: {need['title'] or need['kind']}", "bold"), classes="dialog-title")
            with VerticalScroll(id="asked"):
                yield Static(self._text(need["text"]), id="question")
                yield Static(self._text(self._payload(), "dim"), id="payload")
            yield Static(self._text(" · ".join(need["commands"]), "dim"), id="commands")
            if need["kind"] != "doubt":
                words = "your answer" if not self._is_decision else "a remark, recorded with your decision (optional)"
                yield Input(placeholder=words, id="words", compact=True)
            with Horizontal(classes="buttons"):
                yield from self._buttons()

    def on_mount(self) -> None:
        """Focus what is read, so that no key decides by accident."""
        is_written = not self._is_decision and self._need["kind"] != "doubt" and not self._need["options"]
        self.query_one("#words" if is_written else "#asked").focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Answer with what the button says."""
        name = event.button.id or ""
        if name == "cancel":
            self.dismiss(None)
        elif name.startswith("option-"):
            self.dismiss((ANSWER, str(self._need["options"][int(name.removeprefix("option-"))])))
        elif name == AGAIN:
            self.dismiss((ANSWER, AGAIN))
        elif name == ANSWER:
            self._send(ANSWER)
        else:
            self.dismiss((name, self._words()))

    def on_input_submitted(self, _event: Input.Submitted) -> None:
        """Send a written answer; a decision is never made by enter."""
        if not self._is_decision:
            self._send(ANSWER)

    def action_approve(self) -> None:
        """Approve what is shown."""
        if self._is_decision:
            self.dismiss((APPROVE, self._words()))

    def action_reject(self) -> None:
        """Reject what is shown."""
        if self._is_decision:
            self.dismiss((REJECT, self._words()))

    def action_dismiss_none(self) -> None:
        """Leave without an answer."""
        self.dismiss(None)

    def _send(self, action: str) -> None:
        words = self._words()
        if words.strip():
            self.dismiss((action, words))
        else:
            self.notify("An empty answer answers nothing.", severity="warning", markup=False)

    def _words(self) -> str:
        found = self.query("#words")
        return found.first(Input).value if found else ""

    def _payload(self) -> str:
        payload = self._need["payload"]
        if payload is None:
            return ""
        return payload if isinstance(payload, str) else json.dumps(payload, ensure_ascii=False, indent=2)

    def _buttons(self) -> ComposeResult:
        if self._is_decision:
            yield Button(self._text("Approve (a)"), id=APPROVE, compact=True)
            yield Button(self._text("Reject (r)"), id=REJECT, compact=True)
        elif self._need["kind"] == "doubt":
            yield Button(self._text("Execute it again"), id=AGAIN, compact=True)
        else:
            yield Button(self._text("Send"), id=ANSWER, compact=True)
        for index, option in enumerate(self._need["options"]):
            yield Button(self._text(str(option)), id=f"option-{index}", compact=True)
        yield Button(self._text("Cancel (esc)"), id="cancel", compact=True)

    def _text(self, text: str, style: str = "") -> Text:
        """Return foreign text with nothing in it interpreted, and nothing removed: the user decides about all of it."""
        return Text(self._page.escape(text), style)


class LineDialog(ModalScreen[str | None]):
    """Takes one line of text."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss_none", "back")]

    def __init__(self, title: str, placeholder: str) -> None:
        super().__init__()
        self._title = title
        self._placeholder = placeholder

    def compose(self) -> ComposeResult:
        """Draw the title and the input."""
        with Vertical(classes="dialog"):
            yield Static(Text(self._title, "bold"), classes="dialog-title")
            yield Input(placeholder=self._placeholder, id="words", compact=True)
            yield Static(Text("enter sends, esc cancels", "dim"))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Return the text."""
        self.dismiss(event.value if event.value.strip() else None)

    def action_dismiss_none(self) -> None:
        """Leave without a text."""
        self.dismiss(None)


class ConfirmDialog(ModalScreen[bool]):
    """Asks before something that interrupts work; only `y` confirms."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "yes"),
        Binding("n", "answer(False)", "no"),
        Binding("escape", "answer(False)", "no"),
    ]

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        """Draw the question."""
        with Vertical(classes="dialog"):
            yield Static(Text(self._question, "bold"))
            yield Static(Text("y yes · n no", "dim"))

    def action_answer(self, confirmed: bool) -> None:  # noqa: FBT001  # called by a key binding
        """Return the answer."""
        self.dismiss(confirmed)


class HelpDialog(ModalScreen[None]):
    """Lists the keys."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "back"),
        Binding("question_mark", "dismiss(None)", "back"),
        Binding("q", "dismiss(None)", "back"),
    ]

    def compose(self) -> ComposeResult:
        """Draw the keys."""
        with Vertical(classes="dialog"):
            yield Static(Text("bridle top", "bold"), classes="dialog-title")
            yield Static(Text(HELP))
