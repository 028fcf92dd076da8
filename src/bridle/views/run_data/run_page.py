"""Everything that the page of one run shows, except its conversations and the diffs of its commits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from bridle.errors import Error
from bridle.journal.stores.chain_file import newest_head
from bridle.loop.control.branch_facts import with_branch_facts
from bridle.loop.process.receipt import DriverProcess, Receipt
from bridle.views.receipt_markdown import markdown_receipt
from bridle.views.run_data.board import KnownRun
from bridle.views.run_data.checks_and_charts import chart_figures, check_documents, finished_effects
from bridle.views.run_data.commits import commit_documents
from bridle.views.run_data.run_card import RunFacts
from bridle.wire.events.loose_json import JsonObject
from bridle.wire.mask import Mask


def run_document(known: KnownRun, environment: Mapping[str, str], mask: Mask) -> JsonObject:
    """Return the page of a run; of one that cannot be read only its card."""
    empty: JsonObject = {"receipt": None, "receipt_markdown": None, "journal": {"count": 0, "head": None}}
    empty |= {"commits": [], "checks": [], "charts": {}, "logs": [], "needs": known.needs, "card": known.card}
    facts = known.facts
    if facts is None:
        return empty
    finished = list(finished_effects(facts.store, facts.state))
    receipt = None if facts.receipt is None else shown_receipt(facts, facts.receipt, environment)
    document = {
        **empty,
        "receipt": None if receipt is None else mask.apply_to_json(receipt.as_json()),
        "receipt_markdown": None if receipt is None else mask.apply(markdown_receipt(receipt)),
        "logs": list(known.log_documents(mask).values()),
        "journal": journal_summary(facts),
        "checks": check_documents(finished, mask),
        "charts": chart_figures(finished, known.logs, mask),
    }
    if receipt is not None:
        document["commits"] = _commits(known, facts.repository, receipt, environment, mask)
    return document


def _commits(
    known: KnownRun, repository: Path, receipt: Receipt, environment: Mapping[str, str], mask: Mask
) -> list[JsonObject]:
    """Return the commits of a run; git is asked once for each, since a commit never changes."""
    tasks = {task.commit: task.title for task in receipt.tasks if task.commit}
    new = [commit for commit in receipt.commits if commit not in known.commits]
    found = commit_documents(repository, new, tasks, environment, mask) if new else []
    known.commits |= {document["commit"]: document for document in found if document["author_at"] is not None}
    lost = {document["commit"]: document for document in found}
    return [known.commits.get(commit) or lost[commit] for commit in receipt.commits]


def journal_summary(facts: RunFacts) -> JsonObject:
    """Return how many entries a journal has, and the digest of the chain at its end."""
    try:
        newest = newest_head(facts.run)
    except Error:
        newest = None
    return {"count": facts.state.position.seq, "head": None if newest is None else f"sha256:{newest[1]}"}


def shown_receipt(facts: RunFacts, receipt: Receipt, environment: Mapping[str, str]) -> Receipt:
    """Return the receipt as `bridle status` shows it."""
    receipt = with_branch_facts(receipt, facts.run, environment)
    if facts.driver is None:
        return receipt
    process = DriverProcess(pid=facts.driver.pid, since=facts.driver.since)
    return msgspec.structs.replace(receipt, driver=process, stopped=None)
