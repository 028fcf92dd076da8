"""The user's changes on their way to the process: with the first result that a driver records."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct, field

from bridle.loop import effects
from bridle.loop.effect_results import Result, UserChanges
from bridle.loop.effects import Arguments, CopyState


class Delivery(Struct):
    """Adds what was found to the first result, and to arguments that the process requested before."""

    changes: UserChanges | None = None
    _is_delivered: bool = field(default=False)

    def update(self, args: Arguments[Any]) -> Arguments[Any]:
        """Return arguments that the process requested before it knew of the user's commits, with the newest one."""
        if self.changes is None or isinstance(args, effects.LandArgs):
            return args
        moved = self.changes.copy_of(args.worker)
        if moved is not None:
            args = msgspec.structs.replace(args, copy_state=CopyState(head=moved.head, tree=moved.tree))
        tip, state = getattr(args, "tip", None), args.copy_state
        is_of_copy = args.worker is not None and not isinstance(args, (effects.MergeArgs, effects.PrepareCopyArgs))
        if is_of_copy:
            is_known = moved is not None and tip == moved.before
            return msgspec.structs.replace(args, tip=moved.head) if moved is not None and is_known else args
        if tip is None or tip != self.changes.before:
            return args
        if state is not None and state.head == tip:
            state = msgspec.structs.replace(state, head=self.changes.tip)
        return msgspec.structs.replace(args, tip=self.changes.tip, copy_state=state)

    def stamp(self, result: Result) -> Result:
        """Return the first result with the changes, and later ones as they are."""
        if self.changes is None or self._is_delivered:
            return result
        self._is_delivered = True
        return msgspec.structs.replace(result, user_changes=self.changes)
