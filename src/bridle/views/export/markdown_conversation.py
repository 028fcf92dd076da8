"""A conversation as Markdown: a heading for each item in order, sub-agents as nested quotations."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import assert_never

from bridle.views.format_amounts import format_count, format_duration
from bridle.views.markdown_text import code_span, escape_line, fenced, prose, quoted
from bridle.views.terminal.cards import image_text
from bridle.views.terminal.footer import footer_figures, gauge_text, process_end_text
from bridle.views.terminal.page import DisplayOptions, Page
from bridle.wire.mask import Mask
from bridle.wire.record.gauge import Gauge
from bridle.wire.transcript.items import (
    AnyItem,
    Call,
    Failure,
    FileChange,
    Footer,
    Notice,
    ProcessEnd,
    Questions,
    Speaker,
    State,
    SubAgent,
    TextItem,
    Thought,
    TodoList,
    UnknownItem,
)
from bridle.wire.transcript.transcript import Transcript

_BOXES = {"completed": "[x]", "in_progress": "[ ] ▸", "pending": "[ ]"}
ITEM_HEADING = "####"


class MarkdownConversation:
    """The renderer of a transcript as lines of Markdown."""

    def __init__(self, transcript: Transcript, mask: Mask) -> None:
        self.transcript = transcript
        self._page = Page(mask, DisplayOptions(full=True))

    def gauge(self, gauge: Gauge) -> Iterator[str]:
        """Yield how full the context is, and when the account's limit resets."""
        figures = gauge_text(self._page, gauge)
        if figures:
            yield from (escape_line(figures), "")

    def item(self, item: AnyItem) -> Iterator[str]:
        """Yield the lines of one item, those of a sub-agent's items nested."""
        yield f"{ITEM_HEADING} {item.id} · {escape_line(self._heading(item))}"
        yield ""
        yield from self._body(item)
        yield ""

    def _heading(self, item: AnyItem) -> str:
        """Return what an item is, and how it ended."""
        clean = self._page.clean
        match item:
            case TextItem():
                return str(item.speaker) if item.speaker is not Speaker.STRAY else "stray line"
            case Thought():
                return "thinking"
            case Call():
                return self._call_heading(item)
            case Notice():
                return f"{item.kind} {item.state}" if item.state is not None else str(item.kind)
            case Failure():
                return f"✗ error {clean(item.name)}"
            case UnknownItem():
                return f"unknown ({clean(item.kind)})"
            case Footer():
                return footer_figures(self._page, item)
            case ProcessEnd():
                return process_end_text(self._page, item)
            case _:
                assert_never(item)

    def _call_heading(self, call: Call) -> str:
        state = "running in the background" if call.background and call.state is State.RUNNING else str(call.state)
        parts = [self._page.clean(call.name) or "(unseen call)", state]
        if isinstance(call.detail, FileChange) and call.detail.lines:
            is_made = call.state in (State.OK, State.RUNNING)
            parts.append(f"{'' if is_made else 'requested '}+{call.detail.added} −{call.detail.removed}")
        if isinstance(call.detail, SubAgent):
            parts += filter(None, (self._page.clean(call.detail.kind), "inferred" if call.detail.is_inferred else ""))
        if call.seconds is not None:
            parts.append(format_duration(call.seconds))
        return " · ".join(parts)

    def _body(self, item: AnyItem) -> Iterator[str]:
        match item:
            case TextItem():
                text = self._page.clean(image_text(item.text, item.images))
                is_markdown = item.speaker in (Speaker.AGENT, Speaker.USER)
                yield from prose(text) if is_markdown else fenced(text)
                yield from _omitted(item.omitted_characters)
            case Thought():
                yield from self._block(item.text)
                yield from _omitted(item.omitted_characters)
            case Call():
                yield from self._call(item)
            case Notice():
                yield from self._block(item.text)
            case Failure():
                yield from self._block(item.text)
                yield from _omitted(item.omitted_characters)
            case UnknownItem():
                yield from self._block(item.raw, "json")
                yield from _omitted(item.omitted_characters)
            case Footer():
                yield from self._footer(item)
            case ProcessEnd():
                if item.omitted_lines:
                    yield from (f"… {format_count(item.omitted_lines, 'earlier line')} of stderr", "")
                yield from self._block(item.stderr)
            case _:
                assert_never(item)

    def _footer(self, footer: Footer) -> Iterator[str]:
        if footer.text:
            yield from prose(self._page.clean(footer.text))
        for error in footer.errors:
            yield from self._block(error)
        for denial in footer.denials:
            name, call_id = code_span(self._page.clean(denial.tool or "?")), code_span(self._page.clean(denial.call_id))
            yield f"- denied: {name} {call_id}".rstrip()

    def _call(self, call: Call) -> Iterator[str]:
        """Yield the input of a call in the form of its kind, what happened inside it, and its output."""
        yield from filter(None, (code_span(self._page.clean(call.call_id)),))
        yield ""
        yield from self._input(call)
        for inner in self.transcript.items(call.call_id):
            yield from quoted(self.item(inner))
            yield ""
        output = self._page.clean(image_text(call.output, call.images)).strip("\n")
        if isinstance(call.detail, SubAgent) and (call.detail.report or call.state is State.OK):
            yield from self._report(call.detail)
        elif output:
            yield from ("Output:", "", *fenced(output))
        yield from _omitted(call.omitted_characters)

    def _input(self, call: Call) -> Iterator[str]:
        match call.detail:
            case FileChange() as change if change.lines:
                yield from (f"{escape_line(change.action)} {code_span(self._page.clean(change.path))}", "")
                yield from self._block("\n".join(change.lines), "diff")
                yield from _omitted(change.omitted_lines, "line")
            case TodoList() as todos:
                for todo in todos.todos:
                    status = "" if todo.status in _BOXES else f" ({escape_line(self._page.clean(todo.status))})"
                    yield f"- {_BOXES.get(todo.status, '[ ]')} {escape_line(self._page.clean(todo.text))}{status}"
                yield from _omitted(todos.omitted, "entry")
                yield ""
            case Questions() as questions:
                yield from self._questions(questions)
            case SubAgent() as agent:
                yield from self._agent(agent)
            case _:
                yield from self._arguments(call)

    def _arguments(self, call: Call) -> Iterator[str]:
        text = self._page.clean(_indent(call.input))
        if text.strip() not in ("", "{}"):
            yield from ("Input:", "", *fenced(text, "json"), "")
        yield from _omitted(call.input_omitted)

    def _questions(self, questions: Questions) -> Iterator[str]:
        for question in questions.questions:
            head = f"{question.header}: {question.text}" if question.header else question.text
            several = " (several answers)" if question.several else ""
            yield f"- **{escape_line(self._page.clean(head))}**{several}"
            for option in question.options:
                about = f": {option.description}" if option.description else ""
                yield f"  - {escape_line(self._page.clean(option.label + about))}"
            answer = "not answered" if question.answer is None else f"answer: {self._page.clean(question.answer)}"
            yield f"  - *{escape_line(answer)}*"
        yield ""

    def _agent(self, agent: SubAgent) -> Iterator[str]:
        description = escape_line(self._page.clean(agent.description))
        figures = [] if agent.tool_uses is None else [format_count(agent.tool_uses, "tool call")]
        figures += [] if agent.tokens is None else [f"{agent.tokens:,} tokens"]
        yield from (f"{description} ({', '.join(figures)})" if figures else description, "")
        if agent.prompt:
            yield from ("Prompt:", "", *fenced(self._page.clean(agent.prompt)), "")

    def _report(self, agent: SubAgent) -> Iterator[str]:
        if agent.report:
            yield from ("Report:", "")
            yield from prose(self._page.clean(agent.report))

    def _block(self, text: str, language: str = "") -> Iterator[str]:
        """Yield a text as a code block; nothing for an empty one."""
        if text.strip():
            yield from fenced(self._page.clean(text), language)


def _indent(text: str) -> str:
    """Return JSON with one member a line; a text that is not JSON, or cut, as it is."""
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return text


def _omitted(count: int, noun: str = "character") -> Iterator[str]:
    if count:
        yield from ("", f"… {format_count(count, f'more {noun}')} in the log")
