"""A host's session file: read whatever is in it, written whole, changed by one at a time."""

from __future__ import annotations

import errno
import getpass
import os
import stat
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.errors import LockHeld, SessionFileUnusable, StateFolderMissing, UsageError
from bridle.hosts.sessions import session_file
from bridle.hosts.sessions.session import (
    DEFAULT_MAX_ITERATIONS,
    FRONTMATTER_LIMIT_BYTES,
    NUMBER_LIMIT,
    Session,
    SessionFile,
    moment,
    new_file,
    new_session,
    parse,
    render,
)
from tests.agent.fixtures.unprivileged import unprivileged

# A hang is a failure; a cold start on a busy machine takes a few seconds.
LIMIT_SECONDS = 60
NOW = "2026-03-02T10:05:30Z"
WRITERS = 6
CHANGES_OF_EACH = 15

SAMPLE = """---
active: true
iteration: 3
max_iterations: 65000
run_id: "my-run-abc123"
started_at: "2026-03-02T10:00:00Z"
last_iteration_at: "2026-03-02T10:05:30Z"
iteration_times: 45,62,58
---

Build a REST API with authentication and rate limiting for the user service.
"""

BASELINE = """---
active: true
iteration: 1
max_iterations: 65000
run_id: ""
started_at: "2026-03-02T10:05:30Z"
last_iteration_at: "2026-03-02T10:05:30Z"
iteration_times: 
---

Build it
"""  # noqa: W291  # the format has a space after an empty list


def fields(session: Session) -> dict[str, object]:
    """A session's fields, to be compared as a whole."""
    return {name: getattr(session, name) for name in Session.__slots__}


def parsed(text: str | bytes) -> SessionFile:
    return parse(Path("s.md"), text.encode() if isinstance(text, str) else text)


def sample_with(**lines: str) -> str:
    """The sample with other values in some lines of its frontmatter."""
    text = SAMPLE
    for name, value in lines.items():
        before = next(line for line in SAMPLE.splitlines() if line.startswith(f"{name}:"))
        text = text.replace(before, f"{name}: {value}")
    return text


def read(path: Path) -> SessionFile:
    found = session_file.read(path)
    assert found is not None
    return found


# the format


def test_the_formats_own_sample_is_read_and_written_byte_for_byte() -> None:
    file = parsed(SAMPLE)
    assert fields(file.session) == {
        "active": True,
        "iteration": 3,
        "iteration_times": (45, 62, 58),
        "last_iteration_at": "2026-03-02T10:05:30Z",
        "max_iterations": 65000,
        "run_id": "my-run-abc123",
        "started_at": "2026-03-02T10:00:00Z",
    }
    assert file.prompt == "Build a REST API with authentication and rate limiting for the user service."
    assert (file.faults, render(file)) == ((), SAMPLE.encode())


def test_a_new_session_is_written_as_the_format_says() -> None:
    assert render(new_file(Path("s.md"), new_session(NOW), "Build it")).decode() == BASELINE


def test_a_session_is_not_active_unless_its_file_says_so() -> None:
    assert fields(parsed("").session) == fields(Session())
    assert (Session().active, Session().max_iterations, DEFAULT_MAX_ITERATIONS) == (False, 65000, 65000)


@given(
    st.booleans(),
    st.integers(0, NUMBER_LIMIT),
    st.integers(0, NUMBER_LIMIT),
    st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,40}", fullmatch=True),
    st.lists(st.integers(1, 10**6), max_size=3),
    st.binary(max_size=300),
)
def test_whatever_is_written_is_read_again(
    active: bool, iteration: int, limit: int, run_id: str, times: list[int], body: bytes
) -> None:
    session = Session(
        active=active,
        iteration=iteration,
        max_iterations=limit,
        run_id=run_id,
        started_at=NOW,
        last_iteration_at=NOW,
        iteration_times=tuple(times),
    )
    again = parsed(render(SessionFile(Path("s.md"), session, body)))
    assert (fields(again.session), again.body, again.faults) == (fields(session), body, ())


@given(st.binary(max_size=400))
def test_any_bytes_are_survived_and_none_of_the_body_is_lost(data: bytes) -> None:
    file = parsed(data)
    assert data.endswith(file.body)
    assert parsed(render(file)).body == file.body


@given(st.lists(st.sampled_from(["active", "iteration", "run_id", ":", "---", '"', "true", "\r", "\0", "9", " "])))
def test_any_mixture_of_the_formats_own_words_is_survived(words: list[str]) -> None:
    file = parsed("---\n" + "\n".join(words) + "\n---\nbody")
    assert fields(parsed(render(file)).session) == fields(file.session)


# what is wrong in it

BROKEN_FIELDS = [
    ("active", "perhaps", "active", False),
    ("active", "", "active", False),
    ("iteration", "-3", "iteration", 1),
    ("iteration", "3.5", "iteration", 1),
    ("iteration", "1e9", "iteration", 1),
    ("iteration", "٣", "iteration", 1),
    ("iteration", "9" * 400, "iteration", 1),
    ("iteration", str(NUMBER_LIMIT + 1), "iteration", 1),
    ("max_iterations", "-1", "max_iterations", 65000),
    ("max_iterations", "lots", "max_iterations", 65000),
    ("run_id", '"../../etc"', "run_id", ""),
    ("run_id", '"a/b"', "run_id", ""),
    ("run_id", '"."', "run_id", ""),
    ("run_id", f'"{"x" * 500}"', "run_id", ""),
    ("run_id", '"a\0b"', "run_id", ""),
    ("run_id", '"a\u202eb"', "run_id", ""),
    ("started_at", '"yesterday"', "started_at", ""),
    ("last_iteration_at", '"2026-99-02T10:05:30Z"', "last_iteration_at", ""),
    ("last_iteration_at", f'"{"2" * 5000}"', "last_iteration_at", ""),
    ("iteration_times", "45,fast,58", "iteration_times", (45, 58)),
    ("iteration_times", "0,-4", "iteration_times", ()),
]


@pytest.mark.parametrize(("name", "text", "field", "value"), BROKEN_FIELDS, ids=lambda value: ascii(value)[:24])
def test_a_broken_field_gets_its_default_and_is_reported_and_the_rest_counts(
    name: str, text: str, field: str, value: object
) -> None:
    file = parsed(sample_with(**{name: text}))
    assert fields(file.session) == fields(parsed(SAMPLE).session) | {field: value}
    assert len(file.faults) == 1
    assert name in file.faults[0]
    assert file.prompt == parsed(SAMPLE).prompt


UNFENCED = [
    b"",
    b"\0\0\0",
    b"---",
    b"---\n",
    b"no frontmatter at all",
    b"---\nactive: true\nrun_id: r\n\nnever closed",
    b"words first\n---\nactive: true\nrun_id: r\n---\n",
    b"---\nactive: true\n" + b"x: y\n" * FRONTMATTER_LIMIT_BYTES + b"---\nbody",
    b"--- \x00\nactive: true\n---\n",
    "---\nactive: true\n---\n".encode("utf-16"),
    os.urandom(4096).replace(b"-", b"_"),
]


@pytest.mark.parametrize("data", UNFENCED, ids=range(len(UNFENCED)))
def test_a_file_without_whole_frontmatter_is_an_inactive_session_without_a_run(data: bytes) -> None:
    file = parsed(data)
    assert fields(file.session) == fields(Session())
    assert file.body == data
    assert len(file.faults) == 1


def test_a_list_of_more_than_three_durations_keeps_the_last_three() -> None:
    assert parsed(sample_with(iteration_times="1,2,3,4,5,6")).session.iteration_times == (4, 5, 6)


def test_of_two_lines_for_one_field_the_last_counts_and_it_is_reported() -> None:
    file = parsed(SAMPLE.replace("iteration: 3\n", "iteration: 3\niteration: 8\n", 1))
    assert (file.session.iteration, len(file.faults)) == (8, 1)


@pytest.mark.parametrize("change", ["\r\n", "bom", "spaces", "single quotes", "unknown fields", "blank lines"])
def test_what_other_programs_do_to_a_text_file_is_no_fault(change: str) -> None:
    text = {
        "\r\n": SAMPLE.replace("\n", "\r\n"),
        "bom": "\ufeff" + SAMPLE,
        "spaces": SAMPLE.replace("active: true", "  active :   TRUE  ").replace("---\n", "---   \n"),
        "single quotes": SAMPLE.replace('"', "'"),
        "unknown fields": SAMPLE.replace("active: true", 'run_dir: "/x"\nactive: true\nmetadata_a: "1: 2"'),
        "blank lines": "\n\n" + SAMPLE.replace("iteration: 3", "\niteration: 3\n"),
    }[change]
    file = parsed(text)
    assert (fields(file.session), file.faults) == (fields(parsed(SAMPLE).session), ())
    assert file.prompt == parsed(SAMPLE).prompt


def test_a_rule_in_the_prompt_does_not_end_anything() -> None:
    text = SAMPLE + "\n---\nactive: false\n---\nmore\n"
    file = parsed(text)
    assert (file.session.active, render(file).decode()) == (True, text)


@pytest.mark.parametrize(
    "body", [b"", b"\n", b"no newline at the end", b"\xff\xfe\0 not text \r\n", b"  indented\n\n\n", b"\n---\n---\n"]
)
def test_the_body_stays_byte_for_byte_when_the_session_changes(body: bytes, tmp_path: Path) -> None:
    path = tmp_path / "s.md"
    path.write_bytes(SAMPLE.split("\n\n", maxsplit=1)[0].encode() + b"\n" + body)
    session_file.changed(path, lambda found: found and found.with_session(found.session.advanced(NOW)))
    assert (read(path).session.iteration, read(path).body) == (4, body)


def test_a_body_of_ten_megabytes_is_kept(tmp_path: Path) -> None:
    path, body = tmp_path / "s.md", os.urandom(1024) * 10 * 1024
    path.write_bytes(SAMPLE.encode() + body)
    session_file.changed(path, lambda found: found and found.with_session(found.session.changed(active=False)))
    assert read(path).body.endswith(body)
    assert (read(path).session.active, read(path).session.run_id) == (False, "my-run-abc123")


# counting


def test_an_iteration_is_counted_with_its_duration() -> None:
    session = new_session("2026-03-02T10:00:00Z")
    for now in ("2026-03-02T10:00:45Z", "2026-03-02T10:01:47Z", "2026-03-02T10:01:47Z", "2026-03-02T10:02:45Z"):
        session = session.advanced(now)
    assert (session.iteration, session.last_iteration_at) == (5, "2026-03-02T10:02:45Z")
    assert session.iteration_times == (45, 62, 58)
    assert session.advanced("2026-03-02T10:02:55Z").iteration_times == (62, 58, 10)


@pytest.mark.parametrize("now", ["", "soon", "1999-01-01T00:00:00Z", "2026-03-02T09:59:59Z"])
def test_a_clock_that_went_back_or_is_no_clock_adds_no_duration(now: str) -> None:
    session = new_session("2026-03-02T10:00:00Z").advanced("2026-03-02T10:00:45Z")
    assert session.advanced(now).iteration_times == (45,)


@pytest.mark.parametrize(
    ("iteration", "limit", "is_spent"), [(1, 2, False), (2, 2, True), (3, 2, True), (10**9, 0, False), (0, 1, False)]
)
def test_a_session_is_spent_at_its_limit_and_never_without_one(iteration: int, limit: int, is_spent: bool) -> None:
    assert Session(iteration=iteration, max_iterations=limit).is_spent is is_spent


def test_moments_have_whole_seconds() -> None:
    assert moment(1_772_445_930_999_999_999) == "2026-03-02T10:05:30Z"


# where it is

BAD_IDS = [
    "",
    ".",
    "..",
    "../x",
    "a/b",
    "a\\b",
    "x" * 300,
    "a\0b",
    "a\nb",
    "\ud800",
    "é" * 101,
    "-x",
    ".x",
    " x",
    "a\u2028",
]


@pytest.mark.parametrize("session_id", BAD_IDS, ids=lambda value: ascii(value)[:24])
def test_an_id_that_is_not_safe_in_a_path_is_refused(session_id: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the session id"):
        session_file.path_of(tmp_path, session_id)


@pytest.mark.parametrize("session_id", ["s-1", "0d4c2a5e-8f5b-4a3e-9a52-0d9b2f6f2f4b", "a.b", "größe", "a b"])
def test_an_id_that_is_safe_names_a_file_in_the_folder(session_id: str, tmp_path: Path) -> None:
    assert session_file.path_of(tmp_path, session_id) == tmp_path / f"{session_id}.md"


def test_the_folder_of_session_files_is_looked_for_in_order(tmp_path: Path) -> None:
    environ = {"BABYSITTER_STATE_DIR": "/env/state", "CLAUDE_PROJECT_DIR": "/project"}
    project = {"CLAUDE_PROJECT_DIR": "/project"}
    found = [
        session_file.state_dirs("/given", "/plugin", "/cwd", environ)[0],
        session_file.state_dirs(None, "/plugin", "/cwd", environ)[0],
        session_file.state_dirs(None, "/plugin", "/cwd", project)[0],
        session_file.state_dirs(None, None, "/cwd", project)[0],
        session_file.state_dirs(None, None, None, project)[0],
        session_file.state_dirs(None, None, None, {})[0],
        session_file.state_dirs("relative", None, None, {})[0],
    ]
    assert [str(path) for path in found] == [
        "/given",
        "/env/state",
        "/plugin/skills/babysit/state",
        "/cwd/.a5c/state",
        "/project/.a5c/state",
        f"{os.getcwd()}/.a5c/state",
        f"{os.getcwd()}/relative",
    ]


def test_a_file_may_also_be_in_the_project_and_above_and_an_explicit_folder_is_the_only_one() -> None:
    folders = session_file.state_dirs(None, "/plugin", "/deep/sub", {"CLAUDE_PROJECT_DIR": "/project"})
    assert [str(path) for path in folders] == [
        "/plugin/skills/babysit/state",
        "/deep/sub/.a5c/state",
        "/deep/.a5c/state",
        "/.a5c/state",
        "/project/.a5c/state",
    ]
    assert len(session_file.state_dirs("/given", "/plugin", "/cwd", {})) == 1


def test_a_folder_that_everybody_may_write_to_is_not_looked_into_from_below(tmp_path: Path) -> None:
    below = tmp_path / "everybody" / "mine" / "sub"
    below.mkdir(parents=True)
    (tmp_path / "everybody").chmod(0o1777)
    folders = session_file.state_dirs(None, None, str(below), {"CLAUDE_PROJECT_DIR": "/project"})
    assert [str(path) for path in folders] == [
        f"{below}/.a5c/state",
        f"{below.parent}/.a5c/state",
        "/project/.a5c/state",
    ]


@pytest.mark.parametrize("cwd", [None, 7, "", "relative", "/a\0b", "/\ud800", ["/x"]], ids=ascii)
def test_a_folder_in_a_payload_that_is_invalid_is_passed_over(cwd: object) -> None:
    assert str(session_file.state_dirs(None, None, cwd, {"CLAUDE_PROJECT_DIR": "/project"})[0]) == "/project/.a5c/state"


@pytest.mark.parametrize("given_folder", ["", "  "])
def test_an_empty_folder_is_refused_when_it_was_given(given_folder: str) -> None:
    with pytest.raises(StateFolderMissing):
        session_file.state_dirs(given_folder, None, None, {})[0]


def test_empty_variables_count_as_not_set() -> None:
    found = session_file.state_dirs(None, "", None, {"BABYSITTER_STATE_DIR": "", "CLAUDE_PROJECT_DIR": ""})[0]
    assert str(found) == f"{os.getcwd()}/.a5c/state"


# on the disk


def test_a_file_is_private_and_so_are_the_folders_made_for_it(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "s.md"
    session_file.write(new_file(path, new_session(NOW), "Build it"))
    assert path.read_text(encoding="utf-8") == BASELINE
    modes = [stat.S_IMODE(place.stat().st_mode) for place in (path, path.parent, path.parent.parent)]
    assert modes == [0o600, 0o700, 0o700]


def test_a_missing_file_is_no_session(tmp_path: Path) -> None:
    assert session_file.read(tmp_path / "s.md") is None
    assert session_file.read(tmp_path / "no" / "folder" / "s.md") is None


def test_a_folder_in_its_place_is_neither_read_nor_written(tmp_path: Path) -> None:
    path = tmp_path / "s.md"
    path.mkdir()
    with pytest.raises(SessionFileUnusable, match="not a regular file"):
        session_file.read(path)
    with pytest.raises(SessionFileUnusable, match=str(path)):
        session_file.write(new_file(path, new_session(NOW), ""))
    assert sorted(tmp_path.iterdir()) == [path]


def test_a_pipe_in_its_place_blocks_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "s.md")
    with pytest.raises(SessionFileUnusable, match="not a regular file"):
        session_file.read(tmp_path / "s.md")


@pytest.mark.parametrize("is_dangling", [False, True])
def test_a_link_is_not_followed_and_a_write_replaces_it_alone(is_dangling: bool, tmp_path: Path) -> None:
    target, path = tmp_path / "target.md", tmp_path / "s.md"
    if not is_dangling:
        target.write_text(SAMPLE, encoding="utf-8")
    path.symlink_to(target)
    with pytest.raises(SessionFileUnusable, match="symbolic link"):
        session_file.read(path)
    assert session_file.create(new_file(path, new_session(NOW), "Build it")) is False
    session_file.write(new_file(path, new_session(NOW), "Build it"))
    assert not path.is_symlink()
    assert target.exists() is not is_dangling
    assert is_dangling or target.read_text(encoding="utf-8") == SAMPLE


def test_a_file_too_large_to_be_ours_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.md"
    with path.open("wb") as file:
        file.truncate(session_file.FILE_LIMIT_BYTES + 1)
    with pytest.raises(SessionFileUnusable, match="larger than"):
        session_file.read(path)


def test_an_unreadable_file_is_refused_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "s.md"
    path.write_text(SAMPLE, encoding="utf-8")
    path.chmod(0)
    _open_the_way_to(tmp_path)
    with unprivileged(), pytest.raises(SessionFileUnusable, match="Permission denied") as caught:
        session_file.read(path)
    assert caught.value.payload == errno.EACCES


def test_a_folder_that_cannot_be_written_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    path = folder / "s.md"
    folder.mkdir()
    path.write_text(SAMPLE, encoding="utf-8")
    path.chmod(0o644)
    folder.chmod(0o555)
    _open_the_way_to(tmp_path)
    with unprivileged():
        for deed in (
            lambda: session_file.write(new_file(path, new_session(NOW), "")),
            lambda: session_file.changed(path, lambda found: found),
            lambda: session_file.create(new_file(folder / "t.md", new_session(NOW), "")),
            lambda: session_file.delete(path),
        ):
            with pytest.raises(SessionFileUnusable):
                deed()
    assert [entry.name for entry in folder.iterdir()] == ["s.md"]
    assert path.read_text(encoding="utf-8") == SAMPLE


def _open_the_way_to(folder: Path) -> None:
    """Let everybody walk to the folder, so that what is refused is refused where the test means it."""
    for place in (folder, *folder.parents):
        if (
            place.is_relative_to(f"{tempfile.gettempdir()}/pytest-of-{getpass.getuser()}")
            and place.stat().st_uid == os.getuid()
        ):
            place.chmod(place.stat().st_mode | 0o055)


SMALL_FILES = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"


def test_a_disk_that_takes_no_more_leaves_the_old_file_whole(tmp_path: Path) -> None:
    path = tmp_path / "s.md"
    path.write_text(SAMPLE, encoding="utf-8")
    code = (
        "import signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        + SMALL_FILES
        + "from pathlib import Path\nfrom bridle.errors import SessionFileUnusable\n"
        "from bridle.hosts.sessions import session_file\n"
        f"path = Path({str(path)!r})\n"
        "try:\n"
        "    session_file.changed(path, lambda found: session_file.new_file(path, found.session, 'x' * 5000))\n"
        "except SessionFileUnusable as error:\n"
        "    print(error.code, error.remedy)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=LIMIT_SECONDS, check=True
    )
    assert done.stdout.startswith("FS_ERROR Raise the limit on file sizes")
    assert path.read_text(encoding="utf-8") == SAMPLE
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [".s.lock", "s.md"]


# several at once


def test_changes_of_several_processes_are_all_counted(tmp_path: Path) -> None:
    path = tmp_path / "s.md"
    session_file.write(new_file(path, new_session(NOW), "Build it"))
    code = (
        "import sys\nfrom pathlib import Path\nfrom bridle.hosts.sessions import session_file\n"
        f"for _ in range({CHANGES_OF_EACH}):\n"
        "    session_file.changed(\n"
        "        Path(sys.argv[1]),\n"
        f"        lambda found: found.with_session(found.session.advanced({NOW!r})),\n"
        "    )\n"
    )
    children = [subprocess.Popen([sys.executable, "-c", code, str(path)]) for _ in range(WRITERS)]
    assert [child.wait(LIMIT_SECONDS) for child in children] == [0] * WRITERS
    assert read(path).session.iteration == 1 + WRITERS * CHANGES_OF_EACH
    assert read(path).prompt == "Build it"


def test_a_reader_finds_whole_files_while_others_write(tmp_path: Path) -> None:
    path = tmp_path / "s.md"
    files = [new_file(path, new_session(NOW, run_id=f"run-{n}"), f"{n}" * (50_000 * n)) for n in range(1, 4)]
    session_file.write(files[0])

    def keep_writing(file: SessionFile) -> None:
        for _ in range(20):
            session_file.write(file)

    with ThreadPoolExecutor() as pool:
        writers = [pool.submit(keep_writing, file) for file in files]
        seen = []
        while not all(writer.done() for writer in writers):
            file = read(path)
            seen.append((file.session.run_id, file.body))
        for writer in writers:
            writer.result()
    assert seen
    assert set(seen) <= {(file.session.run_id, file.body) for file in files}
    assert [entry.name for entry in tmp_path.iterdir()] == ["s.md"]


def test_of_several_that_create_a_file_one_succeeds(tmp_path: Path) -> None:
    files = [new_file(tmp_path / "s.md", new_session(NOW, run_id=f"run-{n}"), "") for n in range(8)]
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(session_file.create, files))
    assert made.count(True) == 1
    assert read(tmp_path / "s.md").session.run_id == files[made.index(True)].session.run_id


def test_a_change_that_gives_back_what_it_got_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.md"
    path.write_text(SAMPLE, encoding="utf-8")
    before = path.stat()
    assert session_file.changed(path, lambda found: found) is not None
    assert session_file.changed(path, lambda found: None) is not None
    assert session_file.changed(tmp_path / "t.md", lambda found: found) is None
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert not (tmp_path / "t.md").exists()


def test_a_change_that_fails_leaves_the_file_and_lets_the_lock_go(tmp_path: Path) -> None:
    path = tmp_path / "s.md"
    path.write_text(SAMPLE, encoding="utf-8")

    def fail(found: SessionFile | None) -> SessionFile | None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        session_file.changed(path, fail)
    assert session_file.changed(path, lambda found: found) is not None
    assert path.read_text(encoding="utf-8") == SAMPLE


def test_a_lock_that_another_process_holds_is_reported_with_their_name(tmp_path: Path) -> None:
    path = tmp_path / "s.md"
    with session_file.held(path, "somebody"), pytest.raises(LockHeld, match="somebody"):
        session_file.held(path, "another", wait_seconds=0)


def test_deleting_leaves_nothing_and_says_whether_there_was_something(tmp_path: Path) -> None:
    path = tmp_path / "s.md"
    session_file.create(new_file(path, new_session(NOW), ""))
    assert [session_file.delete(path), session_file.delete(path)] == [True, False]
    assert list(tmp_path.iterdir()) == []


def test_a_session_is_deactivated_only_while_it_has_the_same_run(tmp_path: Path) -> None:
    path = tmp_path / "s.md"

    def deactivated(known: str, **fields: Any) -> tuple[bool, bytes]:
        session_file.write(SessionFile(path, Session(**{"active": True, "run_id": "r", **fields}), b"\nwords\n"))
        session_file.deactivate(path, known, holder="test")
        return read(path).session.active, read(path).body

    assert deactivated("r") == (False, b"\nwords\n")
    assert deactivated("", run_id="another")[0]
    assert not deactivated("r", active=False)[0]
    path.unlink()
    session_file.deactivate(path, "r", holder="test")
    assert not path.exists()
