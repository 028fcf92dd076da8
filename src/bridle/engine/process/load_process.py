"""Import a process: a Python file and the name of a coroutine function in it.

Each load imports the file and the modules beside it again, so that no state of an earlier iteration and no earlier code
remains. Installed packages and the standard library are shared.
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
from bridle.engine.process.user_interrupt import UserInterrupt
from bridle.errors import DiskError, ProcessNotLoaded
from bridle.ground import disk
from bridle.journal.format.digest import sha256

DEFAULT_EXPORT = "process"

# A process is source code; a file of this size is not.
SOURCE_LIMIT_BYTES = 16 * 1024 * 1024

# The flag of a coroutine function's code; importing `inspect` would cost more than the rest of this module.
_CO_COROUTINE = 0x80
_MODULE_NAME = "bridle_process"
# Folders of installed packages: their modules are not part of a process.
_INSTALLED = ("site-packages", "dist-packages")

Function = Callable[[Any, Any], Coroutine[Any, Any, Any]]


class Process:
    """An imported process with its own modules."""

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
        """The file itself, and the modules beside it that it imported."""
        self._registry = registry
        self._stamps: dict[str, tuple[int, int] | None] = {}
        self.output_identity: Callable[[Any, Any], Any] | None = None
        """Returns the part of its output that a replay compares; None compares all of it."""

    @contextmanager
    def active(self) -> Iterator[None]:
        """Make its own modules importable inside the block."""
        with _imports(self.path.parent, self.modules, self._registry):
            yield

    def is_current(self) -> bool:
        """Return whether its files, including its own modules, are unchanged since the import."""
        files = (getattr(module, "__file__", None) for module in self.modules.values())
        stamps = (_stamp(file) == module_stamp for file, module_stamp in self._stamps.items())
        return all(stamps) and all(file is None or file in self._stamps for file in files)

    def stamp_files(self) -> None:
        """Remember the size and time of its files."""
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


def load(path: Path, export: str = DEFAULT_EXPORT) -> Process:
    """Import a process; raise ProcessNotLoaded with file, line and cause."""
    source = _read(path)
    modules: dict[str, ModuleType] = {}
    registry = define_task.Registry()
    with _imports(path.parent, modules, registry):
        module = _import(path, source)
        function = _function(module, path, export)
    process = Process(path, export, sha256(source), function, modules, registry)
    process.stamp_files()
    return process


def load_built_in(process_id: str) -> Process:
    """Import a process that is part of Bridle."""
    from importlib import import_module

    module = import_module(_PROCESSES[process_id])
    path = Path(str(module.__file__))
    return _BuiltIn(path, DEFAULT_EXPORT, sha256(_read(path)), _function(module, path, DEFAULT_EXPORT), {}, module)


def is_built_in(process_id: object) -> bool:
    """Return whether a process id names a process that is part of Bridle."""
    return isinstance(process_id, str) and process_id in _PROCESSES


def check(path: Path, export: str = DEFAULT_EXPORT) -> str:
    """Import a process only to validate it; return the digest of its file."""
    sys.meta_path.insert(0, _LazyAsyncio)
    try:
        return load(path, export).digest
    finally:
        sys.meta_path.remove(_LazyAsyncio)


class _LazyAsyncio:
    """A finder that loads asyncio on first use: most processes use it only when they run."""

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
            f"{path} is a JavaScript process",
            remedy="Iterate it with the program that created it, or port it to Python.",
        )
    try:
        return disk.read_bounded(path, SOURCE_LIMIT_BYTES)
    except DiskError as error:
        raise ProcessNotLoaded(
            f"could not load the process: {error.message}", remedy="Check the entry of the run."
        ) from error


def _import(path: Path, source: bytes) -> ModuleType:
    module = ModuleType(_MODULE_NAME)
    module.__file__ = str(path)
    sys.modules[_MODULE_NAME] = module  # dataclasses and others look up their module by name
    interrupt = UserInterrupt()
    try:
        # Compiled here: an import would treat a file edited within the same second as unchanged.
        code = compile(source, str(path), "exec", dont_inherit=True)
        with interrupt.watched():
            exec(code, module.__dict__)  # noqa: S102  # this is the import
    except SyntaxError as error:
        location = f"{error.filename or path}:{error.lineno or 0}"
        raise ProcessNotLoaded(
            f"{location}: {error.msg}: {(error.text or '').strip()}", remedy="Fix the file and try again."
        ) from error
    except BaseException as error:
        if interrupt.has_arrived:
            raise
        raise ProcessNotLoaded(
            f"{location_in(error, path.parent) or path}: {type(error).__name__}: {error}",
            remedy="Fix the file and try again.",
        ) from error
    return module


def _function(module: ModuleType, path: Path, export: str) -> Function:
    function = getattr(module, export, None)
    if function is None:
        names = sorted(name for name, value in vars(module).items() if _is_async(value) and name[0] != "_")
        raise ProcessNotLoaded(
            f"{path} has no function {export!r}", remedy=f"Its async functions are: {', '.join(names) or 'none'}."
        )
    if not _is_async(function):
        line = getattr(getattr(function, "__code__", None), "co_firstlineno", 1)
        raise ProcessNotLoaded(
            f"{path}:{line}: {export!r} must be an async function", remedy=f"Write: async def {export}(inputs, ctx): …"
        )
    result: Function = function
    return result


def location_in(error: BaseException, folder: Path) -> str | None:
    """Return `file:line` of the innermost frame of an error in the folder."""
    location, trace = None, error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if _is_inside(file, folder):
            location = f"{file}:{trace.tb_lineno}"
        trace = trace.tb_next
    return location


# A process changes state of the whole interpreter (imports, output), so only one runs at a time, for milliseconds.
_interpreter_lock = RLock()


@contextmanager
def _imports(folder: Path, modules: dict[str, ModuleType], registry: define_task.Registry) -> Iterator[None]:
    """Import from the folder first inside the block; move new modules of the folder into `modules`."""
    with _interpreter_lock:
        yield from _swap_imports(folder, modules, registry)


def _swap_imports(folder: Path, modules: dict[str, ModuleType], registry: define_task.Registry) -> Iterator[None]:
    before, path_before = set(sys.modules), list(sys.path)
    writes_bytecode, outer, stdout = sys.dont_write_bytecode, define_task.current_registry, sys.stdout
    sys.modules.update(modules)
    sys.path.insert(0, str(folder))
    sys.dont_write_bytecode = True  # the folder is the user's: nothing is written to it
    sys.stdout = sys.stderr  # stdout of a command is data; the output of a process is for the user
    define_task.current_registry = registry
    try:
        yield
    finally:
        define_task.current_registry = outer
        sys.stdout = stdout
        sys.dont_write_bytecode = writes_bytecode
        sys.path[:] = path_before
        for name in sys.modules.keys() - before:
            # Not by getattr, which would load a lazy module.
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


def _stamp(file: str) -> tuple[int, int] | None:
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
