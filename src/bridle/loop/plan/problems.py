"""Problems of a plan, collected line by line and reported together."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field

from bridle.errors import PlanError

# A file that is not a plan may have a problem on every line; users read the first few.
_SHOWN_PROBLEMS = 30


NO_CHECKS = "bridle.toml has no `checks`, so nothing can be verified"
NO_SETTINGS_FILE = "there is no bridle.toml with `checks`, so nothing can be verified. Write one with: bridle init"


class Problem(Struct, frozen=True, order=True):
    """One problem and its line."""

    line: int
    """From 1; 0 for the whole file."""
    message: str


class Problems(Struct):
    """The problems and warnings of one file. They are raised only when all of it has been read."""

    source: str
    """The file as the user named it; empty for a goal."""
    errors: list[Problem] = field(default_factory=list)
    cautions: list[Problem] = field(default_factory=list)

    def add(self, line: int, message: str) -> None:
        """Add a problem, for which the plan is refused."""
        self.errors.append(Problem(line, message))

    def warn(self, line: int, message: str) -> None:
        self.cautions.append(Problem(line, message))

    def warnings(self) -> tuple[str, ...]:
        """Return the warnings in the order of the file, each with its place."""
        return tuple(self._with_place(problem) for problem in sorted(set(self.cautions)))

    def refuse(self) -> None:
        """Raise PlanError if there are problems."""
        if not self.errors:
            return
        problems = sorted(set(self.errors))
        shown = [self._with_place(problem) for problem in problems[:_SHOWN_PROBLEMS]]
        if len(problems) > _SHOWN_PROBLEMS:
            shown.append(f"and {len(problems) - _SHOWN_PROBLEMS} more")
        raise refusal(shown, payload=[{"line": problem.line, "message": problem.message} for problem in problems])

    def _with_place(self, problem: Problem) -> str:
        place = f"{self.source}:{problem.line}" if self.source and problem.line else self.source
        return f"{place}: {problem.message}" if place else problem.message


def refusal(problems: Sequence[str], *, payload: object = None) -> PlanError:
    remedy = "Nothing was started. `bridle help plan-format` describes the format."
    if len(problems) == 1:
        return PlanError(problems[0], remedy=remedy, payload=payload)
    listed = "".join(f"\n  {problem}" for problem in problems)
    return PlanError(f"invalid plan:{listed}", remedy=remedy, payload=payload)
