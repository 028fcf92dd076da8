"""The last look of one effect of a task at the files, which the next effect uses instead of its own."""

from __future__ import annotations

from bridle.engine.hooks import find_hooks
from bridle.ground import clock
from bridle.loop import effects
from bridle.loop.working_copy.run_context import RunContext

# Between two effects of a task the driver needs milliseconds, or seconds on a loaded machine. Its shortest wait, during
# which the user may change files, is longer.
HANDED_OVER_SECONDS = 4.0

# Native hooks that run between two effects, and may change files.
_BETWEEN_EFFECTS = (
    find_hooks.ON_TASK_COMPLETE,
    find_hooks.ON_ITERATION_END,
    find_hooks.ON_ITERATION_START,
    find_hooks.ON_STEP_DISPATCH,
    find_hooks.ON_TASK_START,
    find_hooks.ON_SCORE,
)


# The effects whose last look each kind can use: those that come right before it.
GIVERS = {
    effects.PROTECT: (effects.WORK,),
    effects.CHECK: (effects.WORK, effects.PROTECT, effects.MERGE),
    effects.COMMIT: (effects.PROTECT, effects.CHECK),
    effects.MERGE: (effects.COMMIT,),
    effects.WORK: (effects.COMMIT, effects.CHECK, effects.PREPARE_COPY),
    effects.PREPARE_COPY: (effects.COMMIT, effects.CHECK),
}


def hand_over(context: RunContext, giver: str) -> None:
    """Record for the next effect that only Bridle has worked in this working copy since the last look at its files."""
    hooks = context.hooks
    if hooks is None or not hooks.has_any() or not any(hooks.scripts(hook_type) for hook_type in _BETWEEN_EFFECTS):
        context.git.handed_over = giver, clock.monotonic()


def take_over(context: RunContext, kind: str) -> bool:
    """Return whether the files are as at the last look of the effect before; this can be used once."""
    handed_over, context.git.handed_over = context.git.handed_over, None
    if handed_over is None or handed_over[0] not in GIVERS.get(kind, ()):
        return False
    return clock.monotonic() - handed_over[1] < HANDED_OVER_SECONDS
