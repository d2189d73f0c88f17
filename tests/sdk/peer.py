"""A released a2a-sdk as a parsing peer, driven over standard input and output.

One JSON object per input line: {"type": "<object>", "json": <value>} or
{"type": "pb/<message>", "base64": "<protobuf bytes>"}. One line per answer:
{"ok": true, "json": <value>} (or "base64"), or {"ok": false, "error": "<text>"}.
The first output line names the SDK, its version and the object names it knows.

The value is never handed to a model class of our choosing where the SDK has
code of its own for it. A request goes to the SDK's server (an ASGI application
or gRPC servicer called in this process, with a request handler that keeps what
it was given) and what the server understood is sent by the SDK's client, whose
bytes are the answer. A response goes to the SDK's client (over a transport that
returns it) and what the client understood is sent by the SDK's server. An error
response makes the client raise; the server then reports that error.

Only where a release lacks one of the two sides (named below) its model classes
stand in, called the way the neighboring methods call them.
"""

import asyncio
import base64
import inspect
import json
import logging
import os
import sys
import warnings
from importlib.metadata import version

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

# Nothing but answers may reach the real standard output.
answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)

import grpc  # noqa: E402
import httpx  # noqa: E402
from google.protobuf import json_format  # noqa: E402

SDK = "a2a-sdk"
VERSION = version(SDK)
BASE = "http://peer.test"


class Refused(Exception):
    """The SDK did not accept the value."""


class Replay(httpx.AsyncBaseTransport):
    """The far end of the SDK's client: keeps the request, returns what it is told."""

    def __init__(self):
        self.sent = None
        self.status, self.body, self.media = 200, b"{}", "application/json"

    def answer(self, value, status=200):
        self.status, self.media = status, "application/json"
        self.body = json.dumps(value).encode()

    def answer_event(self, value):
        self.status, self.media = 200, "text/event-stream"
        self.body = b"data: " + json.dumps(value).encode() + b"\n\n"

    async def handle_async_request(self, request):
        self.sent = await request.aread()
        return httpx.Response(
            self.status,
            headers={"content-type": self.media},
            content=self.body,
            request=request,
        )


class Channel:
    """The same for gRPC clients."""

    def __init__(self):
        self.sent, self.body = None, b""

    def unary_unary(self, path, request_serializer, response_deserializer, **_):
        async def call(request, **_):
            self.sent = request_serializer(request)
            return response_deserializer(self.body)

        return call

    def unary_stream(self, path, request_serializer, response_deserializer, **_):
        def call(request, **_):
            self.sent = request_serializer(request)
            return Events([response_deserializer(self.body)])

        return call


class Events:
    def __init__(self, events):
        self.events = events

    async def read(self):
        return self.events.pop(0) if self.events else grpc.aio.EOF


class Context:
    """A gRPC call, seen by the SDK's servicer."""

    def __init__(self, metadata=()):
        self.metadata = metadata

    def invocation_metadata(self):
        return self.metadata

    def trailing_metadata(self):
        return ()

    def set_trailing_metadata(self, metadata):
        pass

    async def abort(self, code, details):
        raise Refused(f"{code.name}: {details}")


class Handler:
    """What every SDK's request handler is replaced by."""

    seen = None
    value = None
    error = None

    def expect(self, value=None, error=None):
        self.seen, self.value, self.error = None, value, error

    async def one(self, params):
        self.seen = params
        if self.error:
            raise self.error
        return self.value

    async def stream(self, params):
        yield await self.one(params)


class Peer:
    """What the three versions have in common.

    A subclass fills in the tables and the functions below the line.
    """

    headers = {}

    def __init__(self):
        self.replay = Replay()
        self.http = httpx.AsyncClient(transport=self.replay)
        self.channel = Channel()
        self.handler = self.make_handler()
        self.server = self.app(self.make_jsonrpc())
        rest = self.make_rest()
        self.rest_server = self.app(rest) if rest else None
        self.kinds = {}
        for kind, (method, side) in self.objects.items():
            self.kinds[kind] = lambda v, m=method, s=side: self.part(m, s, v)
        for method in self.methods:
            self.kinds[f"JsonRpcRequest.{method}"] = lambda v, m=method: self.request(m, v)
            self.kinds[f"JsonRpcResponse.{method}"] = lambda v, m=method: self.response(m, v)
        self.kinds["Message"] = self.message
        self.kinds["AgentCard"] = self.card
        self.kinds["PushBody"] = self.push_body
        for kind, run in self.make_rest_kinds().items():
            self.kinds[f"rest/{kind}"] = run
        for kind, run in self.make_pb_kinds().items():
            self.kinds[f"pb/{kind}"] = run

    @staticmethod
    def app(app):
        return httpx.AsyncClient(
            transport=httpx.ASGITransport(app=app), base_url=BASE
        )

    async def exchange(self, client, http_method, path, body=None, params=None):
        """One HTTP exchange with one of the SDK's servers; (status, JSON)."""
        response = await client.request(
            http_method,
            path,
            content=None if body is None else json.dumps(body).encode(),
            params=params,
            headers={"content-type": "application/json", **self.headers},
        )
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            lines = [
                line.partition(":")[2].removeprefix(" ")
                # Not splitlines, which breaks lines inside of JSON strings too.
                for line in response.text.replace("\r\n", "\n").split("\n")
                if line.startswith("data:")
            ]
            return response.status_code, json.loads("\n".join(lines))
        if not response.content:
            return response.status_code, None
        return response.status_code, response.json()

    # JSON-RPC

    async def part(self, method, side, value):
        """The params or the result of a method without its envelope."""
        envelope = {"jsonrpc": "2.0", "id": "peer"}
        if side == "params":
            envelope |= {"method": method, "params": value}
            return (await self.request(method, envelope)).get("params", {})
        return (await self.response(method, envelope | {"result": value})).get("result")

    async def request(self, method, envelope):
        if isinstance(envelope, dict) and envelope.get("method") != method:
            raise Refused(f"the method is not {method}")
        self.handler.expect(value=self.sample_value(method))
        _, answer = await self.exchange(self.server, "POST", "/", envelope)
        if "error" in answer:
            raise Refused(json.dumps(answer["error"]))
        return self.numbered(await self.client_sends(method, self.handler.seen), envelope)

    @staticmethod
    def numbered(sent, envelope):
        """Clients number their requests themselves; put the given id back."""
        del sent["id"]
        if "id" in envelope:
            sent["id"] = envelope["id"]
        return sent

    async def response(self, method, envelope):
        value = error = None
        try:
            value = await self.client_receives(method, envelope)
        except self.client_errors as e:
            error = self.server_error(e)
        return await self.server_sends(method, envelope.get("id"), value, error)

    async def server_sends(self, method, id, value, error):
        self.handler.expect(value, error)
        envelope = {"jsonrpc": "2.0", "id": id, "method": method}
        params = self.sample_params(method)
        if params is not None:
            envelope["params"] = params
        _, answer = await self.exchange(self.server, "POST", "/", envelope)
        if self.handler.seen is None:
            raise Refused(f"the server did not ask its handler: {json.dumps(answer)}")
        return answer

    # Protobuf

    @staticmethod
    def encode(message):
        # Deterministic, so that maps have one order; otherwise as gRPC does it.
        return base64.b64encode(message.SerializeToString(deterministic=True)).decode()

    def codec(self, cls):
        async def run(data):
            return self.encode(cls.FromString(data))

        return run

    def grpc_request(self, cls, rpc, send, method):
        """Server reads, client writes."""

        async def run(data):
            self.handler.expect(value=self.sample_value(method))
            await self.call(rpc, cls.FromString(data))
            self.channel.sent, self.channel.body = None, b""
            try:
                await consume(send(self.handler.seen))
            except Exception:
                # The client could not read the empty answer; it has sent.
                if self.channel.sent is None:
                    raise
            return self.encode(cls.FromString(self.channel.sent))

        return run

    def grpc_response(self, cls, rpc, receive, request):
        """Client reads, server writes."""

        async def run(data):
            self.channel.body = data
            self.handler.expect(value=await consume(receive()))
            return self.encode(await self.call(rpc, request))

        return run

    async def call(self, rpc, request):
        metadata = tuple((k.lower(), v) for k, v in self.headers.items())
        return await consume(getattr(self.servicer, rpc)(request, Context(metadata)))


async def consume(awaitable):
    """The result of a call; of a streaming call its only event."""
    if inspect.isasyncgen(awaitable):
        events = [event async for event in awaitable]
        if len(events) != 1:
            raise Refused(f"{len(events)} events instead of one")
        return events[0]
    return await awaitable


class V10(Peer):
    """a2a-sdk 1.x: protobuf types everywhere."""

    headers = {"A2A-Version": "1.0"}
    # The method of the client, the method of the handler.
    methods = {
        "SendMessage": ("send_message", "on_message_send"),
        "SendStreamingMessage": ("send_message_streaming", "on_message_send_stream"),
        "GetTask": ("get_task", "on_get_task"),
        "ListTasks": ("list_tasks", "on_list_tasks"),
        "CancelTask": ("cancel_task", "on_cancel_task"),
        "SubscribeToTask": ("subscribe", "on_subscribe_to_task"),
        "CreateTaskPushNotificationConfig": (
            "create_task_push_notification_config",
            "on_create_task_push_notification_config",
        ),
        "GetTaskPushNotificationConfig": (
            "get_task_push_notification_config",
            "on_get_task_push_notification_config",
        ),
        "ListTaskPushNotificationConfigs": (
            "list_task_push_notification_configs",
            "on_list_task_push_notification_configs",
        ),
        "DeleteTaskPushNotificationConfig": (
            "delete_task_push_notification_config",
            "on_delete_task_push_notification_config",
        ),
        "GetExtendedAgentCard": ("get_extended_agent_card", "on_get_extended_agent_card"),
    }
    streaming = ("SendStreamingMessage", "SubscribeToTask")
    objects = {
        "SendMessageRequest": ("SendMessage", "params"),
        "SendMessageResponse": ("SendMessage", "result"),
        "StreamResponse": ("SendStreamingMessage", "result"),
        "Task": ("GetTask", "result"),
        "GetTaskRequest": ("GetTask", "params"),
        "ListTasksRequest": ("ListTasks", "params"),
        "ListTasksResponse": ("ListTasks", "result"),
        "CancelTaskRequest": ("CancelTask", "params"),
        "SubscribeToTaskRequest": ("SubscribeToTask", "params"),
        "PushConfig": ("CreateTaskPushNotificationConfig", "result"),
        "CreatePushConfigRequest": ("CreateTaskPushNotificationConfig", "params"),
        "GetPushConfigRequest": ("GetTaskPushNotificationConfig", "params"),
        "ListPushConfigsRequest": ("ListTaskPushNotificationConfigs", "params"),
        "ListPushConfigsResponse": ("ListTaskPushNotificationConfigs", "result"),
        "DeletePushConfigRequest": ("DeleteTaskPushNotificationConfig", "params"),
    }

    def __init__(self):
        from a2a.client.transports.grpc import GrpcTransport
        from a2a.client.transports.jsonrpc import JsonRpcTransport
        from a2a.client.transports.rest import RestTransport
        from a2a.server.request_handlers import GrpcHandler
        from a2a.types import a2a_pb2 as pb
        from a2a.utils.errors import A2AError

        self.pb = pb
        self.client_errors = A2AError
        self.own_card = pb.AgentCard(
            capabilities=pb.AgentCapabilities(
                streaming=True, push_notifications=True, extended_agent_card=True
            )
        )
        super().__init__()
        self.client = JsonRpcTransport(self.http, self.own_card, BASE)
        self.rest_client = RestTransport(self.http, self.own_card, BASE)
        self.grpc_client = GrpcTransport(self.channel, self.own_card)
        self.servicer = GrpcHandler(self.handler)

    def make_handler(self):
        from a2a.server.request_handlers.request_handler import (
            RequestHandler,
            validate_request_params,
        )

        # The default handler of the SDK checks the required fields of every
        # request with this decorator; so does the stand-in.
        members = {}
        for rpc, (_, name) in self.methods.items():
            if rpc in self.streaming:

                async def method(self, params, context):
                    async for event in self.stream(params):
                        yield event
            else:

                async def method(self, params, context):
                    return await self.one(params)

            members[name] = validate_request_params(method)
        return type("StandIn", (Handler, RequestHandler), members)()

    def make_jsonrpc(self):
        from a2a.server.routes import create_jsonrpc_routes
        from starlette.applications import Starlette

        return Starlette(routes=create_jsonrpc_routes(self.handler, "/"))

    def make_rest(self):
        from a2a.server.routes import create_rest_routes
        from starlette.applications import Starlette

        return Starlette(routes=create_rest_routes(self.handler))

    def request_of(self, rpc):
        pb = self.pb
        match rpc:
            case "SendMessage" | "SendStreamingMessage":
                part = pb.Part(text="hi")
                message = pb.Message(message_id="m", role=pb.ROLE_USER, parts=[part])
                return pb.SendMessageRequest(message=message)
            case "GetTask":
                return pb.GetTaskRequest(id="t")
            case "ListTasks":
                return pb.ListTasksRequest(include_artifacts=True)
            case "CancelTask":
                return pb.CancelTaskRequest(id="t")
            case "SubscribeToTask":
                return pb.SubscribeToTaskRequest(id="t")
            case "CreateTaskPushNotificationConfig":
                return pb.TaskPushNotificationConfig(task_id="t", url="http://hook.test")
            case "GetTaskPushNotificationConfig":
                return pb.GetTaskPushNotificationConfigRequest(task_id="t", id="c")
            case "ListTaskPushNotificationConfigs":
                return pb.ListTaskPushNotificationConfigsRequest(task_id="t")
            case "DeleteTaskPushNotificationConfig":
                return pb.DeleteTaskPushNotificationConfigRequest(task_id="t", id="c")
            case "GetExtendedAgentCard":
                return pb.GetExtendedAgentCardRequest()

    def sample_params(self, rpc):
        return json_format.MessageToDict(self.request_of(rpc))

    def sample_value(self, rpc):
        pb = self.pb
        match rpc:
            case "ListTasks":
                return pb.ListTasksResponse()
            case "ListTaskPushNotificationConfigs":
                return pb.ListTaskPushNotificationConfigsResponse()
            case "DeleteTaskPushNotificationConfig":
                return None
            case "GetExtendedAgentCard":
                return pb.AgentCard()
            case _ if "PushNotificationConfig" in rpc:
                return pb.TaskPushNotificationConfig()
            case _:
                return pb.Task(id="t")

    async def client_sends(self, rpc, params, client=None):
        client = client or self.client
        self.replay.sent = None
        self.replay.answer({"jsonrpc": "2.0", "id": 1, "result": {}})
        try:
            await consume(getattr(client, self.methods[rpc][0])(params))
        except Exception:
            # The empty result means nothing to some methods; the request is out.
            if self.replay.sent is None:
                raise
        return json.loads(self.replay.sent)

    async def client_receives(self, rpc, envelope):
        if rpc in self.streaming:
            self.replay.answer_event(envelope)
        else:
            self.replay.answer(envelope)
        result = await consume(
            getattr(self.client, self.methods[rpc][0])(self.request_of(rpc))
        )
        return self.unwrap(result)

    def unwrap(self, result):
        """Handlers deal in the members of the two wrapping messages."""
        if isinstance(result, self.pb.SendMessageResponse | self.pb.StreamResponse):
            member = result.WhichOneof("payload")
            if not member:
                # What the SDK's client object says in this case.
                raise Refused("Response has neither task nor message")
            return getattr(result, member)
        return result

    @staticmethod
    def server_error(error):
        from a2a.client.errors import A2AClientError

        # A response that the client cannot read, or an error code it has no
        # class for.
        if isinstance(error, A2AClientError):
            raise error
        return error

    async def server_sends(self, method, id, value, error):
        from a2a.server import jsonrpc_models
        from a2a.server.request_handlers.response_helpers import build_error_response
        from a2a.utils.errors import JSONParseError

        if isinstance(error, JSONParseError):
            # Written before there is a handler to ask.
            return build_error_response(id, jsonrpc_models.JSONParseError(message=str(error)))
        return await super().server_sends(method, id, value, error)

    async def message(self, value):
        answer = await self.part("SendMessage", "result", {"message": value})
        return answer["message"]

    async def card(self, value):
        from a2a.client.card_resolver import A2ACardResolver
        from a2a.server.routes import create_agent_card_routes
        from starlette.applications import Starlette

        self.replay.answer(value)
        card = await A2ACardResolver(self.http, BASE).get_agent_card()
        server = self.app(Starlette(routes=create_agent_card_routes(card)))
        _, body = await self.exchange(server, "GET", "/.well-known/agent-card.json")
        return body

    async def push_body(self, value):
        from a2a.server.tasks import BasePushNotificationSender
        from a2a.utils.proto_utils import parse_lenient

        # The SDK has no receiver of webhook calls; its client reads stream
        # events with this function.
        event = self.unwrap(parse_lenient(value, self.pb.StreamResponse()))
        config = self.pb.TaskPushNotificationConfig(url="http://hook.test")

        class Store:
            async def get_info_for_dispatch(self, task_id):
                return [config]

        self.replay.sent = None
        self.replay.answer({})
        await BasePushNotificationSender(self.http, Store()).send_notification("t", event)
        return json.loads(self.replay.sent)

    def make_rest_kinds(self):
        def request(rpc, path):
            async def run(value):
                # The path names the task, as the SDK's client would have it.
                at = path.format(task=value.get("taskId") or "t")
                self.handler.expect(value=self.sample_value(rpc))
                status, answer = await self.exchange(self.rest_server, "POST", at, value)
                if status != 200:
                    raise Refused(json.dumps(answer))
                return await self.client_sends(rpc, self.handler.seen, self.rest_client)

            return run

        def response(rpc, http_method, path, params=None, wrap=None):
            async def run(value):
                value = {wrap: value} if wrap else value
                if rpc in self.streaming:
                    self.replay.answer_event(value)
                else:
                    self.replay.answer(value)
                client = getattr(self.rest_client, self.methods[rpc][0])
                result = await consume(client(self.request_of(rpc)))
                answer = await write(rpc, http_method, path, params, self.unwrap(result))
                return answer[wrap] if wrap else answer

            return run

        async def write(rpc, http_method, path, params, value=None, error=None):
            self.handler.expect(value, error)
            body = self.sample_params(rpc) if http_method == "POST" else None
            _, answer = await self.exchange(
                self.rest_server, http_method, path, body, params
            )
            return answer

        async def error(value):
            self.replay.answer(value, value["error"]["code"])
            try:
                await self.rest_client.get_task(self.request_of("GetTask"))
            except self.client_errors as e:
                return await write("GetTask", "GET", "/tasks/t", None, error=self.server_error(e))
            raise Refused("not an error")

        configs = "/tasks/t/pushNotificationConfigs"
        return {
            "SendMessageRequest": request("SendMessage", "/message:send"),
            "SendMessageResponse": response("SendMessage", "POST", "/message:send"),
            "StreamResponse": response("SendStreamingMessage", "POST", "/message:stream"),
            "Message": response("SendMessage", "POST", "/message:send", wrap="message"),
            "Task": response("GetTask", "GET", "/tasks/t"),
            "ListTasksResponse": response(
                "ListTasks", "GET", "/tasks", {"includeArtifacts": "true"}
            ),
            "PushConfig": response("GetTaskPushNotificationConfig", "GET", f"{configs}/c"),
            "CreatePushConfigRequest": request(
                "CreateTaskPushNotificationConfig", "/tasks/{task}/pushNotificationConfigs"
            ),
            "ListPushConfigsResponse": response(
                "ListTaskPushNotificationConfigs", "GET", configs
            ),
            "AgentCard": response("GetExtendedAgentCard", "GET", "/extendedAgentCard"),
            "Error": error,
        }

    def make_pb_kinds(self):
        pb = self.pb
        kinds = {name: self.codec(getattr(pb, name)) for name in pb.DESCRIPTOR.message_types_by_name}

        def request(rpc, cls):
            def send(params):
                return getattr(self.grpc_client, self.methods[rpc][0])(params)

            kinds[cls.DESCRIPTOR.name] = self.grpc_request(cls, rpc, send, rpc)

        def response(rpc, cls):
            async def receive():
                client = getattr(self.grpc_client, self.methods[rpc][0])
                return self.unwrap(await consume(client(self.request_of(rpc))))

            kinds[cls.DESCRIPTOR.name] = self.grpc_response(
                cls, rpc, receive, self.request_of(rpc)
            )

        for rpc in self.methods:
            request(rpc, type(self.request_of(rpc)))
        response("SendMessage", pb.SendMessageResponse)
        response("SendStreamingMessage", pb.StreamResponse)
        response("GetTask", pb.Task)
        response("ListTasks", pb.ListTasksResponse)
        response("GetTaskPushNotificationConfig", pb.TaskPushNotificationConfig)
        response(
            "ListTaskPushNotificationConfigs", pb.ListTaskPushNotificationConfigsResponse
        )
        response("GetExtendedAgentCard", pb.AgentCard)
        return kinds


class Legacy(Peer):
    """What 0.3 and 0.2 share: pydantic models, one per JSON-RPC message."""

    # Request model, response model, method of the client (None: the release has
    # none, the models stand in), method of the handler.
    methods = {
        "message/send": (
            "SendMessageRequest",
            "SendMessageResponse",
            "send_message",
            "on_message_send",
        ),
        "message/stream": (
            "SendStreamingMessageRequest",
            "SendStreamingMessageResponse",
            "send_message_streaming",
            "on_message_send_stream",
        ),
        "tasks/get": ("GetTaskRequest", "GetTaskResponse", "get_task", "on_get_task"),
        "tasks/cancel": (
            "CancelTaskRequest",
            "CancelTaskResponse",
            "cancel_task",
            "on_cancel_task",
        ),
        "tasks/resubscribe": (
            "TaskResubscriptionRequest",
            "SendStreamingMessageResponse",
            "resubscribe",
            "on_resubscribe_to_task",
        ),
        "tasks/pushNotificationConfig/set": (
            "SetTaskPushNotificationConfigRequest",
            "SetTaskPushNotificationConfigResponse",
            "set_task_callback",
            "on_set_task_push_notification_config",
        ),
        "tasks/pushNotificationConfig/get": (
            "GetTaskPushNotificationConfigRequest",
            "GetTaskPushNotificationConfigResponse",
            "get_task_callback",
            "on_get_task_push_notification_config",
        ),
        "tasks/pushNotificationConfig/list": (
            "ListTaskPushNotificationConfigRequest",
            "ListTaskPushNotificationConfigResponse",
            None,
            "on_list_task_push_notification_config",
        ),
        "tasks/pushNotificationConfig/delete": (
            "DeleteTaskPushNotificationConfigRequest",
            "DeleteTaskPushNotificationConfigResponse",
            None,
            "on_delete_task_push_notification_config",
        ),
    }
    streaming = ("message/stream", "tasks/resubscribe")
    objects = {
        "SendMessageRequest": ("message/send", "params"),
        "SendMessageResponse": ("message/send", "result"),
        "StreamResponse": ("message/stream", "result"),
        "Task": ("tasks/get", "result"),
        "GetTaskRequest": ("tasks/get", "params"),
        "CancelTaskRequest": ("tasks/cancel", "params"),
        "SubscribeToTaskRequest": ("tasks/resubscribe", "params"),
        "PushConfig": ("tasks/pushNotificationConfig/set", "result"),
        "CreatePushConfigRequest": ("tasks/pushNotificationConfig/set", "params"),
        "GetPushConfigRequest": ("tasks/pushNotificationConfig/get", "params"),
        "ListPushConfigsRequest": ("tasks/pushNotificationConfig/list", "params"),
        "ListPushConfigsResponse": ("tasks/pushNotificationConfig/list", "result"),
        "DeletePushConfigRequest": ("tasks/pushNotificationConfig/delete", "params"),
    }
    config = {"taskId": "t", "pushNotificationConfig": {"url": "http://hook.test"}}

    def __init__(self):
        import a2a.types
        from a2a.utils.errors import ServerError

        self.types = a2a.types
        self.ServerError = ServerError
        self.own_card = self.types.AgentCard.model_validate(
            {
                "name": "n",
                "description": "d",
                "url": BASE,
                "version": "1",
                "capabilities": {"streaming": True, "pushNotifications": True},
                "defaultInputModes": [],
                "defaultOutputModes": [],
                "skills": [],
                "supportsAuthenticatedExtendedCard": True,
            }
        )
        super().__init__()

    def make_handler(self):
        from a2a.server.request_handlers.request_handler import RequestHandler

        members = {}
        for name, entry in self.methods.items():
            if name in self.streaming:

                async def method(self, params, context=None):
                    async for event in self.stream(params):
                        yield event
            else:

                async def method(self, params, context=None):
                    return await self.one(params)

            members[entry[3]] = method
        return type("StandIn", (Handler, RequestHandler), members)()

    def make_jsonrpc(self):
        from a2a.server.apps import A2AStarletteApplication

        self.application = A2AStarletteApplication(
            self.own_card, self.handler, self.own_card
        )
        return self.application.build()

    def make_rest(self):
        return None

    def make_rest_kinds(self):
        return {}

    def model(self, method, n):
        return getattr(self.types, self.methods[method][n])

    def sample_params(self, method):
        match method:
            case "message/send" | "message/stream":
                part = {"kind": "text", "text": "hi"}
                return {"message": {"messageId": "m", "role": "user", "parts": [part]}}
            case "tasks/pushNotificationConfig/set":
                return self.config
            case "tasks/pushNotificationConfig/get" | "tasks/pushNotificationConfig/delete":
                return {"id": "t", "pushNotificationConfigId": "c"}
            case "agent/getAuthenticatedExtendedCard":
                return None
            case _:
                return {"id": "t"}

    def sample_value(self, method):
        match method:
            case "tasks/pushNotificationConfig/list":
                return []
            case "tasks/pushNotificationConfig/delete":
                return None
            case _ if "ushNotificationConfig" in method:
                return self.types.TaskPushNotificationConfig.model_validate(self.config)
            case _:
                return self.types.Task.model_validate(
                    {"id": "t", "contextId": "c", "status": {"state": "working"}}
                )

    def dump(self, method, params):
        """A request as the SDK's client builds and writes it."""
        request = self.model(method, 0)(params=params, id="peer")
        return request.model_dump(mode="json", exclude_none=True)

    async def server_sends(self, method, id, value, error):
        if id is not None:
            return await super().server_sends(method, id, value, error)
        # The server answers without an id only when it could not read the
        # request; then it leaves the member out.
        answer = await super().server_sends(method, "peer", value, error)
        del answer["id"]
        return answer

    async def message(self, value):
        if isinstance(value, dict) and value.get("kind", "message") != "message":
            raise Refused("not a message")
        return await self.part("message/send", "result", value)

    async def card(self, value):
        self.replay.answer(value)
        self.application.agent_card = await self.resolver(self.http, BASE).get_agent_card()
        try:
            _, body = await self.exchange(self.server, "GET", self.card_path)
        finally:
            self.application.agent_card = self.own_card
        return body

    async def push_body(self, value):
        from a2a.server.tasks import BasePushNotificationSender

        # The SDK has no receiver of webhook calls; the body is a Task model.
        task = self.types.Task.model_validate(value)
        config = self.types.PushNotificationConfig(url="http://hook.test")

        class Store:
            async def get_info(self, task_id):
                return [config]

        self.replay.sent = None
        self.replay.answer({})
        await BasePushNotificationSender(self.http, Store()).send_notification(task)
        return json.loads(self.replay.sent)

    def make_pb_kinds(self):
        from a2a.grpc import a2a_pb2 as pb

        self.pb = pb
        kinds = {name: self.codec(getattr(pb, name)) for name in pb.DESCRIPTOR.message_types_by_name}
        return kinds


class V03(Legacy):
    """a2a-sdk 0.3."""

    methods = Legacy.methods | {
        "agent/getAuthenticatedExtendedCard": (
            "GetAuthenticatedExtendedCardRequest",
            "GetAuthenticatedExtendedCardResponse",
            "get_card",
            "on_get_card",
        )
    }
    card_path = "/.well-known/agent-card.json"

    def __init__(self):
        from a2a.client import A2ACardResolver
        from a2a.client.errors import A2AClientJSONRPCError
        from a2a.client.transports.grpc import GrpcTransport
        from a2a.client.transports.jsonrpc import JsonRpcTransport
        from a2a.client.transports.rest import RestTransport
        from a2a.server.request_handlers import GrpcHandler

        self.resolver = A2ACardResolver
        self.client_errors = A2AClientJSONRPCError
        super().__init__()
        self.make_client = lambda: JsonRpcTransport(self.http, self.own_card, BASE)
        self.make_rest_client = lambda: RestTransport(self.http, self.own_card, BASE)
        self.make_grpc_client = lambda: GrpcTransport(self.channel, self.own_card)
        self.servicer = GrpcHandler(self.own_card, self.handler)

    def make_rest(self):
        from a2a.server.apps.rest import A2ARESTFastAPIApplication

        application = A2ARESTFastAPIApplication(
            self.own_card, self.handler, extended_agent_card=self.own_card
        )
        self.rest_adapter = application._adapter
        return application.build()

    def call_client(self, client, method, params):
        if method == "agent/getAuthenticatedExtendedCard":
            return client.get_card()
        return getattr(client, self.methods[method][2])(params)

    def params_of(self, method):
        model = self.model(method, 0)
        params = self.sample_params(method)
        if params is None:
            return None
        return model.model_validate({"id": 1, "params": params}).params

    async def request(self, method, envelope):
        if method != "agent/getAuthenticatedExtendedCard":
            return await super().request(method, envelope)
        # This one does not reach the handler.
        _, answer = await self.exchange(self.server, "POST", "/", envelope)
        if "error" in answer:
            raise Refused(json.dumps(answer["error"]))
        return self.numbered(await self.client_sends(method, None), envelope)

    async def client_sends(self, method, params):
        if self.methods[method][2] is None:
            return self.dump(method, params)
        self.replay.sent = None
        self.replay.answer({})
        try:
            await consume(self.call_client(self.make_client(), method, params))
        except Exception:
            # It could not read the empty answer; the request is out.
            if self.replay.sent is None:
                raise
        return json.loads(self.replay.sent)

    async def client_receives(self, method, envelope):
        if self.methods[method][2] is None:
            root = self.model(method, 1).model_validate(envelope).root
            if isinstance(root, self.types.JSONRPCErrorResponse):
                raise self.client_errors(root)
            return root.result
        if method in self.streaming:
            self.replay.answer_event(envelope)
        else:
            self.replay.answer(envelope)
        return await consume(
            self.call_client(self.make_client(), method, self.params_of(method))
        )

    def server_error(self, error):
        return self.ServerError(error=error.error)

    async def server_sends(self, method, id, value, error):
        if method != "agent/getAuthenticatedExtendedCard":
            return await super().server_sends(method, id, value, error)
        if error:
            # The server has no way to fail here on its own, beyond this helper.
            response = self.application._generate_error_response(id, error.error)
            return json.loads(response.body)
        self.application.handler.extended_agent_card = value
        _, answer = await self.exchange(
            self.server, "POST", "/", {"jsonrpc": "2.0", "id": id, "method": method}
        )
        return answer

    def make_rest_kinds(self):
        pb = self.pb_module()

        def codec(cls):
            # Nothing in the SDK's REST code reads these bodies; the arguments
            # are those of its neighbors.
            async def run(value):
                return json_format.MessageToDict(json_format.ParseDict(value, cls()))

            return run

        def request(method, path):
            async def run(value):
                # The path names the task, as the SDK's client would have it.
                task = (value.get("parent") or "tasks/t").removeprefix("tasks/")
                at = path.format(task=task)
                self.handler.expect(value=self.sample_value(method))
                status, answer = await self.exchange(self.rest_server, "POST", at, value)
                if self.handler.seen is None:
                    raise Refused(f"{status} {json.dumps(answer)}: {await why(value, method)}")
                self.replay.sent = None
                self.replay.answer({})
                client = self.make_rest_client()
                try:
                    await consume(self.call_client(client, method, self.handler.seen))
                except Exception:
                    if self.replay.sent is None:
                        raise
                return json.loads(self.replay.sent)

            async def why(value, method):
                # The server says "unknown exception"; this is its parser's word.
                cls = {
                    "message/send": pb.SendMessageRequest,
                    "tasks/pushNotificationConfig/set": pb.CreateTaskPushNotificationConfigRequest,
                }[method]
                try:
                    json_format.ParseDict(value, cls())
                except Exception as e:
                    return e
                return "the conversion of the parsed message failed"

            return run

        def response(method, http_method, path, wrap=None):
            async def run(value):
                value = {wrap: value} if wrap else value
                if method in self.streaming:
                    self.replay.answer_event(value)
                else:
                    self.replay.answer(value)
                params = self.params_of(method)
                result = await consume(
                    self.call_client(self.make_rest_client(), method, params)
                )
                self.handler.expect(value=result)
                self.rest_adapter.extended_agent_card = result
                body = None
                if http_method == "POST":
                    message = {"messageId": "m", "role": "ROLE_USER", "content": [{"text": "hi"}]}
                    body = {"message": message}
                status, answer = await self.exchange(self.rest_server, http_method, path, body)
                if status != 200:
                    raise Refused(f"{status} {json.dumps(answer)}")
                return answer[wrap] if wrap else answer

            return run

        configs = "/v1/tasks/t/pushNotificationConfigs"
        return {
            "SendMessageRequest": request("message/send", "/v1/message:send"),
            "SendMessageResponse": response("message/send", "POST", "/v1/message:send"),
            "StreamResponse": response("message/stream", "POST", "/v1/message:stream"),
            "Message": response("message/send", "POST", "/v1/message:send", wrap="message"),
            "Task": response("tasks/get", "GET", "/v1/tasks/t"),
            "PushConfig": response("tasks/pushNotificationConfig/get", "GET", f"{configs}/c"),
            "CreatePushConfigRequest": request(
                "tasks/pushNotificationConfig/set", "/v1/tasks/{task}/pushNotificationConfigs"
            ),
            "AgentCard": response("agent/getAuthenticatedExtendedCard", "GET", "/v1/card"),
            "GetTaskRequest": codec(pb.GetTaskRequest),
            "CancelTaskRequest": codec(pb.CancelTaskRequest),
            "SubscribeToTaskRequest": codec(pb.TaskSubscriptionRequest),
            "GetPushConfigRequest": codec(pb.GetTaskPushNotificationConfigRequest),
            "ListPushConfigsRequest": codec(pb.ListTaskPushNotificationConfigRequest),
            "ListPushConfigsResponse": codec(pb.ListTaskPushNotificationConfigResponse),
            "DeletePushConfigRequest": codec(pb.DeleteTaskPushNotificationConfigRequest),
        }

    @staticmethod
    def pb_module():
        from a2a.grpc import a2a_pb2

        return a2a_pb2

    def make_pb_kinds(self):
        kinds = super().make_pb_kinds()
        pb = self.pb
        rpcs = {
            "message/send": ("SendMessage", "SendMessageRequest", "SendMessageResponse"),
            "message/stream": ("SendStreamingMessage", None, "StreamResponse"),
            "tasks/get": ("GetTask", "GetTaskRequest", "Task"),
            "tasks/cancel": ("CancelTask", "CancelTaskRequest", None),
            "tasks/resubscribe": ("TaskSubscription", "TaskSubscriptionRequest", None),
            "tasks/pushNotificationConfig/set": (
                "CreateTaskPushNotificationConfig",
                "CreateTaskPushNotificationConfigRequest",
                None,
            ),
            "tasks/pushNotificationConfig/get": (
                "GetTaskPushNotificationConfig",
                None,
                "TaskPushNotificationConfig",
            ),
            "agent/getAuthenticatedExtendedCard": ("GetAgentCard", None, "AgentCard"),
        }
        samples = {
            "message/send": pb.SendMessageRequest(),
            "message/stream": pb.SendMessageRequest(),
            "tasks/get": pb.GetTaskRequest(name="tasks/t"),
            "tasks/pushNotificationConfig/get": pb.GetTaskPushNotificationConfigRequest(
                name="tasks/t/pushNotificationConfigs/c"
            ),
            "agent/getAuthenticatedExtendedCard": pb.GetAgentCardRequest(),
        }
        for method, (rpc, request, response) in rpcs.items():
            if request:

                def send(params, method=method):
                    return self.call_client(self.make_grpc_client(), method, params)

                cls = getattr(pb, request)
                kinds[request] = self.grpc_request(cls, rpc, send, method)
            if response:

                async def receive(method=method):
                    params = self.params_of(method)
                    result = await consume(
                        self.call_client(self.make_grpc_client(), method, params)
                    )
                    if isinstance(result, self.types.AgentCard):
                        self.servicer.agent_card = result
                    return result

                cls = getattr(pb, response)
                kinds[response] = self.grpc_response(cls, rpc, receive, samples[method])
        return kinds

    async def call(self, rpc, request):
        try:
            return await super().call(rpc, request)
        finally:
            self.servicer.agent_card = self.own_card


class V02(Legacy):
    """a2a-sdk 0.2: JSON-RPC and the gRPC types."""

    card_path = "/.well-known/agent.json"

    def __init__(self):
        from a2a.client import A2ACardResolver, A2AClient

        class Reported(Exception):
            def __init__(self, error):
                self.error = error

        self.resolver = A2ACardResolver
        self.client_errors = Reported
        super().__init__()
        self.client = A2AClient(self.http, url=BASE)

    async def client_call(self, method, params):
        # This client takes and returns whole envelopes.
        request = self.model(method, 0)(id="peer", params=params)
        response = await consume(getattr(self.client, self.methods[method][2])(request))
        return response.root

    def client_has(self, method):
        name = self.methods[method][2]
        return name is not None and hasattr(self.client, name)

    async def client_sends(self, method, params):
        if not self.client_has(method):
            return self.dump(method, params)
        self.replay.sent = None
        self.replay.answer({})
        try:
            await self.client_call(method, params)
        except Exception:
            if self.replay.sent is None:
                raise
        return json.loads(self.replay.sent)

    async def client_receives(self, method, envelope):
        if self.client_has(method):
            if method in self.streaming:
                self.replay.answer_event(envelope)
            else:
                self.replay.answer(envelope)
            root = await self.client_call(method, self.sample_params(method))
        else:
            root = self.model(method, 1).model_validate(envelope).root
        if isinstance(root, self.types.JSONRPCErrorResponse):
            raise self.client_errors(root.error)
        return root.result

    def server_error(self, error):
        return self.ServerError(error=error.error)


def make_peer():
    if VERSION.startswith("1."):
        return V10()
    if VERSION.startswith("0.3."):
        return V03()
    if VERSION.startswith("0.2."):
        return V02()
    raise SystemExit(f"no peer for {SDK} {VERSION}")


def say(value):
    answers.write(json.dumps(value, ensure_ascii=False) + "\n")
    answers.flush()


async def answer(peer, line):
    try:
        question = json.loads(line)
        run = peer.kinds.get(question["type"])
        if run is None:
            raise Refused(f"unknown type {question['type']}")
        if "base64" in question:
            data = base64.b64decode(question["base64"], validate=True)
            return {"ok": True, "base64": await run(data)}
        return {"ok": True, "json": await run(question["json"])}
    except Exception as e:
        return {"ok": False, "error": f"{type(e).__name__}: {e}"}


async def main():
    peer = make_peer()
    say({"sdk": SDK, "version": VERSION, "types": sorted(peer.kinds)})
    # From here on SDK code prints tracebacks of refused requests.
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 2)
    os.dup2(quiet, 1)
    for line in sys.stdin:
        if line.strip():
            say(await answer(peer, line))


asyncio.run(main())
