"""What of the user's home a sandboxed program sees: entries whose name begins with a dot are hidden unless listed here.

Programs keep keys, cookies, histories and logins there, each in a place of its own, so a list of secrets is never
complete. The lists name toolchains, and settings that builds and tests need. Caches of package managers are private to
Bridle: their files are linked into environments of the user, or are on the user's PATH.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from bridle.errors import DiskError
from bridle.ground import disk
from bridle.run.isolation.name_patterns import matches_any
from bridle.run.isolation.real_paths import real

# Folders and files that hold keys. They cannot even be listed, also in a working copy that is the home itself.
HIDDEN = (
    *(".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".config/gcloud", ".config/gh", ".netrc"),
    *(".git-credentials", ".pypirc", ".npmrc", ".password-store", ".mozilla", ".config/google-chrome", ".vault-token"),
    *(".config/git/credentials", ".local/share/keyrings", ".pgpass", ".cargo/credentials.toml", ".cargo/credentials"),
    *(".bash_history", ".zsh_history", "Library/Cookies", "Library/Mail", "Library/Messages"),
    *("Library/Application Support/Google", "Library/Application Support/Firefox"),
)

# Read-only; `*` matches any name.
VISIBLE = (
    # Toolchains and version managers.
    *(".pyenv", ".nvm", ".fnm", ".volta", ".nodenv", ".asdf", ".rbenv", ".rvm", ".goenv", ".jenv", ".sdkman", ".proto"),
    *(".rustup", ".juliaup", ".ghcup", ".elan", ".swiftly", ".nix-profile", ".nix-defexpr", ".guix-profile", ".opam"),
    *(".venv", ".venvs", ".virtualenvs", ".poetry", ".mix", ".kiex", ".npm-global", ".npm-packages"),
    *(".cargo/bin", ".cargo/env*", ".cabal/bin", ".stack/programs", ".stack/snapshots", ".deno/bin", ".foundry/bin"),
    *(
        f".dotnet/{name}"
        for name in ("dotnet", "host", "packs", "sdk", "sdk-manifests", "shared", "templates", "tools")
    ),
    *(
        f".julia/{name}"
        for name in ("artifacts", "bin", "compiled", "environments", "juliaup", "packages", "registries")
    ),
    *(".conda/envs", ".conda/pkgs", ".pixi/bin", ".pixi/envs", ".rye/py", ".rye/self", ".rye/shims", ".rye/tools"),
    *(".pub-cache/bin", ".pub-cache/global_packages", ".pub-cache/hosted", ".bun/bin", ".bun/install/global"),
    *(".yarn/bin", ".yarn/releases", ".gem/ruby", ".composer/vendor", ".m2/wrapper", ".gradle/wrapper", ".gradle/jdks"),
    *(".local/bin", ".local/lib", ".local/lib64", ".local/include", ".local/opt", ".local/pipx/venvs"),
    *(f".local/share/{name}" for name in ("mise", "rtx", "fnm", "pipx/venvs", "pnpm", "virtualenvs", "pypoetry")),
    *(f".local/share/{name}" for name in ("uv/python", "uv/tools", "hatch/env", "hatch/pythons", "pdm/venvs")),
    *(f".local/share/{name}" for name in ("claude/versions", "gem", "coursier", "fonts")),
    # Browsers and models that tests load.
    *(f".cache/{name}" for name in ("ms-playwright", "puppeteer", "Cypress", "selenium", "node/corepack", "bazelisk")),
    *(f".cache/{name}" for name in ("torch", "huggingface/hub", "fontconfig", "coursier")),
    # Settings that decide what builds, tests and git do.
    *(".gitconfig*", ".gitignore*", ".gitattributes*", ".gitmessage", ".git-template*", ".config/git/config"),
    *(".config/git/ignore", ".config/git/attributes", ".config/fontconfig", ".config/matplotlib", ".config/ruff"),
    *(".config/black", ".config/flake8", ".config/yamllint", ".config/mypy", ".config/pycodestyle", ".editorconfig"),
    *(".pylintrc", ".flake8", ".isort.cfg", ".clang-format", ".rustfmt.toml", ".prettierrc*", ".eslintrc*"),
    *(".tool-versions", ".python-version", ".node-version", ".nvmrc", ".ruby-version", ".java-version", ".terminfo"),
    *(".fonts", ".hushlogin", ".mavenrc", ".sbt/*.sbt", ".sbt/repositories"),
)
# The visible patterns of entries of the home itself, and the others.
_IS_VISIBLE_ENTRY = matches_any(tuple(pattern for pattern in VISIBLE if "/" not in pattern))
_VISIBLE_BELOW = tuple(pattern for pattern in VISIBLE if "/" in pattern)

# Settings of package managers: visible as long as they have no key.
VISIBLE_WITHOUT_KEYS = (
    *(".config/pip/pip.conf", ".pip/pip.conf", ".config/uv/uv.toml", ".config/pypoetry/config.toml", ".condarc"),
    *(".config/go/env", ".yarnrc", ".yarnrc.yml", ".bunfig.toml", ".cargo/config.toml", ".cargo/config", ".gemrc"),
    *(".bundle/config", ".m2/settings.xml", ".gradle/gradle.properties", ".gradle/init.gradle", ".curlrc", ".wgetrc"),
    *(".nuget/NuGet/NuGet.Config", ".config/NuGet/NuGet.Config", ".config/mise/config.toml", ".config/nix/nix.conf"),
)
_KEY = re.compile(rb"token|passw|secret|credential|auth|api_?-?key|private|://[^/\s\"']*@", re.IGNORECASE)
_SETTINGS_LIMIT_BYTES = 256 * 1024
# Each is a mount, with three of the 9000 options of bubblewrap.
_ENTRIES_LIMIT = 1000

# Caches of package managers: a sandboxed program has its own.
CACHES = (
    *(
        ".cache",
        ".npm",
        ".yarn/berry",
        ".bun/install/cache",
        ".local/share/pnpm/store",
        ".cargo/registry",
        ".cargo/git",
    ),
    *("go/pkg", ".gradle/caches", ".m2/repository", ".nuget/packages", ".bundle/cache", ".composer/cache", ".ivy2"),
)

# Variables that name a cache, and those that name a folder with caches in it.
CACHE_VARIABLES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("XDG_CACHE_HOME", "GOCACHE", "GOMODCACHE", "npm_config_cache", "NPM_CONFIG_CACHE"), ("",)),
    **dict.fromkeys(("PIP_CACHE_DIR", "UV_CACHE_DIR", "POETRY_CACHE_DIR", "YARN_CACHE_FOLDER", "CCACHE_DIR"), ("",)),
    **dict.fromkeys(("NUGET_PACKAGES", "COMPOSER_CACHE_DIR", "DENO_DIR", "BUN_INSTALL_CACHE_DIR"), ("",)),
    "CARGO_HOME": ("registry", "git"),
    "GOPATH": ("pkg",),
    "GRADLE_USER_HOME": ("caches", "daemon", "native", "notifications", "wrapper"),
}


def named_caches(environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    """Yield the caches that variables name, each with a name for the folder that takes its place."""
    for variable, folders in CACHE_VARIABLES.items():
        value = environment.get(variable, "")
        if os.path.isabs(value):
            for folder in folders:
                yield f"{variable}-{folder}".strip("-"), Path(real(os.path.join(value, folder)))


def hidden(user: Path) -> list[Path]:
    """Return the entries of a home that are hidden: their names begin with a dot, and are not listed."""
    names = [name for name in _names(user) if name.startswith(".") and not _IS_VISIBLE_ENTRY(name)]
    below = f"{user}/".replace("//", "/")
    # A link out of the home leads to what is visible anyway.
    return [user / name for name in names if real(user / name).startswith(below)]


def visible(user: Path) -> Iterator[Path]:
    """Yield the listed files and folders that are below such an entry, and listed links: they may lead below one.

    Those that exist: few of the list do.
    """
    for pattern in _VISIBLE_BELOW:
        folder, _, name = pattern.rpartition("/")
        if "*" in name:
            yield from (user / folder / found for found in matching(user / folder, (name,)))
        elif os.path.lexists(f"{user}/{pattern}"):
            yield user / pattern
    yield from (user / name for name in matching(user, VISIBLE) if os.path.islink(user / name))
    for name in VISIBLE_WITHOUT_KEYS:
        if os.path.lexists(f"{user}/{name}") and _has_no_key(user / name):
            yield user / name


def caches(user: Path, shown: Collection[Path], *, is_private: bool) -> Iterator[str]:
    """Yield the names of the caches that can be replaced: those that exist, and those that the sandbox can make.

    It can below an entry that is hidden and, if `is_private`, in the home. `shown` are folders that are not hidden.
    """
    existing = frozenset(folder for folder in shown if os.path.isdir(folder))
    for name in CACHES:
        path, top = user / name, user / Path(name).parts[0]
        is_new = is_private and not os.path.lexists(top)
        is_nested = path != top and name.startswith(".") and os.path.isdir(top)
        if os.path.isdir(path) or is_new or (is_nested and existing.isdisjoint(path.parents)):
            yield name


def new_folders(user: Path) -> Iterator[Path]:
    """Yield the hidden folders that a new home does not have yet, and that programs make."""
    tops = [Path(name).parts[0] for name in CACHES if name.startswith(".") and "/" in name]
    yield from (user / name for name in dict.fromkeys((".config", *tops)) if not os.path.lexists(user / name))


def can_be_private(user: Path) -> bool:
    """Return whether a home can be shown by its entries: there is one, and bubblewrap can take that many options."""
    return str(user) != "/" and os.path.isdir(user) and len(_names(user)) <= _ENTRIES_LIMIT


def entries(user: Path) -> list[Path]:
    """Return the entries of a home that can be shown."""
    return [user / name for name in _names(user) if os.path.islink(user / name) or os.path.exists(user / name)]


def matching(folder: Path, patterns: Collection[str]) -> tuple[str, ...]:
    """Return the names in a folder that match one of the patterns."""
    is_listed = matches_any(tuple(patterns))
    return tuple(name for name in _names(folder) if is_listed(name))


def links_in(folder: Path) -> list[str]:
    """Return the names of the links in a folder."""
    return [name for name in _names(folder) if os.path.islink(folder / name)]


def _has_no_key(path: Path) -> bool:
    try:
        return _KEY.search(disk.read_bounded(path, _SETTINGS_LIMIT_BYTES)) is None
    except DiskError:
        return False


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []  # there is no home
