"""The words of a summary: how it is asked for, what of the answer it is, and how it opens the new conversation."""

from __future__ import annotations

INSTRUCTION = """\
The conversation has grown long. Write a handover now: it will take the place of everything above, and whoever \
reads it (you, with no other memory) goes on with the work from it alone. Answer in plain text and call no \
tools; a call would be thrown away.

First think it through between <analysis> and </analysis>: go through the conversation in order and note what \
was asked, what was done, what went wrong and what was decided. Nobody keeps that part.

Then write the handover between <summary> and </summary>, with these parts, each as exact as the work needs it:

1. Task: everything that the user asked for, with changes of mind in their order. Quote the requests that are \
still open. Quote in full, word for word, every rule that restricts you (what must not be touched, run, sent or \
revealed), so that it stays in force.
2. State: what is done and verified, what is done and not verified, what is not done.
3. Files: each file that was read for a reason, made or changed, by its path, with what matters in it and what \
was changed. Keep code verbatim where the next step depends on its exact text.
4. Findings: facts about the code, the commands that build and test it, and decisions, with their reasons.
5. Failures: what was tried and failed, with the error and its cause, so that it is not tried again.
6. What the user said: each of the user's messages, in short, in order; results of tools are not among them.
7. Where it stopped: what was being done in the last messages, and the very next step that follows from the \
user's last request. If the work was finished, say so and name no next step."""

# Programs that show conversations know a summary by its first sentence.
_OPENING = (
    "This session is being continued from a previous conversation that ran out of context. The summary below covers the"
    " earlier portion of the conversation."
)
_GO_ON = (
    "Go on from here with the work that is open, as if nothing had happened in between: do not mention the summary, do"
    " not repeat it, and ask nothing."
)


def opening(summary: str, transcript_path: str | None) -> str:
    """The message that stands for what was summed up."""
    where = ""
    if transcript_path is not None:
        where = f"\n\nWhat the summary leaves out (exact code, messages, outputs) can be read in: {transcript_path}"
    return f"{_OPENING}\n\nSummary:\n{summary}{where}\n\n{_GO_ON}"


def summary_of(answer: str) -> str:
    """The summary in an answer; where it is not marked, all of it but the thinking."""
    before, begin, rest = answer.partition("<analysis>")
    if begin:  # thinking that was cut off and never ended is all there is
        answer = before + rest.partition("</analysis>")[2]
    _, begin, rest = answer.partition("<summary>")
    if begin:
        body, end, _ = rest.rpartition("</summary>")
        answer = body if end else rest
    return answer.strip()
