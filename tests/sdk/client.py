"""The client of a released a2a-sdk, unchanged, at work on a server:

    python client.py <binding> <url>

The binding is JSONRPC, HTTP+JSON or GRPC. Every step gives one line of output,
{"name", "ok", "detail"}; "ok" is null when the client has no such call. The steps
stand in `Scenario`; what differs between the releases stands in one class each,
which uses the SDK as its users do and returns what the SDK understood as the JSON
of its release.
"""

import asyncio
import base64
import json
import logging
import os
import sys
import uuid
import warnings
from importlib.metadata import version

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

# Nothing but answers may reach the real standard output.
answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)

import grpc  # noqa: E402
import httpx  # noqa: E402

VERSION = version("a2a-sdk")
# The longest time a step may take on a busy machine.
PATIENCE = 60.0

FILE = {"bytes": b"\x00\x9f\x92\x96", "name": "seal.bin", "type": "application/octet-stream"}
LINK = {"url": "https://example.com/chart.png", "name": "chart.png", "type": "image/png"}
DATA = {"berth": 7, "tugs": ["Ada", "Bo"], "pilot": None, "draft": {"bow": 6.5}}


class Client1_3:
    """1.3: `create_client` with a configuration; protobuf messages."""

    # Whether a webhook body says in which member it holds what.
    wraps_events = True

    def __init__(self, binding, url):
        self.binding, self.url = binding, url

    async def open(self):
        from a2a.client import A2ACardResolver

        self.http = httpx.AsyncClient(timeout=PATIENCE)
        self.card = await A2ACardResolver(self.http, self.url).get_agent_card()
        self.plain = await self.connect(streaming=False)
        self.polling = await self.connect(streaming=False, polling=True)
        self.streaming = await self.connect()
        return self.read_card()

    def connect(self, **options):
        from a2a.client import ClientConfig, create_client

        config = ClientConfig(
            httpx_client=self.http,
            grpc_channel_factory=grpc.aio.insecure_channel,
            supported_protocol_bindings=[self.binding],
            **options,
        )
        return create_client(self.url, config)

    def read_card(self):
        card = self.dict(self.card)
        return {
            "name": card["name"],
            "skills": [skill["id"] for skill in card["skills"]],
            "streaming": card["capabilities"]["streaming"],
            "push": card["capabilities"]["pushNotifications"],
        }

    @staticmethod
    def dict(message):
        from google.protobuf.json_format import MessageToDict

        return MessageToDict(message)

    def request(self, parts, task, context):
        from a2a.helpers import new_data_part, new_raw_part, new_text_part, new_url_part
        from a2a.types import Message, Role, SendMessageRequest

        makers = {
            "text": new_text_part,
            "file": lambda f: new_raw_part(f["bytes"], media_type=f["type"], filename=f["name"]),
            "link": lambda f: new_url_part(f["url"], media_type=f["type"], filename=f["name"]),
            "data": new_data_part,
        }
        message = Message(
            message_id=str(uuid.uuid4()),
            role=Role.ROLE_USER,
            task_id=task or "",
            context_id=context or "",
            parts=[makers[kind](value) for kind, value in parts],
        )
        return SendMessageRequest(message=message)

    async def send(self, parts, task=None, context=None, at_once=False, push=None):
        from a2a.types import SendMessageConfiguration, TaskPushNotificationConfig

        client = self.polling if at_once else self.plain
        request = self.request(parts, task, context)
        if push:
            config = SendMessageConfiguration(task_push_notification_config=TaskPushNotificationConfig(**push))
            request.configuration.CopyFrom(config)
        events = [self.dict(e) async for e in client.send_message(request)]
        assert len(events) == 1, events
        return events[0].get("task") or events[0]["message"]

    async def stream(self, parts):
        async for event in self.streaming.send_message(self.request(parts, None, None)):
            yield only(self.dict(event))

    async def get(self, task):
        from a2a.types import GetTaskRequest

        return self.dict(await self.plain.get_task(GetTaskRequest(id=task)))

    async def list(self, context):
        from a2a.types import ListTasksRequest

        answer = await self.plain.list_tasks(ListTasksRequest(context_id=context, include_artifacts=True))
        return self.dict(answer)["tasks"]

    async def cancel(self, task):
        from a2a.types import CancelTaskRequest

        return self.dict(await self.plain.cancel_task(CancelTaskRequest(id=task)))

    async def set_push(self, task, config):
        from a2a.types import TaskPushNotificationConfig

        request = TaskPushNotificationConfig(task_id=task, **config)
        return push_config(self.dict(await self.plain.create_task_push_notification_config(request)))

    async def get_push(self, task, config):
        from a2a.types import GetTaskPushNotificationConfigRequest

        request = GetTaskPushNotificationConfigRequest(task_id=task, id=config)
        return push_config(self.dict(await self.plain.get_task_push_notification_config(request)))

    async def list_push(self, task):
        from a2a.types import ListTaskPushNotificationConfigsRequest

        request = ListTaskPushNotificationConfigsRequest(task_id=task)
        answer = self.dict(await self.plain.list_task_push_notification_configs(request))
        return [push_config(config) for config in answer.get("configs", [])]

    async def delete_push(self, task, config):
        from a2a.types import DeleteTaskPushNotificationConfigRequest

        request = DeleteTaskPushNotificationConfigRequest(task_id=task, id=config)
        await self.plain.delete_task_push_notification_config(request)

    async def resubscribe(self, task):
        from a2a.types import SubscribeToTaskRequest

        async for event in self.streaming.subscribe(SubscribeToTaskRequest(id=task)):
            yield only(self.dict(event))

    def error(self, error):
        return type(error).__name__

    expected = {"unknown task": "TaskNotFoundError", "cancel again": "TaskNotCancelableError"}

    async def close(self):
        for client in (self.plain, self.polling, self.streaming):
            await client.close()
        await self.http.aclose()


class Client0_3:
    """0.3: `ClientFactory` on a card; Pydantic models."""

    wraps_events = False

    def __init__(self, binding, url):
        self.binding, self.url = binding, url

    async def open(self):
        from a2a.client import A2ACardResolver

        self.http = httpx.AsyncClient(timeout=PATIENCE)
        self.card = await A2ACardResolver(self.http, self.url).get_agent_card()
        self.plain = self.connect(streaming=False)
        self.polling = self.connect(streaming=False, polling=True)
        self.streaming = self.connect()
        return card_of_model(self.card)

    def connect(self, **options):
        from a2a.client import ClientConfig, ClientFactory

        config = ClientConfig(
            httpx_client=self.http,
            grpc_channel_factory=grpc.aio.insecure_channel,
            supported_transports=[self.binding],
            **options,
        )
        return ClientFactory(config).create(self.card)

    async def send(self, parts, task=None, context=None, at_once=False, push=None):
        from a2a.types import PushNotificationConfig

        client = self.polling if at_once else self.plain
        if push:
            client = self.connect(streaming=False, push_notification_configs=[PushNotificationConfig(**push)])
        events = [event async for event in client.send_message(message_model(parts, task, context))]
        assert len(events) == 1, events
        return model_dict(events[0][0] if isinstance(events[0], tuple) else events[0])

    async def stream(self, parts):
        async for event in self.streaming.send_message(message_model(parts, None, None)):
            yield self.event(event)

    @staticmethod
    def event(event):
        """Of the task and its update the update, of the first event the task."""
        return model_dict(event[1] or event[0]) if isinstance(event, tuple) else model_dict(event)

    async def get(self, task):
        from a2a.types import TaskQueryParams

        return model_dict(await self.plain.get_task(TaskQueryParams(id=task)))

    async def cancel(self, task):
        from a2a.types import TaskIdParams

        return model_dict(await self.plain.cancel_task(TaskIdParams(id=task)))

    async def set_push(self, task, config):
        from a2a.types import PushNotificationConfig, TaskPushNotificationConfig

        request = TaskPushNotificationConfig(task_id=task, push_notification_config=PushNotificationConfig(**config))
        return push_config(model_dict(await self.plain.set_task_callback(request)))

    async def get_push(self, task, config):
        from a2a.types import GetTaskPushNotificationConfigParams

        request = GetTaskPushNotificationConfigParams(id=task, push_notification_config_id=config)
        return push_config(model_dict(await self.plain.get_task_callback(request)))

    async def resubscribe(self, task):
        from a2a.types import TaskIdParams

        async for event in self.streaming.resubscribe(TaskIdParams(id=task)):
            yield self.event(event)

    def error(self, error):
        """This release has a class for each binding, and in it the code of the error."""
        from a2a.client.errors import A2AClientHTTPError, A2AClientJSONRPCError

        if isinstance(error, A2AClientJSONRPCError):
            return error.error.code
        if isinstance(error, A2AClientHTTPError):
            return error.status_code
        if isinstance(error, grpc.aio.AioRpcError):
            return error.code().name
        return type(error).__name__

    @property
    def expected(self):
        return {
            "JSONRPC": {"unknown task": -32001, "cancel again": -32002},
            "HTTP+JSON": {"unknown task": 404, "cancel again": 409},
            "GRPC": {"unknown task": "NOT_FOUND", "cancel again": "FAILED_PRECONDITION"},
        }[self.binding]

    async def close(self):
        await self.http.aclose()


class Client0_2(Client0_3):
    """0.2: `A2AClient`; requests and responses are JSON-RPC envelopes."""

    async def open(self):
        from a2a.client import A2ACardResolver, A2AClient

        self.http = httpx.AsyncClient(timeout=PATIENCE)
        card = await A2ACardResolver(self.http, self.url).get_agent_card()
        self.plain = A2AClient(self.http, agent_card=card)
        return card_of_model(card)

    def params(self, parts, task, context, **configuration):
        from a2a.types import MessageSendConfiguration, MessageSendParams

        configuration = MessageSendConfiguration(accepted_output_modes=["*/*"], **configuration)
        return MessageSendParams(message=message_model(parts, task, context), configuration=configuration)

    @staticmethod
    def result(response):
        from a2a.types import JSONRPCErrorResponse

        if isinstance(response.root, JSONRPCErrorResponse):
            raise Refused(response.root.error)
        return model_dict(response.root.result)

    async def send(self, parts, task=None, context=None, at_once=False, push=None):
        from a2a.types import PushNotificationConfig, SendMessageRequest

        config = PushNotificationConfig(**push) if push else None
        params = self.params(parts, task, context, blocking=not at_once, push_notification_config=config)
        request = SendMessageRequest(id=str(uuid.uuid4()), params=params)
        return self.result(await self.plain.send_message(request))

    async def stream(self, parts):
        from a2a.types import SendStreamingMessageRequest

        request = SendStreamingMessageRequest(id=str(uuid.uuid4()), params=self.params(parts, None, None))
        async for response in self.plain.send_message_streaming(request):
            yield self.result(response)

    async def get(self, task):
        from a2a.types import GetTaskRequest, TaskQueryParams

        request = GetTaskRequest(id=str(uuid.uuid4()), params=TaskQueryParams(id=task))
        return self.result(await self.plain.get_task(request))

    async def cancel(self, task):
        from a2a.types import CancelTaskRequest, TaskIdParams

        request = CancelTaskRequest(id=str(uuid.uuid4()), params=TaskIdParams(id=task))
        return self.result(await self.plain.cancel_task(request))

    async def set_push(self, task, config):
        from a2a.types import PushNotificationConfig, SetTaskPushNotificationConfigRequest, TaskPushNotificationConfig

        params = TaskPushNotificationConfig(task_id=task, push_notification_config=PushNotificationConfig(**config))
        request = SetTaskPushNotificationConfigRequest(id=str(uuid.uuid4()), params=params)
        return push_config(self.result(await self.plain.set_task_callback(request)))

    async def get_push(self, task, config):
        from a2a.types import GetTaskPushNotificationConfigParams, GetTaskPushNotificationConfigRequest

        params = GetTaskPushNotificationConfigParams(id=task, push_notification_config_id=config)
        request = GetTaskPushNotificationConfigRequest(id=str(uuid.uuid4()), params=params)
        return push_config(self.result(await self.plain.get_task_callback(request)))

    def error(self, error):
        return error.args[0].code if isinstance(error, Refused) else type(error).__name__


class Refused(Exception):
    """An error response, which 0.2 returns instead of raising it."""


def message_model(parts, task, context):
    from a2a.types import DataPart, FilePart, FileWithBytes, FileWithUri, Message, Part, Role, TextPart

    def file(f):
        if "bytes" in f:
            return FileWithBytes(bytes=base64.b64encode(f["bytes"]).decode(), name=f["name"], mime_type=f["type"])
        return FileWithUri(uri=f["url"], name=f["name"], mime_type=f["type"])

    makers = {
        "text": lambda text: TextPart(text=text),
        "file": lambda f: FilePart(file=file(f)),
        "link": lambda f: FilePart(file=file(f)),
        "data": lambda data: DataPart(data=data),
    }
    return Message(
        message_id=str(uuid.uuid4()),
        role=Role.user,
        task_id=task,
        context_id=context,
        parts=[Part(makers[kind](value)) for kind, value in parts],
    )


def model_dict(model):
    return model.model_dump(mode="json", by_alias=True, exclude_none=False)


def card_of_model(card):
    return {
        "name": card.name,
        "skills": [skill.id for skill in card.skills],
        "streaming": card.capabilities.streaming,
        "push": card.capabilities.push_notifications,
    }


# --- What all releases have in common ---------------------------------------


def only(event):
    (value,) = event.values()
    return value


def push_config(config):
    config = config.get("pushNotificationConfig") or config
    return {key: config.get(key) for key in ("id", "url", "token")}


def state(task):
    return task["status"]["state"].removeprefix("TASK_STATE_").lower().replace("_", "-")


def text(parts):
    return "".join(part.get("text") or "" for part in parts)


def part(part):
    """A part in the words of this script."""
    if part.get("file"):
        f = part["file"]
        value = {"name": f.get("name"), "type": f.get("mimeType")}
        if f.get("bytes") is not None:
            return ("file", {"bytes": base64.b64decode(f["bytes"]), **value})
        return ("link", {"url": f["uri"], **value})
    value = {"name": part.get("filename"), "type": part.get("mediaType")}
    if part.get("raw") is not None:
        return ("file", {"bytes": base64.b64decode(part["raw"]), **value})
    if part.get("url") is not None:
        return ("link", {"url": part["url"], **value})
    if "data" in part:
        return ("data", part["data"])
    return ("text", part["text"])


def equal(seen, wanted):
    assert seen == wanted, f"{seen!r} instead of {wanted!r}"


class Webhook:
    """An HTTP server that keeps what is posted to it."""

    async def open(self):
        self.posts = asyncio.Queue()
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        port = self.server.sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}/push"

    async def serve(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in head[1:])}
        body = await reader.readexactly(int(headers["content-length"]))
        self.posts.put_nowait((headers, json.loads(body)))
        writer.write(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    async def until(self, task, wanted, wrapped):
        """The first post about this task in this state, in the form of the client's release."""
        while True:
            headers, body = await self.posts.get()
            about = only(body) if wrapped else body
            if task in (about.get("id"), about.get("taskId")) and "status" in about and state(about) == wanted:
                return headers

    def close(self):
        self.server.close()


LIST_PUSH = ["list_task_push_notification_configs", "list_task_callback", "list_task_callbacks"]
DELETE_PUSH = ["delete_task_push_notification_config", "delete_task_callback"]


class Scenario:
    """The steps, in the order in which they are done."""

    def __init__(self, client):
        self.client = client
        self.hook = Webhook()

    async def step(self, name, call, needs=()):
        """Does a step and says how it went. One that needs a call can be done when the
        SDK's client has it, in whichever of the names that it had over time."""
        if needs and not any(hasattr(self.client.plain, need) for need in needs):
            return report(name, None, "the client has no such call")
        try:
            await asyncio.wait_for(call(), PATIENCE)
        except Exception as error:  # noqa: BLE001
            report(name, False, f"{type(error).__name__}: {error}")
        else:
            report(name, True, "")

    async def run(self):
        self.url = await self.hook.open()
        await self.step("card", self.card)
        await self.step("message", self.message)
        await self.step("send", self.send)
        await self.step("send at once", self.send_at_once)
        await self.step("stream", self.stream)
        await self.step("stream message", self.stream_message)
        await self.step("get", self.get)
        await self.step("list", self.list, ["list_tasks"])
        await self.step("cancel", self.cancel)
        await self.step("cancel again", lambda: self.refused("cancel again", self.client.cancel(self.waiting)))
        await self.step("unknown task", self.unknown)
        await self.step("continue", self.go_on)
        await self.step("files and data", self.parts)
        await self.step("set push", self.set_push)
        await self.step("get push", self.get_push)
        await self.step("list push", self.list_push, LIST_PUSH)
        await self.step("receive push", self.receive_push)
        await self.step("send with push", self.send_with_push)
        await self.step("delete push", self.delete_push, DELETE_PUSH)
        await self.step("resubscribe", self.resubscribe, ["subscribe", "resubscribe"])
        await self.step("handover", self.handed_over)
        await self.step("handover polled", self.handed_over_polled)
        await self.step("handover stream", lambda: self.stream("pass stream 5"))
        await self.client.close()
        self.hook.close()

    async def card(self):
        equal(await self.client.open(), {"name": "Clerk", "skills": ["obey"], "streaming": True, "push": True})

    async def message(self):
        answer = await self.client.send([("text", "say ahoy")])
        assert "status" not in answer, answer
        equal(text(answer["parts"]), "ahoy")

    async def send(self):
        self.done = await self.client.send([("text", "greet the pilot")])
        self.check_done(self.done)

    def check_done(self, task):
        equal(state(task), "completed")
        equal([text(artifact["parts"]) for artifact in task["artifacts"]], ["greet the pilot"])

    async def handed_over(self):
        """Two agents pass it on before the third does it, of which this client sees nothing."""
        self.check_done(await self.client.send([("text", "pass greet the pilot")]))

    async def handed_over_polled(self):
        begun = await self.client.send([("text", "pass greet the pilot")], at_once=True)
        while state(task := await self.client.get(begun["id"])) in ("submitted", "working"):
            await asyncio.sleep(0.05)
        equal((task["id"], task["contextId"]), (begun["id"], begun["contextId"]))
        self.check_done(task)

    async def wait(self):
        """A task that waits to be canceled."""
        task = await self.client.send([("text", "wait here")], at_once=True)
        assert state(task) in ("submitted", "working"), task
        return task["id"]

    async def send_at_once(self):
        self.waiting = await self.wait()

    async def stream(self, words="stream 5"):
        states, chunks = [], ""
        async for event in self.client.stream([("text", words)]):
            if "status" in event:
                states.append(state(event))
            chunks += text(event["artifact"]["parts"]) if "artifact" in event else ""
            chunks += "".join(text(artifact["parts"]) for artifact in event.get("artifacts") or [])
        equal(chunks, "1;2;3;4;5;")
        equal((states[0] in ("submitted", "working"), "working" in states, states[-1]), (True, True, "completed"))

    async def stream_message(self):
        events = [event async for event in self.client.stream([("text", "say ahoy")])]
        equal([("status" in event, text(event["parts"])) for event in events], [(False, "ahoy")])

    async def get(self):
        task = await self.client.get(self.done["id"])
        self.check_done(task)
        equal(text(task["history"][0]["parts"]), "greet the pilot")

    async def list(self):
        tasks = await self.client.list(self.done["contextId"])
        equal([task["id"] for task in tasks], [self.done["id"]])
        self.check_done(tasks[0])

    async def cancel(self):
        task = await self.client.cancel(self.waiting)
        equal((task["id"], state(task)), (self.waiting, "canceled"))

    async def refused(self, name, call):
        try:
            answer = await call
        except Exception as error:  # noqa: BLE001
            equal(self.client.error(error), self.client.expected[name])
        else:
            raise AssertionError(f"no error but {answer}")

    async def unknown(self):
        await self.refused("unknown task", self.client.get("no-such-task"))
        await self.refused("unknown task", self.client.cancel("no-such-task"))

    async def go_on(self):
        asked = await self.client.send([("text", "ask")])
        equal((state(asked), text(asked["status"]["message"]["parts"])), ("input-required", "Which quay?"))
        task = await self.client.send([("text", "Quay four")], task=asked["id"], context=asked["contextId"])
        equal((task["id"], task["contextId"], state(task)), (asked["id"], asked["contextId"], "completed"))
        equal(text(task["artifacts"][0]["parts"]), "Quay four")

    async def parts(self):
        sent = [("text", "back"), ("file", FILE), ("link", LINK), ("data", DATA)]
        task = await self.client.send(sent)
        equal(state(task), "completed")
        equal([part(each) for each in task["artifacts"][0]["parts"]], sent[1:])

    def config(self):
        return {"id": "harbor", "url": self.url, "token": "pass-7"}

    async def set_push(self):
        self.watched = await self.wait()
        equal(await self.client.set_push(self.watched, self.config()), self.config())

    async def get_push(self):
        equal(await self.client.get_push(self.watched, "harbor"), self.config())

    async def list_push(self):
        equal(await self.client.list_push(self.watched), [self.config()])

    async def receive_push(self):
        await self.client.cancel(self.watched)
        headers = await self.hook.until(self.watched, "canceled", self.client.wraps_events)
        equal(headers.get("x-a2a-notification-token"), "pass-7")

    async def send_with_push(self):
        task = await self.client.send([("text", "greet the pilot")], push=self.config())
        self.check_done(task)
        headers = await self.hook.until(task["id"], "completed", self.client.wraps_events)
        equal(headers.get("x-a2a-notification-token"), "pass-7")

    async def delete_push(self):
        task = await self.wait()
        await self.client.set_push(task, self.config())
        equal(await self.client.list_push(task), [self.config()])
        await self.client.delete_push(task, "harbor")
        equal(await self.client.list_push(task), [])
        await self.client.cancel(task)

    async def resubscribe(self):
        task, states = await self.wait(), []
        async for event in self.client.resubscribe(task):
            if not states:
                await self.client.cancel(task)
            states.append(state(event))
        equal((states[0], states[-1]), ("working", "canceled"))


def report(name, ok, detail):
    print(json.dumps({"name": name, "ok": ok, "detail": detail}), file=answers, flush=True)


if __name__ == "__main__":
    clients = {"1.3": Client1_3, "0.3": Client0_3, "0.2": Client0_2}
    client = clients[".".join(VERSION.split(".")[:2])](*sys.argv[1:])
    asyncio.run(Scenario(client).run())
