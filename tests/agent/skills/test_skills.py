from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bridle.agent.permissions.rules.policy import Policy
from bridle.agent.permissions.rules.syntax import parse_rules
from bridle.agent.skills.catalogue import Skills, discover_skills
from bridle.agent.skills.plugins import Plugin, load_plugins
from bridle.agent.skills.slash_commands import ExpandedPrompt, LocalAnswer, Meaning, expand_slash_command
from bridle.agent.tools.contract.tool import ToolResult, run_tool
from bridle.agent.tools.skill import SkillTool
from bridle.errors import UserError
from tests.agent.fixtures.shell_session import recorded

# What Claude Code 2.1.197 does with these documents was measured on 2026-11-15, where no recording is named.
GREET = "---\nname: greet\ndescription: Greets people\n---\n# Greet\n\nSay GREETINGS to $ARGUMENTS.\n"
FILLED = (
    "---\ndescription: Greets\nname: Fancy Name\nmodel: haiku\nallowed-tools: Bash(git *), Read\n---\n\n\n"
    "all=$ARGUMENTS zero=$0 one=$1 ten=$10 idx=$ARGUMENTS[1] x$1y $1_a ${1} \\$1 $HOME $ARGUMENTSx \\$ARGUMENTS end\n\n"
)


class Home:
    """A project, a user's config folder and a plugin, filled file by file."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "project"
        self.config = folder / "config"
        self.plugin = folder / "plugin"
        self.project.mkdir()

    def put(self, path: str, text: str) -> Path:
        """Write a file: `project/…`, `config/…` or `plugin/…`."""
        target = self.project.parent / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        return target

    def skill(self, name: str, text: str) -> Path:
        """Write a skill of the project."""
        return self.put(f"project/.claude/skills/{name}/SKILL.md", text)

    def discover(self, **options: Any) -> Skills:
        """Find what was written."""
        return discover_skills(self.project, self.config, **options)

    def plugins(self) -> tuple[Plugin, ...]:
        """Read the plugin, and one that is missing."""
        return load_plugins(self.project, [self.plugin, self.plugin / "missing"]).loaded


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def call(skills: Skills, name: str, args: str | None = None, **options: Any) -> ToolResult:
    tool = SkillTool(skills, session_id="session-1", **options)
    given = {"skill": name} if args is None else {"skill": name, "args": args}
    return asyncio.run(run_tool(tool, given, call_id="call_1"))


def text_of(answer: ToolResult) -> str:
    """The text that follows the result."""
    (text,) = answer.follow_up
    assert isinstance(text, str)
    return text


def meant(prompt: str, skills: Skills, **options: Any) -> Meaning:
    return asyncio.run(expand_slash_command(prompt, skills, session_id="session-1", **options))


def test_nothing_is_found_where_there_is_nothing(home: Home) -> None:
    skills = home.discover()
    assert (skills.names(), skills.slash_commands(), skills.commands(), skills.plugins()) == ([], [], [], [])
    assert skills.listing() is None
    assert skills.warnings == ()


def test_skills_are_launched_as_recorded(home: Home) -> None:
    home.skill("greet", GREET)
    home.put("plugin/.claude-plugin/plugin.json", '{"name": "demo-plugin"}')
    home.put("plugin/skills/pskill/SKILL.md", "---\nname: pskill\ndescription: d\n---\nPLUGIN SKILL BODY\n")
    skills = home.discover(plugins=home.plugins())
    seen = 0
    for asked, block, detail in recorded("20-skills", "Skill"):
        answer = call(skills, asked["input"]["skill"], asked["input"].get("args"))
        assert (answer.content, answer.detail) == (block["content"], detail)
        assert answer.is_error is block.get("is_error", False)
        seen += 1
    assert seen == 3
    body = f"Base directory for this skill: {home.project}/.claude/skills/greet\n\n# Greet\n\nSay GREETINGS to Bob.\n"
    assert call(skills, "greet", "Bob").follow_up == (body,)
    plugged = f"Base directory for this skill: {home.plugin}/skills/pskill\n\nPLUGIN SKILL BODY\n"
    assert call(skills, "demo-plugin:pskill").follow_up == (plugged,)


def test_they_come_in_the_measured_order_under_the_measured_names(home: Home) -> None:
    home.skill("othername", '---\nname: realname\ndescription: other\nargument-hint: "[x]"\n---\nbody\n')
    home.skill("hidden", "---\nname: hidden\ndescription: hid\ndisable-model-invocation: true\n---\nhidden body\n")
    home.skill("nouser", "---\nname: nouser\ndescription: nou\nuser-invocable: false\n---\nnouser body\n")
    home.skill("plain", "# Plain heading\n\nNo frontmatter at all.\n")
    home.skill("noargs", "---\ndescription: >-\n  folded text\n  here\nwhen_to_use: when asked\n---\nBody\n")
    home.put("config/skills/uskill/SKILL.md", "---\nname: uskill\ndescription: user skill\n---\nuser body\n")
    home.put("project/.claude/commands/mycmd.md", "---\ndescription: my command\nargument-hint: <a> <b>\n---\nDo it\n")
    home.put("project/.claude/commands/nofm.md", "First line of it.\nSecond.\n")
    home.put("project/.claude/commands/sub/inner.md", "---\nname: zzz\ndescription: inner one\n---\nInner body\n")
    home.put("project/.claude/commands/dir/SKILL.md", "---\ndescription: dirskill\n---\nbody dir\n")
    home.put("config/commands/ucmd.md", "user command\n")
    home.put("plugin/commands/pcmd.md", "---\ndescription: plug cmd\n---\nplug cmd body\n")
    skills = home.discover(plugins=home.plugins())
    assert skills.names() == ["uskill", "hidden", "noargs", "othername"]
    assert skills.slash_commands() == [
        *("uskill", "hidden", "noargs", "othername", "plain"),
        *("dir", "mycmd", "nofm", "sub:inner", "ucmd", "plugin:pcmd"),
    ]
    assert skills.listing() == (
        "- uskill: user skill\n- noargs: folded text here - when asked\n- nouser: nou\n- othername: other\n"
        "- plain: Plain heading\n- dir: dirskill\n- mycmd: my command\n- nofm: First line of it.\n"
        "- sub:inner: inner one\n- ucmd: user command\n- plugin:pcmd: plug cmd"
    )
    assert {"name": "mycmd", "description": "my command", "argumentHint": "<a> <b>"} in skills.commands()
    assert {"name": "othername", "description": "other", "argumentHint": "[x]"} in skills.commands()
    assert skills.plugins() == [{"name": "plugin", "path": str(home.plugin), "source": "plugin@inline"}]
    assert call(skills, "realname").content == "Launching skill: realname"
    assert call(skills, "/uskill").content == "Launching skill: uskill"
    assert text_of(call(skills, "dir")).startswith("Base directory for this skill: ")
    assert call(skills, "sub:inner").follow_up == ("Inner body\n",)
    assert call(skills, "zzz").is_error


@pytest.mark.parametrize(
    ("args", "filled"),
    [
        (None, "all= zero= one= ten= idx= x$1y $1_a ${1} $1 $HOME x $ARGUMENTS end\n\n"),
        ("", "all= zero= one= ten= idx= x$1y $1_a ${1} $1 $HOME x $ARGUMENTS end\n\n"),
        (
            'a "b c" d',
            'all=a "b c" d zero=a one=b c ten= idx=b c x$1y $1_a ${1} $1 $HOME a "b c" dx $ARGUMENTS end\n\n',
        ),
        (
            "it's one",
            "all=it's one zero=it's one=one ten= idx=one x$1y $1_a ${1} $1 $HOME it's onex $ARGUMENTS end\n\n",
        ),
        ("$0 $1", "all=$0 $1 zero=$0 one=$1 ten= idx=$1 x$1y $1_a ${1} $1 $HOME $0 $1x $ARGUMENTS end\n\n"),
    ],
)
def test_arguments_are_put_in_as_measured(home: Home, args: str | None, filled: str) -> None:
    home.skill("g", FILLED)
    answer = call(home.discover(), "g", args)
    assert answer.follow_up == (f"Base directory for this skill: {home.project}/.claude/skills/g\n\n{filled}",)
    assert answer.detail == {
        "success": True,
        "commandName": "g",
        "allowedTools": ["Bash(git *)", "Read"],
    }


def test_unused_arguments_are_appended(home: Home) -> None:
    home.put("project/.claude/commands/nofm.md", "First.\nSecond.\n")
    skills = home.discover()
    assert call(skills, "nofm", " x y ").follow_up == ("First.\nSecond.\n\n\nARGUMENTS: x y",)
    assert call(skills, "nofm", " ").follow_up == ("First.\nSecond.\n",)


def test_named_arguments_and_places_are_put_in(home: Home) -> None:
    home.skill(
        "d",
        "---\ndescription: d\narguments: who what\n---\n${CLAUDE_SKILL_DIR} ${CLAUDE_SESSION_ID} $who $what $whom\n",
    )
    home.put("plugin/skills/p/SKILL.md", "---\ndescription: p\n---\nat ${CLAUDE_PLUGIN_ROOT}\n")
    skills = home.discover(plugins=home.plugins())
    folder = f"{home.project}/.claude/skills/d"
    assert call(skills, "d", "aa bb").follow_up == (
        f"Base directory for this skill: {folder}\n\n{folder} session-1 aa bb $whom\n",
    )
    assert text_of(call(skills, "plugin:p")).endswith(f"at {home.plugin}\n")


def test_the_users_skill_is_used_before_the_projects_of_the_same_name(home: Home) -> None:
    home.skill("greet", GREET)
    home.put("config/skills/greet/SKILL.md", "---\ndescription: USER greet\n---\nuser greet\n")
    skills = home.discover()
    assert skills.listing() == "- greet: USER greet"
    assert text_of(call(skills, "greet")).endswith("\n\nuser greet\n")


def test_sources_can_be_left_out(home: Home) -> None:
    home.skill("greet", GREET)
    home.put("config/skills/uskill/SKILL.md", "---\ndescription: u\n---\n")
    home.put("config/commands/ucmd.md", "u")
    assert home.discover(sources=["project"]).slash_commands() == ["greet"]
    assert home.discover(sources=["user", "local"]).slash_commands() == ["uskill", "ucmd"]
    assert home.discover(sources=[]).slash_commands() == []


def test_a_folder_inside_a_repository_has_the_skills_above_it(home: Home) -> None:
    home.skill("top", "---\ndescription: top\n---\n")
    home.put("project/deep/er/.claude/skills/near/SKILL.md", "---\ndescription: near\n---\n")
    deep = home.project / "deep" / "er"
    assert discover_skills(deep, home.config).slash_commands() == ["near"]
    (home.project / ".git").mkdir()
    assert discover_skills(deep, home.config).slash_commands() == ["near", "top"]
    assert discover_skills(deep, home.config, folders=[home.project]).slash_commands() == ["near", "top"]


def test_the_library_and_its_sets_are_skills_too(home: Home) -> None:
    home.put("project/.claude/library/testing/pytest.md", "---\ndescription: how we test\n---\nUse pytest.\n")
    home.put("project/.claude/library/deploy/SKILL.md", "---\ndescription: how we deploy\n---\nPush $ARGUMENTS.\n")
    home.put("project/.claude/library/deploy/more.md", "belongs to deploy")
    home.put(
        "project/.claude/skillsets/release.md",
        "---\ndescription: all for it\nskills: testing:pytest, deploy, nosuch\n---\nDo $ARGUMENTS:\n",
    )
    home.put("project/.claude/skillsets/quick.yaml", "description: in short\nskills:\n  - deploy\n  - quick\n")
    home.put("project/.claude/skillsets/other.json", json.dumps({"description": "j", "skills": ["testing:pytest"]}))
    skills = home.discover()
    assert skills.listing() == (
        "- deploy: how we deploy\n- testing:pytest: how we test\n- other: j\n- quick: in short\n- release: all for it"
    )
    base = f"Base directory for this skill: {home.project}/.claude/library/deploy"
    assert text_of(call(skills, "release", "v2")) == (
        "Do v2:\n\n# Skill testing:pytest\n\nUse pytest.\n\n"
        f"# Skill deploy\n\n{base}\n\nPush .\n\n# Skill nosuch\n\n(There is no skill of this name.)\n"
    )
    # A set cannot have itself, or another set, in it.
    assert call(skills, "quick").follow_up == (
        f"in short\n\n# Skill deploy\n\n{base}\n\nPush .\n\n# Skill quick\n\n(There is no skill of this name.)\n",
    )
    assert skills.warnings == ()


def test_a_skillset_preloads_some_skills_and_advertises_others(home: Home) -> None:
    home.put("project/.claude/library/git/SKILL.md", "---\ndescription: commits\n---\nCommit often.\n")
    home.put("project/.claude/library/patterns/adapter/SKILL.md", "An adapter.\n")
    home.put("project/.claude/library/meta/SKILL.md", "---\ndescription: the system\n---\nAbout it.\n")
    sets = {
        "dev": {"preload": ["git", "patterns/adapter"], "advertise": [{"skill": "jj", "description": "for stacks"}]},
        "meta": {"preload": ["meta"], "advertise": ["git", {"no": "name"}, 5, {"skill": "meta"}]},
        "later": {"advertise": [{"skill": "git"}]},
        "notes": {"patterns": {"a": 1}},
        "strange": {"preload": 7.5, "advertise": {"skill": "git"}},
    }
    for name, document in sets.items():
        home.put(f"project/.claude/skillsets/{name}.json", json.dumps(document))
    skills = home.discover()
    listed = ["git", "meta", "patterns:adapter", "dev", "later", "skillsets:meta", "notes", "strange"]
    assert skills.slash_commands() == listed
    assert skills.commands()[3]["description"] == "skillset: git, patterns/adapter, jj"
    base = f"Base directory for this skill: {home.project}/.claude/library"
    on_demand = "Further skills, to be loaded with the Skill tool when they are needed:\n"
    unknown = "- 5 (There is no skill of this name.)\n"
    (text,) = call(skills, "dev").follow_up
    assert text == (
        f"skillset: git, patterns/adapter, jj\n\n# Skill git\n\n{base}/git\n\nCommit often.\n\n"
        f"# Skill patterns/adapter\n\n{base}/patterns/adapter\n\nAn adapter.\n\n{on_demand}"
        "- jj: for stacks (There is no skill of this name.)\n"
    )
    assert call(skills, "skillsets:meta").follow_up == (
        f"skillset: meta, git, 5\n\n# Skill meta\n\n{base}/meta\n\nAbout it.\n\n{on_demand}- git\n{unknown}",
    )
    assert call(skills, "meta").follow_up == (f"{base}/meta\n\nAbout it.\n",)
    assert call(skills, "later").follow_up == (f"skillset: git\n\n{on_demand}- git\n",)
    assert call(skills, "notes").follow_up == ('{"patterns": {"a": 1}}',)
    assert skills.warnings == ()


@pytest.mark.parametrize(
    ("name", "text"), [("dev.json", '{"preload":["git"'), ("dev.json", "[1]"), ("dev.yaml", "a: [")]
)
def test_a_skillset_that_cannot_be_read_is_reported_and_not_used(home: Home, name: str, text: str) -> None:
    home.put(f"project/.claude/skillsets/{name}", text)
    skills = home.discover()
    (fault,) = skills.faults
    assert f"skillsets/{name}: it is not a mapping: " in fault
    done = call(skills, "dev")
    assert (done.is_error, done.follow_up) == (True, ())
    assert "it is not a mapping" in str(done.content)


def test_a_long_skillset_is_read_as_a_whole(home: Home) -> None:
    home.put("project/.claude/library/git/SKILL.md", "Commit often.\n")
    home.put("project/.claude/skillsets/dev.json", json.dumps({"notes": "x" * 60_000, "preload": ["git"]}))
    skills = home.discover()
    assert skills.faults == ()
    assert "Commit often." in text_of(call(skills, "dev"))


def test_a_listing_stays_within_its_limit(home: Home) -> None:
    for number in range(200):
        home.skill(f"skill{number:03}", f"---\ndescription: {'word ' * 500}\n---\n")
    skills = home.discover()
    for limit in (100, 1000, 3000, 16_000, 1_000_000):
        listing = skills.listing(limit)
        assert listing is not None
        assert len(listing) <= limit + 80  # the last line says how many are not named
        named = listing.count("- skill")
        assert (named < 200) is ("more, omitted for length" in listing)
    whole = skills.listing(1_000_000)
    assert whole is not None
    assert {len(line) for line in whole.splitlines()} == {len("- skill000: ") + 1535}  # ends with a word and a …


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nosuch", "Unknown skill: nosuch"),
        ("grete", "Unknown skill: grete. Did you mean greet?"),
        ("../greet", "Unknown skill: ../greet"),
        ("greet/SKILL.md", "Unknown skill: greet/SKILL.md"),
        ("", "Invalid skill format: "),
        ("hidden", "Skill hidden cannot be used with Skill tool due to disable-model-invocation"),
        ("clear", "clear is a built-in command, not a skill: only the user can run /clear."),
    ],
)
def test_what_cannot_be_launched_is_refused(home: Home, name: str, said: str) -> None:
    home.skill("greet", GREET)
    home.skill("hidden", "---\ndescription: h\ndisable-model-invocation: true\n---\n")
    answer = call(home.discover(), name, local_commands=("clear",))
    assert answer.is_error
    assert answer.detail == f"Error: {said}"
    assert answer.content == f"<tool_use_error>{said}</tool_use_error>"


ASKS, FREE, DENIED = "NeedsApproval", "Allowed", "Denied"


@pytest.mark.parametrize(
    ("name", "rules", "verdict"),
    [
        ("plain", {}, FREE),
        ("none", {}, FREE),
        ("g", {}, ASKS),
        ("/g", {}, ASKS),
        ("Fancy Name", {}, ASKS),
        ("g", {"allow": "Skill(g)"}, FREE),
        ("g", {"allow": "Skill"}, FREE),
        ("g", {"mode": "bypassPermissions"}, FREE),
        ("g", {"mode": "dontAsk"}, DENIED),
        ("g", {"deny": "Skill(g)"}, DENIED),
        (" g ", {"deny": "Skill(g)"}, DENIED),
        ("Fancy Name", {"deny": "Skill(g)"}, DENIED),
        ("sub/inner", {"deny": "Skill(sub:inner)"}, DENIED),
        ("plain", {"ask": "Skill(plain)"}, ASKS),
    ],
)
def test_rules_hold_for_a_skill_by_every_name_and_one_that_allows_tools_needs_approval(
    home: Home, name: str, rules: dict[str, str], verdict: str
) -> None:
    home.skill("g", FILLED)
    home.skill("plain", "---\ndescription: d\n---\nbody\n")
    home.put("project/.claude/commands/sub/inner.md", "body\n")
    allow, deny, ask = (tuple(parse_rules([rules[key]] if key in rules else [])) for key in ("allow", "deny", "ask"))
    mode = rules.get("mode", "default")
    policy = Policy(cwd=str(home.project), home="/", mode=mode, allow=allow, deny=deny, ask=ask)
    tool = SkillTool(home.discover(), session_id="session-1")
    assert type(tool.judge({"skill": name}, policy)).__name__ == verdict


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("greetin", "greetings"),
        ("GREETINGS", "greetings"),
        ("xyeetings", "greetings"),
        ("greetngis", "greetings"),
        ("greetingsab", "greetings"),
        ("qu", "quux"),
        ("greeti", None),
        ("xyzetings", None),
        ("pp:greetings", None),
        ("plug:plug", None),
    ],
)
def test_an_unknown_name_has_a_hint_if_two_letters_are_wrong_as_measured(
    home: Home, typed: str, hint: str | None
) -> None:
    for name in ("greetings", "quux", "plug:top"):
        home.put(f"project/.claude/commands/{name.replace(':', '/')}.md", "body\n")
    skills = home.discover()
    end = "" if hint is None else f". Did you mean /{hint}?"
    assert meant(f"/{typed}", skills) == LocalAnswer(f"Unknown command: /{typed}{end}")
    assert f"Unknown skill: {typed}{end.replace('/', '')}" in str(call(skills, typed).content)


def test_a_skill_that_vanished_is_a_clear_failure(home: Home) -> None:
    path = home.skill("greet", GREET)
    skills = home.discover()
    path.unlink()
    answer = call(skills, "greet")
    assert answer.is_error
    assert str(path) in str(answer.content)
    assert meant("/greet", skills) == LocalAnswer(str(answer.content), is_error=True)


def test_inline_commands_run_only_with_a_runner(home: Home) -> None:
    home.put("project/.claude/commands/c.md", "before !`echo $1` and !`date` after\n")
    skills = home.discover()

    async def inline(command: str) -> str:
        if command == "date":
            return "TODAY"
        return f"<{command}>"

    async def refuse(command: str) -> str:
        raise UserError(f"{command} may not run")

    assert call(skills, "c", "a b").follow_up == ("before !`echo b` and !`date` after\n",)
    assert call(skills, "c", "a b", inline=inline).follow_up == ("before <echo b> and TODAY after\n",)
    assert call(skills, "c", "a b", inline=refuse).content == "echo b may not run"


@pytest.mark.parametrize(
    ("prompt", "arguments"),
    [('/greet Alice "B C" D', 'Alice "B C" D'), ("/greet", ""), ("/greet\nmore  lines  ", "more  lines")],
)
def test_a_prompt_calls_a_command_as_measured(home: Home, prompt: str, arguments: str) -> None:
    home.put("project/.claude/commands/greet.md", "Say GREETINGS to $ARGUMENTS.\n")
    meaning = meant(prompt, home.discover())
    assert isinstance(meaning, ExpandedPrompt)
    assert meaning.skill.name == "greet"
    called = "<command-message>greet</command-message>\n<command-name>/greet</command-name>\n"
    if arguments:
        called += f"<command-args>{arguments}</command-args>\n"
    assert meaning.texts == (called, f"Say GREETINGS to {arguments}.\n")


@pytest.mark.parametrize(
    "prompt",
    ["hello", "hello /greet x", " /greet lead", "/ hi", "/etc/hosts is a file", "/usr is full", "/clear", "", "/"],
)
def test_other_prompts_are_sent_as_they_are(home: Home, prompt: str) -> None:
    home.skill("greet", GREET)
    assert meant(prompt, home.discover(), others=("clear",)) is None


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ("/nope arg", "Unknown command: /nope. Did you mean /nofm?"),
        ("/Greet A", "Unknown command: /Greet. Did you mean /greet?"),
        ("/greet:x", "Unknown command: /greet:x. Did you mean /greet?"),
        ("/claer", "Unknown command: /claer. Did you mean /clear?"),
        ("/somethingelse", "Unknown command: /somethingelse"),
        ("/x", "Unknown command: /x"),
    ],
)
def test_an_unknown_command_is_answered_here_as_measured(home: Home, prompt: str, said: str) -> None:
    home.skill("greet", GREET)
    home.put("project/.claude/commands/nofm.md", "x")
    assert meant(prompt, home.discover(), others=("clear",)) == LocalAnswer(said)


def test_a_skill_for_the_model_alone_is_not_the_users(home: Home) -> None:
    home.skill("nouser", "---\ndescription: n\nuser-invocable: false\n---\n")
    meaning = meant("/nouser", home.discover())
    assert isinstance(meaning, LocalAnswer)
    assert "nouser" in meaning.text


def test_broken_documents_work_as_far_as_they_can(home: Home) -> None:
    home.skill("broken", "---\nname: [broken\ndescription: : x\n---\nbroken body\n")
    home.skill("unclosed", "---\ndescription: never closed\nbody\n")
    home.skill("list", "---\n- a\n- b\n---\nlist body\n")
    home.skill("odd", "---\n1: 2\ndescription: [1, 2]\nname: {a: b}\nallowed-tools: 5\n---\nodd body\n")
    home.skill("latin", "").write_bytes(b"---\ndescription: caf\xe9\n---\nbody \xff\n")
    home.skill("windows", "---\r\ndescription: with returns\r\n---\r\nbody\r\n")
    home.skill("empty", "")
    skills = home.discover()
    assert skills.listing() == (
        "- broken: : x\n- empty: empty\n- latin: caf\ufffd\n- list: list body\n- odd: odd body\n"
        "- unclosed: ---\n- windows: with returns"
    )
    assert [warning.split("/skills/")[1].split("/")[0] for warning in skills.warnings] == ["broken", "list"]
    assert text_of(call(skills, "broken")).endswith("\n\nbroken body\n")
    assert text_of(call(skills, "windows")).endswith("\n\nbody\r\n")


BOMBS = {
    "aliases": "a: &a [x,x]\n"
    + "".join(f"{chr(98 + n)}: &{chr(98 + n)} [*{chr(97 + n)},*{chr(97 + n)}]\n" for n in range(20)),
    "merges": "a: &a {x: 1}\n"
    + "".join(f"{chr(98 + n)}: &{chr(98 + n)} {{<<: [*{chr(97 + n)}, *{chr(97 + n)}]}}\n" for n in range(20)),
    "depth": "description: " + "[" * 30_000,
    "object": "description: !!python/object/apply:os.system ['touch hacked']",
    "long": "description: " + "x " * 200_000,
    "spaces": "description: a" + " " * 30_000 + ": b",
    "parentheses": "allowed-tools: " + "(," * 15_000,
    "integer": "description: " + "9" * 20_000,
    "date": "description: 2001-99-99",
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_hostile_fields_are_survived(home: Home, bomb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home.project)
    home.skill("bomb", f"---\n{BOMBS[bomb]}\n---\nthe body\n")
    skills = home.discover()
    assert skills.slash_commands() == ["bomb"]
    assert len(str(skills.listing())) < 2000
    assert not (home.project / "hacked").exists()
    if bomb in ("aliases", "merges"):
        assert "alias" in skills.warnings[0]
    if bomb != "long":
        assert text_of(call(skills, "bomb")).endswith("the body\n")


def test_strange_files_are_left_alone(home: Home) -> None:
    tree = home.project / ".claude"
    home.skill("good", "---\ndescription: good\n---\n")
    (tree / "skills" / "pipe").mkdir()
    os.mkfifo(tree / "skills" / "pipe" / "SKILL.md")
    (tree / "skills" / "folder" / "SKILL.md").mkdir(parents=True)
    (tree / "skills" / "dangling").symlink_to("nowhere")
    (tree / "skills" / "loop").symlink_to(tree / "skills")
    (tree / "skills" / "linked").symlink_to(tree / "skills" / "good")
    home.skill("-dash", "x")
    home.skill("with space", "x")
    home.skill("lower", "x").rename(tree / "skills" / "lower" / "skill.md")
    (tree / "commands" / "sub").mkdir(parents=True)
    (tree / "commands" / "sub" / "up").symlink_to(tree / "commands")
    (tree / "commands" / "self.md").symlink_to("self.md")
    os.mkfifo(tree / "commands" / "pipe.md")
    home.put("project/.claude/commands/sub/c.md", "fine")
    home.put("project/.claude/commands/.hidden.md", "x")
    home.put("project/.claude/commands/notes.txt", "x")
    skills = home.discover()
    assert skills.slash_commands() == ["good", "linked", "sub:c"]


def test_a_huge_document_is_listed_and_refused_and_a_huge_tree_is_cut(home: Home) -> None:
    with open(home.skill("huge", "---\ndescription: big\n---\n"), "a", encoding="utf-8") as file:
        file.truncate(200 * 1024 * 1024)
    for number in range(1100):
        home.put(f"project/.claude/commands/c{number:04}.md", "x")
    skills = home.discover()
    assert len(skills.slash_commands()) == 1001
    answer = call(skills, "huge")
    assert answer.is_error
    assert "larger than" in str(answer.content)


def test_a_document_that_cannot_be_read_is_a_warning(home: Home) -> None:
    path = home.config / "skills" / "secret" / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.symlink_to("/proc/self/mem")  # a regular file whose first byte nobody can read, not even root
    skills = home.discover()
    assert skills.slash_commands() == []
    assert skills.warnings == (f"cannot read {path}",)


def test_plain_documents_are_found_without_the_yaml_library(home: Home) -> None:
    home.skill("greet", GREET)
    code = (
        "import sys; from pathlib import Path; from bridle.agent.skills.catalogue import discover_skills;"
        f"found = discover_skills(Path({str(home.project)!r}), Path({str(home.config)!r}));"
        "print(found.listing(), 'yaml' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "- greet: Greets people False\n"
