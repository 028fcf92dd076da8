"""Where the value of each setting comes from: a default, or a file with its line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from bridle.ground import disk
from bridle.loop.settings.bridle_toml import FILE_NAME, LIMIT_BYTES, find_file, line_of, load_settings, read_text
from bridle.loop.settings.model import KEYS

DEFAULT = "default"
_ADDRESSES = "notify"


class InForce(Struct, frozen=True):
    """A setting, its value and where that comes from."""

    name: str
    value: Any
    shown: str
    """The value as in a file."""
    source: str
    """`default`, or the file."""
    line: int = 0
    """The line in that file; 0 for a default."""
    default: str = ""
    """The default as in a file."""
    ignored: str = ""
    """The file whose value does not count until the user has agreed to it; empty without one."""


def settings_in_force(cwd: Path, home: Path, environment: Mapping[str, str]) -> list[InForce]:
    """Return every setting with its value and source. Raises SettingsError as a run would."""
    settings = load_settings(cwd, home)
    files = [path for path in (home / FILE_NAME, find_file(cwd)) if path is not None]
    texts = {path: _text(path) for path in dict.fromkeys(files)}
    values = {path: read_text(text, path, is_repository=False)[0] for path, text in texts.items()}
    found = []
    for name, key in KEYS.items():
        value = getattr(settings, key.attribute)
        setting = [path for path in values if name in values[path]]
        used = [path for path in setting if name in settings.chosen and values[path][name] == value]
        source = used[-1] if used else None
        if name == "sandbox.mode" and environment.get("BRIDLE_SANDBOX") and source is None:
            found.append(_in_force(name, environment["BRIDLE_SANDBOX"], "BRIDLE_SANDBOX"))
            continue
        ignored = setting[-1] if setting and setting[-1] != source else None
        line = line_of(texts[source], name.partition(".")[0]) if source is not None else 0
        found.append(_in_force(name, value, str(source or DEFAULT), line, str(ignored or "")))
    return found


def _in_force(name: str, value: Any, source: str, line: int = 0, ignored: str = "") -> InForce:
    key = KEYS[name]
    if name == _ADDRESSES:  # addresses contain tokens
        value = tuple(f"{address.partition(':')[0]}:…" for address in value)
    shown = [key.kind.show(each) for each in (value, key.default)]
    return InForce(name, value, shown[0], source, line, shown[1], ignored)


def _text(path: Path) -> str:
    data = disk.read_if_exists(path, LIMIT_BYTES)
    return "" if data is None else data.decode("utf-8-sig")
