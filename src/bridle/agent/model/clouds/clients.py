"""Bedrock and Vertex through the official client, which is imported only for them.

Tests cover the form and the signature of requests; the clouds themselves need an account.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

from msgspec.structs import replace

from bridle.agent.model.api import request_body
from bridle.agent.model.api.endpoint import CLOUDS, Endpoint, StreamOpened, WholeMessage, timeouts_from_environment
from bridle.agent.model.api.models import BETA_SYSTEM_MESSAGES, Model, is_on
from bridle.agent.model.api.question import Question
from bridle.agent.model.api.request_errors import RequestError, endpoint_error, from_status
from bridle.agent.model.api.stream_pieces import JsonObject
from bridle.agent.model.clouds.model_ids import bedrock_id, vertex_id
from bridle.errors import AgentNotReady, UsageError

PATH = "/v1/messages?beta=true"
DEFAULT_AWS_REGION = "us-east-1"

# The documented API versions of the clouds. The official client would send its own newest one.
_VERSIONS = {"bedrock": "bedrock-2023-05-31", "vertex": "vertex-2023-10-16"}
_NO_TOKEN = "none"  # noqa: S105  # a placeholder: a gateway adds the real one


def cloud_endpoint(cloud: str, environment: Mapping[str, str]) -> Endpoint:
    try:
        import anthropic
    except ImportError as error:
        message = f"{CLOUDS[cloud]} is set, but the client for it is not installed"
        raise AgentNotReady(message, remedy="Run: pip install 'bridle-cli[cloud]'") from error
    seconds = timeouts_from_environment(environment)
    timeout = anthropic.Timeout(seconds.headers_seconds, connect=seconds.connect_seconds, read=seconds.idle_seconds)
    # We retry ourselves, so that each retry is reported.
    shared: dict[str, Any] = {"timeout": timeout, "max_retries": 0}
    make = _bedrock if cloud == "bedrock" else _vertex
    return CloudEndpoint(*make(anthropic, environment, shared), _VERSIONS[cloud], environment)


class CloudEndpoint:
    """A cloud that is reached through the official client."""

    has_key = True

    def __init__(
        self, client: Any, model_id: Callable[[str], str], version: str, environment: Mapping[str, str]
    ) -> None:
        self._client = client
        self._model_id = model_id
        self._version = version
        self._environment = environment

    @property
    def where(self) -> str:
        """Host and port."""
        netloc: bytes = self._client.base_url.netloc
        return netloc.decode()

    async def stream(
        self, question: Question, model: Model, max_tokens: int | None
    ) -> AsyncGenerator[StreamOpened | WholeMessage | JsonObject, None]:
        import anthropic

        has_begun = False
        try:
            async with await self._post(
                question, model, max_tokens, stream=True, stream_cls=anthropic.AsyncStream[object]
            ) as frames:
                yield StreamOpened(frames.response.headers.get("request-id"))
                async for frame in frames:
                    has_begun = True
                    if isinstance(frame, dict):
                        yield frame
        except Exception as error:
            if (failure := _request_error(error, has_begun=has_begun)) is None:
                raise
            raise endpoint_error(failure) from error

    async def whole(self, question: Question, model: Model, max_tokens: int | None) -> WholeMessage:
        """Request the answer in one document."""
        try:
            message = await self._post(question, model, max_tokens, stream=False)
        except Exception as error:
            if (failure := _request_error(error, has_begun=False)) is None:
                raise
            raise endpoint_error(failure) from error
        if not isinstance(message, dict) or not isinstance(message.get("content"), list):
            raise endpoint_error(RequestError("garbled", "the answer is not a message"))
        return WholeMessage(message, None)

    async def refuse_credential(self) -> None:
        """Do nothing: the official client renews its credentials."""

    async def close(self) -> None:
        await self._client.close()

    async def _post(self, question: Question, model: Model, max_tokens: int | None, **how: Any) -> Any:
        sent = _for_cloud(model, self._model_id)
        body = request_body.build_body(question, sent, self._environment, stream=how["stream"], max_tokens=max_tokens)
        names = request_body.beta_names(question, sent, (), self._environment)
        headers = request_body.build_headers(names, (), question.session_id, self._environment)
        del headers["anthropic-version"]  # the body has the cloud's own
        body["anthropic_version"] = self._version
        return await self._client.post(PATH, cast_to=object, body=body, options={"headers": headers}, **how)


def _for_cloud(model: Model, model_id: Callable[[str], str]) -> Model:
    """Return the model with the cloud's id, without features that only the Anthropic API supports."""
    return replace(
        model,
        id=model_id(model.id),
        betas=tuple(name for name in model.betas if name != BETA_SYSTEM_MESSAGES),
        kind=replace(model.kind, takes_system_messages=False),
    )


def _bedrock(
    anthropic: Any, environment: Mapping[str, str], shared: dict[str, Any]
) -> tuple[Any, Callable[[str], str]]:
    region = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION") or DEFAULT_AWS_REGION
    token = environment.get("AWS_BEARER_TOKEN_BEDROCK")
    if is_on(environment, "CLAUDE_CODE_SKIP_BEDROCK_AUTH"):
        token = token or _NO_TOKEN
    credentials: dict[str, str] = {"api_key": token} if token else _aws_credentials(environment)
    url = environment.get("ANTHROPIC_BEDROCK_BASE_URL") or None
    client = anthropic.AsyncAnthropicBedrock(aws_region=region, base_url=url, **credentials, **shared)
    return client, lambda name: bedrock_id(name, region)


def _aws_credentials(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the credentials of the environment; the client finds others in the usual places."""
    names = {
        "aws_access_key": "AWS_ACCESS_KEY_ID",
        "aws_secret_key": "AWS_SECRET_ACCESS_KEY",
        "aws_session_token": "AWS_SESSION_TOKEN",
        "aws_profile": "AWS_PROFILE",
    }
    return {field: environment[name] for field, name in names.items() if environment.get(name)}


def _vertex(anthropic: Any, environment: Mapping[str, str], shared: dict[str, Any]) -> tuple[Any, Callable[[str], str]]:
    project = environment.get("ANTHROPIC_VERTEX_PROJECT_ID") or environment.get("GOOGLE_CLOUD_PROJECT")
    region = environment.get("CLOUD_ML_REGION")
    if not project or not region:
        missing = "ANTHROPIC_VERTEX_PROJECT_ID" if not project else "CLOUD_ML_REGION"
        raise UsageError(f"CLAUDE_CODE_USE_VERTEX is set, but {missing} is not", remedy=f"Set {missing}.")
    token = _NO_TOKEN if is_on(environment, "CLAUDE_CODE_SKIP_VERTEX_AUTH") else None
    url = environment.get("ANTHROPIC_VERTEX_BASE_URL") or None
    client = anthropic.AsyncAnthropicVertex(
        project_id=project, region=region, access_token=token, base_url=url, **shared
    )
    return client, vertex_id


def _request_error(error: Exception, *, has_begun: bool) -> RequestError | None:
    """Return the RequestError for an exception of the official client or its libraries."""
    import anthropic

    if isinstance(error, anthropic.APIStatusError):
        headers = {name.lower(): value for name, value in error.response.headers.items()}
        failure = from_status(error.status_code, headers, error.body, str(error.message), now=time.time())
        # With a status below 400 it is an error event in the stream.
        return replace(failure, kind="stream", status=None) if error.status_code < 400 else failure
    if isinstance(error, anthropic.APITimeoutError):
        return RequestError("slow", "the cloud did not answer in time")
    if isinstance(error, anthropic.APIConnectionError):
        return RequestError(_connection_kind(error), str(error.__cause__ or error))
    library = type(error).__module__.partition(".")[0]
    if library in ("httpx", "httpx2", "httpcore", "httpcore2"):
        return RequestError("cut" if has_begun else "reset", str(error) or "the connection was lost")
    if library in ("botocore", "boto3", "google") or "credential" in str(error).lower():
        return RequestError("credential", f"no credentials for the cloud: {error}")
    return RequestError("not_json", f"the answer is not JSON: {error}") if isinstance(error, ValueError) else None


def _connection_kind(error: Exception) -> str:
    """Return the kind of NetworkError of an exception and its causes."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ConnectionRefusedError):
            return "refused"
        cause = cause.__cause__ or cause.__context__
    return "refused" if "refused" in str(error.__cause__).lower() else "reset"
