"""Finds and imports a process: a Python file and the name of a coroutine function in it.

Each load imports anew, the process's own modules beside it included, so that nothing of an earlier iteration or of an
earlier version of the code is left. What stands elsewhere (installed packages, the standard library) is shared.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import Any

from bridle import _PROCESSES
from bridle.engine.process import define_task
from bridle.errors import DiskError, ProcessNotLoaded
from bridle.ground import disk
from bridle.journal.format.digest import sha256

DEFAULT_EXPORT = "process"

# A process is a file that a person reads. One of this size is not.
SOURCE_LIMIT_BYTES = 16 * 1024 * 1024

# What a coroutine function's code says of itself; `inspect` would cost more than the rest of this module.
_CO_COROUTINE = 0x80
_MODULE_NAME = "bridle_process"
# Folders of installed packages, wherever they stand: what is in them is nobody's process.
_INSTALLED = ("site-packages", "dist-packages")

Function = Callable[[Any, Any], Coroutine[Any, Any, Any]]


class Process:
    """An imported process, with the modules that it brought along."""

    def __init__(
        self,
        path: Path,
        export: str,
        digest: str,
        function: Function,
        modules: dict[str, ModuleType],
        registry: define_task.Registry,
    ) -> None:
        self.path = path
        self.export = export
        self.digest = digest
        """SHA-256 of its file."""
        self.function = function
        self.modules = modules
        """Its own ones: the file itself, and those beside it that were imported."""
        self._registry = registry
        self._stamps: dict[str, tuple[int, int] | None] = {}
        self.output_identity: Callable[[Any], Any] | None = None
        """Return the part of its output that a replay compares; None: all of it."""

    @contextmanager
    def active(self) -> Iterator[None]:
        """Let its imports find its own modules; afterwards they are out of everybody's way."""
        with _imports(self.path.parent, self.modules, self._registry):
            yield

    def is_current(self) -> bool:
        """Whether its files, its own modules included, still hold what was imported."""
        files = (getattr(module, "__file__", None) for module in self.modules.values())
        stamps = (_stamp(file) == module_stamp for file, module_stamp in self._stamps.items())
        return all(stamps) and all(file is None or file in self._stamps for file in files)

    def note_files(self) -> None:
        """Remember how its files look now."""
        for module in self.modules.values():
            file = getattr(module, "__file__", None)
            if file is not None:
                self._stamps.setdefault(file, _stamp(file))


class _BuiltIn(Process):
    """A process of Bridle's own: an ordinary import, since its code cannot change while Bridle runs."""

    def __init__(
        self,
        path: Path,
        export: str,
        digest: str,
        function: Function,
        modules: dict[str, ModuleType],
        module: ModuleType,
    ) -> None:
        super().__init__(path, export, digest, function, modules, define_task.Registry())
        self.output_identity = getattr(module, "output_identity", None)

    @contextmanager
    def active(self) -> Iterator[None]:
        """Run with the imports of the interpreter as they are."""
        yield


def split_entry(entry: str) -> tuple[str, str]:
    """The path and the name in `path#name`; without a name it is `process`."""
    path, mark, export = entry.partition("#")
    if not path or (mark and not export.isidentifier()):
        raise ProcessNotLoaded(
            f"the entry {entry!r} does not name a process", remedy="Write it as ./process.py#process."
        )
    return path, export or DEFAULT_EXPORT


def load(path: Path, export: str = DEFAULT_EXPORT) -> Process:
    """Import a process; ProcessNotLoaded names the file, the line and what is wrong there."""
    source = _read(path)
    modules: dict[str, ModuleType] = {}
    registry = define_task.Registry()
    with _imports(path.parent, modules, registry):
        module = _import(path, source)
        function = _function(module, path, export)
    process = Process(path, export, sha256(source), function, modules, registry)
    process.note_files()
    return process


def load_built_in(process_id: str) -> Process:
    """Import a process that is part of Bridle."""
    from importlib import import_module

    module = import_module(_PROCESSES[process_id])
    path = Path(str(module.__file__))
    return _BuiltIn(path, DEFAULT_EXPORT, sha256(_read(path)), _function(module, path, DEFAULT_EXPORT), {}, module)


def is_built_in(process_id: object) -> bool:
    """Whether a process id names a process that is part of Bridle."""
    return process_id in _PROCESSES


def check(path: Path, export: str = DEFAULT_EXPORT) -> str:
    """Import a process only to see that it can be; gives the digest of its file."""
    sys.meta_path.insert(0, _LoadedLater)
    try:
        return load(path, export).digest
    finally:
        sys.meta_path.remove(_LoadedLater)


class _LoadedLater:
    """Finds asyncio so that it is loaded once somebody looks into it: most processes do so only when they run."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, _target: ModuleType | None = None) -> ModuleSpec | None:
        if name != "asyncio":
            return None
        from importlib.util import LazyLoader

        spec = PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


def _read(path: Path) -> bytes:
    if path.suffix in (".js", ".mjs", ".cjs", ".ts", ".mts"):
        raise ProcessNotLoaded(
            f"{path} is a JavaScript process", remedy="Iterate it with the program that made it, or write it in Python."
        )
    try:
        return disk.read_bounded(path, SOURCE_LIMIT_BYTES)
    except DiskError as error:
        raise ProcessNotLoaded(f"the process {error.message}", remedy="Check the entry of the run.") from error


def _import(path: Path, source: bytes) -> ModuleType:
    module = ModuleType(_MODULE_NAME)
    module.__file__ = str(path)
    sys.modules[_MODULE_NAME] = module  # dataclasses and others look their module up by its name
    try:
        # Compiled here and not by an import: that would take a file edited within the second for unchanged.
        exec(compile(source, str(path), "exec", dont_inherit=True), module.__dict__)  # noqa: S102  # this is the import
    except SyntaxError as error:
        place = f"{error.filename or path}:{error.lineno or 0}"
        raise ProcessNotLoaded(
            f"{place}: {error.msg}: {(error.text or '').strip()}", remedy="Mend the file and try again."
        ) from error
    except (Exception, SystemExit) as error:
        raise ProcessNotLoaded(
            f"{place_in(error, path.parent) or path}: {_named(error)}: {error}", remedy="Mend the file and try again."
        ) from error
    return module


def _function(module: ModuleType, path: Path, export: str) -> Function:
    function = getattr(module, export, None)
    if function is None:
        offered = sorted(name for name, value in vars(module).items() if _is_async(value) and name[0] != "_")
        raise ProcessNotLoaded(
            f"{path} has no {export!r}", remedy=f"Its async functions are: {', '.join(offered) or 'none'}."
        )
    if not _is_async(function):
        line = getattr(getattr(function, "__code__", None), "co_firstlineno", 1)
        raise ProcessNotLoaded(
            f"{path}:{line}: {export!r} is not an async function", remedy=f"Write: async def {export}(inputs, ctx): …"
        )
    made: Function = function
    return made


def place_in(error: BaseException, folder: Path) -> str | None:
    """`file:line` of the innermost frame of an error that lies in the folder."""
    place, trace = None, error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if _is_inside(file, folder):
            place = f"{file}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


# What a process sees (imports, the output) is the whole interpreter's: one runs at a time, for some milliseconds.
_alone = RLock()


@contextmanager
def _imports(folder: Path, modules: dict[str, ModuleType], registry: define_task.Registry) -> Iterator[None]:
    """Inside, imports see the folder first and its modules; new ones of the folder move into `modules`."""
    with _alone:
        yield from _swapped(folder, modules, registry)


def _swapped(folder: Path, modules: dict[str, ModuleType], registry: define_task.Registry) -> Iterator[None]:
    before, path_before = set(sys.modules), list(sys.path)
    writes_bytecode, outer, stdout = sys.dont_write_bytecode, define_task.current_registry, sys.stdout
    sys.modules.update(modules)
    sys.path.insert(0, str(folder))
    sys.dont_write_bytecode = True  # the folder is somebody's: nothing is left in it
    sys.stdout = sys.stderr  # a command's output is data; what a process prints is for people
    define_task.current_registry = registry
    try:
        yield
    finally:
        define_task.current_registry = outer
        sys.stdout = stdout
        sys.dont_write_bytecode = writes_bytecode
        sys.path[:] = path_before
        for name in sys.modules.keys() - before:
            # Past the module's own way to look things up, which would load what is to be loaded later.
            file = object.__getattribute__(sys.modules[name], "__dict__").get("__file__")
            if name == _MODULE_NAME or _is_inside(file, folder):
                modules[name] = sys.modules.pop(name)


def _is_inside(file: str | None, folder: Path) -> bool:
    if file is None or any(part in file for part in _INSTALLED):
        return False
    return file.startswith(str(folder) + os.sep)


def _is_async(value: object) -> bool:
    code = getattr(value, "__code__", None)
    return code is not None and bool(code.co_flags & _CO_COROUTINE)


def _named(error: BaseException) -> str:
    return type(error).__name__


def _stamp(file: str) -> tuple[int, int] | None:
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
