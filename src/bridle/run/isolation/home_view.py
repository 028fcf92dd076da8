"""What of the user's home a sandboxed program sees: entries whose name begins with a dot are hidden unless listed here.

Programs keep keys, cookies, histories and logins there, each in a place of its own, so a list of secrets is never
complete. The lists name toolchains, and settings that builds and tests need. Caches of package managers are private to
Bridle: their files are linked into environments of the user, or are on the user's PATH.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from bridle.errors import DiskError
from bridle.ground import disk

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

# Settings of package managers: visible as long as they have no key.
VISIBLE_WITHOUT_KEYS = (
    *(".config/pip/pip.conf", ".pip/pip.conf", ".config/uv/uv.toml", ".config/pypoetry/config.toml", ".condarc"),
    *(".config/go/env", ".yarnrc", ".yarnrc.yml", ".bunfig.toml", ".cargo/config.toml", ".cargo/config", ".gemrc"),
    *(".bundle/config", ".m2/settings.xml", ".gradle/gradle.properties", ".gradle/init.gradle", ".curlrc", ".wgetrc"),
    *(".nuget/NuGet/NuGet.Config", ".config/NuGet/NuGet.Config", ".config/mise/config.toml", ".config/nix/nix.conf"),
)
_KEY = re.compile(rb"token|passw|secret|credential|auth|api_?-?key|private|://[^/\s\"']*@", re.IGNORECASE)
_SETTINGS_LIMIT_BYTES = 256 * 1024

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


def hidden(user: Path) -> list[Path]:
    """Return the entries of a home that are hidden: their names begin with a dot, and are not listed."""
    names = [name for name in _names(user) if name.startswith(".")]
    paths = [user / name for name in names if not any(Path(name).match(pattern) for pattern in VISIBLE)]
    # A link out of the home leads to what is visible anyway.
    return [path for path in paths if user in Path(os.path.realpath(path)).parents]


def visible(user: Path) -> Iterator[Path]:
    """Yield the listed files and folders that are below such an entry, and listed links: they may lead below one."""
    for pattern in VISIBLE:
        if "/" in pattern:
            yield from sorted(user.glob(pattern)) if "*" in pattern else [user / pattern]
    yield from (user / name for name in matching(user, VISIBLE) if os.path.islink(user / name))
    for name in VISIBLE_WITHOUT_KEYS:
        if _has_no_key(user / name):
            yield user / name


def caches(user: Path, shown: Collection[Path]) -> Iterator[str]:
    """Yield the names of the caches that can be replaced.

    That are those which exist, and those below a hidden entry of the home. `shown` are folders that are not hidden.
    """
    for name in CACHES:
        top, is_nested = user / Path(name).parts[0], name.startswith(".") and "/" in name
        is_shown = any(folder in (user / name).parents for folder in shown)
        if os.path.isdir(user / name) or (is_nested and os.path.isdir(top) and not is_shown):
            yield name


def matching(folder: Path, patterns: Collection[str]) -> tuple[str, ...]:
    """Return the names in a folder that match one of the patterns."""
    return tuple(name for name in _names(folder) if any(fnmatchcase(name, pattern) for pattern in patterns))


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
