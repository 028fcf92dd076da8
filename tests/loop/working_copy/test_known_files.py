"""The last look of an effect is handed over to the next one, unless a hook may change files between them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from bridle.engine.hooks import find_hooks
from bridle.engine.hooks.run_hooks import Hooks
from bridle.loop import effects
from bridle.loop.working_copy import known_files
from tests.loop.fixtures.repositories import make_repository


@pytest.mark.parametrize(
    ("hook_type", "is_known"),
    [
        (None, True),
        (find_hooks.ON_TASK_COMPLETE, False),
        (find_hooks.ON_ITERATION_END, False),
        (find_hooks.ON_ITERATION_START, False),
        (find_hooks.ON_STEP_DISPATCH, False),
        (find_hooks.ON_TASK_START, False),
        (find_hooks.ON_RUN_START, True),
    ],
)
def test_a_hook_between_two_effects_makes_the_next_one_look_again(
    tmp_path: Path, hook_type: str | None, *, is_known: bool
) -> None:
    here = make_repository(tmp_path / "r", {"a.txt": "1\n"})
    if hook_type is not None:
        here.write({f".a5c/hooks/{hook_type}/change.sh": "#!/bin/sh\necho 2 >a.txt\n"})
        (here.folder / f".a5c/hooks/{hook_type}/change.sh").chmod(0o755)
    context = replace(here.context, hooks=Hooks(here.folder, os.environ, enabled=True))
    known_files.hand_over(context, effects.WORK)
    assert known_files.take_over(context, effects.PROTECT) is is_known
    known_files.hand_over(context, effects.COMMIT)
    assert not known_files.take_over(context, effects.PROTECT)


def test_a_look_is_handed_over_once_and_to_the_next_effect_only(tmp_path: Path) -> None:
    context = make_repository(tmp_path / "r", {"a.txt": "1\n"}).context
    assert not known_files.take_over(context, effects.PROTECT)
    known_files.hand_over(context, effects.WORK)
    assert known_files.take_over(context, effects.PROTECT)
    assert not known_files.take_over(context, effects.PROTECT)
    known_files.hand_over(context, effects.WORK)
    assert not known_files.take_over(context, effects.COMMIT)
    assert not known_files.take_over(context, effects.PROTECT)
    known_files.hand_over(context, effects.WORK)
    assert context.git.handed_over is not None
    context.git.handed_over = effects.WORK, context.git.handed_over[1] - known_files.HANDED_OVER_SECONDS
    assert not known_files.take_over(context, effects.PROTECT)
