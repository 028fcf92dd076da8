"""The committed page is what its sources build, from pinned packages, and can stand inside an HTML file."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tools import web_page

ROOT = Path(__file__).parents[2]
STATIC = web_page.STATIC
# Building takes a second; a hang is a failure.
LIMIT_SECONDS = 120


@pytest.mark.real
def test_the_committed_page_is_what_its_sources_build(tmp_path: Path) -> None:
    web_page.build(tmp_path, web_page.installed_packages())
    differing = [name for name in web_page.BUILT if (tmp_path / name).read_bytes() != (STATIC / name).read_bytes()]
    assert differing == [], "run `make web` and commit the result"


def test_every_package_is_pinned_exactly_with_a_hash_and_without_a_host() -> None:
    project = json.loads((web_page.SOURCES / "package.json").read_text(encoding="utf-8"))
    versions = {**project["dependencies"], **project["devDependencies"]}
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in versions.values())
    text = (web_page.SOURCES / "package-lock.json").read_text(encoding="utf-8")
    assert "://" not in text
    packages = {name: entry for name, entry in json.loads(text)["packages"].items() if name}
    assert {f"node_modules/{name}" for name in versions} <= packages.keys()
    assert all(entry["integrity"].startswith("sha512-") for entry in packages.values())


def test_the_script_holds_nothing_that_ends_or_hides_a_script_element() -> None:
    assert re.search(r"</?script|<!--", (STATIC / "app.js").read_text(encoding="utf-8"), re.IGNORECASE) is None


def test_neither_script_nor_styles_name_an_address_to_load() -> None:
    styles = (STATIC / "app.css").read_text(encoding="utf-8")
    assert re.search(r"url\(|@import|@font-face", styles) is None
    script = (STATIC / "app.js").read_text(encoding="utf-8")
    # Names of XML languages, which are compared; and where to report a fault of the Markdown parser, as text.
    assert set(re.findall(r"https?://[\w.-]+", script)) <= {"http://www.w3.org", "https://github.com"}


def test_no_markup_is_made_from_strings() -> None:
    """Every node is made by name, so that a text of an agent cannot become an element."""
    found = [
        f"{path.name}: {word}"
        for path in sorted((web_page.SOURCES / "src").rglob("*.js"))
        for word in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "dangerouslySetInnerHTML",
            "document.write",
            "eval(",
        )
        if word in path.read_text(encoding="utf-8")
    ]
    assert found == []


def test_the_license_of_every_bundled_package_is_included() -> None:
    text = (STATIC / "licenses.txt").read_text(encoding="utf-8")
    project = json.loads((web_page.SOURCES / "package.json").read_text(encoding="utf-8"))
    for name, version in project["dependencies"].items():
        assert f"{name} {version}\n" in text


def test_the_wheel_has_the_page_and_not_its_sources(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, capture_output=True, timeout=LIMIT_SECONDS, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {f"bridle/views/web/static/{name}" for name in web_page.BUILT} <= set(names)
    assert [name for name in names if "node_modules" in name or name.startswith("web/")] == []
