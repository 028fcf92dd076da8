"""What shells list themselves when Tab is pressed: runs, and the tasks of the newest one."""

from __future__ import annotations

import click

RUNS, TASKS = "runs", "tasks"
# `inputs.json` of a run is indented: the titles of its tasks are deeper than that of its plan.
_TITLES = r"""sed -n 's/^        "title": "\(.*\)",\{0,1\}$/\1/p' "$runs/$newest/inputs.json" 2>/dev/null |
    sed 's/\\\(["\\]\)/\1/g'"""

POSIX = f"""_bridle_folder() {{
  local folder="$PWD"
  if [ -n "${{BABYSITTER_RUNS_DIR:-}}" ]; then printf '%s' "$BABYSITTER_RUNS_DIR"; return; fi
  while [ -n "$folder" ] && [ ! -d "$folder/.a5c/runs" ]; do folder="${{folder%/*}}"; done
  printf '%s' "$folder/.a5c/runs"
}}
_bridle_runs() {{
  echo last
  command ls -t "$(_bridle_folder)" 2>/dev/null
}}
_bridle_tasks() {{
  local runs="$(_bridle_folder)"
  local newest="$(command ls -t "$runs" 2>/dev/null | head -n 1)"
  {_TITLES}
}}
"""
BASH = """_bridle_offer() {
  local line IFS=$'\\n'
  for line in $("_bridle_$1"); do
    case "$line" in "$2"*) COMPREPLY+=("$(printf %q "$line")") ;; esac
  done
}
"""
FISH = r"""function __bridle_folder
    set -l folder $PWD
    if set -q BABYSITTER_RUNS_DIR
        echo $BABYSITTER_RUNS_DIR
        return
    end
    while test -n "$folder" -a ! -d "$folder/.a5c/runs"
        set folder (string replace -r '/[^/]*$' '' -- $folder)
    end
    echo $folder/.a5c/runs
end
function __bridle_runs
    echo last
    command ls -t (__bridle_folder) 2>/dev/null
end
function __bridle_tasks
    set -l runs (__bridle_folder)
    set -l newest (command ls -t $runs 2>/dev/null | head -n 1)
    test -f "$runs/$newest/inputs.json"; or return
    string replace -rf '^        "title": "(.*)",?$' '$1' <$runs/$newest/inputs.json |
        string replace -ra '\\\\(["\\\\])' '$1'
end
"""


def listed(command: click.Command) -> tuple[str, ...]:
    """Return what each argument of a command lists: RUNS, TASKS or nothing."""
    arguments = [parameter for parameter in command.params if isinstance(parameter, click.Argument)]
    return tuple(map(_kind, arguments))


def _kind(argument: click.Argument) -> str:
    if argument.name == "run" or "[RUN" in (argument.metavar or ""):
        return RUNS
    return TASKS if argument.name in ("task", "question") else ""
