"""The open questions of the runs here, and the one that a user names by its effect, its task, or not at all."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import NamedTuple

from bridle.cli.user_interface.terminal import chosen_run
from bridle.engine import inbox
from bridle.engine.inbox import Question
from bridle.errors import EffectNotFound, Error, UsageError
from bridle.ground.ulid import is_ulid
from bridle.journal.format import layout
from bridle.journal.stores.file_store import FileStore
from bridle.journal.stores.find_run import LAST, matching_runs, newest_runs, runs_folders
from bridle.loop.undo.undo_entries import describe_undone

# The newest runs that are searched for open questions.
SEARCHED_RUNS = 100
# An answer such as `0` or `01` is not a prefix of an effect's id.
_SHORTEST_PREFIX = 4
_LIST = "Run `bridle answer --list` for the open questions."


class OpenQuestions(NamedTuple):
    """A run and its questions."""

    run: Path
    questions: list[Question]


class Named(NamedTuple):
    """The question that a user means, and the answer."""

    run: Path
    effect_id: str
    text: str | None


def waiting_runs(runs_dir: str | None) -> list[OpenQuestions]:
    """Return the runs here that have open questions, newest first."""
    waiting: list[OpenQuestions] = []
    for run in newest_runs(*runs_folders(runs_dir, os.environ))[:SEARCHED_RUNS]:
        folder, questions = Path(run), []
        try:
            store = FileStore(folder)
            if store.position().end is None and not describe_undone(store):
                questions = inbox.questions(store)
        except Error:
            continue  # the command that names it reports why it cannot be read
        if questions:
            waiting.append(OpenQuestions(folder, questions))
    return waiting


def name_question(
    first: str | None, text: str | None, run: str | None, runs_dir: str | None, *, has_flag: bool
) -> Named:
    """Return what the arguments `[QUESTION] ["text"] [RUN]` mean; a text alone answers the only open question.

    The id of an effect is never a text: a question that was answered before must not be replaced by another one. With
    --approve or --reject, the folder of a run after the question is the run.
    """
    names_effect = first is not None and is_ulid(first)
    if run is None and text is not None and first is not None and has_flag and _is_run_folder(text):
        text, run, names_effect = None, text, True
    elif run is None and text is not None and first is not None:
        is_named = any(_matches(first, question) for _, questions in waiting_runs(runs_dir) for question in questions)
        if not is_named and _is_run(text, runs_dir):  # `"text" RUN`
            text, run = None, text
    runs = waiting_runs(runs_dir) if run is None else [questions_of(chosen_run(run, runs_dir))]
    if first is None or (text is None and not names_effect and not _names_exactly(first, runs)):
        only = _only_question(runs)
        if only is not None:
            return Named(*only, first)
    if first is None:
        raise UsageError("name the question to answer", remedy=_LIST)
    found = _find(first, runs)
    if found is None:
        folder = runs[0].run if run is not None else chosen_run(LAST, runs_dir)
        found = folder, _recorded_effect(FileStore(folder), first, runs, is_alone=text is None)
    if text is None and not has_flag:
        remedy = f'Run `bridle answer {found[1]} "approve"`, or pass --approve or --reject.'
        raise UsageError("the answer is missing", remedy=remedy)
    return Named(*found, text)


def questions_of(run: Path) -> OpenQuestions:
    """Return the open questions of a run; one that was undone has none."""
    store = FileStore(run)
    return OpenQuestions(run, [] if describe_undone(store) else inbox.questions(store))


def _is_run(argument: str, runs_dir: str | None) -> bool:
    return argument == LAST or len(matching_runs(argument, *runs_folders(runs_dir, os.environ))) == 1


def _is_run_folder(argument: str) -> bool:
    return os.path.isfile(os.path.join(argument, layout.RUN_FILE))


def _only_question(runs: list[OpenQuestions]) -> tuple[Path, str] | None:
    open_questions = [(run, question.effect_id) for run, questions in runs for question in questions]
    return open_questions[0] if len(open_questions) == 1 else None


def _names_exactly(name: str, runs: list[OpenQuestions]) -> bool:
    """Return whether the only argument is a question's name rather than an answer."""
    is_long = len(name) >= _SHORTEST_PREFIX
    return any(
        name == question.task or (is_long and question.effect_id.startswith((name, name.upper())))
        for _, questions in runs
        for question in questions
    )


def _matches(name: str, question: Question) -> bool:
    """Return whether a name is a prefix of an effect's id, or a part of a task's title."""
    is_prefix = bool(name) and question.effect_id.startswith((name, name.upper()))
    return is_prefix or (bool(name.strip()) and name.lower() in (question.task or "").lower())


def _find(name: str, runs: list[OpenQuestions]) -> tuple[Path, str] | None:
    """Return the open question of this name; None if no question has it. Raise a UsageError for several."""
    matching = [(run, question) for run, questions in runs for question in questions if _matches(name, question)]
    exact = [(run, question) for run, question in matching if name in (question.effect_id, question.task)]
    found = exact or matching
    if len(found) > 1:
        within = {run for run, _ in found}
        shown = [run.name for run in within] if len(within) > 1 else [question.effect_id for _, question in found]
        kind = "a question of any of these runs" if len(within) > 1 else "any of these questions"
        raise UsageError(
            f"{name!r} could be {kind}: {', '.join(shown[:5])}", remedy="Use a longer prefix, or the task's title."
        )
    return (found[0][0], found[0][1].effect_id) if found else None


def _is_id(name: str) -> bool:
    """Return whether a name looks like an effect's id or a prefix of one, and not like words of the user."""
    return is_ulid(name) or (len(name) >= _SHORTEST_PREFIX and name[0].isdigit() and name.isalnum() and name.isupper())


def _recorded_effect(store: FileStore, name: str, runs: list[OpenQuestions], *, is_alone: bool) -> str:
    """Return the id of any effect of a run that begins with a prefix: what is wrong with it is reported later."""
    ids = [effect_id for effect_id in store.state().effects if name and effect_id.startswith((name, name.upper()))]
    if len(ids) == 1:
        return ids[0]
    if ids:
        raise UsageError(f"{name!r} is ambiguous: {', '.join(ids[:5])}", remedy="Use a longer prefix.")
    count, only = sum(len(questions) for _, questions in runs), _only_question(runs)
    if is_alone and count > 1:
        raise UsageError(f"{count} questions are open: name one before the answer", remedy=_LIST)
    if not count and not _is_id(name):
        raise EffectNotFound(
            f"no question is open in run {store.run.name}, so {name!r} {'answers' if is_alone else 'names'} none",
            remedy="`bridle status` shows what the run waits for; `bridle hint TEXT` is for its next iteration.",
        )
    remedy = _LIST if only is None else f"The question comes first: bridle answer {only[1]} {shlex.quote(name)}"
    what = "effect" if _is_id(name) else "open question of a task or an id like"
    raise EffectNotFound(f"no {what} {name!r} in run {store.run.name}", remedy=remedy)
