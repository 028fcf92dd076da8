"""Attack: change the shell's folder, so that a relative path is judged in one folder and opened in another.

The attacker wants `../secret.txt` to be harmless from the project and the denied file from the shell's folder. Both
use the shell's folder.

With the sandbox: the same; the agent judges its own calls.
Without: the judged file is opened.
Reported: to the model, as the result of the call.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from bridle.agent.permissions.decide import decide
from bridle.agent.permissions.rules.policy import Allowed, Denied, with_shell_folder
from bridle.agent.tools.contract.tool import run_tool
from bridle.agent.tools.file_tools import FileToolSetup, file_tools
from tests.attacks.fixtures.agent_calls import SECRET, AgentCalls


def test_the_judged_file_is_read_from_the_folder_of_the_shell(tmp_path: Path) -> None:
    work = tmp_path.resolve() / "work"
    (work / "sub" / "sub").mkdir(parents=True)
    (work / "secret.txt").write_text(SECRET)
    (work / "sub" / "secret.txt").write_text("harmless")
    policy = with_shell_folder(AgentCalls(work, deny=("Read(/secret.txt)",)).policy, str(work / "sub"))
    assert isinstance(decide("Read", {"file_path": "../secret.txt"}, policy), Denied)
    verdict = decide("Read", {"file_path": "secret.txt"}, policy)
    assert isinstance(verdict, Allowed)
    read = file_tools(FileToolSetup(lambda: work / "sub"))[0]
    answer = asyncio.run(run_tool(read, {"file_path": "secret.txt"}, call_id="1", resolved=verdict.path))
    assert "harmless" in str(answer.content)
