"""Attack: a build file that ordinary work edits, and that decides which tests a check runs.

`autotests = false` in `Cargo.toml`, `skipTests` in `pom.xml`, no `add_test` in `CMakeLists.txt`, `replace` in `go.mod`,
`imports` in `package.json`: such files cannot be protected, since tasks add dependencies and files to them.

With the sandbox: the same; the working copy is writable.
Without: the change stays.
Reported: in the receipt, under `reported`, with the program that reads it.
"""

from __future__ import annotations

from pathlib import Path

from tests.loop.fixtures.repositories import make_repository

CHECKS = (
    *("cargo test", "mvn test", "./gradlew test", "ctest", "go test ./...", "dotnet test", "npm test", "pixi run test"),
    *("ant test", "mix test", "devbox run test", "swift test", "bundle exec rspec", "nix flake check"),
)
READ_BY = {
    "Cargo.toml": "cargo",
    "pom.xml": "mvn",
    "app/build.gradle.kts": "gradle",
    "lib/CMakeLists.txt": "ctest",
    "go.mod": "go",
    "src/App.csproj": "dotnet",
    "pixi.toml": "pixi",
    "build.xml": "ant",
    "mix.exs": "mix",
    "devbox.json": "devbox",
    "Package.swift": "swift",
    "Gemfile": "bundle",
    "flake.nix": "nix",
}


def test_it_is_reported(tmp_path: Path) -> None:
    package = '{"scripts": {"test": "node t.js"}, "imports": {"#lib": "./lib.js"}}\n'
    files: dict[str, str | bytes] = {**dict.fromkeys(READ_BY, "as it was\n"), "package.json": package, "a.txt": "1\n"}
    here = make_repository(tmp_path / "r", files, checks=CHECKS)
    here.start()
    here.write({**dict.fromkeys((*READ_BY, "a.txt"), "2\n"), "package.json": package.replace("lib.js", "evil.js")})
    reported = {report["path"]: report["what"] for report in here.protect()["reported"]}
    expected = {
        name: f"it defines how the check runs ({program}), and was changed" for name, program in READ_BY.items()
    }
    assert reported == {**expected, "package.json": "`imports` of it defines how the check runs (npm), and was changed"}


def test_another_edit_of_package_json_and_a_program_of_no_check_are_not(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"package.json": '{"scripts": {"test": "node t.js"}}\n', "pom.xml": "1\n"}
    here = make_repository(tmp_path / "r", files, checks=("npm test",))
    here.start()
    here.write({"package.json": '{"scripts": {"test": "node t.js"}, "dependencies": {"x": "1"}}\n', "pom.xml": "2\n"})
    assert here.protect()["reported"] == []


def test_scripts_of_composer_are_reported(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"composer.json": '{"scripts": {"test": "phpunit"}}\n'}
    here = make_repository(tmp_path / "r", files, checks=("composer test",))
    here.start()
    here.write({"composer.json": '{"scripts": {"test": "true"}}\n'})
    assert [report["path"] for report in here.protect()["reported"]] == ["composer.json"]


def test_a_runner_in_the_repository_and_its_tasks_are_restored(tmp_path: Path) -> None:
    names = (
        *("Gruntfile.js", "gulpfile.js", "unittest.cfg", "pants.toml", ".yarn/releases/yarn-4.cjs", ".yarnrc.yml"),
        "gradle/wrapper/gradle-wrapper.jar",
    )
    checks = ("npx grunt test", "npx gulp test", "nose2", "pants test ::", "yarn test", "./gradlew test")
    here = make_repository(tmp_path / "r", dict.fromkeys(names, "as it was\n"), checks=checks)
    here.start()
    here.write(dict.fromkeys(names, "2\n"))
    here.protect()
    assert {name: here.read(name) for name in names} == dict.fromkeys(names, "as it was\n")
