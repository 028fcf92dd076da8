"""Asks the model: one question, however often it takes, and the pieces of the answer as they come."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing

from bridle.agent.model.api.client_protocol import ModelClient
from bridle.agent.model.api.credentials import Keys, Missing
from bridle.agent.model.api.endpoint import Endpoint, HttpEndpoint
from bridle.agent.model.api.question import Question
from bridle.agent.model.api.request_attempts import Attempts
from bridle.agent.model.api.request_errors import max_retries
from bridle.agent.model.api.stream_pieces import AnswerPiece

Sleep = Callable[[float], Awaitable[None]]


def connect(keys: Keys | None, environment: Mapping[str, str]) -> ModelClient:
    """The client for the endpoint that the environment names."""
    from bridle.agent.model.clouds import clients

    cloud = clients.selected_cloud(environment)
    if cloud is not None:
        return RetryingClient(clients.cloud_endpoint(cloud, environment), environment)
    return RetryingClient(HttpEndpoint(keys or Missing(), environment), environment)


class RetryingClient:
    """Asks an endpoint."""

    def __init__(
        self,
        endpoint: Endpoint,
        environment: Mapping[str, str],
        *,
        sleep: Sleep = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._endpoint = endpoint
        self._max_retries = max_retries(environment)
        self._sleep = sleep
        self._chance = chance

    async def answer(self, ask: Question) -> AsyncGenerator[AnswerPiece, None]:
        """Ask, and give the pieces of the answer; raises ModelFailure when there is none."""
        course = Attempts(ask, self._endpoint, self._max_retries, self._chance)
        while not course.is_over:
            async with aclosing(course.request()) as pieces:
                async for piece in pieces:
                    yield piece
            for piece in course.verdict():
                yield piece
            if course.refused_credential:
                await self._endpoint.refuse_credential()
            await self._sleep(course.delay_seconds)

    async def close(self) -> None:
        """Let go of every connection."""
        await self._endpoint.close()
