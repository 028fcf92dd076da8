"""Which files define sub-agents."""

from __future__ import annotations

from pathlib import Path

from bridle.agent.skills.plugins import load_plugins
from bridle.agent.subagents import agent_files
from bridle.agent.subagents.agent_files import agents_in, plugin_agents


def write(path: Path, name: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\nname: {name}\ndescription: The agent {name}\n---\nYou are {name}.\n", encoding="utf-8")


def test_documents_are_found_in_folders_below_and_other_files_are_not(tmp_path: Path) -> None:
    write(tmp_path / "b.md", "second")
    write(tmp_path / "a" / "a.md", "deep")
    write(tmp_path / "c.txt", "text")
    (tmp_path / "plain.md").write_text("no frontmatter", encoding="utf-8")
    assert [agent.name for agent in agents_in(tmp_path, "user")] == ["second", "deep"]


def test_a_missing_folder_has_none_and_an_unreadable_file_is_skipped(tmp_path: Path) -> None:
    assert agents_in(tmp_path / "none", "user") == ()
    (tmp_path / "folder.md").mkdir()
    (tmp_path / "gone.md").symlink_to(tmp_path / "nowhere")
    write(tmp_path / "ok.md", "ok")
    assert [agent.name for agent in agents_in(tmp_path, "user")] == ["ok"]


def test_a_folder_of_endless_depth_ends(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["x"] * (agent_files.DEPTH_LIMIT + 2))
    write(deep / "a.md", "too-deep")
    write(tmp_path / "x" / "a.md", "ok")
    assert [agent.name for agent in agents_in(tmp_path, "user")] == ["ok"]


def test_a_plugin_is_named_by_its_manifest_or_its_folder(tmp_path: Path) -> None:
    named, plain = tmp_path / "one", tmp_path / "two"
    for folder in (named, plain):
        write(folder / "agents" / "a.md", "a")
    (named / ".claude-plugin").mkdir()
    (named / ".claude-plugin" / "plugin.json").write_text('{"name": "plug"}', encoding="utf-8")
    plugins = load_plugins(tmp_path, ["one", "two"]).loaded
    assert [agent.name for agent in plugin_agents(plugins)] == ["plug:a", "two:a"]
