"""`bridle schema`: the JSON Schemas of bridle.toml and prd.json, for editors."""

from __future__ import annotations

import json
from pathlib import Path

import click

from bridle.errors import UsageError


@click.command("schema", short_help="Print the JSON Schema of bridle.toml or prd.json, for editors.")
@click.argument("name", type=click.Choice(["bridle.toml", "prd.json"]))
@click.option(
    "--write",
    "target",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write it to this file, which must not exist or be an older schema.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document on stdout; the schema is one in any case."
)
def command(*, name: str, target: Path | None, as_json: bool) -> int:
    """Print the JSON Schema of a file that Bridle reads.

    An editor uses it if the file names it: `#:schema ./bridle.schema.json` as the first line of bridle.toml, or a
    member `"$schema": "./prd.schema.json"` of prd.json.
    """
    from bridle.loop.plan.prd_schema import prd_schema
    from bridle.loop.settings.toml_schema import settings_schema

    schema = settings_schema() if name == "bridle.toml" else prd_schema()
    if target is None:
        click.echo(json.dumps(schema, indent=2, ensure_ascii=False))
        return 0
    write_schema(schema, target)
    if as_json:
        click.echo(json.dumps({"schema": name, "written": str(target.absolute())}))
    else:
        click.echo(f"wrote {target}", err=True)
    return 0


def write_schema(schema: dict[str, object], target: Path) -> None:
    """Write a schema, over an older one at most."""
    from bridle.ground import disk

    if target.exists() and not is_schema(target, schema["title"]):
        raise UsageError(f"{target} exists, and is not a schema of Bridle's", remedy="Name another file.")
    disk.write_atomic(target, (json.dumps(schema, indent=2, ensure_ascii=False) + "\n").encode(), mode=0o644)


def is_schema(path: Path, title: object) -> bool:
    """Return whether a file is a schema of Bridle's with this title."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(document, dict) and document.get("title") == title
