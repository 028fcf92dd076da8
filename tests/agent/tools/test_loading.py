from __future__ import annotations

import subprocess
import sys

# What only a call needs: it is loaded by that call, since the tools are made before the first event is printed.
ONLY_FOR_CALLS = {
    *("base64", "difflib", "h11", "hashlib", "html.parser", "http", "importlib.metadata", "mimetypes", "shutil"),
    *(
        "ssl",
        "zipfile",
        "zlib",
        "bridle.ground.children.query",
        "bridle.agent.tools.files.change",
        "bridle.agent.tools.files.edit",
    ),
    *("bridle.agent.tools.files.excerpt", "bridle.agent.tools.search.grep", "bridle.agent.tools.files.notebook"),
    *("bridle.agent.tools.files.diff_hunks", "bridle.agent.tools.files.read", "bridle.agent.tools.web.fetch_tool"),
}


def test_making_the_tools_loads_nothing_that_only_a_call_needs() -> None:
    code = (
        "import sys\n"
        "from bridle.agent.tools.file_tools import FileToolSetup, file_tools\n"
        "import bridle.agent.tools.arguments\n"
        "before = len(file_tools(FileToolSetup(lambda: None)))\n"
        "print(before, *sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, timeout=60, check=True)
    count, *loaded = done.stdout.split()
    assert count == "7"
    assert ONLY_FOR_CALLS & set(loaded) == set()
