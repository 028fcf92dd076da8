"""Reads what a run is assembled from: its settings, its environment and the credentials for its endpoint."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from bridle.agent.assemble.run_inputs import RunInputs
from bridle.agent.command_line.options import Options
from bridle.agent.model.api import models
from bridle.agent.model.api.credentials import CredentialSource, MissingCredentials, find
from bridle.agent.settings.load_settings import load_settings
from bridle.errors import Error
from bridle.ground.home import bridle_home


def read_inputs(options: Options, cwd: Path, outer: Mapping[str, str]) -> tuple[RunInputs, CredentialSource | None]:
    """Read the settings; return the inputs of a run, and the credentials for its endpoint.

    `outer` is the environment of the process. Raises UserError if a flag or a setting is invalid.
    """
    return _endpoint(_inputs(options, cwd, outer))


def _inputs(options: Options, cwd: Path, outer: Mapping[str, str]) -> RunInputs:
    cwd = Path(os.path.realpath(cwd))
    config = outer.get("CLAUDE_CONFIG_DIR")
    config_folder = Path(config) if config else Path(outer.get("HOME") or Path.home()) / ".claude"
    sources = () if options.is_bare or options.is_safe else options.setting_sources
    settings = load_settings(cwd, config_folder, sources, options.settings, outer)
    environment = {**outer, **settings.environment, models.OWN_BETAS: ",".join(options.betas)}
    return RunInputs(options, settings, cwd, config_folder, environment)


def _endpoint(inputs: RunInputs) -> tuple[RunInputs, CredentialSource | None]:
    """Return the inputs with the kind of endpoint in their environment, and the credentials for it."""
    credentials = _credentials(inputs)
    if not (inputs.environment.get("OPENAI_BASE_URL") or inputs.environment.get(models.ENDPOINT)):
        return inputs, credentials
    from bridle.agent.assemble.chat_endpoint import select_endpoint  # late: most runs use the Messages API

    return select_endpoint(inputs, credentials)


def _credentials(inputs: RunInputs) -> CredentialSource | None:
    """Return the credentials; invalid ones fail the first request, with a result for the client."""
    home = bridle_home(inputs.environment)
    try:
        return find(inputs.environment, home=home, helper=inputs.settings.api_key_helper, cwd=inputs.cwd)
    except Error as error:
        return MissingCredentials(error)
