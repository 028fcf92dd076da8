"""A conversation as lines: one card for each item, sub-agents nested behind a guide.

All text of an agent passes through `Page.clean`, which masks secrets and escapes control characters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from bridle.views.format_amounts import format_count, format_duration, format_size
from bridle.views.terminal.footer import DENIED, footer_lines, process_end_lines
from bridle.views.terminal.page import DisplayOptions, Page, omitted_line
from bridle.views.terminal.styled_lines import (
    BLANK,
    MIN_WIDTH,
    Line,
    cell_width,
    indent,
    split_cells,
    styled_line,
    truncate,
    wrap_text,
)
from bridle.wire.mask import Mask
from bridle.wire.transcript.images import IMAGE_TEXT
from bridle.wire.transcript.items import (
    AnyItem,
    Call,
    Failure,
    FileChange,
    Footer,
    ImageRef,
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
from bridle.wire.transcript.prose_and_code import Code
from bridle.wire.transcript.transcript import Transcript

OUTPUT_LINES = 10  # enough to see what a command printed, few enough to see several commands on a screen
DIFF_LINES = 40
THOUGHT_LINES = 8
PROMPT_LINES = 6
UNKNOWN_LINES = 2

SYMBOLS = {
    State.RUNNING: "◌",
    State.OK: "✓",
    State.ERROR: "✗",
    State.DENIED: DENIED,
    State.INTERRUPTED: "■",
    State.UNANSWERED: "–",
}
_TODO_SYMBOLS = {"completed": "✓", "in_progress": "▸", "pending": "·"}
_LABELS = {Speaker.USER: "user", Speaker.PROGRAM: "program", Speaker.STRAY: "stray line"}


class Cards:
    """The renderer of transcript items as lines."""

    def __init__(self, transcript: Transcript, mask: Mask, options: DisplayOptions) -> None:
        self._transcript = transcript
        self._page = Page(mask, options)

    def conversation(self, items: Sequence[AnyItem], width: int | None = None) -> Iterator[Line]:
        """Yield the items one below the other, with a blank line between cards but not between notices."""
        previous: AnyItem | None = None
        for item in items:
            lines = list(self.card(item, width))
            if lines and previous is not None and not (isinstance(previous, Notice) and isinstance(item, Notice)):
                yield BLANK
            previous = item if lines else previous
            yield from lines

    def card(self, item: AnyItem, width: int | None = None) -> Iterator[Line]:
        """Yield the lines of one item."""
        width = max(width or self._page.options.width, MIN_WIDTH)
        match item:
            case TextItem():
                return self._text(item, width)
            case Thought():
                return self._thought(item, width)
            case Call():
                return self._call(item, width)
            case Notice():
                return self._notice(item, width)
            case Failure():
                return self._failure(item, width)
            case UnknownItem():
                return self._unknown(item, width)
            case Footer():
                return footer_lines(self._page, item, width)
            case ProcessEnd():
                return process_end_lines(self._page, item, width)
            case _:
                assert_never(item)

    def _text(self, item: TextItem, width: int) -> Iterator[Line]:
        if item.images:
            speaker = _LABELS.get(item.speaker, "agent")
            yield from self._page.labelled(speaker, image_text(item.text, item.images), width, None, "dim")
        elif item.speaker is not Speaker.AGENT:
            limit = None if item.speaker is Speaker.USER else OUTPUT_LINES
            yield from self._page.labelled(_LABELS[item.speaker], item.text, width, limit, _style(item.speaker))
        else:
            yield from self._answer(item, width)
        yield from omitted_line(item.omitted_characters)

    def _answer(self, item: TextItem, width: int) -> Iterator[Line]:
        """Yield the agent's text behind a dot that distinguishes it from everything else."""
        for index, line in enumerate(self._answer_lines(item, width - 2)):
            yield Line((("● " if index == 0 else "  ", "dot"), *line.segments))

    def _answer_lines(self, item: TextItem, width: int) -> Iterator[Line]:
        for part in item.parts:
            text = self._page.clean(part.text)
            if isinstance(part, Code):
                yield styled_line(truncate(f"```{self._page.clean(part.language)}", width), "dim")
                yield from (
                    styled_line(piece, "code") for code in text.split("\n") for piece in split_cells(code, width)
                )
                if part.is_closed:
                    yield styled_line("```", "dim")
            else:
                yield from (styled_line(prose, "answer") for prose in wrap_text(text, width))

    def _thought(self, item: Thought, width: int) -> Iterator[Line]:
        if self._page.options.thinking and item.text.strip():
            yield from self._page.labelled("thinking", item.text, width, THOUGHT_LINES, "thought")
            yield from omitted_line(item.omitted_characters)

    def opening(self, call: Call, width: int) -> Iterator[Line]:
        """Yield what is known when a call starts: its head, and a sub-agent's prompt or the questions."""
        yield from self._head(call, width)
        guide = self._page.options.guide
        match call.detail:
            case SubAgent(prompt=prompt) if prompt:
                yield from indent(self._prompt(prompt, width - len(guide)), guide, "guide")
            case Questions() as questions:
                yield from indent(self._questions(questions, width - 2), "  ")

    def closing(self, call: Call, width: int) -> Iterator[Line]:
        """Yield how a call ended, without what happened inside it."""
        yield from self._head(call, width)
        if isinstance(call.detail, SubAgent):
            guide = self._page.options.guide
            yield from indent(self._report(call, call.detail, width - len(guide)), guide, "guide")
        else:
            yield from indent(self._body(call, width - 2), "  ")

    def _call(self, call: Call, width: int) -> Iterator[Line]:
        guide = self._page.options.guide
        inside = width - len(guide)
        nested = list(self.conversation(self._transcript.items(call.call_id), inside))
        if not isinstance(call.detail, SubAgent):
            yield from self.closing(call, width)
            yield from indent(nested, guide, "guide")
            return
        yield from self.opening(call, width)
        report = list(self._report(call, call.detail, inside))
        body = [*nested, *([BLANK] if nested and report else []), *report]
        yield from indent([BLANK, *body] if body and call.detail.prompt else body, guide, "guide")

    def _body(self, call: Call, width: int) -> Iterator[Line]:
        """Yield what the tool did in the form of its kind, else its output."""
        succeeded = call.state in (State.OK, State.RUNNING)
        match call.detail:
            case FileChange() as change:
                yield from self._diff(change, width)
                yield from () if succeeded and change.lines else self._output(call, width)
            case TodoList() as todos:
                yield from self._todos(todos, width)
                yield from () if succeeded else self._output(call, width)
            case Questions() as questions:
                yield from self._questions(questions, width)
                are_answered = all(question.answer is not None for question in questions.questions)
                yield from () if succeeded and are_answered else self._output(call, width)
            case _:
                yield from self._output(call, width)

    def _head(self, call: Call, width: int) -> Iterator[Line]:
        """Yield symbol, name, summary and state: one line, unless everything is shown."""
        style = f"state.{call.state}"
        name = self._page.clean(call.name).replace("\n", " ") or "(unseen call)"
        end = f"  [{self._state_text(call)}]"
        start = f"{SYMBOLS[call.state]} {truncate(name, width // 2)}"
        summary = self._page.clean(self._summary(call)).replace("\n", " ")
        room = width - cell_width(start) - cell_width(end) - 2
        fits = room >= 0  # else the state goes on a line of its own
        shown = truncate(summary, room if fits else width - cell_width(start) - 2) if summary and room else ""
        head = ((start, style), (f"  {shown}" if shown else "", "summary"))
        yield Line((*head, (end, style)) if fits else head)
        yield from () if fits else (styled_line(f"  {text}", style) for text in wrap_text(end.strip(), width - 2))
        if self._page.options.full and (shown != summary or summary.endswith("…")):
            arguments = wrap_text(self._page.clean(call.input), width - 2)
            yield from (styled_line(f"  {text}", "dim") for text in arguments)

    def _summary(self, call: Call) -> str:
        match call.detail:
            case SubAgent() as agent:
                return ": ".join(filter(None, (agent.kind, agent.description))) or call.summary
            case TodoList() as todos:
                done = sum(todo.status == "completed" for todo in todos.todos)
                return f"{done} of {len(todos.todos) + todos.omitted} done"
            case Questions() as questions:
                return format_count(len(questions.questions), "question")
        return call.summary

    def _state_text(self, call: Call) -> str:
        parts = [str(call.state)]
        if call.background and call.state is State.RUNNING:
            parts[0] = "running in the background"
        if isinstance(call.detail, FileChange):
            is_made = call.state in (State.OK, State.RUNNING)
            counts = f"+{call.detail.added} −{call.detail.removed}"
            parts += [counts] if is_made else [f"requested {counts}"] if call.detail.lines else []
        if isinstance(call.detail, SubAgent):
            parts.extend(self._agent_figures(call, call.detail))
        if call.seconds is not None:
            parts.append(format_duration(call.seconds))
        return " · ".join(parts)

    def _agent_figures(self, call: Call, agent: SubAgent) -> Iterator[str]:
        seen = sum(isinstance(item, Call) for item in self._transcript.items(call.call_id))
        tools = agent.tool_uses if agent.tool_uses is not None else seen
        yield format_count(tools, "tool call") + (", inferred" if agent.is_inferred else "")
        if agent.tokens is not None:
            yield f"{agent.tokens:,} tokens"

    def _prompt(self, prompt: str, width: int) -> Iterator[Line]:
        return self._page.labelled("prompt", prompt, width, PROMPT_LINES, "dim")

    def _report(self, call: Call, agent: SubAgent, width: int) -> Iterator[Line]:
        """Yield what a sub-agent is doing, or what it has reported."""
        if agent.doing and call.state is State.RUNNING:
            yield from self._page.labelled("now", agent.doing, width, 1, "dim")
        report = agent.report if call.state in (State.OK, State.RUNNING) else agent.report or call.output
        if report and not (call.background and not agent.report):
            yield from self._page.labelled("report", report, width, None, "answer")

    def _diff(self, change: FileChange, width: int) -> Iterator[Line]:
        lines = self._page.clean("\n".join(change.lines)).split("\n") if change.lines else []
        shown, more = self._page.limit_lines(lines, DIFF_LINES, change.omitted_lines)
        for text in shown:
            style = {"+": "added", "-": "removed", "@": "hunk"}.get(text[:1], "dim")
            yield from (styled_line(piece, style) for piece in split_cells(self._page.shorten(text), width))
        yield from more

    def _todos(self, todos: TodoList, width: int) -> Iterator[Line]:
        for todo in todos.todos:
            status = self._page.clean(todo.status)
            symbol = _TODO_SYMBOLS.get(todo.status, "·")
            entry = f"{symbol} {self._page.clean(todo.text)} ({status.replace('_', ' ')})".replace("\n", " ")
            style = {"completed": "added", "in_progress": "summary"}.get(todo.status, "dim")
            yield from (styled_line(text, style) for text in wrap_text(entry, width))
        if todos.omitted:
            yield styled_line(f"… {todos.omitted} more", "dim")

    def _questions(self, questions: Questions, width: int) -> Iterator[Line]:
        for question in questions.questions:
            head = f"{question.header}: {question.text}" if question.header else question.text
            head += " (several answers)" if question.several else ""
            yield from (styled_line(text, "question") for text in wrap_text(f"? {self._page.escape(head)}", width))
            for option in question.options:
                choice = f"- {option.label}" + (f": {option.description}" if option.description else "")
                yield from (styled_line(f"  {text}") for text in wrap_text(self._page.escape(choice), width - 2))
            answer = "not answered" if question.answer is None else f"answer: {self._page.escape(question.answer)}"
            yield from (styled_line(f"  {text}", "summary") for text in wrap_text(answer, width - 2))

    def _output(self, call: Call, width: int) -> Iterator[Line]:
        text = self._page.clean(image_text(call.output, call.images)).strip("\n")
        lines = text.split("\n") if text else []
        shown, more = self._page.limit_lines(lines, OUTPUT_LINES, call.omitted_lines)
        style = "output" if call.state is State.OK else f"state.{call.state}"
        for output in shown:
            yield from (styled_line(piece, style) for piece in wrap_text(self._page.shorten(output), width))
        yield from more
        yield from omitted_line(call.omitted_characters if self._page.options.full else 0)

    def _notice(self, notice: Notice, width: int) -> Iterator[Line]:
        label = f"{notice.kind} {notice.state}" if notice.state is not None else str(notice.kind)
        style = f"state.{notice.state}" if notice.state in (State.ERROR, State.INTERRUPTED) else "dim"
        yield from self._page.labelled(label, notice.text, width, OUTPUT_LINES, style)

    def _failure(self, failure: Failure, width: int) -> Iterator[Line]:
        name = self._page.clean(failure.name).replace("\n", " ")
        yield from self._page.labelled(f"✗ error {name}".rstrip(), failure.text, width, OUTPUT_LINES, "state.error")
        yield from omitted_line(failure.omitted_characters)

    def _unknown(self, unknown: UnknownItem, width: int) -> Iterator[Line]:
        kind = self._page.clean(unknown.kind).replace("\n", " ")
        yield from self._page.labelled(f"unknown ({kind})", unknown.raw, width, UNKNOWN_LINES, "dim")
        yield from omitted_line(unknown.omitted_characters if self._page.options.full else 0)


def image_text(text: str, images: Sequence[ImageRef]) -> str:
    """Return a text with type and size of each image where the image is in it."""
    if not images:
        return text
    lines, unplaced = [], list(images)
    for line in text.split("\n"):
        lines.append(_image(unplaced.pop(0)) if line == IMAGE_TEXT and unplaced else line)
    return "\n".join([*lines, *map(_image, unplaced)])


def _image(image: ImageRef) -> str:
    facts = (image.media_type, format_size(image.size_bytes) if image.digest else "not in the log")
    return f"[image: {', '.join(filter(None, facts))}]"


def _style(speaker: Speaker) -> str:
    return "user" if speaker is Speaker.USER else "dim"
