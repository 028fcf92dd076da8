"""Finds and restores the rules and variables of a makefile that a goal uses. Pure; make is never run.

Names are those of targets, `$NAME` for variables, `include`, and `.PHONY:goal` for special targets.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from bridle.loop.protection.formats import named_blocks
from bridle.loop.protection.formats.named_blocks import Block
from bridle.loop.protection.protected_parts import FIRST_GOAL, FUNCTIONS, OF_EVERY_GOAL, Restored

# In make's order of precedence.
FILE_NAMES = ("GNUmakefile", "makefile", "Makefile")

# Special targets whose prerequisites are goals.
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
_VARIABLE = re.compile(r"\$[({]([A-Za-z0-9_.%-]+)[)}]")
_WILDCARD = re.compile(r"\$[({]wildcard[ \t]+([^$(){}]*)[)}]")
# Names of special targets, patterns, and those that a variable makes.
_NO_FILE = re.compile(r"^\.|^/|[%$*?]")
# A recipe's own target, and what comes before a file that a command writes.
_ITSELF = re.compile(r"\$(?:@|[({]@[DF]?[)}])")
_WRITES = r"(?:-o[ =]?|>[ ]?|--out(?:put|-dir|dir)?[ =]|\b(?:touch|tee|mkdir|cp|mv|ln|ar|venv)[ ](?:[^;&|]*[ ])?)"
# Variables that make sets itself, for what a recipe executes.
_BUILT_IN = {
    "$MAKE": "make",
    **dict.fromkeys(("$CC", "$LINK.c", "$LINK.o", "$COMPILE.c", "$CPP"), "cc"),
    **dict.fromkeys(("$CXX", "$LINK.cc", "$LINK.cpp", "$COMPILE.cc", "$COMPILE.cpp"), "c++"),
    **{f"${program.upper()}": program for program in ("ar", "as", "fc", "ld")},
}
# Deeper than any readable nesting of variables.
_EXPANSIONS = 8


class Goal(Struct, frozen=True):
    """The names, recipes and includes that goals use."""

    names: tuple[str, ...]
    recipes: tuple[str, ...]
    """The shell lines that they run, with variables of the file expanded."""
    includes: tuple[str, ...]
    unmade: tuple[str, ...] = ()
    """Targets that no recipe makes, and that are not declared as phony: a file of that name would skip the recipe."""
    made: tuple[str, ...] = ()
    """Targets that their recipe makes: make skips it while they are newer than their prerequisites."""


def restore(origin: str, current: str, names: Collection[str]) -> Restored | None:
    """Return the current text with the original rules and variables of these names."""
    patterns = {name for text in (origin, current) for name in _variables_by_pattern(text, names)}
    return named_blocks.restore(read, origin, current, {*names, *patterns})


def uses(texts: Iterable[str], goals: Sequence[str]) -> Goal:
    """Return what these goals use, or the default goal: targets, variables and recipes."""
    known = [block for text in texts for block in read(text)]
    pending = list(goals) or _default_goals(known)
    names = set(OF_EVERY_GOAL if not goals else OF_EVERY_GOAL - {FIRST_GOAL})
    recipes: list[str] = []
    while pending:
        name = pending.pop()
        if name in names:
            continue
        names.add(name)
        if not name.startswith("$"):
            names |= {f"{special}:{name}" for special in _ABOUT_GOALS}
        for block in known:
            meaning = block.names.get(name)
            if isinstance(meaning, _Rule):
                pending += meaning.prerequisites
                recipes += meaning.recipe
            if meaning is not None:
                pending += [f"${long or short}" for long, short in _USE.findall(block.text)]
    variables = _BUILT_IN | {
        name: meaning.value for block in known for name, meaning in block.names.items() if isinstance(meaning, _Value)
    }
    includes = [file for block in known for file in _included(block, variables)]
    targets = list(_file_targets(known, names, variables))
    return Goal(
        tuple(sorted(names)),
        tuple(_expand(line.lstrip("\t @+-"), variables) for line in recipes),
        tuple(includes),
        tuple(name for name, is_made in targets if not is_made),
        tuple(name for name, is_made in targets if is_made),
    )


def _file_targets(
    known: Sequence[Block], names: Collection[str], variables: Mapping[str, str]
) -> Iterator[tuple[str, bool]]:
    """Yield the targets with a recipe that are not phony, and whether the recipe makes a file of that name."""
    phony = {name.removeprefix(".PHONY:") for block in known for name in block.names if name.startswith(".PHONY:")}
    for name in sorted(names):
        rules = [meaning for block in known if isinstance(meaning := block.names.get(name), _Rule)]
        recipe = [line for rule in rules for line in rule.recipe]
        if recipe and name not in phony and not _NO_FILE.search(name):
            yield name, _makes(recipe, name, variables)


def _makes(recipe: Sequence[str], name: str, variables: Mapping[str, str]) -> bool:
    """Return whether a recipe seems to write the file of its target."""
    made = re.compile(rf"{_WRITES}(?:\./)?{re.escape(name)}(?![\w./-])")
    return any(_ITSELF.search(line) or made.search(_expand(line, variables)) for line in recipe)


def is_file_name(name: str) -> bool:
    """Return whether a name of `Goal.names` may be that of a file."""
    return not name.startswith("$") and ":" not in name and not _NO_FILE.search(name)


def has_goal(text: str, goal: str) -> bool:
    """Return whether a file has a rule for a goal."""
    return any(isinstance(block.names.get(goal), _Rule) for block in read(text))


def read(text: str) -> list[Block]:
    """Split the text into blocks: rules with their recipes, variables, includes, and other lines."""
    blocks: list[Block] = []
    conditions: list[str] = []
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
            conditions = conditions[:-1]
        elif _OTHERWISE.match(line):
            conditions = [*conditions[:-1], f"{conditions[-1] if conditions else ''} {line.strip()}"]
        elif _OPENING.match(line):
            conditions = [*conditions, line.strip()]
        elif (define := _DEFINE.match(line)) is not None:
            end = _end_of_define(lines, position)
            value = "".join(lines[position:end])
            names = {f"${define[1]}": _Value(tuple(conditions), "define", value.strip())}
        elif (assigned := _ASSIGNMENT.match(line)) is not None:
            names = {f"${assigned[1]}": _Value(tuple(conditions), assigned[2], _one_line(assigned[3]))}
        elif (include := _INCLUDE.match(line)) is not None:
            names = {"include": (tuple(conditions), _one_line(include[1]))}
        elif _is_function_call(line):
            names = {FUNCTIONS: (tuple(conditions), _one_line(line))}
        elif (rule := _RULE.match(line)) is not None:
            end = _end_of_recipe(lines, end)
            names = _rule_names(rule, lines[position + 1 : end], tuple(conditions))
            first = None if has_first else next((name for name in names if name[0] != "." and "%" not in name), None)
            if first is not None:
                names, has_first = {**names, FIRST_GOAL: first}, True
        blocks.append(Block("".join(lines[position:end]), names))
        position = end
    return blocks


class _Value(Struct, frozen=True):
    conditions: tuple[str, ...]
    operator: str
    value: str


class _Rule(Struct, frozen=True):
    conditions: tuple[str, ...]
    operator: str
    prerequisites: tuple[str, ...]
    recipe: tuple[str, ...]


def _rule_names(rule: re.Match[str], recipe: Sequence[str], conditions: tuple[str, ...]) -> Mapping[str, object]:
    """Return the names that a rule defines. A target-specific variable (`test: X = 1`) counts as a rule."""
    targets, operator, rest = rule[1].split(), rule[2], rule[3]
    before, semicolon, first = rest.partition(";")
    lines = tuple(
        line.rstrip() for line in ([f"\t{first.strip()}"] if semicolon else []) + list(recipe) if line.strip()
    )
    meaning = _Rule(conditions, operator, tuple(before.split()), lines)
    names: dict[str, object] = {}
    for target in targets:
        if target in _ABOUT_GOALS and before.split():
            names |= {f"{target}:{goal}": conditions for goal in before.split()}
        else:
            names[target] = meaning
    return names


def _variables_by_pattern(text: str, names: Collection[str]) -> Iterator[str]:
    """Yield the patterns such as `t%` for which a variable is set that one of these targets would use."""
    for block in read(text):
        for name, meaning in block.names.items():
            if "%" in name and isinstance(meaning, _Rule) and "=" in " ".join(meaning.prerequisites):
                before, _, after = name.partition("%")
                if any(known.startswith(before) and known.endswith(after) for known in names):
                    yield name


def _is_function_call(line: str) -> bool:
    """Return whether a line is nothing but a call such as `$(eval …)`, which may define anything."""
    if not line.startswith(("$(", "${")):
        return False
    closing, depth = (")" if line[1] == "(" else "}"), 0
    for position, character in enumerate(line):
        depth += (character == line[1]) - (character == closing)
        if position > 1 and depth == 0:
            return not line[position + 1 :].strip()
    return True


def _logical_lines(text: str) -> Iterator[str]:
    """Yield lines with their endings, joined after a backslash."""
    joined = ""
    for line in text.splitlines(keepends=True):
        joined += line
        if not line.rstrip("\r\n").endswith("\\"):
            yield joined
            joined = ""
    if joined:
        yield joined


def _end_of_recipe(lines: Sequence[str], position: int) -> int:
    """Return the end of the recipe. Blank lines and comments belong to it only before more recipe lines."""
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


def _included(block: Block, variables: Mapping[str, str]) -> list[str]:
    """Return the files and patterns that a line includes, also those of `$(wildcard …)` and of variables."""
    match = _INCLUDE.match(block.text) if "include" in block.names else None
    text = match[1] if match else ""
    for _ in range(_EXPANSIONS):
        expanded = _WILDCARD.sub(r"\1", _VARIABLE.sub(lambda use: variables.get(f"${use[1]}", ""), text))
        if expanded == text:
            break
        text = expanded
    return [_expand(file, variables) for file in text.replace("\\\n", " ").split("#")[0].split()]


def _expand(line: str, variables: Mapping[str, str]) -> str:
    for _ in range(_EXPANSIONS):
        expanded = _USE.sub(lambda use: variables.get(f"${use[1] or use[2]}", "") + "\0", line)
        expanded = re.sub("\0[)}]?", "", expanded)
        if expanded == line:
            break
        line = expanded
    return line


def _one_line(text: str) -> str:
    return " ".join(text.replace("\\\n", " ").split())
