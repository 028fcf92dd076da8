"""Imports `pathlib` and `msgspec` without the modules that they import and a short command does not use.

A stand-in takes the place of such a module during the import, and imports the real one when something of it is used.
"""

from __future__ import annotations

import os
import sys

from bridle.ground.light.abc_names import Callable, Mapping

TYPE_CHECKING = False  # `typing` is slow to import; type checkers know the name
if TYPE_CHECKING:
    from types import ModuleType as Module
else:
    Module = type(sys)


def import_pathlib() -> None:
    """Import pathlib without `urllib.parse`, which it uses for one method only."""
    _import("pathlib", {"urllib.parse": _late_functions("urllib.parse", "quote_from_bytes")})


def import_msgspec() -> None:
    """Import msgspec without what it needs for other Pythons, for UUIDs on other systems and for JSON schemas."""
    platform = Module("platform")
    platform.system = lambda: os.uname().sysname  # type: ignore[attr-defined]  # what `uuid` calls
    schemas = "msgspec._json_schema"
    stand_ins = {
        "typing_extensions": None,  # its import fails: `typing` has all that is needed
        "platform": platform,
        "msgspec.inspect": _LateModule("msgspec.inspect"),
        schemas: _late_functions(schemas, "schema", "schema_components"),
    }
    _import("msgspec", stand_ins)


class _LateModule(Module):
    """A module that is imported when one of its names is used."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):  # asked for by the import itself
            raise AttributeError(name)
        return _attribute(self.__name__, name)


def _late_functions(module: str, *names: str) -> object:
    """Return a module with these functions of another one, which is imported when one of them is called."""
    stand_in = Module(module)
    for name in names:
        setattr(stand_in, name, _late_function(module, name))
    return stand_in


def _late_function(module: str, name: str) -> Callable[..., object]:
    def call(*arguments: object, **options: object) -> object:
        return _attribute(module, name)(*arguments, **options)  # type: ignore[operator]  # it is a function

    return call


def _attribute(module: str, name: str) -> object:
    return getattr(__import__(module, fromlist=[name]), name)


def _import(name: str, stand_ins: Mapping[str, object]) -> None:
    """Import a module while others are replaced, except those that are imported already."""
    if name in sys.modules:
        return
    replaced = {other: stand_in for other, stand_in in stand_ins.items() if other not in sys.modules}
    sys.modules.update(replaced)  # type: ignore[arg-type]  # a None makes an import fail
    try:
        __import__(name)
    finally:
        for other in replaced:
            del sys.modules[other]
