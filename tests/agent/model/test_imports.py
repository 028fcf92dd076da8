"""What asking a model may not import: a whole run with one turn has less time than some of these take to load."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bridle.stage.script import load_script
from bridle.stage.thread import running
from tests.agent.fixtures.model_answers import FINE

# A hang is a failure; a cold start on a busy machine takes a few seconds.
LIMIT_SECONDS = 60

HEAVY = frozenset(
    {
        "anthropic",
        "anyio",
        "boto3",
        "botocore",
        "bridle.ground.children.child_process",
        "click",
        "difflib",
        "email",
        "genai_prices",
        "getpass",
        "google",
        "http",
        "httpx",
        "httpx2",
        "jsonschema_rs",
        "psutil",
        "pydantic",
        "rich",
        "tree_sitter",
        "urllib.request",
        "yaml",
    }
)

# Asks one question as the agent does, counts its cost, and prints what was imported.
PROBE = """
import asyncio, sys
from pathlib import Path
from bridle.agent.model.api import credentials, models
from bridle.agent.model.api.question import Question
from bridle.agent.model.client import connect
from bridle.agent.model.api.cost import CostLedger
from bridle.agent.model.api.stream_pieces import AnswerFinished

async def main(environment):
    client = connect(credentials.find(environment, home=Path("/nonexistent")), environment)
    model = models.resolve_model(None, environment)
    ledger = CostLedger()
    async for piece in client.answer(Question(model, ({"role": "user", "content": "hi"},))):
        if isinstance(piece, AnswerFinished):
            ledger.add(model, piece.usage)
    await client.close()
    return ledger.total_usd

usd = asyncio.run(main({"ANTHROPIC_BASE_URL": sys.argv[1], "ANTHROPIC_API_KEY": "k"}))
modules = sorted(sys.modules)
import json
print(json.dumps({"usd": usd, "modules": modules}))
"""


def imported(probe: str) -> frozenset[str]:
    with running(load_script({"answers": [FINE]})) as stage:
        done = subprocess.run(
            [sys.executable, "-I", "-c", probe, stage.url],
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=True,
        )
    report = json.loads(done.stdout)
    assert report["usd"] == pytest.approx(0.001)
    return frozenset(report["modules"])


def test_a_question_and_its_cost_import_nothing_heavy() -> None:
    assert sorted(imported(PROBE) & HEAVY) == []


@pytest.mark.parametrize("module", ["genai_prices", "http.client", "psutil"])
def test_a_heavy_import_would_be_seen(module: str) -> None:
    assert imported(f"import {module}\n{PROBE}") & HEAVY


# Runs one turn as a user does, and prints what was imported.
RUN = """
import json, sys
from bridle.agent.main import main
code = main(["-p", "--output-format", "json", "hi"])
sys.stderr.write(json.dumps({"code": code, "modules": sorted(sys.modules)}))
"""


def test_a_run_on_the_messages_api_imports_nothing_of_chat_endpoints_or_editors(tmp_path: Path) -> None:
    with running(load_script({"answers": [FINE]})) as stage:
        done = subprocess.run(
            [sys.executable, "-c", RUN],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=LIMIT_SECONDS,
            check=True,
            cwd=tmp_path,
            env={**os.environ, "ANTHROPIC_BASE_URL": stage.url, "ANTHROPIC_API_KEY": "k"},
        )
    report = json.loads(done.stderr)
    unused = ("bridle.agent.acp", "bridle.agent.model.chat", "bridle.agent.assemble.chat_endpoint")
    assert report["code"] == 0
    assert [name for name in report["modules"] if name.startswith(unused)] == []
