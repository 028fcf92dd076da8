"""Which session a run gets, and what is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bridle.agent.sessions import open_session as open_session_module
from bridle.agent.sessions.api_messages import AnswerHead, blocks_of
from bridle.agent.sessions.open_session import Place, open_session, project_folder
from bridle.agent.sessions.session import Session, new_uuid
from bridle.agent.sessions.session_request import SessionRequest
from bridle.errors import SessionError, UsageError
from tests.agent.fixtures.recorded_transcripts import FOLDER, lines_in

ID = "aaaaaaaa-0000-4000-8000-000000000001"
OTHER = "bbbbbbbb-0000-4000-8000-000000000001"
LIMIT_SECONDS = 60


def place(folder: Path, cwd: Path | None = None) -> Place:
    work = cwd or folder / "work"
    work.mkdir(parents=True, exist_ok=True)
    return Place(folder / "config", work, "2.1.197")


def add_exchange(session: Session, question: str, answer: str) -> None:
    session.prompt(question, permission_mode="default")
    block = {"type": "text", "text": answer}
    session.assistant(AnswerHead(id=f"msg_{question}", model="m"), [(new_uuid(), block)], request_id=None)
    session.flush()


def new_session(where: Place, question: str = "one", *, request: SessionRequest | None = None) -> str:
    session = open_session(request or SessionRequest(), where)
    add_exchange(session, question, f"answer to {question}")
    session.close()
    return session.id


def resumed(request: SessionRequest, where: Place) -> Session:
    """A session that was only looked at."""
    session = open_session(request, where)
    session.close()
    return session


def texts(session: Session) -> list[str]:
    return [block["text"] for message in session.history.messages for block in blocks_of(message["content"])]


# Beginning


def test_a_transcript_is_where_clients_expect_it_and_private(tmp_path: Path) -> None:
    where = place(tmp_path, tmp_path / "a b.c" / "dé_x")
    session_id = new_session(where)
    name = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in str(where.cwd))
    path = where.config_folder / "projects" / name / f"{session_id}.jsonl"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_long_folder_name_is_cut_and_gets_a_hash() -> None:
    one, other = Path("/" + "x" * 250 + "1"), Path("/" + "x" * 250 + "2")
    names = [project_folder(Path("/c"), path).name for path in (one, other)]
    assert names[0] != names[1]
    assert all(name.startswith("-" + "x" * 199 + "-") for name in names)
    # The digest that the official SDK computes for such a path.
    assert project_folder(Path("/c"), Path("/" + "y" * 300)).name.rpartition("-")[2] == "j6t6y7"


def test_a_run_without_messages_writes_no_transcript(tmp_path: Path) -> None:
    where = place(tmp_path)
    session = open_session(SessionRequest(name="a name"), where)
    session.enqueue("never begun")
    session.close()
    assert not project_folder(where.config_folder, where.cwd).exists()


def test_a_session_id_can_be_used_once(tmp_path: Path) -> None:
    where = place(tmp_path)
    assert new_session(where, request=SessionRequest(session_id=ID)) == ID
    with pytest.raises(UsageError, match=f"^Error: Session ID {ID} is already in use\\.$"):
        open_session(SessionRequest(session_id=ID), where)


def test_two_runs_that_begin_with_one_id_at_once_do_not_share_it(tmp_path: Path) -> None:
    where = place(tmp_path)
    first, second = (open_session(SessionRequest(session_id=ID), where) for _ in range(2))
    add_exchange(first, "one", "two")
    with pytest.raises(UsageError, match="is already in use"):
        add_exchange(second, "other", "words")
    assert "other" not in first_text(first)
    assert [entry.suffix for entry in project_folder(where.config_folder, where.cwd).iterdir()] == [".jsonl"]


def first_text(session: Session) -> str:
    assert session.path is not None
    return session.path.read_text("utf-8")


@pytest.mark.parametrize("name", ["foo", "", "../../etc/passwd", ID + "x", ID.replace("-", ""), "g" + ID[1:]])
def test_a_session_id_must_be_a_uuid(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^Error: Invalid session ID\. Must be a valid UUID\.$"):
        open_session(SessionRequest(session_id=name), place(tmp_path))


def test_a_new_id_for_an_old_session_needs_a_fork(tmp_path: Path) -> None:
    for request in (SessionRequest(session_id=ID, resume=OTHER), SessionRequest(session_id=ID, continues=True)):
        with pytest.raises(UsageError, match=r"^Error: --session-id can only be used with --continue or --resume if"):
            open_session(request, place(tmp_path))


def test_a_run_without_persistence_writes_nothing(tmp_path: Path) -> None:
    where = place(tmp_path)
    new_session(where, request=SessionRequest(persists=False))
    assert not where.config_folder.exists()


def test_the_new_ids_are_uuids_of_the_random_kind() -> None:
    made = {new_uuid() for _ in range(100)}
    assert len(made) == 100
    assert all(open_session_module.is_uuid(text) and text[14] == "4" and text[19] in "89ab" for text in made)


# Going on


def test_a_resumed_session_keeps_its_id_and_appends(tmp_path: Path) -> None:
    where = place(tmp_path)
    new_session(where, "one", request=SessionRequest(session_id=ID))
    session = open_session(SessionRequest(resume=ID), where)
    assert (session.id, session.is_resumed, texts(session)) == (ID, True, ["one", "answer to one"])
    add_exchange(session, "two", "three")
    session.close()
    assert texts(resumed(SessionRequest(resume=ID), where)) == ["one", "answer to one", "two", "three"]


def test_the_first_line_of_a_resumed_session_follows_the_last_of_the_old(tmp_path: Path) -> None:
    where = place(tmp_path)
    new_session(where, request=SessionRequest(session_id=ID))
    new_session(where, request=SessionRequest(resume=ID))
    path = project_folder(where.config_folder, where.cwd) / f"{ID}.jsonl"
    chained = [line for line in lines_in(path) if "parentUuid" in line]
    assert [line["parentUuid"] for line in chained[1:]] == [line["uuid"] for line in chained[:-1]]


def test_the_newest_session_of_the_folder_is_continued(tmp_path: Path) -> None:
    where = place(tmp_path)
    first, second = new_session(where, "one"), new_session(where, "two")
    folder = project_folder(where.config_folder, where.cwd)
    os.utime(folder / f"{first}.jsonl", (2_000_000_000, 2_000_000_000))
    os.utime(folder / f"{second}.jsonl", (1_000_000_000, 1_000_000_000))
    (folder / f"{OTHER}.jsonl").write_text('{"type":"summary"}\n', "utf-8")  # newest of all, and nothing is said in it
    (folder / "agent-1.jsonl").write_text('{"type":"user"}\n', "utf-8")
    assert resumed(SessionRequest(continues=True), where).id == first


def test_without_a_session_to_continue_a_new_one_begins(tmp_path: Path) -> None:
    where = place(tmp_path)
    new_session(where)
    below = place(tmp_path, where.cwd / "src")
    session = open_session(SessionRequest(continues=True), below)
    assert not session.is_resumed
    assert resumed(SessionRequest(continues=True, session_id=ID, forks=True), below).id == ID


def test_a_session_is_found_from_a_folder_below_in_its_repository_and_stays_in_its_file(tmp_path: Path) -> None:
    top = place(tmp_path)
    (top.cwd / ".git").mkdir()
    new_session(top, request=SessionRequest(session_id=ID))
    below = place(tmp_path, top.cwd / "src" / "deep")
    session = open_session(SessionRequest(resume=ID), below)
    add_exchange(session, "two", "three")
    session.close()
    assert not project_folder(below.config_folder, below.cwd).exists()
    lines = lines_in(project_folder(top.config_folder, top.cwd) / f"{ID}.jsonl")
    assert [line["cwd"] for line in lines if "cwd" in line] == [str(top.cwd)] * 2 + [str(below.cwd)] * 2


def test_a_session_of_one_worktree_is_found_from_another(tmp_path: Path) -> None:
    top = place(tmp_path)
    git = ["git", "-C", str(top.cwd), "-c", "user.name=n", "-c", "user.email=e"]
    for arguments in (
        ["init", "-q"],
        ["commit", "-q", "--allow-empty", "-m", "x"],
        ["worktree", "add", "-q", "-b", "other", str(tmp_path / "tree")],
    ):
        subprocess.run([*git, *arguments], check=True, timeout=LIMIT_SECONDS)
    new_session(top, request=SessionRequest(session_id=ID))
    new_session(place(tmp_path, tmp_path / "tree"), request=SessionRequest(session_id=OTHER))
    (tmp_path / "tree" / "src").mkdir()
    assert resumed(SessionRequest(resume=ID), place(tmp_path, tmp_path / "tree" / "src")).id == ID
    assert resumed(SessionRequest(resume=OTHER), top).id == OTHER


def test_a_session_of_a_folder_in_between_is_not_found(tmp_path: Path) -> None:
    top = place(tmp_path)
    (top.cwd / ".git").mkdir()
    new_session(place(tmp_path, top.cwd / "src"), request=SessionRequest(session_id=ID))
    for folder in (top.cwd, top.cwd / "src" / "deep", top.cwd / "lib"):
        with pytest.raises(SessionError, match="No conversation found"):
            open_session(SessionRequest(resume=ID), place(tmp_path, folder))


def test_a_session_of_another_folder_is_not_found(tmp_path: Path) -> None:
    new_session(place(tmp_path), request=SessionRequest(session_id=ID))
    for request in (ID, OTHER):
        with pytest.raises(SessionError) as refused:
            open_session(SessionRequest(resume=request), place(tmp_path, tmp_path / "elsewhere"))
        assert refused.value.message == f"No conversation found with session ID: {request}"
        assert refused.value.payload == request


def test_a_session_can_be_named_and_found_by_its_name(tmp_path: Path) -> None:
    where = place(tmp_path)
    named = new_session(where, request=SessionRequest(name="my title"))
    new_session(where)
    assert resumed(SessionRequest(resume="my title"), where).id == named
    with pytest.raises(SessionError, match="is not a UUID and does not match any session title"):
        open_session(SessionRequest(resume="another title"), where)
    with pytest.raises(SessionError, match=r"Usage: claude -p --resume <session-id\|title>$"):
        open_session(SessionRequest(resume=""), where)


def test_an_ambiguous_title_is_refused_with_all_matches(tmp_path: Path) -> None:
    where = place(tmp_path)
    both = [new_session(where, request=SessionRequest(name="my title")) for _ in range(2)]
    with pytest.raises(SessionError, match='"my title" matches 2 sessions') as refused:
        open_session(SessionRequest(resume="my title"), where)
    assert all(session_id in refused.value.message for session_id in both)


@pytest.mark.parametrize("name", ["../../../etc/passwd", "/etc/passwd", "a/b"])
def test_a_name_is_never_a_path(name: str, tmp_path: Path) -> None:
    with pytest.raises(SessionError):
        open_session(SessionRequest(resume=name), place(tmp_path))


def test_a_session_of_claude_code_is_resumed(tmp_path: Path) -> None:
    where = place(tmp_path)
    folder = project_folder(where.config_folder, where.cwd)
    folder.mkdir(parents=True)
    (folder / f"{ID}.jsonl").write_bytes((FOLDER / "tools.jsonl").read_bytes())
    session = open_session(SessionRequest(resume=ID), where)
    assert [message["role"] for message in session.history.messages] == ["user", "assistant", "user", "assistant"]
    note = session.prompt("more", permission_mode="default")
    session.flush()
    session.close()
    assert lines_in(folder / f"{ID}.jsonl")[-2]["uuid"] == note.uuid


# Cutting and copying


def test_a_resumed_session_can_be_cut_at_a_message(tmp_path: Path) -> None:
    where = place(tmp_path)
    new_session(where, "one", request=SessionRequest(session_id=ID))
    new_session(where, "two", request=SessionRequest(resume=ID))
    path = project_folder(where.config_folder, where.cwd) / f"{ID}.jsonl"
    answer = next(line for line in lines_in(path) if line["type"] == "assistant")["uuid"]
    session = open_session(SessionRequest(resume=ID, resume_at=answer), where)
    assert texts(session) == ["one", "answer to one"]
    add_exchange(session, "three", "four")
    session.close()
    assert texts(resumed(SessionRequest(resume=ID), where)) == ["one", "answer to one", "three", "four"]


def test_a_cut_at_a_message_that_is_not_there_is_refused(tmp_path: Path) -> None:
    where = place(tmp_path)
    new_session(where, request=SessionRequest(session_id=ID))
    with pytest.raises(SessionError) as refused:
        open_session(SessionRequest(resume=ID, resume_at=OTHER), where)
    assert refused.value.message == f"No message found with message.uuid of: {OTHER}"
    assert resumed(SessionRequest(resume=ID), where).id == ID  # and the refused run has let go of it


def test_a_fork_is_a_copy_with_an_id_of_its_own(tmp_path: Path) -> None:
    where = place(tmp_path)
    new_session(where, "one", request=SessionRequest(session_id=ID, name="my title"))
    folder = project_folder(where.config_folder, where.cwd)
    before = (folder / f"{ID}.jsonl").read_bytes()
    fork = open_session(SessionRequest(resume=ID, forks=True), where)
    assert not (folder / f"{fork.id}.jsonl").exists()  # a copy that nothing is added to is not made
    add_exchange(fork, "two", "three")
    fork.close()
    assert (folder / f"{ID}.jsonl").read_bytes() == before
    lines = lines_in(folder / f"{fork.id}.jsonl")
    assert {line["sessionId"] for line in lines} == {fork.id}
    chained = [line for line in lines if "parentUuid" in line]
    assert [line["parentUuid"] for line in chained] == [None, *(line["uuid"] for line in chained[:-1])]
    again = resumed(SessionRequest(resume=fork.id), where)
    assert texts(again) == ["one", "answer to one", "two", "three"]
    assert again.history.title == "my title"


def test_a_fork_takes_the_requested_id_unless_it_is_in_use(tmp_path: Path) -> None:
    where = place(tmp_path)
    new_session(where, request=SessionRequest(session_id=ID))
    new_session(where, request=SessionRequest(resume=ID, forks=True, session_id=OTHER))
    assert texts(resumed(SessionRequest(resume=OTHER), where)) == ["one", "answer to one"] * 2
    with pytest.raises(UsageError, match="is already in use"):
        open_session(SessionRequest(resume=ID, forks=True, session_id=OTHER), where)


def test_a_fork_of_a_compacted_session_of_claude_code_is_read_back_the_same(tmp_path: Path) -> None:
    where = place(tmp_path)
    folder = project_folder(where.config_folder, where.cwd)
    folder.mkdir(parents=True)
    (folder / f"{ID}.jsonl").write_bytes((FOLDER / "compacted.jsonl").read_bytes())
    fork = open_session(SessionRequest(resume=ID, forks=True), where)
    fork.prompt("more", permission_mode="default")
    fork.close()
    source, copy = (resumed(SessionRequest(resume=name), where).history for name in (ID, fork.id))
    assert copy.messages[:-1] == source.messages
    assert len((folder / f"{fork.id}.jsonl").read_bytes()) < len((folder / f"{ID}.jsonl").read_bytes())


def test_a_resumed_run_without_persistence_does_not_change_the_session(tmp_path: Path) -> None:
    where = place(tmp_path)
    new_session(where, request=SessionRequest(session_id=ID))
    path = project_folder(where.config_folder, where.cwd) / f"{ID}.jsonl"
    before = path.read_bytes()
    session = open_session(SessionRequest(resume=ID, persists=False), where)
    assert texts(session) == ["one", "answer to one"]
    add_exchange(session, "two", "three")
    session.close()
    assert path.read_bytes() == before


# One writer

HOLDER = """
import sys
from pathlib import Path
from bridle.agent.sessions.open_session import Place, open_session
from bridle.agent.sessions.session_request import SessionRequest
session = open_session(SessionRequest(resume=sys.argv[1]), Place(Path(sys.argv[2]), Path(sys.argv[3]), "2.1.197"))
session.prompt("held", permission_mode="default")
session.flush()
print("held", flush=True)
sys.stdin.read()
"""


def test_a_session_is_refused_while_another_process_writes_it(tmp_path: Path) -> None:
    where = place(tmp_path)
    new_session(where, request=SessionRequest(session_id=ID))
    argv = [sys.executable, "-c", HOLDER, ID, str(where.config_folder), str(where.cwd)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        for request in (SessionRequest(resume=ID), SessionRequest(continues=True)):
            with pytest.raises(SessionError, match=r"is in use by another process.*--fork-session"):
                open_session(request, where)
        fork = open_session(SessionRequest(resume=ID, forks=True), where)
        assert texts(fork) == ["one", "answer to one", "held"]
        holder.kill()
        holder.wait(LIMIT_SECONDS)
    assert texts(resumed(SessionRequest(resume=ID), where)) == ["one", "answer to one", "held"]


def test_a_session_that_has_just_begun_has_one_writer_too(tmp_path: Path) -> None:
    where = place(tmp_path)
    first = open_session(SessionRequest(session_id=ID), where)
    add_exchange(first, "one", "two")
    with pytest.raises(SessionError, match="is in use by another process"):
        open_session(SessionRequest(resume=ID), where)
    first.close()
    assert texts(resumed(SessionRequest(resume=ID), where)) == ["one", "two"]


def test_a_session_that_is_released_in_time_is_waited_for(tmp_path: Path) -> None:
    where = place(tmp_path)
    new_session(where, request=SessionRequest(session_id=ID))
    argv = [sys.executable, "-c", HOLDER, ID, str(where.config_folder), str(where.cwd)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stdout.readline() == b"held\n"
        holder.stdin.close()  # it ends now, while we wait
        session = resumed(SessionRequest(resume=ID), where)
    assert texts(session)[-1] == "held"


# Where


def test_the_entrypoint_comes_from_the_environment(tmp_path: Path) -> None:
    assert open_session_module.entrypoint({"CLAUDE_CODE_ENTRYPOINT": "sdk-py"}) == "sdk-py"
    assert open_session_module.entrypoint({"CLAUDE_CODE_ENTRYPOINT": ""}) == "sdk-cli"
    where = Place(tmp_path / "config", tmp_path, "2.1.197", entrypoint="sdk-ts")
    session = open_session(SessionRequest(), where)
    add_exchange(session, "one", "two")
    assert json.loads(first_text(session).splitlines()[2])["entrypoint"] == "sdk-ts"


# A transcript by its path


def test_a_transcript_is_resumed_by_its_path_and_stays_where_it_is(tmp_path: Path) -> None:
    where = place(tmp_path)
    session_id = new_session(where)
    path = project_folder(where.config_folder, where.cwd) / f"{session_id}.jsonl"
    elsewhere = place(tmp_path, tmp_path / "elsewhere")
    session = open_session(SessionRequest(resume=str(path)), elsewhere)
    add_exchange(session, "two", "answer to two")
    session.close()
    assert session.id == session_id
    assert texts(resumed(SessionRequest(resume=session_id), where)) == ["one", "answer to one", "two", "answer to two"]


def test_a_transcript_of_another_name_is_continued_in_a_copy_beside_it(tmp_path: Path) -> None:
    where = place(tmp_path)
    session_id = new_session(where)
    path = project_folder(where.config_folder, where.cwd) / f"{session_id}.jsonl"
    renamed = where.cwd / "old.jsonl"
    path.rename(renamed)
    before = renamed.read_bytes()
    session = open_session(SessionRequest(resume="old.jsonl"), where)
    add_exchange(session, "two", "answer to two")
    session.close()
    assert (session.id, texts(session)) == (session_id, ["one", "answer to one"])
    assert renamed.read_bytes() == before
    copy = where.cwd / f"{session_id}.jsonl"
    assert len(texts(resumed(SessionRequest(resume=str(copy)), where))) == 4
    with pytest.raises(SessionError, match="was already resumed"):
        open_session(SessionRequest(resume="old.jsonl"), where)


def test_a_path_that_holds_no_conversation_is_refused(tmp_path: Path) -> None:
    where = place(tmp_path)
    (where.cwd / "empty.jsonl").write_text("{}\n")
    for name in ("empty.jsonl", "missing.jsonl"):
        with pytest.raises(SessionError, match="does not match any session title"):
            open_session(SessionRequest(resume=name), where)
