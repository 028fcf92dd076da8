"""Which instructions are found, in which order, and what an import may reach."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridle.agent.prompt.instructions import (
    FILE_LIMIT_BYTES,
    LOCAL,
    PROJECT,
    USER,
    InstructionScope,
    imports,
    read_instructions,
)


class Tree:
    """A home, a repository in it, and a folder above the repository."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home, self.config, self.top = root / "home", root / "home" / ".claude", root / "above" / "repo"
        for folder in (self.config, self.top / ".git"):
            folder.mkdir(parents=True)

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")

    def reach(
        self, cwd: Path | None = None, sources: str = "user project local", *, agents: bool = False
    ) -> InstructionScope:
        return InstructionScope(
            cwd=cwd or self.top,
            config_folder=self.config,
            home=self.home,
            sources=frozenset(sources.split()),
            repository=self.top,
            agents=agents,
        )

    def found(self, reach: InstructionScope | None = None) -> list[tuple[str, str]]:
        """The place and the text of each file that is read."""
        return [(str(file.path.relative_to(self.root)), file.text) for file in read_instructions(reach or self.reach())]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path.resolve())


def test_instructions_come_in_the_order_that_claude_code_reads_them_in(tree: Tree) -> None:
    tree.write("home/.claude/CLAUDE.md", "user @~/extra.md\n")
    tree.write("home/extra.md", "extra\n")
    tree.write("home/.claude/rules/u.md", "user rule")
    tree.write("above/CLAUDE.md", "above")
    tree.write("above/repo/CLAUDE.md", "project @docs/a.md\n")
    tree.write("above/repo/docs/a.md", "a\n")
    tree.write("above/repo/.claude/CLAUDE.md", "dot")
    tree.write("above/repo/.claude/rules/z.md", "rule z")
    tree.write("above/repo/CLAUDE.local.md", "local\n")
    tree.write("above/repo/AGENTS.md", "agents")
    tree.write("above/repo/src/CLAUDE.md", "src")
    tree.write("above/repo/src/deep/CLAUDE.md", "deep")
    found = read_instructions(tree.reach(tree.top / "src"))
    assert [(str(file.path.relative_to(tree.root)), file.kind, file.text) for file in found] == [
        ("home/.claude/CLAUDE.md", USER, "user @~/extra.md"),
        ("home/extra.md", USER, "extra"),
        ("home/.claude/rules/u.md", USER, "user rule"),
        ("above/CLAUDE.md", PROJECT, "above"),
        ("above/repo/CLAUDE.md", PROJECT, "project @docs/a.md"),
        ("above/repo/docs/a.md", PROJECT, "a"),
        ("above/repo/.claude/CLAUDE.md", PROJECT, "dot"),
        ("above/repo/.claude/rules/z.md", PROJECT, "rule z"),
        ("above/repo/CLAUDE.local.md", LOCAL, "local"),
        ("above/repo/src/CLAUDE.md", PROJECT, "src"),
    ]


@pytest.mark.parametrize(
    ("sources", "texts"),
    [
        ("", []),
        ("user", ["user"]),
        ("project", ["project"]),
        ("local", ["local"]),
        ("user project local", ["user", "project", "local"]),
    ],
)
def test_only_the_sources_that_are_wanted_are_read(sources: str, texts: list[str], tree: Tree) -> None:
    tree.write("home/.claude/CLAUDE.md", "user")
    tree.write("above/repo/CLAUDE.md", "project")
    tree.write("above/repo/CLAUDE.local.md", "local")
    assert [text for _, text in tree.found(tree.reach(sources=sources))] == texts


def test_the_home_as_a_working_folder_gives_the_users_own_file_once(tree: Tree) -> None:
    tree.write("home/.claude/CLAUDE.md", "user")
    assert [text for _, text in tree.found(tree.reach(tree.home))] == ["user"]


def test_agents_md_is_read_when_asked_and_only_where_there_is_no_claude_md(tree: Tree) -> None:
    tree.write("above/repo/AGENTS.md", "agents")
    tree.write("above/repo/src/AGENTS.md", "not this one")
    tree.write("above/repo/src/CLAUDE.md", "src")
    assert [text for _, text in tree.found(tree.reach(tree.top / "src"))] == ["src"]
    assert [text for _, text in tree.found(tree.reach(tree.top / "src", agents=True))] == ["agents", "src"]


def test_a_file_is_read_once_and_a_circle_of_imports_ends(tree: Tree) -> None:
    tree.write("above/repo/CLAUDE.md", "@a.md @a.md @./a.md @sub/../a.md")
    tree.write("above/repo/a.md", "a @b.md @CLAUDE.md")
    tree.write("above/repo/b.md", "b @a.md @b.md")
    assert [path for path, _ in tree.found()] == ["above/repo/CLAUDE.md", "above/repo/a.md", "above/repo/b.md"]


def test_imports_go_as_deep_as_in_claude_code(tree: Tree) -> None:
    tree.write("above/repo/CLAUDE.md", "@1.md")
    for number in range(1, 9):
        tree.write(f"above/repo/{number}.md", f"@{number + 1}.md")
    assert [text for _, text in tree.found()] == ["@1.md", "@2.md", "@3.md", "@4.md", "@5.md"]


def test_the_project_imports_nothing_from_outside_of_its_repository(tree: Tree) -> None:
    tree.write("above/repo/CLAUDE.md", "@../secret.md @~/.ssh/id @/etc/hostname @link.md @folder/inside.md")
    tree.write("above/secret.md", "secret")
    tree.write("home/.ssh/id", "key")
    (tree.top / "link.md").symlink_to(tree.root / "above" / "secret.md")
    (tree.top / "folder").symlink_to(tree.root / "above")
    tree.write("above/inside.md", "not inside")
    tree.write("above/repo/src/CLAUDE.md", "@../docs.md")
    tree.write("above/repo/docs.md", "docs of the repository")
    assert [text for _, text in tree.found(tree.reach(tree.top / "src"))][1:] == [
        "@../docs.md",
        "docs of the repository",
    ]


def test_the_user_imports_from_anywhere(tree: Tree) -> None:
    tree.write("home/.claude/CLAUDE.md", f"@{tree.root}/elsewhere.md @~/mine.md")
    tree.write("elsewhere.md", "elsewhere")
    tree.write("home/mine.md", "mine")
    assert [text for _, text in tree.found()][1:] == ["elsewhere", "mine"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("@a.md", ["a.md"]),
        ("see @docs/a.md, and @b.md.", ["docs/a.md", "b.md"]),
        ("- @~/x.md\n- @./y.md\n\t@../z.md", ["~/x.md", "./y.md", "../z.md"]),
        ("@with\\ space.md", ["with space.md"]),
        ("@a.md#section", ["a.md"]),
        ("mail me@example.com and x@y", []),
        ("`@code.md` and ``@more `code`.md``", []),
        ("```\n@fenced.md\n```\n@after.md", ["after.md"]),
        ("~~~python\n@decorator\n~~~", []),
        ("```\n@never.md ends", []),
        ("<!-- @hidden.md --> @seen.md", ["seen.md"]),
        ("@", []),
        ("@(x)", []),
    ],
)
def test_what_is_an_import_and_what_is_not(text: str, names: list[str]) -> None:
    assert list(imports(text)) == names


def test_comments_are_removed_except_inside_code(tree: Tree) -> None:
    tree.write("above/repo/CLAUDE.md", "one\n<!-- a\nremark -->\ntwo\n```\n<!-- code -->\n```\n")
    assert tree.found() == [("above/repo/CLAUDE.md", "one\ntwo\n```\n<!-- code -->\n```")]


def test_rules_for_some_paths_are_not_for_all(tree: Tree) -> None:
    tree.write("above/repo/.claude/rules/some.md", "---\npaths: src/**\n---\nsome")
    tree.write("above/repo/.claude/rules/deep/all.md", "---\ntitle: x\n---\nall")
    assert tree.found() == [("above/repo/.claude/rules/deep/all.md", "all")]


def test_what_cannot_be_read_is_passed_over(tree: Tree) -> None:
    tree.write("above/repo/CLAUDE.md", "@missing.md @folder @picture.png @huge.md @nobody.md @pipe @good.md @empty.md")
    (tree.top / "folder").mkdir()
    (tree.top / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0")
    tree.write("above/repo/huge.md", "x" * (FILE_LIMIT_BYTES + 1))
    (tree.top / "nobody.md").symlink_to("nobody.md")
    tree.write("above/repo/good.md", "good")
    tree.write("above/repo/empty.md", "  \n")
    assert [text for _, text in tree.found()][1:] == ["good"]


def test_a_named_pipe_in_the_place_of_instructions_does_not_hang(tree: Tree) -> None:
    import os

    os.mkfifo(tree.top / "CLAUDE.md")
    assert tree.found() == []


def test_text_in_any_encoding_is_read(tree: Tree) -> None:
    (tree.top / "CLAUDE.md").write_bytes(b"\xef\xbb\xbfone\r\ntwo \xff\r\n")
    assert tree.found() == [("above/repo/CLAUDE.md", "one\ntwo \ufffd")]
