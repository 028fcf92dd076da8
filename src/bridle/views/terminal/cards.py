"""A conversation as lines: a card for each item, sub-agents nested behind a guide.

Everything that an agent wrote passes through `Page.clean`: secrets masked, control characters made harmless.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from bridle.views.terminal.footer import DENIED, footer_lines
from bridle.views.terminal.page import Look, Page, counted, left_out, spoken_seconds
from bridle.views.terminal.styled_lines import BLANK, NARROWEST, Line, cells, chopped, fitted, indented, line, wrapped
from bridle.wire.mask import Mask
from bridle.wire.transcript.items import (
    AnyItem,
    Call,
    Chip,
    Failure,
    FileChange,
    Footer,
    Notice,
    Questions,
    Speaker,
    State,
    SubAgent,
    Thought,
    TodoList,
    Words,
)
from bridle.wire.transcript.prose_and_code import Code
from bridle.wire.transcript.transcript import Transcript

OUTPUT_LINES = 10  # enough to see what a command said, few enough to see several commands on a screen
DIFF_LINES = 40
THOUGHT_LINES = 8
PROMPT_LINES = 6
CHIP_LINES = 2

SYMBOLS = {
    State.RUNNING: "◌",
    State.OK: "✓",
    State.ERROR: "✗",
    State.DENIED: DENIED,
    State.INTERRUPTED: "■",
}
_TODO_SYMBOLS = {"completed": "✓", "in_progress": "▸", "pending": "·"}
_LABELS = {Speaker.USER: "user", Speaker.PROGRAM: "program", Speaker.STRAY: "stray line"}


class Cards:
    """Draws items as lines."""

    def __init__(self, transcript: Transcript, mask: Mask, look: Look) -> None:
        self._transcript = transcript
        self._page = Page(mask, look)

    def conversation(self, items: Sequence[AnyItem], width: int | None = None) -> Iterator[Line]:
        """The items below each other, a blank line between cards, none between notices."""
        before: AnyItem | None = None
        for item in items:
            lines = list(self.card(item, width))
            if lines and before is not None and not (isinstance(before, Notice) and isinstance(item, Notice)):
                yield BLANK
            before = item if lines else before
            yield from lines

    def card(self, item: AnyItem, width: int | None = None) -> Iterator[Line]:
        """The lines of one item."""
        width = max(width or self._page.look.width, NARROWEST)
        match item:
            case Words():
                return self._words(item, width)
            case Thought():
                return self._thought(item, width)
            case Call():
                return self._call(item, width)
            case Notice():
                return self._notice(item, width)
            case Failure():
                return self._failure(item, width)
            case Chip():
                return self._chip(item, width)
            case Footer():
                return footer_lines(self._page, item, width)
            case _:
                assert_never(item)

    def _words(self, item: Words, width: int) -> Iterator[Line]:
        if item.speaker is not Speaker.AGENT:
            limit = None if item.speaker is Speaker.USER else OUTPUT_LINES
            yield from self._page.labelled(_LABELS[item.speaker], item.text, width, limit, _style(item.speaker))
        else:
            yield from self._answer(item, width)
        yield from left_out(item.omitted_characters)

    def _answer(self, item: Words, width: int) -> Iterator[Line]:
        """The agent's own words, behind a dot that tells them from everything else."""
        for place, one in enumerate(self._answer_lines(item, width - 2)):
            yield Line((("● " if place == 0 else "  ", "dot"), *one.segments))

    def _answer_lines(self, item: Words, width: int) -> Iterator[Line]:
        for part in item.parts:
            text = self._page.clean(part.text)
            if isinstance(part, Code):
                yield line(fitted(f"```{self._page.clean(part.language)}", width), "dim")
                yield from (line(piece, "code") for one in text.split("\n") for piece in chopped(one, width))
                yield line("```", "dim")
            else:
                yield from (line(one, "answer") for one in wrapped(text, width))

    def _thought(self, item: Thought, width: int) -> Iterator[Line]:
        if self._page.look.thinking and item.text.strip():
            yield from self._page.labelled("thinking", item.text, width, THOUGHT_LINES, "thought")
            yield from left_out(item.omitted_characters)

    def _call(self, call: Call, width: int) -> Iterator[Line]:
        yield from self._head(call, width)
        if isinstance(call.detail, SubAgent):
            body = self._sub_agent(call, call.detail, width - len(self._page.look.guide))
            yield from indented(body, self._page.look.guide, "guide")
            return
        yield from indented(self._body(call, width - 2), "  ")
        inside = self.conversation(self._transcript.items(call.call_id), width - len(self._page.look.guide))
        yield from indented(inside, self._page.look.guide, "guide")

    def _body(self, call: Call, width: int) -> Iterator[Line]:
        """What the tool did, in the form that suits its kind; its words where there is no such form."""
        went_well = call.state in (State.OK, State.RUNNING)
        match call.detail:
            case FileChange() as change if went_well:
                yield from self._diff(change, width)
            case TodoList() as todos if went_well:
                yield from self._todos(todos, width)
            case Questions() as asked:
                yield from self._questions(asked, width)
                yield from () if went_well else self._output(call, width)
            case _:
                yield from self._output(call, width)

    def _head(self, call: Call, width: int) -> Iterator[Line]:
        """Symbol, name and summary, then the state in words; one line unless everything is wanted."""
        style = f"state.{call.state}"
        name = self._page.clean(call.name).replace("\n", " ") or "(a call that was not seen)"
        end = f"  [{self._state_words(call)}]"
        start = f"{SYMBOLS[call.state]} {fitted(name, width // 2)}"
        summary = self._page.clean(self._summary(call)).replace("\n", " ")
        room = width - cells(start) - cells(end) - 2
        fits = room >= 0  # else the state has a line of its own
        shown = fitted(summary, room if fits else width - cells(start) - 2) if summary and room else ""
        head = ((start, style), (f"  {shown}" if shown else "", "summary"))
        yield Line((*head, (end, style)) if fits else head)
        yield from () if fits else (line(f"  {one}", style) for one in wrapped(end.strip(), width - 2))
        if self._page.look.full and (shown != summary or summary.endswith("…")):
            text = self._page.clean(call.input)
            yield from (line(f"  {one}", "dim") for one in wrapped(text, width - 2))

    def _summary(self, call: Call) -> str:
        match call.detail:
            case SubAgent() as agent:
                return ": ".join(filter(None, (agent.kind, agent.description))) or call.summary
            case TodoList() as todos:
                done = sum(todo.status == "completed" for todo in todos.todos)
                return f"{done} of {len(todos.todos) + todos.omitted} done"
            case Questions() as asked:
                return counted(len(asked.questions), "question")
        return call.summary

    def _state_words(self, call: Call) -> str:
        words = [str(call.state)]
        if call.background and call.state is State.RUNNING:
            words[0] = "running in the background"
        if isinstance(call.detail, FileChange) and call.state in (State.OK, State.RUNNING):
            words.append(f"+{call.detail.added} −{call.detail.removed}")
        if isinstance(call.detail, SubAgent):
            words.extend(self._agent_figures(call, call.detail))
        if call.seconds is not None:
            words.append(spoken_seconds(call.seconds))
        return " · ".join(words)

    def _agent_figures(self, call: Call, agent: SubAgent) -> Iterator[str]:
        seen = sum(isinstance(item, Call) for item in self._transcript.items(call.call_id))
        tools = agent.tool_uses if agent.tool_uses is not None else seen
        yield counted(tools, "tool call")
        if agent.tokens is not None:
            yield f"{agent.tokens:,} tokens"

    def _sub_agent(self, call: Call, agent: SubAgent, width: int) -> Iterator[Line]:
        if agent.prompt:
            yield from self._page.labelled("prompt", agent.prompt, width, PROMPT_LINES, "dim")
        items = self._transcript.items(call.call_id)
        inside = list(self.conversation(items, width))
        if inside:
            yield from ([BLANK] if agent.prompt else [])
            yield from inside
        if agent.doing and call.state is State.RUNNING:
            yield from self._page.labelled("now", agent.doing, width, 1, "dim")
        report = agent.report if call.state in (State.OK, State.RUNNING) else agent.report or call.output
        if report and not (call.background and not agent.report):
            yield from ([BLANK] if inside or agent.prompt else [])
            yield from self._page.labelled("report", report, width, None, "answer")

    def _diff(self, change: FileChange, width: int) -> Iterator[Line]:
        lines = self._page.clean("\n".join(change.lines)).split("\n") if change.lines else []
        shown, more = self._page.first(lines, DIFF_LINES, change.omitted_lines)
        for one in shown:
            style = {"+": "added", "-": "removed", "@": "hunk"}.get(one[:1], "dim")
            yield from (line(piece, style) for piece in chopped(self._page.cut(one), width))
        yield from more

    def _todos(self, todos: TodoList, width: int) -> Iterator[Line]:
        for todo in todos.todos:
            status = self._page.clean(todo.status)
            symbol = _TODO_SYMBOLS.get(todo.status, "·")
            words = f"{symbol} {self._page.clean(todo.text)} ({status.replace('_', ' ')})".replace("\n", " ")
            style = {"completed": "added", "in_progress": "summary"}.get(todo.status, "dim")
            yield from (line(one, style) for one in wrapped(words, width))
        if todos.omitted:
            yield line(f"… {todos.omitted} more", "dim")

    def _questions(self, asked: Questions, width: int) -> Iterator[Line]:
        for question in asked.questions:
            head = f"{question.header}: {question.text}" if question.header else question.text
            yield from (line(one, "question") for one in wrapped(f"? {self._page.clean(head)}", width))
            for option in question.options:
                words = f"- {option.label}" + (f": {option.description}" if option.description else "")
                yield from (line(f"  {one}") for one in wrapped(self._page.clean(words), width - 2))
            answer = "not answered" if question.answer is None else f"answer: {self._page.clean(question.answer)}"
            yield from (line(f"  {one}", "summary") for one in wrapped(answer, width - 2))

    def _output(self, call: Call, width: int) -> Iterator[Line]:
        text = self._page.clean(call.output).strip("\n")
        lines = text.split("\n") if text else []
        shown, more = self._page.first(lines, OUTPUT_LINES, call.omitted_lines)
        style = "output" if call.state is State.OK else f"state.{call.state}"
        for one in shown:
            yield from (line(piece, style) for piece in wrapped(self._page.cut(one), width))
        yield from more
        yield from left_out(call.omitted_characters if self._page.look.full else 0)

    def _notice(self, notice: Notice, width: int) -> Iterator[Line]:
        label = f"{notice.kind} {notice.state}" if notice.state is not None else str(notice.kind)
        style = f"state.{notice.state}" if notice.state in (State.ERROR, State.INTERRUPTED) else "dim"
        yield from self._page.labelled(label, notice.text, width, OUTPUT_LINES, style)

    def _failure(self, failure: Failure, width: int) -> Iterator[Line]:
        name = self._page.clean(failure.name).replace("\n", " ")
        yield from self._page.labelled(f"✗ error {name}".rstrip(), failure.text, width, OUTPUT_LINES, "state.error")
        yield from left_out(failure.omitted_characters if self._page.look.full else 0)

    def _chip(self, chip: Chip, width: int) -> Iterator[Line]:
        kind = self._page.clean(chip.kind).replace("\n", " ")
        yield from self._page.labelled(f"unknown ({kind})", chip.raw, width, CHIP_LINES, "dim")
        yield from left_out(chip.omitted_characters if self._page.look.full else 0)


def _style(speaker: Speaker) -> str:
    return "user" if speaker is Speaker.USER else "dim"
