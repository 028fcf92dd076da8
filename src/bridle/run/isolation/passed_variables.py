"""The environment of agents and checks in a sandbox: a list of allowed variables. Pure.

An agent gets the variables that it needs to reach its model; a check gets none of those.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from bridle.run.isolation.name_patterns import matches_any
from bridle.wire.mask import SECRET_NAMES

# Of the machine, the user, the terminal, and the network between them.
_GENERAL = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "OLDPWD", "HOSTNAME", "SHLVL", "TZ", "LANG", "LANGUAGE"),
    *("LC_*", "TERM", "COLORTERM", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR*", "LS_COLORS"),
    *("EDITOR", "VISUAL", "PAGER", "LESS", "CI", "DEBUG", "IS_SANDBOX", "container", "DEBIAN_FRONTEND"),
    *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_*_DIRS"),
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NIX_*"),
    *("GIT_AUTHOR_*", "GIT_COMMITTER_*", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"),
    *("GIT_EDITOR", "GIT_PAGER", "GIT_TERMINAL_PROMPT", "GIT_OPTIONAL_LOCKS", "GIT_TRACE*"),
    *("BRIDLE_*", "BABYSITTER_*", "AGENT_SESSION_ID"),
)
# Of compilers, package managers and test runners.
_TOOLS = (
    *("PYTHON*", "VIRTUAL_ENV*", "CONDA_*", "PYENV_*", "PIP_*", "UV_*", "POETRY_*", "HATCH_*", "PYTEST_*", "TOX_*"),
    *("COVERAGE_*", "MYPY*", "RUFF_*", "HYPOTHESIS_*", "DJANGO_SETTINGS_MODULE", "FLASK_*"),
    *("NODE_*", "npm_*", "NPM_*", "NVM_*", "VOLTA_*", "FNM_*", "YARN_*", "PNPM_*", "BUN_*", "DENO_*", "COREPACK_*"),
    *("GO*", "CGO_*", "RUST*", "CARGO_*", "JAVA_*", "JDK_*", "MAVEN_*", "M2_HOME", "GRADLE_*", "KOTLIN_*", "ANDROID_*"),
    *("DOTNET_*", "NUGET_*", "MSBUILD*", "RUBY*", "GEM_*", "BUNDLE_*", "RBENV_*", "RAILS_ENV", "RACK_ENV"),
    *("PHP_*", "COMPOSER_*", "MIX_*", "ERL_*", "SWIFT*", "PERL*", "R_*", "LUA_*", "HOMEBREW_*"),
    *("CC", "CXX", "CPP", "LD", "AR", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "LIBS", "CMAKE_*", "CCACHE_*"),
    *("MAKE*", "MFLAGS", "NINJA_*", "BAZEL_*", "LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH", "C_INCLUDE_PATH"),
    *("PKG_CONFIG*", "MANPATH", "PLAYWRIGHT_*", "PUPPETEER_*", "CHROME_*", "JEST_*", "VITEST*", "CYPRESS_*"),
)
# Not secrets, though their names look like it.
_NO_SECRETS = frozenset(
    {"BRIDLE_RUN_TOKEN", "MAX_THINKING_TOKENS", "CLAUDE_CODE_MAX_OUTPUT_TOKENS", "BRIDLE_CONTEXT_TOKENS"}
)

_CLAUDE = (
    *("ANTHROPIC_*", "CLAUDE*", "MAX_THINKING_TOKENS", "API_TIMEOUT_MS", "BASH_*", "MCP_*", "DISABLE_*", "ENABLE_*"),
    *("USE_BUILTIN_RIPGREP", "SLASH_COMMAND_*", "OTEL_*", "TASK_*"),
)
_GOOGLE = ("GOOGLE_*", "GCLOUD_*", "CLOUD_ML_*", "CLOUDSDK_*", "VERTEX_*")
# What each agent needs to reach its model, secrets included.
_OF_AGENT = {
    "claude": _CLAUDE,
    "bridle-agent": _CLAUDE,
    "codex": ("OPENAI_*", "CODEX_*", "AZURE_OPENAI_*"),
    "gemini": ("GEMINI_*", *_GOOGLE),
    # It can use any provider.
    "opencode": ("OPENCODE*", "*_API_KEY", "*_BASE_URL", "AWS_*", "AZURE_*", *_GOOGLE),
}
# What Claude Code needs besides with the clouds that these variables turn on.
_OF_CLOUD = {"CLAUDE_CODE_USE_BEDROCK": ("AWS_*",), "CLAUDE_CODE_USE_VERTEX": _GOOGLE}

# They name folders outside: in the sandbox `/tmp` is private.
_TEMPORARY_FOLDERS = ("TMPDIR", "TMP", "TEMP")


def passed_variables(
    environment: Mapping[str, str], *, agent: str | None, extra: Collection[str] = ()
) -> dict[str, str]:
    """Return the variables that a program in a sandbox gets: an agent, or with None a check.

    `extra` are names that the user or the working copy adds; a final `*` matches any ending.
    """
    of_agents = tuple(pattern for patterns in _OF_AGENT.values() for pattern in patterns)
    own = _patterns_of(agent, environment)
    passed = {}
    for name, value in environment.items():
        if name in _TEMPORARY_FOLDERS:
            continue
        is_general = _matches(name, (*_GENERAL, *_TOOLS)) and (not _is_secret(name) or name in _NO_SECRETS)
        if _matches(name, own) or is_general or (_matches(name, extra) and not _is_key(name, of_agents)):
            passed[name] = value
    return passed


def _patterns_of(agent: str | None, environment: Mapping[str, str]) -> tuple[str, ...]:
    patterns = _OF_AGENT.get(agent, ()) if agent is not None else ()
    if patterns is _CLAUDE:
        patterns += tuple(p for name, more in _OF_CLOUD.items() if environment.get(name) for p in more)
    if agent == "bridle-agent" and _may_use_chat(environment):
        patterns += ("OPENAI_*",)
    return patterns


def _may_use_chat(environment: Mapping[str, str]) -> bool:
    """Return whether bridle-agent may use an OpenAI-compatible endpoint; otherwise it needs no key for one."""
    named = environment.get("BRIDLE_ENDPOINT", "").strip()
    return named == "chat" or (not named and bool(environment.get("OPENAI_BASE_URL", "").strip()))


def _is_key(name: str, of_agents: Collection[str]) -> bool:
    """Return whether a variable is a key for a model: then only its agent gets it."""
    return _is_secret(name) and _matches(name, of_agents)


def _is_secret(name: str) -> bool:
    return any(mark in name.upper() for mark in SECRET_NAMES)


def _matches(name: str, patterns: Collection[str]) -> bool:
    return bool(matches_any(tuple(patterns))(name))
