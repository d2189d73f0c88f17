"""The server of a2a-sdk 1.3, unchanged, with an agent that does what the demo of `a2a demo-server` does:

    python demo.py

so that `a2a conformance --cli -a REF` can check the program on a server that is not ours. The first line of output
is {"url", "sdk"}. The server ends when its standard input does.
"""

import asyncio
import json
import logging
import os
import re
import socket
import sys
import warnings
from importlib.metadata import version

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

# Nothing but the address may reach the real standard output.
answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)

import grpc.aio  # noqa: E402
import httpx  # noqa: E402
import uvicorn  # noqa: E402
from a2a.helpers import new_data_part, new_raw_part, new_task_from_user_message, new_text_message  # noqa: E402
from a2a.helpers import new_text_part, new_url_part  # noqa: E402
from a2a.server.agent_execution import AgentExecutor  # noqa: E402
from a2a.server.request_handlers import DefaultRequestHandler, GrpcHandler  # noqa: E402
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes  # noqa: E402
from a2a.server.tasks import (  # noqa: E402
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
    TaskUpdater,
)
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, TaskState  # noqa: E402
from a2a.types.a2a_pb2_grpc import add_A2AServiceServicer_to_server  # noqa: E402
from starlette.applications import Starlette  # noqa: E402

UNITS = {"ms": 0.001, "s": 1, "m": 60}


def seconds(text):
    number, unit = re.fullmatch(r"(\d+)(ms|s|m)", text or "3s").groups()
    return int(number) * UNITS[unit]


class Demo(AgentExecutor):
    """Does what the first word says."""

    def __init__(self, binding):
        self.binding = binding

    async def execute(self, context, queue):
        words = context.get_user_input().strip()
        verb, rest = (words.split(None, 1) + ["", ""])[:2]
        if verb == "message" and not context.current_task:
            return await queue.enqueue_event(new_text_message(rest))
        task = context.current_task
        asked = task and task.history[0].parts[0].text.split()[0]
        if task is None:
            task = new_task_from_user_message(context.message)
            await queue.enqueue_event(task)
        updater = TaskUpdater(queue, task.id, task.context_id)
        if asked in ("ask", "login"):
            return await self.artifact(updater, "answer", f"Booked for {words}." if asked == "ask" else "Signed in.")
        ends = {
            "ask": (TaskState.TASK_STATE_INPUT_REQUIRED, "Which city?"),
            "login": (TaskState.TASK_STATE_AUTH_REQUIRED, "Please sign in, then send anything."),
            "fail": (TaskState.TASK_STATE_FAILED, rest or "It failed, as you asked."),
            "reject": (TaskState.TASK_STATE_REJECTED, rest or "I would rather not."),
        }
        if verb in ends:
            state, said = ends[verb]
            return await updater.update_status(state, self.said(updater, said))
        if verb in ("stream", "cut"):
            return await self.count(updater, int(rest), verb == "cut")
        if verb in ("slow", "unspecified"):
            state = TaskState.TASK_STATE_WORKING if verb == "slow" else TaskState.TASK_STATE_UNSPECIFIED
            await updater.update_status(state, self.said(updater, f"Working for {rest}"))
            await asyncio.sleep(seconds(rest))
            return await self.artifact(updater, "result", f"Done after {rest}.")
        if verb == "files":
            return await self.artifact(updater, "files", *self.files())
        if verb == "parts":
            described = [self.described(at + 1, part) for at, part in enumerate(context.message.parts)]
            return await self.artifact(updater, "parts", "\n".join(described))
        if verb == "request":
            return await self.artifact(updater, "request", "\n".join(self.facts(context)))
        await self.artifact(updater, "echo", words)

    def said(self, updater, text):
        return updater.new_agent_message([new_text_part(text)])

    async def artifact(self, updater, name, *parts):
        parts = [new_text_part(part) if isinstance(part, str) else part for part in parts]
        await updater.add_artifact(parts, name=name)
        await updater.complete()

    async def count(self, updater, count, cut):
        # Whoever comes back while a chunk goes out gets it twice from this SDK, in the task and as an event, and nothing
        # tells that it is the same: so nothing goes out for a while after the stream is lost.
        lost = count + 1 if cut else 0
        count += 5 if cut else 0
        await updater.start_work(self.said(updater, f"Counting to {count}"))
        for number in range(1, count + 1):
            more = {"append": number > 1, "last_chunk": number == count}
            await updater.add_artifact([new_text_part(f"{number}\n")], artifact_id="numbers", name="numbers", **more)
            await asyncio.sleep(2 if number == lost else 0.02)
        await updater.complete()

    def files(self):
        yield "One part of each kind."
        yield new_data_part({"tide": "high", "meters": 4.2})
        yield new_raw_part(b"time,meters\n06:12,4.2\n", filename="tides.csv", media_type="text/csv")
        yield new_url_part("https://example.com/harbor.png", filename="harbor.png", media_type="image/png")

    def described(self, number, part):
        kind = {"raw": "file", "url": "file"}.get(part.WhichOneof("content"), part.WhichOneof("content"))
        return " ".join([str(number), kind, *filter(None, [part.media_type, part.filename])])

    def facts(self, context):
        headers = context.call_context.state.get("headers", {})
        yield f"Binding: {self.binding}"
        yield f"Version: {headers.get('a2a-version', '1.0')}"
        yield f"Tenant: {context.tenant or 'none'}"
        yield "Extensions: " + (", ".join(context.call_context.requested_extensions) or "none")
        yield "Subject: none"
        yield "Credential: none"

    async def cancel(self, context, queue):
        task = context.current_task
        await TaskUpdater(queue, task.id, task.context_id).cancel()


class Cut:
    """Loses the connection of a stream that a message `cut N` has begun, after N chunks."""

    def __init__(self, application):
        self.application = application

    async def __call__(self, scope, receive, send):
        cut = []

        async def hear():
            event = await receive()
            found = re.search(rb'"text": ?"cut (\d+)"', event.get("body", b""))
            cut.extend([int(found[1])] if found else [])
            return event

        async def say(event):
            if cut and event["type"] == "http.response.body" and b"artifactUpdate" in event["body"]:
                cut[0] -= event["body"].count(b"artifactUpdate")
                if cut[0] < 0:
                    raise ConnectionResetError
            await send(event)

        await self.application(scope, hear, say)


async def main():
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    base = f"http://localhost:{port}"
    rpc = grpc.aio.server()
    rpc_port = rpc.add_insecure_port("127.0.0.1:0")
    places = [(f"{base}/rpc", "JSONRPC"), (f"{base}/rest", "HTTP+JSON"), (f"127.0.0.1:{rpc_port}", "GRPC")]
    card = AgentCard(
        name="Demo",
        description="Does what the first word says",
        version="1.0.0",
        default_input_modes=["text/plain", "*/*"],
        default_output_modes=["text/plain", "*/*"],
        capabilities=AgentCapabilities(streaming=True, push_notifications=True),
        skills=[AgentSkill(id="obey", name="Obey", description="Does what it is told", tags=["test"])],
        supported_interfaces=[AgentInterface(url=url, protocol_binding=name, protocol_version="1.0") for url, name in places],
    )
    tasks, configs = InMemoryTaskStore(), InMemoryPushNotificationConfigStore()

    def handler(binding):
        sender = BasePushNotificationSender(httpx.AsyncClient(), configs)
        return DefaultRequestHandler(
            agent_executor=Demo(binding), task_store=tasks, push_config_store=configs, push_sender=sender, agent_card=card
        )

    add_A2AServiceServicer_to_server(GrpcHandler(handler("GRPC")), rpc)
    routes = create_agent_card_routes(card) + create_jsonrpc_routes(handler("JSONRPC"), "/rpc")
    routes += create_rest_routes(handler("HTTP+JSON"), path_prefix="/rest")
    await rpc.start()
    server = uvicorn.Server(uvicorn.Config(Cut(Starlette(routes=routes)), log_level="critical", lifespan="off"))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started:
        await asyncio.sleep(0.01)
    print(json.dumps({"url": f"localhost:{port}", "sdk": version("a2a-sdk")}), file=answers, flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    serving.cancel()
    os._exit(0)


asyncio.run(main())
