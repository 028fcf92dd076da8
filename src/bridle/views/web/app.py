"""The application of the server: its addresses, the page itself, the stream. Ids are compared with known ones only."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from bridle.views.web.action_routes import ActionRoutes
from bridle.views.web.guard import Refused
from bridle.views.web.log_routes import LOG, LogRoutes
from bridle.views.web.responses import as_json, json_response, not_found, refused
from bridle.views.web.run_routes import RunRoutes
from bridle.views.web.shared_data import SharedData
from bridle.views.web.stream import Stream

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

_STATIC_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
}


def build_app(
    data: SharedData, runs: RunRoutes, logs: LogRoutes, actions: ActionRoutes, is_stopping: Callable[[], bool]
) -> Starlette:
    """Return the application; `is_stopping` ends its streams."""
    from starlette.applications import Starlette
    from starlette.routing import Route

    page = Page(data, is_stopping)
    return Starlette(
        routes=[
            Route("/", page.index, methods=["GET"]),
            Route("/static/{name}", page.static, methods=["GET"]),
            *(
                Route(path, as_json(answer, data.mask), methods=["GET"])
                for path, answer in (runs.answers() | logs.answers()).items()
            ),
            Route(f"{LOG}/images/{{item}}/{{number}}", logs.image, methods=["GET"]),
            Route("/api/stream", page.stream, methods=["GET"]),
            Route("/api/actions", actions.act, methods=["POST"]),
        ],
        exception_handlers={404: not_found, 405: not_found, Refused: refused},
    )


class Page:
    """The files of the page, and its stream."""

    def __init__(self, data: SharedData, is_stopping: Callable[[], bool]) -> None:
        self._data = data
        self._is_stopping = is_stopping
        self._static = _read_static()

    async def index(self, _: Request) -> Response:
        """Answer with the page."""
        return self._file("index.html")

    async def static(self, request: Request) -> Response:
        """Answer with a file of the page, of those that were there at the start."""
        return self._file(request.path_params["name"])

    def _file(self, name: str) -> Response:
        from starlette.responses import Response

        content = self._static.get(name)
        if content is None:
            return json_response({"ok": False, "error": "not found", "message": "there is no such file"}, 404)
        return Response(content, media_type=_STATIC_TYPES[Path(name).suffix])

    async def stream(self, request: Request) -> Response:
        """Answer with events until the page is closed."""
        from starlette.responses import StreamingResponse

        query = request.query_params
        last = request.headers.get("last-event-id") or query.get("last", "")
        stream = Stream(self._data, query.get("run") or None, query.getlist("log"), last)
        await stream.open()
        return StreamingResponse(stream.events(self._is_stopping), media_type="text/event-stream")


def _read_static() -> dict[str, bytes]:
    """Return the files of the page by name."""
    folder = files("bridle.views.web").joinpath("static")
    return {
        entry.name: entry.read_bytes()
        for entry in folder.iterdir()
        if entry.is_file() and Path(entry.name).suffix in _STATIC_TYPES
    }
