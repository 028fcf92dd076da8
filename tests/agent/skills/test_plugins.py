"""Manifests of plugins: where they may put their parts, and which are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bridle.agent.skills.catalogue import Skills, discover_skills
from bridle.agent.skills.plugins import Plugins, load_plugins
from bridle.agent.subagents.agent_files import plugin_agents

COMMAND = "---\ndescription: d\n---\nDo it\n"
NAMED = "---\nname: other\ndescription: d\n---\nDo it\n"
AGENT = "---\nname: one\ndescription: d\n---\nYou are one\n"


def put(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".md").write_text(text, encoding="utf-8")


def loaded(folder: Path, manifest: Any) -> Plugins:
    path = folder / "p" / ".claude-plugin" / "plugin.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(manifest if isinstance(manifest, str) else json.dumps(manifest), encoding="utf-8")
    return load_plugins(folder, ["p"])


def found(folder: Path, plugins: Plugins) -> Skills:
    return discover_skills(folder, folder / "config", plugins=plugins.loaded)


def test_a_manifest_replaces_the_folders_of_commands_and_agents_and_adds_skills(tmp_path: Path) -> None:
    put(tmp_path / "p", commands__c=COMMAND, agents__a=AGENT, skills__s__SKILL=COMMAND)
    put(tmp_path / "p", other__x=COMMAND, single=COMMAND, own=AGENT.replace("one", "two"), more__q__SKILL=COMMAND)
    plugins = loaded(
        tmp_path, {"name": "plug", "commands": ["./other", "./single.md"], "agents": "./own.md", "skills": "./more/q"}
    )
    assert found(tmp_path, plugins).slash_commands() == ["plug:x", "plug:single", "plug:s", "plug:q"]
    assert [agent.name for agent in plugin_agents(plugins.loaded)] == ["plug:two"]
    assert [line["type"] for line in plugins.warnings] == ["folder-shadowed-by-manifest"] * 2
    assert plugins.errors == ()


@pytest.mark.parametrize(
    "manifest",
    [
        "{nope",
        "[1]",
        {},
        {"name": ""},
        {"name": 5},
        {"name": "my plugin"},
        {"name": "p", "version": 1},
        {"name": "p", "author": "me"},
        {"name": "p", "commands": "../outside"},
        {"name": "p", "commands": ["./ok", "./a/../../outside"]},
        {"name": "p", "skills": "/etc"},
        {"name": "p", "agents": "./folder"},
    ],
)
def test_a_plugin_with_a_manifest_that_is_not_valid_is_not_loaded(manifest: Any, tmp_path: Path) -> None:
    put(tmp_path / "p", commands__c=COMMAND)
    put(tmp_path / "outside", x=COMMAND)
    plugins = loaded(tmp_path, manifest)
    assert plugins.loaded == ()
    [error] = plugins.errors
    assert (error["plugin"], error["type"]) == ("inline[0]", "generic-error")
    assert "manifest file at " in error["message"]


def test_a_plugin_without_a_place_for_skills_is_one_if_it_has_a_document_at_its_top(tmp_path: Path) -> None:
    put(tmp_path / "p", SKILL=COMMAND.replace("---\n", "---\nname: the top/one\n", 1), solo__SKILL=NAMED)
    assert found(tmp_path, loaded(tmp_path, {"name": "plug"})).slash_commands() == ["plug:the-top-one"]
    assert found(tmp_path, loaded(tmp_path, {"name": "plug", "skills": "./solo"})).slash_commands() == ["plug:other"]
    put(tmp_path / "p", SKILL=COMMAND)
    assert found(tmp_path, loaded(tmp_path, {"name": "plug"})).slash_commands() == ["plug:p"]
    put(tmp_path / "p", skills__s__SKILL=COMMAND)
    assert found(tmp_path, loaded(tmp_path, {"name": "plug"})).slash_commands() == ["plug:s"]


def test_places_that_do_not_exist_are_named_and_a_file_is_an_empty_plugin(tmp_path: Path) -> None:
    missing = loaded(tmp_path, {"name": "plug", "commands": "./none"})
    assert missing.errors == (
        {
            "plugin": "p@inline",
            "type": "path-not-found",
            "message": f"Path not found: {tmp_path / 'p' / 'none'} (commands)",
        },
    )
    (tmp_path / "file").write_text("text", encoding="utf-8")
    plugins = load_plugins(tmp_path, ["file", "nowhere"])
    assert found(tmp_path, plugins).plugins() == [
        {"name": "file", "path": str(tmp_path / "file"), "source": "file@inline"}
    ]
    assert [error["message"] for error in plugins.errors] == ["Path not found: nowhere (commands)"]
