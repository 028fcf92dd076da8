"""Each tool, used well and used badly."""

from __future__ import annotations

from typing import Any

from tests.real.side_by_side.scenario import AwaitEvent, Scenario, call, calls, dialogue, message, prompt, says

W = "<workspace>"
FILES = ("--allowedTools", "Read,Write,Edit,NotebookEdit")
SEARCH = ("--tools", "Read,Glob,Grep", "--allowedTools", "Read,Glob,Grep")
SHELL = ("--allowedTools", "Bash")
TASKS = ("--allowedTools", "Bash,TaskOutput,TaskStop")
LINES = "".join(f"line {number}\n" for number in range(1, 41))
NOTEBOOK = """{
 "cells": [
  {"cell_type": "code", "execution_count": null, "id": "c1", "metadata": {}, "outputs": [], "source": ["print(1)"]},
  {"cell_type": "markdown", "id": "c2", "metadata": {}, "source": ["# Title"]}
 ],
 "metadata": {"language_info": {"name": "python"}},
 "nbformat": 4,
 "nbformat_minor": 5
}
"""
# The smallest picture: one dot.
DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SOURCES = {
    "src/app.py": "def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n    return a - b\n",
    "src/deep/more.py": "ADD = 1\n",
    "README.md": "How to add.\n",
}


def bash(command: str, **more: Any) -> dict[str, Any]:
    return calls("Bash", command=command, **more)


SCENARIOS = (
    Scenario(
        "reading files",
        (prompt("go", *FILES),),
        (
            calls("Read", file_path=f"{W}/lines.txt"),
            calls("Read", file_path=f"{W}/lines.txt", offset=5, limit=3),
            calls("Read", file_path=f"{W}/lines.txt"),
            calls("Read", file_path=f"{W}/unended.txt"),
            calls("Read", file_path=f"{W}/windows.txt"),
            calls("Read", file_path="lines.txt", offset=39),
            says("Read."),
        ),
        files={"lines.txt": LINES, "unended.txt": "a\nb", "windows.txt": "a\r\nb\r\n"},
    ),
    Scenario(
        "reading what cannot be read",
        (prompt("go", *FILES),),
        (
            calls("Read", file_path=f"{W}/missing.txt"),
            calls("Read", file_path=f"{W}/folder"),
            calls("Read", file_path=f"{W}/empty.txt"),
            calls("Read", file_path=f"{W}/lines.txt", offset=500),
            calls("Read", file_path=f"{W}/huge.txt"),
            calls("Read"),
            calls("Read", file_path=f"{W}/lines.txt", offset="x"),
            says("Tried."),
        ),
        files={"folder/a.txt": "a\n", "empty.txt": "", "lines.txt": LINES, "huge.txt": "0123456789abcde\n" * 20_000},
    ),
    Scenario(
        "writing files",
        (prompt("go", *FILES),),
        (
            calls("Write", file_path=f"{W}/new/deep/file.txt", content="one\ntwo\n"),
            calls("Write", file_path=f"{W}/new/deep/file.txt", content="one\nthree\n"),
            calls("Write", file_path=f"{W}/unread.txt", content="gone\n"),
            calls("Read", file_path=f"{W}/unread.txt"),
            calls("Write", file_path=f"{W}/unread.txt", content="gone\n"),
            calls("Write", file_path=f"{W}/folder", content="x"),
            calls("Write", file_path=f"{W}/none.txt"),
            says("Written."),
        ),
        files={"unread.txt": "here\n", "folder/a.txt": "a\n"},
    ),
    Scenario(
        "editing files",
        (prompt("go", *FILES),),
        (
            calls("Edit", file_path=f"{W}/a.txt", old_string="one", new_string="1"),
            calls("Read", file_path=f"{W}/a.txt"),
            calls("Edit", file_path=f"{W}/a.txt", old_string="one", new_string="1"),
            calls("Edit", file_path=f"{W}/a.txt", old_string="two", new_string="2"),
            calls("Edit", file_path=f"{W}/a.txt", old_string="two", new_string="2", replace_all=True),
            calls("Edit", file_path=f"{W}/a.txt", old_string="nowhere", new_string="2"),
            calls("Edit", file_path=f"{W}/a.txt", old_string="same", new_string="same"),
            calls("Edit", file_path=f"{W}/missing.txt", old_string="a", new_string="b"),
            calls("Edit", file_path=f"{W}/made.txt", old_string="", new_string="made\n"),
            says("Edited."),
        ),
        files={"a.txt": "one\ntwo\nthree two\nsame\n" + LINES},
    ),
    Scenario(
        "editing files that are not plain",
        (prompt("go", *FILES),),
        (
            calls("Read", file_path=f"{W}/windows.txt"),
            calls("Edit", file_path=f"{W}/windows.txt", old_string="two\nthree", new_string="2\n3"),
            calls("Read", file_path=f"{W}/unended.txt"),
            calls("Edit", file_path=f"{W}/unended.txt", old_string="zwö", new_string="zwei 🐎"),
            calls("Bash", command=f"echo changed > {W}/changed.txt"),
            says("Edited."),
        ),
        files={"windows.txt": "one\r\ntwo\r\nthree\r\n", "unended.txt": "eins\nzwö", "changed.txt": "first\n"},
    ),
    Scenario(
        "a file that changed after it was read",
        (prompt("go", "--allowedTools", "Read,Edit,Write,Bash"),),
        (
            calls("Read", file_path=f"{W}/a.txt"),
            bash("sleep 0.05; printf 'other\\n' > a.txt"),
            calls("Edit", file_path=f"{W}/a.txt", old_string="first", new_string="second"),
            calls("Read", file_path=f"{W}/a.txt"),
            calls("Edit", file_path=f"{W}/a.txt", old_string="other", new_string="third"),
            says("Edited."),
        ),
        files={"a.txt": "first\n"},
    ),
    Scenario(
        "an image",
        (prompt("go", "--allowedTools", "Read,Bash"),),
        (
            bash(f"base64 -d > dot.png <<< {DOT}"),
            calls("Read", file_path=f"{W}/dot.png"),
            says("A dot."),
        ),
    ),
    Scenario(
        "a notebook",
        (prompt("go", *FILES),),
        (
            calls("NotebookEdit", notebook_path=f"{W}/n.ipynb", cell_id="c1", new_source="print(2)"),
            calls("Read", file_path=f"{W}/n.ipynb"),
            calls("NotebookEdit", notebook_path=f"{W}/n.ipynb", cell_id="c1", new_source="print(2)"),
            calls("NotebookEdit", notebook_path=f"{W}/n.ipynb", cell_id="nope", new_source="x"),
            calls("NotebookEdit", notebook_path=f"{W}/n.ipynb", cell_id="c2", new_source="", edit_mode="delete"),
            calls("NotebookEdit", notebook_path=f"{W}/n.txt", new_source="x"),
            says("Done."),
        ),
        files={"n.ipynb": NOTEBOOK, "n.txt": "x"},
    ),
    Scenario(
        "shell commands",
        (prompt("go", *SHELL),),
        (
            bash("echo out; echo err >&2; echo more"),
            bash("echo before; exit 3"),
            bash("exit 4"),
            bash("true"),
            bash("mkdir -p sub && cd sub && export LOST=1"),
            bash('pwd; echo "[$LOST]"'),
            bash("cd / && pwd"),
            bash("pwd"),
            bash("sleep 20", timeout=1000, description="wait"),
            bash("cat; echo end of input"),
            bash("printf 'a\\n\\nb  \\n\\n\\n'"),
            bash("nosuchcommand"),
            bash('echo "$CLAUDECODE $GIT_EDITOR"'),
            says("Run."),
        ),
    ),
    Scenario(
        "a command that prints much",
        (prompt("go", *SHELL),),
        (
            bash("head -c 29990 /dev/zero | tr '\\0' a"),
            bash("head -c 30010 /dev/zero | tr '\\0' b"),
            bash("seq 1 6000; exit 1"),
            says("Printed."),
        ),
    ),
    Scenario(
        "finding files",
        (prompt("go", *SEARCH),),
        (
            calls("Glob", pattern="**/*.py"),
            calls("Glob", pattern="*.md"),
            calls("Glob", pattern="*.nope"),
            calls("Glob", pattern="*.py", path=f"{W}/src"),
            calls("Glob", pattern="*.py", path=f"{W}/nowhere"),
            says("Found."),
        ),
        files={"src/app.py": SOURCES["src/app.py"], "README.md": SOURCES["README.md"]},
    ),
    Scenario(
        "finding text",
        (prompt("go", *SEARCH),),
        (
            calls("Grep", pattern="def add"),
            calls("Grep", pattern="def", output_mode="content"),
            calls("Grep", pattern="def", output_mode="content", **{"-n": False}),
            calls("Grep", pattern="return a - b", output_mode="content", **{"-B": 1}),
            calls("Grep", pattern="a", output_mode="content", path=f"{W}/src/app.py", head_limit=2),
            calls("Grep", pattern="add", output_mode="count", path=f"{W}/src"),
            calls("Grep", pattern="ADD", output_mode="content", glob="*.py", **{"-i": True}),
            calls("Grep", pattern="ADD", type="py"),
            calls("Grep", pattern="nowhere to be found"),
            calls("Grep", pattern="nowhere to be found", output_mode="content"),
            calls("Grep", pattern="nowhere to be found", output_mode="count"),
            calls("Grep", pattern="add\\(a, b\\):\\s+return", multiline=True, output_mode="content"),
            calls("Grep", pattern="broken("),
            calls("Grep", pattern="x", path=f"{W}/nowhere"),
            says("Found."),
        ),
        files=SOURCES,
    ),
    Scenario(
        "the list of tasks",
        (prompt("go"),),
        (
            calls("TaskCreate", subject="Do A", description="first"),
            calls("TaskCreate", subject="Do B", description="second", activeForm="Doing B"),
            calls("TaskUpdate", taskId="1", status="in_progress"),
            calls("TaskUpdate", taskId="2", addBlockedBy=["1"]),
            calls("TaskList"),
            calls("TaskGet", taskId="2"),
            calls("TaskUpdate", taskId="1", status="completed"),
            calls("TaskUpdate", taskId="9", status="completed"),
            calls("TaskGet", taskId="9"),
            calls("TaskUpdate", taskId="1", status="deleted"),
            calls("TaskList"),
            says("Listed."),
        ),
    ),
    Scenario(
        "the list of things to do",
        (prompt("go", CLAUDE_CODE_ENABLE_TASKS="0"),),
        (
            calls("TodoWrite", todos=[{"content": "A", "status": "pending", "activeForm": "Doing A"}]),
            calls("TodoWrite", todos=[{"content": "A", "status": "completed", "activeForm": "Doing A"}]),
            calls("TodoWrite", todos=[{"content": "A"}]),
            says("Listed."),
        ),
    ),
    Scenario(
        "tools side by side",
        (prompt("go", "--allowedTools", "Read,Bash"),),
        (
            {
                "blocks": [
                    "All at once.",
                    call("Bash", command="sleep 0.4; echo slow"),
                    call("Read", file_path=f"{W}/lines.txt"),
                    call("Bash", command="echo quick"),
                    call("Read", file_path=f"{W}/missing.txt"),
                ]
            },
            says("Done."),
        ),
        files={"lines.txt": LINES},
        any_order=True,
    ),
    Scenario(
        "calls that cannot be made",
        (prompt("go", *SHELL),),
        (
            calls("NoSuchTool", x=1),
            calls("Bash"),
            calls("Bash", command=7),
            calls("Bash", command="echo hi", nonsense=True),
            calls("Write", file_path=f"{W}/x", content=["a"]),
            {"blocks": [{"type": "tool_use", "name": "Bash", "input": {}, "raw_input": '{"command": "echo h'}]},
            says("Tried."),
        ),
    ),
    Scenario(
        "work in the background that ends",
        (prompt("go", *TASKS),),
        (
            bash("sleep 0.5; echo finished", run_in_background=True, description="bg"),
            says("It runs."),
            says("It has ended."),
        ),
    ),
    Scenario(
        "work in the background that does not end",
        (prompt("go", *TASKS),),
        (bash("sleep 60", run_in_background=True), says("It runs."), says("It has ended.")),
    ),
    Scenario(
        "work in the background that ends between turns",
        (dialogue(message("one"), AwaitEvent("result", 2), message("two"), more=TASKS),),
        (bash("sleep 0.5; exit 3", run_in_background=True), says("It runs."), says("It has ended."), says("Second.")),
    ),
    Scenario(
        "work in the background that is waited for",
        (prompt("go", *TASKS),),
        (
            bash("sleep 0.3; echo done", run_in_background=True),
            {
                "capture": {"task": {"from": "tool_results", "pattern": "with ID: (\\w+)"}},
                **calls("TaskOutput", task_id="${task}", block=True, timeout=10000),
            },
            says("It has ended."),
            says("Again."),
        ),
    ),
    Scenario(
        "work in the background that is looked at and stopped",
        (prompt("go", *TASKS),),
        (
            bash("echo started; sleep 60", run_in_background=True, description="bg"),
            {
                "capture": {"task": {"from": "tool_results", "pattern": "with ID: (\\w+)"}},
                "delay_seconds": 2,  # the command has printed by then, also on a busy machine
                **calls("TaskOutput", task_id="${task}", block=False, timeout=1000),
            },
            calls("TaskStop", task_id="${task}"),
            calls("TaskOutput", task_id="nope", block=False, timeout=1000),
            calls("TaskStop", task_id="nope"),
            says("Stopped."),
        ),
    ),
    Scenario(
        "a loop of links",
        (prompt("go", "--allowedTools", "Bash,Glob,Grep"),),
        (
            bash("ln -s loop loop"),
            calls("Read", file_path=f"{W}/loop"),
            calls("Edit", file_path=f"{W}/loop", old_string="a", new_string="b"),
            calls("Write", file_path=f"{W}/loop", content="x"),
            calls("Glob", pattern="*", path=f"{W}/loop"),
            calls("Grep", pattern="x", path=f"{W}/loop"),
            bash("rm loop"),
            says("No file."),
        ),
    ),
)
