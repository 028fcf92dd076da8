"""The texts of compaction: the request for a summary, and the message that opens the new conversation."""

from __future__ import annotations

INSTRUCTION = """\
The conversation has become long. Write a handover now: it will replace everything above, and you will continue \
the work from it alone, with no other memory. Answer in plain text and call no tools; a call would be ignored.

First think it through between <analysis> and </analysis>: go through the conversation in order and note what \
was asked, what was done, what went wrong and what was decided. That part is discarded.

Then write the handover between <summary> and </summary>, with these parts, each as exact as the work requires:

1. Task: everything that the user asked for, with changes of mind in their order. Quote the requests that are \
still open. Quote in full, word for word, every rule that restricts you (what must not be touched, run, sent or \
revealed), so that it stays in force.
2. State: what is done and verified, what is done but not verified, what is not done.
3. Files: the path of each file that you created, changed or had reason to read, with what matters in it and what \
you changed. Keep code verbatim where the next step depends on its exact text.
4. Findings: facts about the code, the commands that build and test it, and decisions, with their reasons.
5. Failures: what was tried and failed, with the error and its cause, so that it is not tried again.
6. User messages: each message of the user, in short and in order, without tool results.
7. Where you stopped: what you were doing in the last messages, and the next step that follows from the user's \
last request. If the work was finished, say so and name no next step."""

# Clients recognise a summary by its first sentence.
_OPENING = (
    "This session is being continued from a previous conversation that ran out of context. The summary below covers the"
    " earlier portion of the conversation."
)
_CONTINUE = (
    "Continue the open work from here as if there had been no interruption: do not mention or repeat the summary, and"
    " ask no questions."
)


def opening_message(summary: str, transcript_path: str | None) -> str:
    """Return the message that replaces the older part of the conversation."""
    where = ""
    if transcript_path is not None:
        where = f"\n\nThe full transcript (exact code, messages, outputs) is in: {transcript_path}"
    return f"{_OPENING}\n\nSummary:\n{summary}{where}\n\n{_CONTINUE}"


def extract_summary(answer: str) -> str:
    """Return the summary in an answer; without the tag, the whole answer without its analysis."""
    before, begin, rest = answer.partition("<analysis>")
    if begin:  # an analysis without an end is all there is
        answer = before + rest.partition("</analysis>")[2]
    _, begin, rest = answer.partition("<summary>")
    if begin:
        body, end, _ = rest.rpartition("</summary>")
        answer = body if end else rest
    return answer.strip()
