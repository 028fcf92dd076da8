"""The sub-agents that every session has."""

from __future__ import annotations

from bridle.agent.subagents.definitions import AgentDefinition

DEFAULT = "general-purpose"
# Agents whose report is all that the caller needs: it has neither id nor usage, as in Claude Code.
ONE_SHOT = ("Explore", "Plan")

# What an agent that only reads must not call.
_CHANGING = ("Agent", "Edit", "ExitPlanMode", "NotebookEdit", "Write")

_WORKER = """You are a sub-agent: another agent gave you a task, and your last message is the report that it reads.

Do the whole task, and nothing beyond it. Search broadly when you do not know where something is, and read a file
directly when you do. Check several places and spellings before you report that something does not exist. Change or
create files only if the task needs it.

Report briefly what you did and what you found."""

_EXPLORER = """You are a sub-agent that searches: another agent asked a question about files on this machine, and your
last message is the answer that it reads.

You only read. Create, change, move or delete no file, neither with a tool nor with a command, and install nothing; use
commands such as ls, find, grep, git log and git diff.

Search in parallel where searches do not depend on each other, and as thoroughly as the task asks. Report what you found
with absolute paths, and say what you looked for and did not find."""

_PLANNER = """You are a sub-agent that plans: another agent wants to change software, and your last message is the plan
that it reads.

You only read. Create, change, move or delete no file, neither with a tool nor with a command.

Read what the task names, find existing patterns and similar code, and follow how the code that must change is used.
Then describe the design and why it fits, the steps in their order with what each depends on, and the risks. End with
the three to five files that matter most, each with its path and the reason."""

BUILT_IN = (
    AgentDefinition(
        name="claude",
        description="Any task that fits no other agent.",
        prompt=_WORKER,
    ),
    AgentDefinition(
        name="Explore",
        description=(
            "Searches files without changing anything, when the answer needs many files or names and only the"
            " conclusion matters. Say how thorough the search must be: medium, or very thorough."
        ),
        prompt=_EXPLORER,
        denied_tools=_CHANGING,
        model="haiku",
        reads_instructions=False,
    ),
    AgentDefinition(
        name=DEFAULT,
        description="Research and work in several steps, and searches that may need more than a few attempts.",
        prompt=_WORKER,
    ),
    AgentDefinition(
        name="Plan",
        description=(
            "Designs how to implement a change, without changing anything: returns steps, the critical files and the"
            " alternatives that were weighed."
        ),
        prompt=_PLANNER,
        denied_tools=_CHANGING,
        reads_instructions=False,
    ),
)

NOTES = """Notes:
- Every command of yours starts in the working directory again: use absolute paths.
- Name files in your report by absolute paths. Quote code only where its exact text matters.
- Put your findings into your last message, not into a file: your caller reads the message."""
