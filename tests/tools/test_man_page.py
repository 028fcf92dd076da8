from __future__ import annotations

import subprocess

from bridle.cli import command_table
from tools import man_page


def test_the_page_has_every_command_that_is_built() -> None:
    for command in command_table.USER_COMMANDS:
        assert (f"\n.SS {command.name}\n" in man_page.page()) == (command.module is not None)


def test_no_line_is_taken_for_a_request_of_the_formatter() -> None:
    requests = {".TH", ".SH", ".SS", ".TP", ".B", ".I"}
    assert {line.split()[0] for line in man_page.page().splitlines() if line.startswith((".", "'"))} <= requests


def test_the_formatter_has_no_complaint() -> None:
    command = ["groff", "-man", "-Tutf8", "-ww", "-K", "utf8"]
    done = subprocess.run(command, input=man_page.page(), capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""
    assert "bridle - run coding agents unattended" in done.stdout
