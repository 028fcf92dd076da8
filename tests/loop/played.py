"""The loop's process on the real engine, with a test that posts the results of its effects: no agent, no git."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

from bridle.engine.hooks.run_hooks import Hooks
from bridle.engine.iterate.iterate import iterate
from bridle.engine.iterate.iteration_report import Action
from bridle.ground import clock, ids
from bridle.journal.format.entries import OK, Posted
from bridle.journal.stores.create import NewRun, create_run
from bridle.journal.stores.file_store import FileStore
from bridle.loop import effect_results, effects
from bridle.loop.control.current_state import replay_receipt
from bridle.loop.plan.markdown import parse_markdown
from bridle.loop.process import ralph
from bridle.loop.settings.model import Settings

RED, GREEN = 1, 0
STAMP = "2026-11-14T10:00:00.000Z"


class Played:
    """A run of the loop whose time is what the test says."""

    def __init__(self, folder: Path, plan: str, **settings: Any) -> None:
        run_id = ids.new_id()
        inputs = {
            "run": run_id,
            "repository": str(folder),
            "base": "0" * 40,
            "branch": "bridle/x",
            "came_from": "main",
            "plan": parse_markdown(plan, "PLAN.md").as_json(),
            "settings": Settings(**settings).as_json(),
        }
        new = NewRun(
            run_id=run_id,
            process_id="bridle/loop",
            entry=Path(ralph.__file__),
            has_inputs=True,
            inputs=json.loads(json.dumps(inputs)),
        )
        self.folder = create_run(folder / "runs", new, proof="p" * 32, ulid=ids.new_id(), created_at=STAMP)
        self.hooks = Hooks(folder, {}, enabled=False)
        self.now = datetime.fromisoformat(STAMP)
        self.driver = STAMP
        """When the driver began that posts."""
        self.post(effects.PREPARE, {"branch": "bridle/x", "base": "0" * 40})

    @property
    def store(self) -> FileStore:
        return FileStore(self.folder)

    def waits(self) -> list[Action]:
        """What the run waits for."""
        return list(iterate(self.store, self.folder, self.hooks, now=lambda: self.now).actions)

    def asked(self, kind: str) -> dict[str, Any]:
        """The arguments of the one effect that is waited for, which is of this kind."""
        (action,) = self.waits()
        assert action.effect.kind == kind, (action.effect.kind, action.task.get("inputs"))
        return dict(action.task.get("inputs") or {})

    def post(self, kind: str, value: dict[str, Any] | None) -> None:
        """Its result, over at this moment."""
        (action,) = self.waits()
        assert action.effect.kind == kind, (action.effect.kind, action.task.get("inputs"))
        if value is not None:
            value = {**value, "clock": {"since": self.driver, "until": clock.iso(self.now)}}
        with self.store.write("test") as writer:
            stamp = clock.iso(self.now)
            writer.resolve(action.effect.effect_id, Posted(OK, value=value, started_at=stamp, finished_at=stamp))

    def work(self, ending: str = effect_results.OK, *, agent: str | None = None, **more: Any) -> None:
        """An iteration that ends so."""
        if agent is not None:
            assert self.asked(effects.WORK)["agent"] == agent
        self.post(effects.WORK, {"ending": ending, "cost_usd": 0.25, "changed": True, "tree": "t", **more})

    def look(self, code: int) -> None:
        """The checks, all with this exit code."""
        given = self.asked(effects.CHECK)
        results = [{**one, "exit_code": code, "seconds": 0.1, "output": ""} for one in given["checks"]]
        self.post(effects.CHECK, {"tree": "t", "passed": code == 0, "results": results})

    def judged(self, code: int) -> None:
        """What comes after an iteration: what was protected, the checks, and the commit where they pass."""
        self.post(effects.PROTECT, {"changed": True, "undone": [], "reported": []})
        self.look(code)
        if code == 0:
            self.post(effects.COMMIT, {"commit": "c" * 40, "tree": "t"})

    def receipt(self) -> dict[str, Any]:
        """The receipt as JSON values."""
        self.waits()
        return replay_receipt(self.store).as_json()
