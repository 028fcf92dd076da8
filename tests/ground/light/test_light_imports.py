"""What is imported without modules that it does not need works all the same, those modules included."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import bridle

# A hang is a failure; a start on a busy machine takes a few seconds.
LIMIT_SECONDS = 60
SOURCE = str(Path(bridle.__file__).parents[1])


def printed(code: str) -> str:
    probe = f"import sys; sys.path.insert(0, {SOURCE!r})\nfrom bridle.ground.light import light_imports\n{code}"
    done = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_pathlib_is_imported_without_urllib_and_works_with_it() -> None:
    code = (
        "light_imports.import_pathlib(); import pathlib; print('urllib.parse' in sys.modules)\n"
        "print(pathlib.Path('/a b').as_uri(), 'urlsplit' in dir(sys.modules['urllib.parse']))"
    )
    assert printed(code).split("\n") == ["False", "file:///a%20b True"]


LEFT_OUT = ["typing_extensions", "platform", "msgspec.inspect", "msgspec._json_schema", "textwrap"]


def test_msgspec_is_imported_without_what_schemas_and_other_systems_need() -> None:
    assert printed(f"light_imports.import_msgspec(); print([n for n in {LEFT_OUT} if n in sys.modules])") == "[]"


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("msgspec.json.schema(int)", "{'type': 'integer'}"),
        ("msgspec.inspect.type_info(str).__class__.__name__", "StrType"),
        ("__import__('msgspec.inspect').inspect.type_info(str).__class__.__name__", "StrType"),
        ("__import__('platform').python_implementation()", "CPython"),
        ("msgspec.json.decode(b'\"' + b'0' * 32 + b'\"', type=__import__('uuid').UUID).int", "0"),
        ("msgspec.json.encode(__import__('decimal').Decimal('1.5'))", "b'\"1.5\"'"),
    ],
)
def test_all_of_msgspec_works(code: str, shown: str) -> None:
    assert printed(f"light_imports.import_msgspec(); import msgspec; print({code})") == shown


def test_what_is_imported_already_is_left_alone() -> None:
    code = (
        "import platform, msgspec; before = dict(sys.modules)\n"
        "light_imports.import_msgspec(); light_imports.import_pathlib()\n"
        "print([n for n in before if sys.modules.get(n) is not before[n]], sys.modules['platform'] is platform)"
    )
    assert printed(code) == "[] True"
