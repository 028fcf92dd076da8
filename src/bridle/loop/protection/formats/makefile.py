"""Makefiles: which rules and variables a goal uses, and those put back. Pure; make itself is never asked.

Names are those of targets, `$NAME` for variables, `include`, and for special targets `.PHONY:goal`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bridle.loop.protection.formats import named_blocks
from bridle.loop.protection.formats.named_blocks import Block
from bridle.loop.protection.protected_parts import FIRST_GOAL, OF_EVERY_GOAL, Restored

# In the order in which make looks for them.
FILE_NAMES = ("GNUmakefile", "makefile", "Makefile")

# Targets whose prerequisites say something about a goal.
_ABOUT_GOALS = (".PHONY", ".IGNORE")

_ASSIGNMENT = re.compile(
    r"(?:(?:export|override|private)[ \t]+)*([A-Za-z0-9_.%-]+)[ \t]*(\?|\+|!|:{0,3})=[ \t]*(.*)", re.DOTALL
)
_DEFINE = re.compile(r"(?:override[ \t]+)?define[ \t]+([A-Za-z0-9_.%-]+)")
_RULE = re.compile(r"([^\t#:=][^#:=]*?)[ \t]*(&?::?)(?!=)(.*)", re.DOTALL)
_OPENING = re.compile(r"[ \t]*(ifeq|ifneq|ifdef|ifndef)\b")
_CLOSING = re.compile(r"[ \t]*endif\b")
_OTHERWISE = re.compile(r"[ \t]*else\b")
_INCLUDE = re.compile(r"[ \t]*(?:-|s)?include[ \t]+(.*)", re.DOTALL)
_USE = re.compile(r"\$(?:[({](?:call[ \t]+)?([A-Za-z0-9_.%-]+)|([A-Za-z0-9_]))")
# Deep enough for any variable that a person can still follow.
_EXPANSIONS = 8


@dataclass(frozen=True)
class Goal:
    """What one or more goals use."""

    names: tuple[str, ...]
    recipes: tuple[str, ...]
    """The shell lines that they run, with variables of the file put in."""
    includes: tuple[str, ...]


def mend(origin: str, current: str, names: Collection[str]) -> Restored | None:
    """The current text with these rules and variables as they were."""
    return named_blocks.mend(read, origin, current, names)


def uses(texts: Iterable[str], goals: Sequence[str]) -> Goal:
    """What these goals, or the first one of the file, use: other targets, variables, and the lines they run."""
    known = [block for text in texts for block in read(text)]
    wanted = list(goals) or _default_goals(known)
    names = set(OF_EVERY_GOAL if not goals else OF_EVERY_GOAL - {FIRST_GOAL})
    recipes: list[str] = []
    while wanted:
        name = wanted.pop()
        if name in names:
            continue
        names.add(name)
        if not name.startswith("$"):
            names |= {f"{special}:{name}" for special in _ABOUT_GOALS}
        for block in known:
            meaning = block.names.get(name)
            if isinstance(meaning, _Rule):
                wanted += meaning.prerequisites
                recipes += meaning.recipe
            if meaning is not None:
                wanted += [f"${one or two}" for one, two in _USE.findall(block.text)]
    variables = {"$MAKE": "make"} | {
        name: meaning.value for block in known for name, meaning in block.names.items() if isinstance(meaning, _Value)
    }
    includes = [file for block in known for file in _included(block)]
    return Goal(
        tuple(sorted(names)),
        tuple(_expanded(line.lstrip("\t @+-"), variables) for line in recipes),
        tuple(_expanded(file, variables) for file in includes),
    )


def has_goal(text: str, goal: str) -> bool:
    """Whether a file has a rule for a goal."""
    return any(isinstance(block.names.get(goal), _Rule) for block in read(text))


def read(text: str) -> list[Block]:
    """The text as blocks: rules with their recipes, variables, includes, and what is none of these."""
    found: list[Block] = []
    around: list[str] = []
    has_first = False
    lines = list(_logical_lines(text))
    position = 0
    while position < len(lines):
        line = lines[position].lstrip(" ")
        end = position + 1
        names: Mapping[str, object] = {}
        if line.startswith(("\t", "#")) or not line.strip():
            pass
        elif _CLOSING.match(line):
            around = around[:-1]
        elif _OTHERWISE.match(line):
            around = [*around[:-1], f"{around[-1] if around else ''} {line.strip()}"]
        elif _OPENING.match(line):
            around = [*around, line.strip()]
        elif (define := _DEFINE.match(line)) is not None:
            end = _end_of_define(lines, position)
            value = "".join(lines[position:end])
            names = {f"${define[1]}": _Value(tuple(around), "define", value.strip())}
        elif (assigned := _ASSIGNMENT.match(line)) is not None:
            names = {f"${assigned[1]}": _Value(tuple(around), assigned[2], _one_line(assigned[3]))}
        elif (include := _INCLUDE.match(line)) is not None:
            names = {"include": (tuple(around), _one_line(include[1]))}
        elif (rule := _RULE.match(line)) is not None:
            end = _end_of_recipe(lines, end)
            names = _rule_names(rule, lines[position + 1 : end], tuple(around))
            first = None if has_first else next((name for name in names if name[0] != "." and "%" not in name), None)
            if first is not None:
                names, has_first = {**names, FIRST_GOAL: first}, True
        found.append(Block("".join(lines[position:end]), names))
        position = end
    return found


@dataclass(frozen=True)
class _Value:
    around: tuple[str, ...]
    operator: str
    value: str


@dataclass(frozen=True)
class _Rule:
    around: tuple[str, ...]
    operator: str
    prerequisites: tuple[str, ...]
    recipe: tuple[str, ...]


def _rule_names(rule: re.Match[str], recipe: Sequence[str], around: tuple[str, ...]) -> Mapping[str, object]:
    """What a rule defines; a target's own variable (`test: X = 1`) counts as a rule of it."""
    targets, operator, rest = rule[1].split(), rule[2], rule[3]
    before, semicolon, first = rest.partition(";")
    kept = tuple(line.rstrip() for line in ([f"\t{first.strip()}"] if semicolon else []) + list(recipe) if line.strip())
    meaning = _Rule(around, operator, tuple(before.split()), kept)
    names: dict[str, object] = {}
    for target in targets:
        if target in _ABOUT_GOALS and before.split():
            names |= {f"{target}:{goal}": around for goal in before.split()}
        else:
            names[target] = meaning
    return names


def _logical_lines(text: str) -> Iterator[str]:
    """Lines with their ends; one that ends in a backslash goes on."""
    held = ""
    for line in text.splitlines(keepends=True):
        held += line
        if not line.rstrip("\r\n").endswith("\\"):
            yield held
            held = ""
    if held:
        yield held


def _end_of_recipe(lines: Sequence[str], position: int) -> int:
    """Where the recipe ends: blank lines and comments belong to it only when more of it follows."""
    end = position
    for n in range(position, len(lines)):
        if lines[n].startswith("\t"):
            end = n + 1
        elif lines[n].strip() and not lines[n].startswith("#"):
            break
    return end


def _end_of_define(lines: Sequence[str], position: int) -> int:
    for n in range(position + 1, len(lines)):
        if lines[n].strip().split("#")[0].strip() == "endef":
            return n + 1
    return len(lines)


def _default_goals(known: Sequence[Block]) -> list[str]:
    for block in known:
        chosen = block.names.get("$.DEFAULT_GOAL")
        if isinstance(chosen, _Value):
            return chosen.value.split()
    return [str(block.names[FIRST_GOAL]) for block in known if FIRST_GOAL in block.names][:1]


def _included(block: Block) -> list[str]:
    found = _INCLUDE.match(block.text) if "include" in block.names else None
    return found[1].split() if found else []


def _expanded(line: str, variables: Mapping[str, str]) -> str:
    for _ in range(_EXPANSIONS):
        made = _USE.sub(lambda found: variables.get(f"${found[1] or found[2]}", "") + "\0", line)
        made = re.sub("\0[)}]?", "", made)
        if made == line:
            break
        line = made
    return line


def _one_line(text: str) -> str:
    return " ".join(text.replace("\\\n", " ").split())
