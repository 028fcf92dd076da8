"""A table of the programs that checks run, with the files that define what their commands mean.

`docs/security.md` lists the same files.
"""

from __future__ import annotations

from msgspec import Struct


class Runner(Struct, frozen=True):
    """The places of a program's settings."""

    files: tuple[str, ...] = ()
    """Its own files, in order of precedence; `*` is any suffix. New ones are reported if no file existed."""
    closed: tuple[str, ...] = ()
    """Files that replace the command, such as its shell or its compiler. They may not be added either."""
    toml: str | None = None
    """Its table in pyproject.toml."""
    ini: tuple[tuple[str, str], ...] = ()
    """Files and sections in them."""
    package_key: str | None = None
    """Its key in package.json."""
    definitions: tuple[str, ...] = ()
    """Files in any folder that define what it builds and runs, and that ordinary work edits: changes are reported.

    After a `#` comes the only key whose changes are."""


PYTEST = "pytest"
_CARGO = (".cargo/config.toml", ".cargo/config", "rust-toolchain.toml", "rust-toolchain")
_RUST_LINTERS = ("clippy.toml", ".clippy.toml", "rustfmt.toml", ".rustfmt.toml")
_COMPOSE = ("compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml")
_OVERRIDES = tuple(name.replace(".y", ".override.y") for name in _COMPOSE)
_BAZEL = ("BUILD", "BUILD.bazel", "WORKSPACE", "WORKSPACE.bazel", "MODULE.bazel", "*.bzl")
_CMAKE = ("CMakeLists.txt", "CMakePresets.json", "*.cmake")
_GRADLE = ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts")
_IMPORTS = ("package.json#imports",)
_MESON = ("meson.build", "meson_options.txt", "meson.options")
_MSBUILD = ("*.csproj", "*.fsproj", "*.vbproj", "*.sln", "*.slnx")
_MAVEN = (
    "maven.config",
    "jvm.config",
    "extensions.xml",
    "wrapper/maven-wrapper.properties",
    "wrapper/maven-wrapper.jar",
)

RUNNERS: dict[str, Runner] = {
    PYTEST: Runner(
        files=("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini"),
        toml="tool.pytest",
        ini=(("tox.ini", "pytest"), ("setup.cfg", "tool:pytest")),
    ),
    "ant": Runner(definitions=("build.xml", "ivy.xml")),
    "ava": Runner(files=("ava.config.*",), package_key="ava"),
    "bandit": Runner(files=(".bandit",), toml="tool.bandit"),
    "bazel": Runner(closed=(".bazelrc", ".bazelversion"), definitions=_BAZEL),
    "behat": Runner(files=("behat.*",)),
    "behave": Runner(files=("behave.ini", ".behaverc"), toml="tool.behave"),
    "biome": Runner(files=("biome.json", "biome.jsonc")),
    "black": Runner(toml="tool.black"),
    "buck2": Runner(closed=(".buckconfig", ".buckconfig.local"), definitions=("BUCK", "*.bzl")),
    "bun": Runner(closed=("bunfig.toml", ".env", ".env.local", ".env.test", ".npmrc"), definitions=_IMPORTS),
    "bundle": Runner(closed=(".bundle/config",), definitions=("Gemfile", "gems.rb", "*.gemspec")),
    "c8": Runner(files=(".c8rc", ".c8rc.*"), package_key="c8"),
    "cabal": Runner(definitions=("*.cabal", "cabal.project", "cabal.project.local")),
    "cargo": Runner(
        files=(*_RUST_LINTERS, ".config/nextest.toml"),
        closed=_CARGO,
        definitions=("Cargo.toml", "build.rs", "Makefile.toml"),
    ),
    "clojure": Runner(definitions=("deps.edn",)),
    "cmake": Runner(definitions=_CMAKE),
    "codecept": Runner(files=("codeception.*",)),
    "composer": Runner(definitions=("composer.json#scripts",)),
    "coverage": Runner(
        files=(".coveragerc",), toml="tool.coverage", ini=(("setup.cfg", "coverage:*"), ("tox.ini", "coverage:*"))
    ),
    "ctest": Runner(definitions=_CMAKE),
    "cucumber": Runner(files=("cucumber.*", "config/cucumber.*")),
    "cypress": Runner(files=("cypress.config.*",)),
    "dart": Runner(files=("dart_test.yaml",), definitions=("pubspec.yaml",)),
    "deno": Runner(files=("deno.json", "deno.jsonc")),
    "devbox": Runner(definitions=("devbox.json",)),
    "direnv": Runner(closed=(".envrc",)),
    "docker": Runner(files=_COMPOSE, closed=(*_OVERRIDES, ".env")),
    "doit": Runner(files=("dodo.py",)),
    "dotenv": Runner(closed=(".env",)),
    "dotnet": Runner(
        files=("Directory.Build.props", "Directory.Build.targets", "global.json", ".runsettings"), definitions=_MSBUILD
    ),
    "dune": Runner(definitions=("dune", "dune-project", "dune-workspace")),
    "earthly": Runner(definitions=("Earthfile",)),
    "eslint": Runner(
        files=("eslint.config.*", ".eslintrc", ".eslintrc.*", ".eslintignore"), package_key="eslintConfig"
    ),
    "flake8": Runner(files=(".flake8",), ini=(("setup.cfg", "flake8"), ("tox.ini", "flake8"))),
    "go": Runner(closed=("go.work",), definitions=("go.mod",)),
    "golangci-lint": Runner(files=(".golangci.*",)),
    "gradle": Runner(
        files=("gradle.properties",),
        closed=("gradle/wrapper/gradle-wrapper.properties", "gradle/wrapper/gradle-wrapper.jar"),
        definitions=(*_GRADLE, "libs.versions.toml"),
    ),
    "grunt": Runner(files=("Gruntfile.*", "gruntfile.*")),
    "gulp": Runner(files=("gulpfile.*", "Gulpfile.*")),
    "hatch": Runner(files=("hatch.toml",), toml="tool.hatch.envs"),
    "invoke": Runner(files=("tasks.py", "invoke.*")),
    "isort": Runner(files=(".isort.cfg",), toml="tool.isort", ini=(("setup.cfg", "isort"), ("tox.ini", "isort"))),
    "jasmine": Runner(files=("jasmine.json", "spec/support/jasmine.*")),
    "jest": Runner(files=("jest.config.*", "babel.config.*", ".babelrc", ".babelrc.*"), package_key="jest"),
    "just": Runner(files=("justfile", "Justfile", ".justfile")),
    "karma": Runner(files=("karma.conf.*",)),
    "lein": Runner(definitions=("project.clj",)),
    "lerna": Runner(files=("lerna.json",)),
    "mage": Runner(files=("magefile.go",)),
    "meson": Runner(definitions=_MESON),
    "mill": Runner(definitions=("build.mill", "build.sc")),
    "mise": Runner(closed=("mise.toml", ".mise.toml", ".tool-versions")),
    "mix": Runner(definitions=("mix.exs", "test_helper.exs", ".formatter.exs")),
    "mocha": Runner(files=(".mocharc.*", ".mocharc", "test/mocha.opts"), package_key="mocha"),
    "moon": Runner(definitions=("moon.yml", "tasks.yml", "workspace.yml")),
    "mvn": Runner(closed=tuple(f".mvn/{name}" for name in _MAVEN), definitions=("pom.xml",)),
    "mypy": Runner(files=("mypy.ini", ".mypy.ini"), toml="tool.mypy", ini=(("setup.cfg", "mypy*"),)),
    "ng": Runner(files=("angular.json",)),
    "ninja": Runner(definitions=("build.ninja", *_CMAKE, *_MESON)),
    "nix": Runner(definitions=("flake.nix", "shell.nix", "default.nix")),
    "node": Runner(definitions=_IMPORTS),
    "nose2": Runner(files=("unittest.cfg", "nose2.cfg"), ini=(("setup.cfg", "unittest"),)),
    "nosetests": Runner(files=(".noserc", "nose.cfg"), ini=(("setup.cfg", "nosetests"),)),
    "nox": Runner(files=("noxfile.py",)),
    "npm": Runner(closed=(".npmrc",), definitions=_IMPORTS),
    "nx": Runner(files=("nx.json", "project.json")),
    "nyc": Runner(files=(".nycrc", ".nycrc.*"), package_key="nyc"),
    "pants": Runner(
        files=("pants.toml",), closed=(".pants.rc", ".pants.bootstrap"), definitions=("BUILD", "BUILD.pants")
    ),
    "pdm": Runner(closed=("pdm.toml",), toml="tool.pdm.scripts"),
    "pest": Runner(files=("phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml"), definitions=("Pest.php",)),
    "phing": Runner(definitions=("build.xml",)),
    "phpstan": Runner(files=("phpstan.neon", "phpstan.neon.dist", "phpstan.dist.neon")),
    "phpunit": Runner(files=("phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml")),
    "pipenv": Runner(closed=(".env",), definitions=("Pipfile",)),
    "pixi": Runner(closed=(".pixi/config.toml",), toml="tool.pixi.tasks", definitions=("pixi.toml",)),
    "playwright": Runner(files=("playwright.config.*",)),
    "pnpm": Runner(files=("pnpm-workspace.yaml",), closed=(".npmrc", ".pnpmfile.cjs"), definitions=_IMPORTS),
    "poe": Runner(files=("poe_tasks.*",), toml="tool.poe"),
    "poetry": Runner(closed=("poetry.toml",), toml="tool.poetry.scripts"),
    "pre-commit": Runner(files=(".pre-commit-config.yaml",)),
    "prettier": Runner(
        files=(".prettierrc", ".prettierrc.*", "prettier.config.*", ".prettierignore"), package_key="prettier"
    ),
    "prove": Runner(closed=(".proverc",)),
    "psalm": Runner(files=("psalm.xml", "psalm.xml.dist")),
    "pylint": Runner(
        files=("pylintrc", "pylintrc.toml", ".pylintrc", ".pylintrc.toml"),
        toml="tool.pylint",
        ini=(("setup.cfg", "pylint*"), ("tox.ini", "pylint*")),
    ),
    "pyright": Runner(files=("pyrightconfig.json",), toml="tool.pyright"),
    "rake": Runner(files=("Rakefile", "rakefile", "Rakefile.rb", "rakefile.rb")),
    "rebar3": Runner(definitions=("rebar.config", "rebar.config.script")),
    "rspec": Runner(closed=(".rspec", ".rspec-local")),
    "rubocop": Runner(files=(".rubocop.yml",)),
    "ruff": Runner(files=("ruff.toml", ".ruff.toml"), toml="tool.ruff"),
    "rush": Runner(definitions=("rush.json", "command-line.json")),
    "rustc": Runner(closed=_CARGO),
    "rye": Runner(toml="tool.rye.scripts"),
    "sbt": Runner(closed=(".sbtopts", ".jvmopts"), definitions=("*.sbt", "build.properties")),
    "scons": Runner(definitions=("SConstruct", "SConscript")),
    "shellcheck": Runner(files=(".shellcheckrc", "shellcheckrc")),
    "stack": Runner(definitions=("stack.yaml", "package.yaml", "*.cabal")),
    "stylelint": Runner(files=("stylelint.config.*", ".stylelintrc", ".stylelintrc.*"), package_key="stylelint"),
    "swift": Runner(definitions=("Package.swift", "Package@*")),
    "tap": Runner(closed=(".taprc",), package_key="tap"),
    "task": Runner(files=("Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "taskfile.yaml")),
    "testcafe": Runner(files=(".testcaferc.*",)),
    "tox": Runner(files=("tox.ini", "tox.toml"), toml="tool.tox"),
    "tsc": Runner(files=("tsconfig.json",)),
    "turbo": Runner(files=("turbo.json",)),
    "uv": Runner(closed=("uv.toml",)),
    "vitest": Runner(files=("vitest.config.*", "vitest.workspace.*", "vite.config.*")),
    "wdio": Runner(files=("wdio.conf.*",)),
    "wireit": Runner(package_key="wireit"),
    "wtr": Runner(files=("web-test-runner.config.*",)),
    "xcodebuild": Runner(definitions=("*.pbxproj", "*.xcscheme", "*.xctestplan", "*.xcconfig")),
    "yamllint": Runner(files=(".yamllint", ".yamllint.*")),
    "yarn": Runner(
        files=(".yarn/releases/*", ".yarn/plugins/@yarnpkg/*"),
        closed=(".yarnrc.yml", ".yarnrc", ".npmrc"),
        definitions=(*_IMPORTS, ".pnp.cjs", ".pnp.loader.mjs"),
    ),
    "zig": Runner(definitions=("build.zig", "build.zig.zon")),
}
ALIASES = {
    "py.test": PYTEST,
    "clj": "clojure",
    "docker-compose": "docker",
    "flutter": "dart",
    "gmake": "make",
    "gradlew": "gradle",
    "inv": "invoke",
    "mvnw": "mvn",
    "nix-build": "nix",
    "nix-shell": "nix",
    "npx": "npm",
    "podman": "docker",
    "podman-compose": "docker",
    "pnpx": "pnpm",
    "python3": "python",
    "vue-tsc": "tsc",
    "web-test-runner": "wtr",
}

# Programs that run scripts of package.json, and the subcommands before the script's name.
SCRIPT_RUNNERS: dict[str, frozenset[str]] = {
    "npm": frozenset({"run", "run-script", "rum", "urn"}),
    "pnpm": frozenset({"run", "run-script"}),
    "yarn": frozenset({"run"}),
    "bun": frozenset({"run"}),
}
# Scripts that are also subcommands.
SHORT_SCRIPTS = {"t": "test", "tst": "test", "test": "test", "start": "start", "stop": "stop", "restart": "restart"}
# Programs whose arguments are script names, of this package or of all packages.
SCRIPT_LISTS = frozenset({"run-s", "run-p", "npm-run-all", "turbo", "nx", "lerna"})
# Flags of these programs for the working folder.
FOLDER_FLAGS = frozenset({"-C", "--prefix", "--cwd", "--dir", "--directory"})
# Flags that choose packages of the repository by name, and flags for all packages.
PACKAGE_FLAGS = frozenset({"-w", "--workspace", "--filter", "-F"})
ALL_PACKAGES = frozenset({"-r", "--recursive", "-ws", "--workspaces"})
# Folders of installed packages.
INSTALLED = frozenset({"node_modules", ".venv", "venv"})
# Programs that install what a file lists, and their subcommands for it.
INSTALLERS = frozenset(
    {"pip", "pip3", "uv", "poetry", "pdm", "pipenv", "npm", "pnpm", "yarn", "bun", "bundle", "composer"}
)
INSTALLING = frozenset({"install", "sync", "ci", "add"})
