"""YAML task lists (`tasks:` with `title`, `completed`, `description`, `parallel_group`) as plans. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import yaml

from bridle.loop.plan.dependencies import title_key
from bridle.loop.plan.markdown import refuse_controls
from bridle.loop.plan.model import Plan
from bridle.loop.plan.prd_json import TASKS, build_plan
from bridle.loop.plan.problems import Problems
from bridle.loop.plan.titles import cut_title

ENDINGS = (".yaml", ".yml")
# A list is two levels deep; an alias may refer to itself.
_DEPTH_LIMIT = 20
# Aliases multiply; a plan of a mebibyte has fewer values.
_VALUES_LIMIT = 200_000
_PLAIN_TEXTS = frozenset({"title", "description"})
_CONSTRUCTED = frozenset({"bool", "int", "null"})


def parse_yaml_tasks(
    text: str,
    source: str,
    *,
    path: str | None = None,
    guard: Sequence[str] = (),
    setup: Sequence[str] = (),
    has_settings_file: bool = True,
) -> Plan:
    """Parse a YAML task list. Raises PlanError with every problem. Guard and setup come from the settings."""
    problems = Problems(source)
    refuse_controls(text, problems)
    problems.refuse()
    root = _compose(text, problems)
    problems.refuse()
    document = _Values(problems).read(root) if root is not None else None
    problems.refuse()
    return build_plan(
        document,
        [node.start_mark.line + 1 for node in _task_nodes(root)],
        text,
        problems,
        path=path,
        guard=guard,
        setup=setup,
        has_settings_file=has_settings_file,
    )


def tick_yaml(text: str, titles: Sequence[str]) -> tuple[str, list[str]]:
    """Return the text with `completed: true` for these tasks, and the titles that changed."""
    start = "\ufeff" if text.startswith("\ufeff") else ""
    text = text.removeprefix("\ufeff")
    wanted = {title_key(title) for title in titles}
    changed: list[str] = []
    for node in reversed(_task_nodes(_compose(text, Problems("")))):
        if not isinstance(node, yaml.MappingNode):
            continue
        members = {key.value: (key, value) for key, value in node.value if isinstance(key, yaml.ScalarNode)}
        key, value = members.get("title", (None, None))
        title = cut_title(value.value) if isinstance(value, yaml.ScalarNode) else ""
        if key is None or title_key(title) not in wanted:
            continue
        ticked = _with_completed(text, node, members)
        if ticked != text:
            text = ticked
            changed.append(title)
    return start + text, changed[::-1]


def _with_completed(text: str, node: yaml.MappingNode, members: dict[str, Any]) -> str:
    """Return the text with that task completed and no other byte changed."""
    if "completed" in members:
        value = members["completed"][1]
        begin, end = value.start_mark.index, value.end_mark.index
        space = "" if begin == 0 or text[begin - 1].isspace() else " "
        return f"{text[:begin]}{space}true{text[end:]}"
    key = members["title"][0]
    begin = key.start_mark.index
    separator = ", " if node.flow_style else "\n" + " " * key.start_mark.column
    return f"{text[:begin]}completed: true{separator}{text[begin:]}"


def _compose(text: str, problems: Problems) -> yaml.Node | None:
    try:
        root: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
        return root
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark is not None else 0
        problems.add(line, f"invalid YAML: {error.problem or error.context}")
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        problems.add(0, f"invalid YAML: {type(error).__name__}")
    return None


def _task_nodes(root: yaml.Node | None) -> list[yaml.Node]:
    """Return the nodes of the tasks, in the order of `tasks`."""
    if isinstance(root, yaml.SequenceNode):
        return list(root.value)
    if not isinstance(root, yaml.MappingNode):
        return []
    lists = [value for key, value in root.value if isinstance(key, yaml.ScalarNode) and key.value == TASKS]
    # Of a duplicate key, decoders take the last.
    return list(lists[-1].value) if lists and isinstance(lists[-1], yaml.SequenceNode) else []


class _Values:
    """Plain values of nodes: texts stay texts, whatever YAML would make of them."""

    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self._count = 0

    def read(self, node: yaml.Node) -> Any:
        try:
            return self._value(node, 0)
        except ValueError as error:
            self._problems.add(node.start_mark.line + 1, str(error))
            return None

    def _value(self, node: yaml.Node, depth: int) -> Any:
        self._count += 1
        if depth > _DEPTH_LIMIT or self._count > _VALUES_LIMIT:
            raise ValueError("the values are nested too deeply, or too many")
        if isinstance(node, yaml.MappingNode):
            return {self._name(key): self._member(self._name(key), value, depth) for key, value in node.value}
        if isinstance(node, yaml.SequenceNode):
            return [self._value(child, depth + 1) for child in node.value]
        return _scalar(node)

    def _member(self, name: str, node: yaml.Node, depth: int) -> Any:
        if name in _PLAIN_TEXTS and isinstance(node, yaml.ScalarNode):
            return None if node.tag.endswith(":null") else node.value
        return self._value(node, depth + 1)

    @staticmethod
    def _name(node: yaml.Node) -> str:
        return str(node.value) if isinstance(node, yaml.ScalarNode) else ""


def _scalar(node: yaml.Node) -> Any:
    if node.tag.rpartition(":")[2] not in _CONSTRUCTED:
        return node.value
    return yaml.constructor.SafeConstructor().construct_object(node)
