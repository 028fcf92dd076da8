"""`bridle session:state`: show a session's file."""

from __future__ import annotations

from bridle.cli.machine_interface.light_command import Arguments, LightCommand, print_json
from bridle.cli.machine_interface.session_argument import (
    SESSION_OPTIONS,
    find_session_file,
    session_document,
    warn_of_faults,
)
from bridle.hosts.sessions import session_file


def _run(args: Arguments) -> int:
    path = find_session_file(args)
    file = session_file.read(path)
    if file is None:
        if args.has("--json"):
            print_json({"found": False, "stateFile": str(path)}, pretty=True)
        else:
            print(f"[session:state] not found: {path}")
        return 0
    warn_of_faults(path, file.faults)
    state = session_document(file.session)
    if args.has("--json"):
        faults = {"faults": list(file.faults)} if file.faults else {}
        document = {"found": True, "state": state, "prompt": file.prompt, "stateFile": str(path), **faults}
        print_json(document, pretty=True)
    else:
        print(f"[session:state] found: {path}")
        for name, value in state.items():
            print(f"  {name}: {value}")
    return 0


command = LightCommand("Show a session's file.", _run, options=SESSION_OPTIONS)
