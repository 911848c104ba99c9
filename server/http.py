"""GraphQL over HTTP: https://graphql.github.io/graphql-over-http/draft/."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, Final

import orjson
from cross_web import AsyncHTTPRequestAdapter, HTTPException, StarletteRequestAdapter
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket
from strawberry.asgi import GraphQL
from strawberry.exceptions import MissingQueryError
from strawberry.http import GraphQLHTTPResponse, GraphQLRequestData, GraphQLRequestProtocol
from strawberry.http.base import BaseRequestProtocol
from strawberry.http.exceptions import WebSocketDisconnected
from strawberry.schema import BaseSchema
from strawberry.schema.exceptions import CannotGetOperationTypeError, InvalidOperationTypeError
from strawberry.subscriptions import GRAPHQL_SSE_PROTOCOL, GRAPHQL_TRANSPORT_WS_PROTOCOL
from strawberry.types import ExecutionResult
from strawberry.types.graphql import OperationType

from server.access import viewer_of
from server.door import UNAUTHORIZED, WORDS, Door, Unauthorized
from server.negotiation import EVENT_STREAM, GRAPHQL_RESPONSE, JSON, answer_type, asks_for_page, prefers_stream
from server.pages import page
from server.streams import EventStream, TextSocket, authorization_of, close, farewell

MAX_BODY_BYTES: Final = 1024 * 1024

TYPE_NAMES: Final[Mapping[type[Any], str]] = {str: "a string", dict: "an object"}

SINGLE_ANSWERS: Final = {
    "GET": {OperationType.QUERY},
    "POST": {OperationType.QUERY, OperationType.MUTATION},
}


class BoundedRequest(StarletteRequestAdapter):
    """Stops reading a body at the limit, whatever its Content-Length claims."""

    def __init__(self, request: Request, *, limit: int) -> None:
        super().__init__(request)
        self.limit = limit

    async def get_body(self) -> bytes:
        body = bytearray()
        async for chunk in self._request.stream():
            body += chunk
            if len(body) > self.limit:
                raise HTTPException(413, f"The request body is longer than {self.limit} bytes.")
        return bytes(body)


def parameter(parameters: Mapping[str, Any], name: str, kind: type[Any]) -> Any:
    value = parameters.get(name)
    if value is None or isinstance(value, kind):
        return value
    raise HTTPException(400, f"`{name}` must be {TYPE_NAMES[kind]} or null.")


def is_json(content_type: str | None) -> bool:
    return (content_type or "").split(";")[0].strip().lower() == JSON


def nothing_ran(result: ExecutionResult) -> bool:
    """An error without a path stems from the request, not from a field."""
    return result.data is None and all(error.path is None for error in result.errors or ())


def misplaced(operation_type: OperationType) -> HTTPException:
    if operation_type is OperationType.SUBSCRIPTION:
        return HTTPException(406, f"A subscription is answered as {EVENT_STREAM} or over a WebSocket.")
    return HTTPException(405, "A mutation must be sent by POST.")


class GraphQLView(GraphQL[Any, None]):
    """Serves a schema at one address: JSON for clients, a page for browsers, streams for subscriptions.

    Single answers are given here; event streams and sockets are Strawberry's.
    """

    websocket_adapter_class = TextSocket
    stream_transport_classes_by_protocol = MappingProxyType({GRAPHQL_SSE_PROTOCOL: EventStream})

    def __init__(
        self,
        schema: BaseSchema,
        *,
        context: Callable[[Request | WebSocket], Any] = lambda request: {"request": request},
        door: Callable[[Request | WebSocket], Door] | None = None,
        max_body_bytes: int = MAX_BODY_BYTES,
        allowed_origins: Sequence[str] = (),
    ) -> None:
        super().__init__(
            schema,
            subscription_protocols=(GRAPHQL_TRANSPORT_WS_PROTOCOL, GRAPHQL_SSE_PROTOCOL),
            allowed_origins=allowed_origins,
        )
        self.context = context
        self.door = door
        self.request_adapter_class = partial(BoundedRequest, limit=max_body_bytes)  # type: ignore[assignment]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.converse(scope, receive, send)
            return
        request = Request(scope, receive)
        response = await self.respond(request)
        if isinstance(response, StreamingResponse) and self.door:
            await self.stream(self.door(request), request, response, send)
        else:
            await response(scope, receive, send)

    async def converse(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A socket, which is closed when its caller's token ends."""
        if self.door is None:
            await super().__call__(scope, receive, send)
            return
        async with self.door(WebSocket(scope, receive, send)).staying() as stay:
            scope["stay"] = stay
            await super().__call__(scope, receive, send)
        if stay.code is not None:
            await close(send, stay.code, stay.reason)

    async def stream(self, door: Door, request: Request, response: StreamingResponse, send: Send) -> None:
        """A stream of events, whose last one says why where its caller's token ended."""
        async with door.staying() as stay:
            door.settle(stay, viewer_of(request))
            await response(request.scope, request.receive, send)
        if stay.code is not None:
            await send(farewell(stay.reason, WORDS[stay.code]))

    async def on_ws_connect(self, context: Any) -> Any:
        if self.door is not None:
            socket: WebSocket = context.request
            door = self.door(socket)
            try:
                context.viewer = await door.admit(authorization_of(socket, context.connection_params))
            except Unauthorized as refusal:
                await socket.close(UNAUTHORIZED, str(refusal))
                raise WebSocketDisconnected from refusal
            door.settle(socket.scope["stay"], context.viewer)
            context.connection_params = {}
        return await super().on_ws_connect(context)

    async def respond(self, request: Request) -> Response:
        accept = request.headers.get("accept", "")
        try:
            if request.method not in SINGLE_ANSWERS:
                raise HTTPException(405, "GraphQL is asked by GET or POST.")
            if asks_for_page(request):
                return page("graphiql")
            if prefers_stream(accept):
                return await self.run(request)
            return await self.answer(request, answer_type(accept))
        except HTTPException as refusal:
            return self.refuse(request, refusal)

    async def answer(self, request: Request, media_type: str | None) -> Response:
        if media_type is None:
            raise HTTPException(406, f"Answers come as {JSON}, {GRAPHQL_RESPONSE} or {EVENT_STREAM}.")
        operation = await self.read_operation(self.request_adapter_class(request), "http")
        result = await self.execute(operation, SINGLE_ANSWERS[request.method], self.context(request))
        answer = await self.process_result(request, result)
        refused = "data" not in answer and media_type == GRAPHQL_RESPONSE
        return Response(self.encode_json(answer), 400 if refused else 200, media_type=media_type)

    async def execute(
        self, operation: GraphQLRequestData, allowed: Iterable[OperationType], context: Any
    ) -> ExecutionResult:
        try:
            return await self.schema.execute(
                operation.query,
                variable_values=operation.variables,
                context_value=context,
                operation_name=operation.operation_name,
                allowed_operation_types=allowed,
                operation_extensions=operation.extensions,
            )
        except MissingQueryError as fault:
            raise HTTPException(400, "The request names no `query`.") from fault
        except CannotGetOperationTypeError as fault:
            raise HTTPException(400, fault.as_http_error_reason()) from fault
        except InvalidOperationTypeError as fault:
            raise misplaced(fault.operation_type) from fault

    def refuse(self, request: Request, refusal: HTTPException) -> Response:
        media_type = answer_type(request.headers.get("accept", "")) or JSON
        body = self.encode_json({"errors": [{"message": refusal.reason}]})
        response = Response(body, refusal.status_code, media_type=media_type)
        if refusal.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            response.headers["allow"] = "POST" if request.method == "GET" else "GET, POST"
        return response

    async def get_context(self, request: Request | WebSocket, response: Response | WebSocket) -> Any:
        return self.context(request)

    def should_render_graphql_ide(self, request: BaseRequestProtocol) -> bool:
        return False

    async def parse_http_body(self, request: AsyncHTTPRequestAdapter) -> GraphQLRequestData:
        """Strawberry asks for it where a stream is wanted."""
        return await self.read_operation(request, "sse")

    async def read_operation(
        self, request: AsyncHTTPRequestAdapter, protocol: GraphQLRequestProtocol
    ) -> GraphQLRequestData:
        parameters = await self.read_parameters(request)
        return GraphQLRequestData(
            query=parameter(parameters, "query", str),
            variables=parameter(parameters, "variables", dict),
            operation_name=parameter(parameters, "operationName", str),
            extensions=parameter(parameters, "extensions", dict),
            protocol=protocol,
        )

    async def read_parameters(self, request: AsyncHTTPRequestAdapter) -> Mapping[str, Any]:
        if request.method == "GET":
            return self.parse_query_params(request.query_params)
        # A form on another site can post any type but this one without asking first.
        if not is_json(request.content_type):
            raise HTTPException(415, f"The content type of a request must be {JSON}.")
        parameters = self.parse_json(await request.get_body())
        if isinstance(parameters, dict):
            return parameters
        if isinstance(parameters, list):
            raise HTTPException(400, "One request carries one operation: batches are not accepted.")
        raise HTTPException(400, "The request body must be a JSON object.")

    async def process_result(self, request: Request, result: ExecutionResult) -> GraphQLHTTPResponse:
        answer = await super().process_result(request, result)
        if nothing_ran(result):
            del answer["data"]
        return answer

    def encode_json(self, data: object) -> bytes:
        return orjson.dumps(data)

    def decode_json(self, data: str | bytes) -> object:
        return orjson.loads(data)
