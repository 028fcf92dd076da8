"""What is wrong with a plan, line by line: gathered to be told all at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from bridle.errors import PlanError

# A file that is no plan at all may have a problem on every line; a person reads the first few.
_SHOWN = 30


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing that is wrong, and where."""

    line: int
    """From 1 on; 0 where it is about the whole."""
    words: str


@dataclass(slots=True)
class Problems:
    """The problems of one source; nothing is raised before all of it has been looked at."""

    source: str
    """The file, as it was named; empty for a goal."""
    found: list[Problem] = field(default_factory=list)
    warned: list[Problem] = field(default_factory=list)

    def add(self, line: int, words: str) -> None:
        """Something for which the plan is refused."""
        self.found.append(Problem(line, words))

    def warn(self, line: int, words: str) -> None:
        """Something that a person should know."""
        self.warned.append(Problem(line, words))

    def warnings(self) -> tuple[str, ...]:
        """The warnings in the order of the file, each with its place."""
        return tuple(self._placed(problem) for problem in sorted(set(self.warned)))

    def refuse(self) -> None:
        """Raise PlanError where there is a reason to."""
        if not self.found:
            return
        problems = sorted(set(self.found))
        shown = [self._placed(problem) for problem in problems[:_SHOWN]]
        if len(problems) > _SHOWN:
            shown.append(f"and {len(problems) - _SHOWN} more")
        raise refusal(shown, payload=[{"line": problem.line, "message": problem.words} for problem in problems])

    def _placed(self, problem: Problem) -> str:
        place = f"{self.source}:{problem.line}" if self.source and problem.line else self.source
        return f"{place}: {problem.words}" if place else problem.words


def refusal(problems: Sequence[str], *, payload: object = None) -> PlanError:
    """The error for a plan with these problems, each with its place."""
    remedy = "Nothing was started. docs/plan-format.md says how a plan is written."
    if len(problems) == 1:
        return PlanError(problems[0], remedy=remedy, payload=payload)
    listed = "".join(f"\n  {problem}" for problem in problems)
    return PlanError(f"the plan cannot be worked on:{listed}", remedy=remedy, payload=payload)
