"""A repository in which `bridle run` is at work, with an agent that a few lines of Python play."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.fixtures.bridle_program import run_bridle

# One iteration takes half a second; this is a hang.
LIMIT_SECONDS = 120.0

# Reads the prompt as a harness sends it, runs the test's own lines, and ends as Claude Code does.
_AGENT = r"""#!{python}
import json, os, sys, time
prompt = json.loads(sys.stdin.readline())["message"]["content"]
prompt = prompt if isinstance(prompt, str) else "".join(block["text"] for block in prompt)
task = prompt.split("## Task\n\n**", 1)[1].split("**", 1)[0]
session = "10f6d3c2-0000-4000-8000-000000000001"
calls = os.path.join({folder!r}, "calls")
with open(calls, "a") as file:
    file.write(json.dumps({{"task": task, "argv": sys.argv[1:], "prompt": prompt}}) + "\n")
number = len(open(calls).readlines())
def show(**event):
    print(json.dumps({{"session_id": session, **event}}), flush=True)
def end(subtype="success", is_error=False, result="done", **more):
    show(type="result", subtype=subtype, is_error=is_error, result=result, num_turns=1, duration_ms=1,
         total_cost_usd=0.01, usage={{"input_tokens": 10, "output_tokens": 2}}, permission_denials=[], **more)
    sys.exit(1 if is_error else 0)
show(type="system", subtype="init", cwd=os.getcwd(), tools=[], model="claude-sonnet-4-5", permissionMode="default",
     apiKeySource="none", claude_code_version="2.1.197")
answer = {{"summary": "I did " + task, "done": True, "question": "", "patterns": []}}
{body}
end(structured_output=answer)
"""


@dataclass(frozen=True)
class Loop:
    """A repository with a plan and an agent."""

    folder: Path
    """The repository."""
    beside: Path
    """Where the agent is, and what it noted."""

    def bridle(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the repository to its end."""
        variables = self.environment(**environment)
        return run_bridle(*arguments, cwd=self.folder, environment=variables, limit_seconds=LIMIT_SECONDS)

    def environment(self, **more: str) -> dict[str, str]:
        """With the agent in the place of Claude Code."""
        return os.environ | {"BRIDLE_CLAUDE": str(self.beside / "claude")} | more

    def calls(self) -> list[dict[str, Any]]:
        """What the agent was started with, each time."""
        path = self.beside / "calls"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def git(self, *words: str) -> str:
        """What git prints."""
        done = subprocess.run(["git", *words], cwd=self.folder, capture_output=True, text=True, timeout=60, check=True)
        return done.stdout.strip()


def loop(folder: Path, plan: str, agent: str, **files: str) -> Loop:
    """Make a repository with one commit: a plan, and other files. The agent's lines know `task`, `number`, `answer`."""
    made = Loop(folder / "repository", folder / "beside")
    for path in (made.folder, made.beside):
        path.mkdir(parents=True)
    program = _AGENT.format(python=sys.executable, folder=str(made.beside), body=textwrap.dedent(agent))
    (made.beside / "claude").write_text(program)
    (made.beside / "claude").chmod(0o755)
    for name, text in {"PLAN.md": plan, **files}.items():
        path = made.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    made.git("init", "-q", "-b", "main")
    made.git("config", "user.email", "t@localhost")
    made.git("config", "user.name", "T")
    made.git("add", "-A")
    made.git("commit", "-q", "-m", "start")
    return made
