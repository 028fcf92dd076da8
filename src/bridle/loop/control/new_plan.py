"""The plan of a run as its file is now, for `bridle resume --replan`."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec.structs import replace

from bridle.engine.iterate.iteration_report import COMPLETED
from bridle.errors import UsageError
from bridle.ground.home import bridle_home
from bridle.journal.stores.file_store import FileStore
from bridle.loop.control.changed_plan import find_changes
from bridle.loop.control.current_state import read_receipt
from bridle.loop.plan.model import Plan
from bridle.loop.plan.read_plan import read_plan
from bridle.loop.process.receipt import Receipt
from bridle.loop.process.task_state import ACCEPTED
from bridle.loop.run_inputs import plan_in_force, read_inputs
from bridle.loop.settings.bridle_toml import load_settings
from bridle.loop.working_copy.run_context import Say

OWN_CHECK = ".ralph/check"


def read_new_plan(run: Path, say: Say) -> Plan | None:
    """Read the plan of a run again, and print how it differs; None if it does not.

    Raises UsageError where it cannot replace that of the run.
    """
    store = FileStore(run)
    inputs = read_inputs(store)
    if inputs.plan.path is None:
        raise UsageError(
            f"run {run.name} works on a goal, and has no plan to read again",
            remedy='Steer it with a hint, bridle hint "…", or start a new run.',
        )
    if store.position().end == COMPLETED:
        raise UsageError(f"run {run.name} has finished", remedy="Start a new run: bridle run PLAN")
    changes = find_changes(run, os.environ)
    if not changes:
        say("the plan has not changed")
        return None
    settings = load_settings(Path(inputs.repository), bridle_home(os.environ))
    path = Path(inputs.plan.path)
    plan = replace(read_plan(str(path), path.parent, settings), source=inputs.plan.source)
    old = Plan.from_json(plan_in_force(store))
    if OWN_CHECK in old.guard:
        plan = replace(plan, guard=(*plan.guard, OWN_CHECK))
    _refuse_open_questions(plan, read_receipt(run), say)
    for line in (*plan.warnings, *changes):
        say(str(line))
    return plan


def _refuse_open_questions(plan: Plan, receipt: Receipt, say: Say) -> None:
    """Raise UsageError where the new plan drops a task whose question is open; say which tasks stay done."""
    titles = {task.title for task in plan.tasks}
    asked = [task for task in receipt.tasks if task.question is not None and task.title not in titles]
    if asked:
        raise UsageError(
            f"the new plan does not have {asked[0].title!r}, whose question is open",
            remedy=f"Answer it first: bridle answer {asked[0].effect}. Or keep the task in the plan.",
        )
    done = [repr(task.title) for task in receipt.tasks if task.verdict in ACCEPTED]
    if done:
        say(f"done, and stays so: {', '.join(done)}")
