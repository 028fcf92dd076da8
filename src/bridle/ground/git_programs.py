"""Programs that the configuration of a repository itself names, and settings with which git runs none of them."""

from __future__ import annotations

import re

from bridle.ground.light.abc_names import Mapping

LIST_CONFIG = ("config", "--list", "--show-scope", "-z")
_SCOPES = ("local", "worktree")
# Settings that name a program, and the value with which git runs none. Names are in lower case but for the middle part.
_PROGRAMS = {
    r"filter\..*\.(clean|smudge|process)": "",
    r"filter\..*\.required": "false",
    r"diff\..*\.(textconv|command)": "",
    r"remote\..*\.(uploadpack|receivepack)": "git-upload-pack",
    r"core\.(sshcommand|gitproxy|askpass)": "false",
    r"credential\.(.*\.)?helper": "",
    r"gpg\.(.*\.)?program": "false",
}


def inert_settings(listed: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Return variables that replace each program of the repository's own configuration, as `LIST_CONFIG` lists it."""
    fields = listed.split("\0")
    names = {
        entry.partition("\n")[0] for scope, entry in zip(fields[:-1:2], fields[1::2], strict=True) if scope in _SCOPES
    }
    values = {
        name: value for name in sorted(names) for pattern, value in _PROGRAMS.items() if re.fullmatch(pattern, name)
    }
    count = int(environment.get("GIT_CONFIG_COUNT") or "0")
    variables = {"GIT_CONFIG_COUNT": str(count + len(values))}
    for number, (name, value) in enumerate(values.items(), count):
        variables |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return variables
