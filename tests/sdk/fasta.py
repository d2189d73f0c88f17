"""The client of fasta2a, unchanged, at work on a server:

    python fasta.py client <binding> <url>

and a server of it, with an agent that does what the first word says, as server.py is one:

    python fasta.py server
"""

import asyncio
import json
import os
import socket
import sys
import uuid
from importlib.metadata import version

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

from steps import answers, equal, play  # noqa: E402

from fasta2a import FastA2A, Worker  # noqa: E402
from fasta2a.broker import InMemoryBroker  # noqa: E402
from fasta2a.client import A2AClient  # noqa: E402
from fasta2a.storage import InMemoryStorage  # noqa: E402


# --- The client -------------------------------------------------------------


class Calls:
    def __init__(self, url):
        self.url = url

    def message(self, *parts, task=None, context=None):
        made = {"role": "user", "parts": [{"text": part} if isinstance(part, str) else part for part in parts]}
        made["message_id"] = str(uuid.uuid4())
        if task:
            made |= {"task_id": task, "context_id": context}
        return made

    async def card(self):
        self.client = A2AClient(self.url)
        seen = A2AClient(self.url, fetch_card=True).agent_card
        equal((seen["name"], [skill["id"] for skill in seen["skills"]]), ("Clerk", ["obey"]))

    async def result(self, *parts, **where):
        answer = await self.client.send_message(self.message(*parts, **where))
        assert "error" not in answer, answer
        return answer["result"]

    async def direct(self):
        equal([part["text"] for part in (await self.result("say ahoy"))["message"]["parts"]], ["ahoy"])

    async def send(self, words="greet the pilot"):
        self.done = (await self.result(words))["task"]
        self.check(self.done)

    def check(self, task):
        equal(task["status"]["state"], "completed")
        equal([part["text"] for artifact in task["artifacts"] for part in artifact["parts"]], ["greet the pilot"])

    async def get(self):
        done = getattr(self, "done", {"id": "no-such-task"})
        self.check((await self.client.get_task(done["id"]))["result"])

    async def unknown(self):
        equal((await self.client.get_task("no-such-task"))["error"]["code"], -32001)

    async def stream(self, words="stream 5"):
        chunks, states = "", []
        async for event in self.client.stream_message(self.message(words)):
            assert "error" not in event, event
            (update,) = event["result"].values()
            if "artifact" in update:
                chunks += "".join(part["text"] for part in update["artifact"]["parts"])
            if "status" in update:
                states.append(update["status"]["state"])
            chunks += "".join(p["text"] for a in update.get("artifacts") or [] for p in a["parts"])
        equal((chunks, states[-1]), ("1;2;3;4;5;", "completed"))

    async def stream_message(self):
        events = [event async for event in self.client.stream_message(self.message("say ahoy"))]
        equal([event["result"]["message"]["parts"][0]["text"] for event in events], ["ahoy"])

    async def go_on(self):
        asked = (await self.result("ask"))["task"]
        equal(asked["status"]["state"], "input-required")
        told = (await self.result("Quay four", task=asked["id"], context=asked["context_id"]))["task"]
        equal((told["id"], told["status"]["state"]), (asked["id"], "completed"))

    async def parts(self):
        sent = [{"raw": "AJ+Slg==", "media_type": "application/octet-stream", "filename": "seal.bin"}, {"data": {"berth": 7}}]
        task = (await self.result("back", *sent))["task"]
        equal([dict(part) for part in task["artifacts"][0]["parts"]], sent)


def steps(calls):
    return {
        "card": calls.card,
        "message": calls.direct,
        "send": calls.send,
        "stream": calls.stream,
        "stream message": calls.stream_message,
        "get": calls.get,
        "unknown task": calls.unknown,
        "continue": calls.go_on,
        "files and data": calls.parts,
        "handover": lambda: calls.send("pass greet the pilot"),
        "handover stream": lambda: calls.stream("pass stream 5"),
    }


# --- The server -------------------------------------------------------------


class Clerk(Worker):
    """Does what the first word says. The worker does one thing at a time, so what takes long is done aside."""

    async def run_task(self, params):
        text = "".join(part.get("text") or "" for part in params["message"]["parts"])
        verb, _, rest = text.partition(" ")
        where = (params["id"], params["context_id"])
        await self.state(where, "working")
        if verb == "ask":
            await self.state(where, "input-required", "Which quay?")
        elif verb == "fail":
            await self.state(where, "failed", "The crane is broken.")
        elif verb == "later":
            self.aside = asyncio.create_task(self.later(where, text))
        elif verb == "stream":
            await self.count(where, int(rest))
        elif verb != "wait":
            await self.echo(where, text)

    async def later(self, where, text):
        await asyncio.sleep(3)
        await self.echo(where, text)
        await self.publish_status(*where, "completed")
        await self.broker.event_bus.close(where[0])

    async def echo(self, where, text):
        artifact = {"artifact_id": "echo", "name": "echo", "parts": [{"text": text}]}
        await self.storage.update_task(where[0], state="completed", new_artifacts=[artifact])

    async def count(self, where, count):
        for number in range(1, count + 1):
            chunk = {"artifact_id": "numbers", "name": "numbers", "parts": [{"text": f"{number};"}]}
            await self.publish_artifact(*where, chunk, append=number > 1, last_chunk=number == count)
        await self.storage.update_task(where[0], state="completed")

    async def state(self, where, state, words=None):
        said = {"role": "agent", "message_id": str(uuid.uuid4()), "parts": [{"text": words}]} if words else None
        await self.storage.update_task(where[0], state=state, new_messages=[said] if said else None)
        await self.publish_status(*where, state, said)

    async def cancel_task(self, params):
        await self.storage.update_task(params["id"], state="canceled")

    def build_message_history(self, history):
        return history

    def build_artifacts(self, result):
        return []


async def serve():
    from contextlib import asynccontextmanager

    import uvicorn

    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    storage, broker = InMemoryStorage(), InMemoryBroker()
    worker = Clerk(broker=broker, storage=storage)

    @asynccontextmanager
    async def lifespan(app):
        async with app.task_manager, worker.run():
            yield

    skill = {
        "id": "obey", "name": "Obey", "description": "Does what it is told", "tags": ["test"],
        "input_modes": ["text/plain"], "output_modes": ["text/plain"],
    }
    application = FastA2A(storage=storage, broker=broker, name="Clerk", url=url, skills=[skill], lifespan=lifespan)
    server = uvicorn.Server(uvicorn.Config(application, log_level="critical", lifespan="on"))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started:
        await asyncio.sleep(0.01)
    print(json.dumps({"url": url, "sdk": version("fasta2a")}), file=answers, flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    serving.cancel()
    os._exit(0)


def main():
    if sys.argv[1] == "server":
        asyncio.run(serve())
    else:
        asyncio.run(play(steps(Calls(sys.argv[3]))))


if __name__ == "__main__":
    main()
