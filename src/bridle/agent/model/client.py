"""The client of the model: sends a question, retries it, and yields the pieces of the answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing

from bridle.agent.model.api.credentials import CredentialSource, MissingCredentials
from bridle.agent.model.api.endpoint import Endpoint, HttpEndpoint, selected_cloud
from bridle.agent.model.api.models import CHAT, ENDPOINT
from bridle.agent.model.api.question import Question
from bridle.agent.model.api.request_attempts import Attempts
from bridle.agent.model.api.request_errors import max_retries
from bridle.agent.model.api.stream_pieces import AnswerPiece, ModelClient

Sleep = Callable[[float], Awaitable[None]]


def connect(credentials: CredentialSource | None, environment: Mapping[str, str]) -> ModelClient:
    """Return the client for the endpoint that the environment names."""
    if environment.get(ENDPOINT) == CHAT:
        from bridle.agent.model.chat.chat_endpoint import ChatEndpoint

        return RetryingClient(ChatEndpoint(credentials or MissingCredentials(), environment), environment)
    if (cloud := selected_cloud(environment)) is not None:
        from bridle.agent.model.clouds import clients

        return RetryingClient(clients.cloud_endpoint(cloud, environment), environment)
    return RetryingClient(HttpEndpoint(credentials or MissingCredentials(), environment), environment)


class RetryingClient:
    """A client that retries failed requests."""

    def __init__(
        self,
        endpoint: Endpoint,
        environment: Mapping[str, str],
        *,
        sleep: Sleep = asyncio.sleep,
        chance: Callable[[], float] | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._max_retries = max_retries(environment)
        self._sleep = sleep
        self._chance = chance or _random_number

    async def answer(self, question: Question) -> AsyncGenerator[AnswerPiece, None]:
        """Send a question and yield the pieces of its answer; raise ModelFailure if it fails."""
        attempts = Attempts(question, self._endpoint, self._max_retries, self._chance)
        while not attempts.is_over:
            async with aclosing(attempts.request()) as pieces:
                async for piece in pieces:
                    yield piece
            for piece in attempts.decide():
                yield piece
            if attempts.refused_credential:
                await self._endpoint.refuse_credential()
            await self._sleep(attempts.delay_seconds)

    async def close(self) -> None:
        await self._endpoint.close()


def _random_number() -> float:
    import random  # late: only a retry needs it

    return random.random()  # noqa: S311 -- spreads retries, guards nothing
