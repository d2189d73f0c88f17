"""The server of a released a2a-sdk, unchanged, with an agent that does what the first word says:

    python server.py

The first line of output is {"url", "sdk"}: the address of the card, which names every binding that the
release has. The server ends when its standard input does.
"""

import asyncio
import json
import logging
import os
import socket
import sys
import warnings
from importlib.metadata import version

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

# Nothing but the address may reach the real standard output.
answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)

import httpx  # noqa: E402
import uvicorn  # noqa: E402
from a2a.server.agent_execution import AgentExecutor  # noqa: E402
from a2a.server.request_handlers import DefaultRequestHandler  # noqa: E402
from a2a.server.tasks import (  # noqa: E402
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
    TaskUpdater,
)
from a2a.types import AgentCapabilities, AgentCard, AgentSkill  # noqa: E402

VERSION = version("a2a-sdk")
NEW = VERSION.startswith("1.")

if NEW:
    from a2a.helpers import new_task_from_user_message as new_task
    from a2a.helpers import new_text_message as new_text
    from a2a.helpers import new_text_part as text_part
else:
    from a2a.types import Part, TextPart
    from a2a.utils import new_agent_text_message as new_text
    from a2a.utils import new_task

    def text_part(text):
        return Part(root=TextPart(text=text))


class Clerk(AgentExecutor):
    """Does what the first word says."""

    async def execute(self, context, queue):
        verb, _, rest = context.get_user_input().partition(" ")
        if verb == "say":
            await queue.enqueue_event(new_text(rest))
            return
        task = context.current_task
        if task is None:
            task = new_task(context.message)
            await queue.enqueue_event(task)
        updater = TaskUpdater(queue, task.id, task.context_id)
        words = (lambda text: updater.new_agent_message([text_part(text)]))
        if verb == "ask":
            await updater.update_status(self.state("input_required"), words("Which quay?"))
            return
        await updater.start_work(words("Working"))
        if verb == "wait":
            await asyncio.Event().wait()
        elif verb == "later":
            await asyncio.sleep(3)
        elif verb == "fail":
            await updater.failed(words("The crane is broken."))
            return
        elif verb == "stream":
            count = int(rest)
            for number in range(1, count + 1):
                await updater.add_artifact(
                    [text_part(f"{number};")],
                    artifact_id="numbers",
                    name="numbers",
                    append=number > 1,
                    last_chunk=number == count,
                )
        else:
            await updater.add_artifact([text_part(context.get_user_input())], name="echo")
        await updater.complete()

    async def cancel(self, context, queue):
        task = context.current_task
        await TaskUpdater(queue, task.id, task.context_id).cancel()

    @staticmethod
    def state(name):
        from a2a.types import TaskState

        return getattr(TaskState, f"TASK_STATE_{name.upper()}" if NEW else name)


def port():
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    return taken


def members(name):
    return {
        "name": name,
        "description": "Does what the first word says",
        "version": "1.0.0",
        "default_input_modes": ["text/plain"],
        "default_output_modes": ["text/plain"],
        "capabilities": AgentCapabilities(streaming=True, push_notifications=True),
        "skills": [AgentSkill(id="obey", name="Obey", description="Does what it is told", tags=["test"])],
    }


def handler(**more):
    configs = InMemoryPushNotificationConfigStore()
    return DefaultRequestHandler(
        agent_executor=Clerk(),
        task_store=InMemoryTaskStore(),
        push_config_store=configs,
        push_sender=BasePushNotificationSender(httpx.AsyncClient(), configs),
        **more,
    )


async def serve_1_3(base, grpc):
    from a2a.server.request_handlers import GrpcHandler
    from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
    from a2a.types import AgentInterface
    from a2a.types.a2a_pb2_grpc import add_A2AServiceServicer_to_server
    from starlette.applications import Starlette

    places = [(f"{base}/rpc", "JSONRPC"), (f"{base}/rest", "HTTP+JSON"), (f"127.0.0.1:{grpc.port}", "GRPC")]
    interfaces = [AgentInterface(url=url, protocol_binding=binding, protocol_version="1.0") for url, binding in places]
    card = AgentCard(supported_interfaces=interfaces, **members("Clerk"))
    requests = handler(agent_card=card)
    add_A2AServiceServicer_to_server(GrpcHandler(requests), grpc)
    routes = create_agent_card_routes(card) + create_jsonrpc_routes(requests, "/rpc")
    return Starlette(routes=routes + create_rest_routes(requests, path_prefix="/rest"))


async def serve_0_3(base, grpc):
    from a2a.grpc.a2a_pb2_grpc import add_A2AServiceServicer_to_server
    from a2a.server.apps import A2ARESTFastAPIApplication, A2AStarletteApplication
    from a2a.server.request_handlers.grpc_handler import GrpcHandler
    from a2a.types import AgentInterface

    places = [(f"{base}/rest", "HTTP+JSON"), (f"127.0.0.1:{grpc.port}", "GRPC")]
    interfaces = [AgentInterface(url=url, transport=binding) for url, binding in places]
    card = AgentCard(
        url=f"{base}/rpc",
        preferred_transport="JSONRPC",
        additional_interfaces=interfaces,
        protocol_version="0.3.0",
        **members("Clerk"),
    )
    requests = handler()
    add_A2AServiceServicer_to_server(GrpcHandler(card, requests), grpc)
    application = A2AStarletteApplication(agent_card=card, http_handler=requests).build(rpc_url="/rpc")
    application.mount("/rest", A2ARESTFastAPIApplication(agent_card=card, http_handler=requests).build())
    return application


async def serve_0_2(base, grpc):
    from a2a.server.apps import A2AStarletteApplication

    card = AgentCard(url=f"{base}/rpc", **members("Clerk"))
    return A2AStarletteApplication(agent_card=card, http_handler=handler()).build(rpc_url="/rpc")


async def main():
    import grpc.aio

    listener = port()
    base = f"http://127.0.0.1:{listener.getsockname()[1]}"
    rpc = grpc.aio.server()
    rpc.port = rpc.add_insecure_port("127.0.0.1:0")
    serve = {"1.3": serve_1_3, "0.3": serve_0_3, "0.2": serve_0_2}[VERSION[:3]]
    application = await serve(base, rpc)
    await rpc.start()
    server = uvicorn.Server(uvicorn.Config(application, log_level="critical", lifespan="off"))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started:
        await asyncio.sleep(0.01)
    print(json.dumps({"url": base, "sdk": VERSION}), file=answers, flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    serving.cancel()
    os._exit(0)


asyncio.run(main())
