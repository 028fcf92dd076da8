"""Search in the conversations and tasks of runs, in bounded time. Logs without the word are not decoded."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from bridle.views.log_chunks import open_log
from bridle.views.run_data.conversation_pages import Accepts, has_text, texts_of
from bridle.views.run_data.followed_log import FollowedLog
from bridle.views.run_data.log_ending import agent_of
from bridle.views.run_data.log_list import ListedLog
from bridle.wire.events.loose_json import JsonObject
from bridle.wire.mask import Mask
from bridle.wire.transcript.items import AnyItem

# After this time a search returns what it has: a user waits for it.
SECONDS = 4.0
HITS = 200
HITS_IN_A_LOG = 20
WORD_CHARACTERS = 200
_SNIPPET_CHARACTERS = 160
_BLOCK_BYTES = 1024 * 1024


class Search:
    """One search: a word, what else an item must be, the title of its task (empty: any), and a deadline."""

    def __init__(
        self,
        word: str,
        accepts: Accepts,
        mask: Mask,
        *,
        task: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._word = " ".join(word[:WORD_CHARACTERS].split()).casefold()
        self._accepts, self._mask, self._task = accepts, mask, task
        self._clock, self._deadline = clock, clock() + SECONDS
        self.hits: list[JsonObject] = []
        self.is_truncated = False

    def add_card(self, card: JsonObject) -> None:
        """Look at the titles of a run and its tasks; the card is masked already."""
        texts = [(None, card["plan"]), *((task["title"], _about(task)) for task in card["tasks"])]
        for task, text in texts:
            if self._word and self._is_wanted(task) and self._word in text.casefold():
                self._add(card["run"], None, None, task, self.snippet(text), card["started_at"])

    def add_log(self, run: str, listed: ListedLog, started_at: float | None) -> None:
        """Look at the items of a log."""
        task = self._mask.apply(listed.named.task) or None
        if not self._word or not self._is_wanted(task) or self.is_over() or not self._may_be_in(listed.path):
            return
        log = FollowedLog(listed.path, agent_of(listed.path), self._mask)
        try:
            while log.read_new():
                if self.is_over():
                    return
        finally:
            log.close()
        for item in self._matching(log):
            at = None if item.at is None or started_at is None else round(started_at + item.at, 3)
            text = next(text for text in texts_of(item) if self._word in text.casefold())
            self._add(run, listed.id, item, task, self.snippet(text), at)

    def is_over(self) -> bool:
        """Return whether the time or the number of hits is reached."""
        if len(self.hits) >= HITS or self._clock() > self._deadline:
            self.is_truncated = True
        return self.is_truncated

    def snippet(self, text: str) -> str:
        """Return the surroundings of the word in one line; secrets are masked before the cut."""
        line = " ".join(self._mask.apply(text).split())
        at = max(0, line.casefold().find(self._word))
        start = max(0, at - _SNIPPET_CHARACTERS // 2)
        end = start + _SNIPPET_CHARACTERS
        return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"

    def _is_wanted(self, task: str | None) -> bool:
        return self._task in ("", task)

    def _matching(self, log: FollowedLog) -> Iterator[AnyItem]:
        transcript = log.transcript
        found = 0
        for item_id in sorted(item_id for thread in transcript.threads for item_id in transcript.item_ids(thread)):
            item = transcript.item(item_id)
            if item is not None and has_text(item, self._word) and self._accepts(item):
                found += 1
                if found > HITS_IN_A_LOG:
                    self.is_truncated = True
                    return
                yield item

    def _may_be_in(self, path: Path) -> bool:
        """Return whether the bytes of a log have the word's first part in one of the forms in which JSON writes it."""
        forms = _forms(self._word.split()[0])
        longest = max(map(len, forms))
        tail = b""
        try:
            with open_log(path) as file:
                while (block := file.read(_BLOCK_BYTES)) and not self.is_over():
                    text = tail + block.lower()
                    if any(form in text for form in forms):
                        return True
                    tail = text[-longest:]
        except OSError:
            return False
        return False

    def _add(
        self, run: str, log: str | None, item: AnyItem | None, task: str | None, snippet: str, at: float | None
    ) -> None:
        thread = self._mask.apply(item.thread) if item is not None and item.thread else None
        place = {"item": None if item is None else item.id, "thread": thread}
        hit = {"run": run, "log": log, **place, "task": task, "snippet": snippet, "at": at}
        self.hits.append(hit)


def _forms(word: str) -> set[bytes]:
    """Return the bytes of a word in lower case: plain, and with escapes; letters beyond ASCII in both cases."""
    texts = {word, word.upper(), word.capitalize()} if not word.isascii() else {word}
    written = {json.dumps(text, ensure_ascii=is_ascii)[1:-1] for text in texts for is_ascii in (True, False)}
    return {text.encode("utf-8", "replace").lower() for text in written}


def _about(task: JsonObject) -> str:
    parts: Iterable[str | None] = (task["title"], task["reason"], task["question"])
    return " – ".join(part for part in parts if part)
