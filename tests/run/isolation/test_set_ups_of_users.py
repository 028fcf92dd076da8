"""What users have on their machines works in the sandbox: links, wrappers, package managers, devices, clones."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from bridle.run.isolation import bubblewrap
from bridle.run.isolation.description import describe
from bridle.run.isolation.sandbox_rules import SandboxRules
from bridle.wire.project_folder import project_folder_name
from tests.run.fixtures.in_sandbox import run


def write(path: Path, text: str = "x", *, mode: int = 0o644) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def link(place: Path, target: Path | str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(target)


def folders(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "home").mkdir()
    (tmp_path / "work").mkdir()
    return tmp_path / "home", tmp_path / "work"


def git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=A", "-c", "user.email=a@example.com", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.strip()


def test_settings_that_are_links_into_a_hidden_folder_are_those_of_the_user(tmp_path: Path) -> None:
    home, work = folders(tmp_path)
    dotfiles, claude = home / ".dotfiles", home / ".config" / "claude"
    for name in ("settings.json", "CLAUDE.md", "skill/SKILL.md", "login", "gitconfig"):
        write(dotfiles / name, name)
    (dotfiles / "projects").mkdir()
    write(home / ".ssh" / "key", "secret")
    for name in ("settings.json", "CLAUDE.md", "projects"):
        link(claude / name, f"../../.dotfiles/{name}")
    link(claude / ".credentials.json", dotfiles / "login")
    link(claude / "skills" / "one", dotfiles / "skill")
    link(claude / "skills" / "other", home / ".ssh")
    link(claude / "skills" / "around", home / ".config")
    write(home / ".config" / "token", "secret")
    write(claude / "hooks" / "guard.sh", "guard.sh")
    write(claude / "history.jsonl", "secret")
    link(home / ".claude", claude)
    link(home / ".gitconfig", ".dotfiles/gitconfig")
    link(tmp_path / "named", "home")
    isolation = describe(work, {"HOME": str(tmp_path / "named")})
    seen = run(
        isolation,
        "cd ~/.claude && cat settings.json CLAUDE.md skills/one/SKILL.md hooks/guard.sh ~/.gitconfig;"
        " cat skills/other/key skills/around/token history.jsonl;"
        f" echo session > projects/{project_folder_name(str(work))}/s.jsonl; echo renewed > .credentials.json",
        variables={"HOME": str(tmp_path / "named")},
    )
    assert seen.stdout == b"settings.jsonCLAUDE.mdskill/SKILL.mdguard.shgitconfig"
    assert seen.exit_code == 0
    assert (dotfiles / "login").read_text() == "renewed\n"
    assert [path.name for path in (dotfiles / "projects").rglob("*.jsonl")] == ["s.jsonl"]


def test_a_link_of_the_home_to_the_working_copy_does_not_hide_it(tmp_path: Path) -> None:
    home, _ = folders(tmp_path)
    write(home / "code" / "file")
    link(home / ".current", "code")
    assert run(describe(home / "code", {"HOME": str(home)}), "cat file").stdout == b"x"


def test_the_name_server_is_found_wherever_its_file_leads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, work = folders(tmp_path)
    write(tmp_path / "run" / "manager" / "names", "nameserver 10.9.9.9")
    link(tmp_path / "run" / "names", "manager/names")
    link(tmp_path / "resolv.conf", tmp_path / "run" / "names")
    monkeypatch.setattr(bubblewrap, "_NAME_SERVERS", tmp_path / "resolv.conf")
    shown = run(describe(work, {"HOME": str(home)}), f"cat {tmp_path}/resolv.conf; ls {tmp_path}/run/manager")
    assert shown.stdout == b"nameserver 10.9.9.9names\n"


def test_programs_that_are_links_or_start_others_work(tmp_path: Path) -> None:
    home, work = folders(tmp_path)
    brew, store = tmp_path / "brew", tmp_path / "store"
    write(brew / "Cellar" / "one" / "bin" / "one", "#!/bin/sh\necho one\n", mode=0o755)
    link(brew / "bin" / "one", "../Cellar/one/bin/one")
    write(store / "sw" / "bin" / "two", "#!/bin/sh\necho two\n", mode=0o755)
    link(tmp_path / "system", store)
    write(home / ".tool" / "three", "#!/bin/sh\necho three\n", mode=0o755)
    for name in (".tool/token", ".local/share/program/token"):
        write(home / name, "secret")
    link(home / ".local" / "bin" / "three", home / ".tool" / "three")
    real = write(tmp_path / "real" / "claude", "#!/bin/sh\necho four\n", mode=0o755)
    wrapper = write(tmp_path / "wrappers" / "claude", f'#!/bin/sh\nexec "{real}" "$@"\n', mode=0o755)
    path = f"{brew}/bin:{tmp_path}/system/sw/bin:{home}/.local/bin:{os.environ['PATH']}"
    isolation = describe(work, {"HOME": str(home), "PATH": path}, program=str(wrapper))
    shown = run(
        isolation,
        f"one; two; three; {wrapper}; cat {home}/.tool/token {home}/.local/share/program/token; ls {tmp_path}/real",
        variables={"PATH": path},
    )
    assert shown.stdout.split() == [b"one", b"two", b"three", b"four", b"claude"]


def test_programs_that_are_reached_by_several_links_work(tmp_path: Path) -> None:
    home, work = folders(tmp_path)
    for name in ("one", "two"):
        write(home / ".store" / name / "bin" / name, f"#!/bin/sh\necho {name}\n", mode=0o755)
    # A version manager's: the version in use is a link.
    link(home / ".versions" / "current", home / ".store" / "one")
    link(home / ".local" / "bin" / "one", "../../.versions/current/bin/one")
    link(home / ".links" / "two", home / ".more-links" / "two")
    link(home / ".more-links" / "two", home / ".store" / "two" / "bin" / "two")
    wrapper = write(tmp_path / "wrappers" / "claude", f'#!/bin/sh\nexec {home}/.links/two "$@"\n', mode=0o755)
    path = f"{home}/.local/bin:{os.environ['PATH']}"
    isolation = describe(work, {"HOME": str(home), "PATH": path}, program=str(wrapper))
    shown = run(isolation, f"one; {wrapper}", variables={"PATH": path})
    assert (shown.stdout.split(), shown.stderr) == ([b"one", b"two"], b"")


def test_no_link_that_an_agent_can_have_made_shows_a_program(tmp_path: Path) -> None:
    home, work = folders(tmp_path)
    git(work, "init", "-q")
    write(home / ".tool" / "hidden", "#!/bin/sh\necho hidden\n", mode=0o755)
    write(home / ".ssh" / "key-program", "#!/bin/sh\necho hidden\n", mode=0o755)
    link(work / "bin" / "hidden", home / ".tool" / "hidden")
    link(home / ".local" / "bin" / "key-program", home / ".ssh" / "key-program")
    planted = write(work / "claude", f"#!/bin/sh\n{home}/.tool/hidden\n", mode=0o755)
    path = f"{work}/bin:{home}/.local/bin:{os.environ['PATH']}"
    (tmp_path / "other").mkdir()
    for folder in (work, tmp_path / "other"):
        isolation = describe(folder, {"HOME": str(home), "PATH": path}, program=str(planted if folder == work else ""))
        assert run(isolation, "hidden; key-program", variables={"PATH": path}).stdout == b""


def test_a_clone_that_uses_the_objects_of_another_repository_works(tmp_path: Path) -> None:
    home, _ = folders(tmp_path)
    source, clone, private = tmp_path / "source", tmp_path / "clone", tmp_path / "private"
    for repository in (source, private):
        repository.mkdir()
        git(repository, "init", "-q")
        git(repository, "commit", "-q", "--allow-empty", "-m", "first")
    git(tmp_path, "clone", "-q", "--shared", str(source), str(clone))
    environment = {"HOME": str(home)}
    assert run(describe(clone, environment), "git log --format=%s").stdout == b"first\n"
    assert run(describe(clone, environment), f"touch {source}/.git/objects/made").exit_code != 0
    # An agent can write this file: what it adds does not count.
    with (clone / ".git/objects/info/alternates").open("a") as alternates:
        alternates.write(f"{private}/.git/objects\n")
    shown = run(describe(clone, environment), f"git log --format=%s; ls {private}")
    assert shown.stdout == b"first\n"


def test_a_device_that_the_user_adds_can_be_opened(tmp_path: Path) -> None:
    home, work = folders(tmp_path)
    isolation = describe(work, {"HOME": str(home)}, rules=SandboxRules(writable=("/dev/null",)))
    assert run(isolation, "echo x > /dev/null").exit_code == 0


def test_a_working_copy_with_a_long_path_keeps_its_sessions(tmp_path: Path) -> None:
    home, _ = folders(tmp_path)
    work = tmp_path / ("d" * 150) / ("e" * 150)
    work.mkdir(parents=True)
    name = project_folder_name(str(work))
    assert run(describe(work, {"HOME": str(home)}), f"echo x > {home}/.claude/projects/{name}/s").exit_code == 0
    assert (home / ".claude" / "projects" / name / "s").exists()


def test_a_new_home_has_caches_and_folders_that_programs_make(tmp_path: Path) -> None:
    home, work = folders(tmp_path)
    write(home / "code" / "file")
    link(home / "link", "code/file")
    isolation = describe(work, {"HOME": str(home)})
    made = ".cache/go-build .npm/_cacache .cargo/registry/index .gradle/wrapper .m2/repository .local/share/x .config/x"
    script = f"cd && mkdir -p {made} go/pkg/mod && echo kept > .npm/_cacache/x && cat link code/file"
    assert run(isolation, script, variables={"HOME": str(home)}).stdout == b"xx"
    assert run(isolation, "cat ~/.npm/_cacache/x", variables={"HOME": str(home)}).stdout == b"kept\n"
    assert run(isolation, "! mkdir ~/made && ! touch ~/code/made", variables={"HOME": str(home)}).exit_code == 0
    assert {path.name for path in home.iterdir()} == {".bridle", ".claude", "code", "link"}


def test_caches_that_variables_name_are_writable_and_private(tmp_path: Path) -> None:
    home, work = folders(tmp_path)
    (home / "caches").mkdir()
    places = {"GOCACHE": home / "caches" / "go", "CARGO_HOME": tmp_path / "cargo", "XDG_CACHE_HOME": tmp_path / "xdg"}
    write(tmp_path / "cargo" / "bin" / "tool")
    environment = {"HOME": str(home), **{name: str(path) for name, path in places.items()}}
    script = "echo x > $GOCACHE/x && echo x > $CARGO_HOME/registry/x && echo x > $XDG_CACHE_HOME/x"
    for _ in range(2):
        assert (
            run(describe(work, environment), f"{script} && echo y > ~/.cache/y", variables=environment).exit_code == 0
        )
    assert [path for folder in places.values() for path in folder.rglob("x")] == []
    # A variable that names the home or the working copy hides neither.
    wrong = {"HOME": str(home), "GOCACHE": str(home), "XDG_CACHE_HOME": str(work), "PIP_CACHE_DIR": str(tmp_path)}
    assert run(describe(work, wrong), f"ls {home}/caches && touch made").exit_code == 0
    assert (work / "made").exists()


def test_a_file_of_certificates_that_a_variable_names_can_be_read_and_no_other_file(tmp_path: Path) -> None:
    home, work = folders(tmp_path)
    certificate = "-----BEGIN CERTIFICATE-----\n"
    company = write(home / ".certs" / "company.pem", certificate)
    elsewhere = write(tmp_path / "more.pem", certificate)
    with_key = write(home / ".certs" / "with-key.pem", f"{certificate}-----BEGIN PRIVATE KEY-----\n")
    secret = write(home / ".ssh" / "id.pem", certificate)
    variables = dict(
        zip(
            ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
            map(str, (company, elsewhere, with_key, secret)),
            strict=True,
        )
    )
    shown = run(describe(work, {"HOME": str(home), **variables}), f"cat {' '.join(variables.values())}")
    assert shown.stdout.decode() == certificate * 2
