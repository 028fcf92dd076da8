"""A run on a chat endpoint: its environment, its key, and what it cannot do."""

from __future__ import annotations

import msgspec

from bridle.agent.assemble.run_inputs import RunInputs
from bridle.agent.model.api.cost import Usage, usage_cost_usd
from bridle.agent.model.api.credentials import CredentialSource, MissingCredentials
from bridle.agent.model.api.models import CHAT, ENDPOINT, resolve_model
from bridle.agent.model.chat.selection import chat_address, chat_credentials, selects_chat
from bridle.errors import UsageError


def select_endpoint(
    inputs: RunInputs, credentials: CredentialSource | None
) -> tuple[RunInputs, CredentialSource | None]:
    """Return the inputs for a chat endpoint and its key where one is selected; else what was given."""
    has_credentials = credentials is not None and not isinstance(credentials, MissingCredentials)
    if not selects_chat(inputs.environment, has_credentials=has_credentials):
        return inputs, credentials
    inputs = msgspec.structs.replace(inputs, environment={**inputs.environment, ENDPOINT: CHAT})
    chat_address(inputs.environment)  # an invalid address is an error of the command line
    _check_budget(inputs)
    return inputs, chat_credentials(inputs.environment)


def _check_budget(inputs: RunInputs) -> None:
    if inputs.options.max_budget_usd is None:
        return
    model = resolve_model(inputs.options.model, inputs.environment, setting=inputs.settings.model)
    if usage_cost_usd(model.id, Usage(1, 1), has_stand_in=False) is None:
        raise UsageError(
            f"--max-budget-usd cannot be kept: no price of the model {model.id!r} is known."
            " Use --max-turns instead, or a model with a price."
        )
