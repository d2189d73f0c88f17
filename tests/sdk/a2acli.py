"""The command line of the official Rust SDK, unchanged, as the client of a server:

    python a2acli.py <a2acli> <binding> <url>

The output is that of steps.py.
"""

import asyncio
import base64
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

from steps import equal, play  # noqa: E402

program, binding, url = sys.argv[1:]
flags = ["--agent-card", url, "--transport", {"JSONRPC": "jsonrpc", "HTTP+JSON": "rest"}[binding], "-o", "json"]
home = tempfile.mkdtemp()
SEAL = b"\x00\x9f\x92\x96"


async def start(*words):
    # Nothing of the user's may show.
    surroundings = {"HOME": home, "PATH": os.environ["PATH"]}
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(
        program, *flags, *words, cwd=home, env=surroundings, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe
    )


async def run(*words):
    """The lines of JSON that a command writes, and its exit code. What went wrong is on the other stream."""
    child = await start(*words)
    out, err = await child.communicate()
    text = (err if child.returncode else out).decode()
    try:
        return [json.loads(text)], child.returncode
    except ValueError:
        return [json.loads(line) for line in text.splitlines() if line.strip()], child.returncode


async def ok(*words):
    lines, code = await run(*words)
    equal((code, lines[-1] if code else None), (0, None))
    return lines


async def task(*words):
    (answer,) = await ok("send", *words)
    return answer.get("task") or answer


def state(task):
    return task["status"]["state"].removeprefix("TASK_STATE_").lower()


def text(parts):
    return "".join(part.get("text") or "" for part in parts)


class Steps:
    async def card(self):
        (seen,) = await ok("card", "get")
        equal((seen["name"], [skill["id"] for skill in seen["skills"]]), ("Clerk", ["obey"]))

    async def message(self):
        (answer,) = await ok("send", "say ahoy")
        equal(text(answer["message"]["parts"]), "ahoy")

    async def send(self, words="greet the pilot"):
        self.done = await task(words)
        self.check(self.done)

    def check(self, done):
        equal(state(done), "completed")
        equal([text(artifact["parts"]) for artifact in done["artifacts"]], ["greet the pilot"])

    async def wait(self):
        begun = await task("--async", "--return-immediately", "wait here")
        assert state(begun) in ("submitted", "working"), begun
        return begun["id"]

    # `--async` waits for nothing, but does not tell the server so; the other flag does.
    async def send_at_once(self):
        self.waiting = await self.wait()

    async def stream(self, words="stream 5"):
        states, chunks = [], ""
        for event in await ok("send", "--stream", words):
            (update,) = event.values()
            if "status" in update:
                states.append(state(update))
            chunks += text(update["artifact"]["parts"]) if "artifact" in update else ""
            chunks += "".join(text(artifact["parts"]) for artifact in update.get("artifacts") or [])
        equal((chunks, states[-1]), ("1;2;3;4;5;", "completed"))

    async def stream_message(self):
        equal([text(event["message"]["parts"]) for event in await ok("send", "--stream", "say ahoy")], ["ahoy"])

    async def get(self):
        (seen,) = await ok("task", "get", self.done["id"])
        self.check(seen.get("task", seen))

    async def list(self):
        (page,) = await ok("task", "list", "--context-id", self.done["contextId"], "--include-artifacts")
        equal([each["id"] for each in page["tasks"]], [self.done["id"]])
        self.check(page["tasks"][0])

    async def cancel(self):
        (seen,) = await ok("task", "cancel", self.waiting)
        equal(state(seen.get("task", seen)), "canceled")

    async def refused(self, code, *words):
        lines, exit = await run(*words)
        equal((exit != 0, lines[-1]["error"].get("code")), (True, code))

    async def cancel_again(self):
        # A canceled task that is canceled again is no error to this program; a completed one is.
        await self.refused("TASK_NOT_CANCELABLE", "task", "cancel", self.done["id"])

    async def unknown(self):
        await self.refused("TASK_NOT_FOUND", "task", "get", "no-such-task")
        await self.refused("TASK_NOT_FOUND", "task", "cancel", "no-such-task")

    async def go_on(self):
        asked = await task("ask")
        equal((state(asked), text(asked["status"]["message"]["parts"])), ("input_required", "Which quay?"))
        told = await task("--task-id", asked["id"], "--context-id", asked["contextId"], "Quay four")
        equal((told["id"], state(told), text(told["artifacts"][0]["parts"])), (asked["id"], "completed", "Quay four"))

    async def parts(self):
        with open(os.path.join(home, "seal.bin"), "wb") as file:
            file.write(SEAL)
        sent = ["--text-part", "back", "--file-part", "seal.bin", "--media-type", "application/octet-stream"]
        sent += ["--file-part", "https://example.com/chart.png", "--data-part", '{"berth":7}']
        seal, chart, data = (await task(*sent))["artifacts"][0]["parts"]
        equal((base64.b64decode(seal["raw"]), seal["filename"], seal["mediaType"]), (SEAL, "seal.bin", "application/octet-stream"))
        equal((chart["url"], data["data"]), ("https://example.com/chart.png", {"berth": 7}))

    async def set_push(self):
        self.posts = asyncio.Queue()
        self.server = await asyncio.start_server(self.hook, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}/push"
        self.watched = await self.wait()
        (made,) = await ok("task", "push-config", "create", self.watched, self.url, "--config-id", "harbor", "--token", "pass-7")
        equal((made["id"], made["url"]), ("harbor", self.url))

    async def hook(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in head[1:])}
        self.posts.put_nowait((headers, json.loads(await reader.readexactly(int(headers["content-length"])))))
        writer.write(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    async def get_push(self):
        (seen,) = await ok("task", "push-config", "get", self.watched, "harbor")
        equal((seen["id"], seen["url"]), ("harbor", self.url))

    async def list_push(self):
        (page,) = await ok("task", "push-config", "list", self.watched)
        equal([each["id"] for each in page["configs"]], ["harbor"])

    async def receive_push(self):
        await ok("task", "cancel", self.watched)
        while True:
            headers, body = await self.posts.get()
            (about,) = body.values()
            if "status" in about and state(about) == "canceled":
                return equal(headers.get("x-a2a-notification-token"), "pass-7")

    async def delete_push(self):
        watched = await self.wait()
        await ok("task", "push-config", "create", watched, self.url, "--config-id", "harbor")
        await ok("task", "push-config", "delete", watched, "harbor")
        (page,) = await ok("task", "push-config", "list", watched)
        equal(page.get("configs") or [], [])
        await ok("task", "cancel", watched)

    async def resubscribe(self):
        watched, states = await self.wait(), []
        child = await start("task", "subscribe", watched)
        async for line in child.stdout:
            (event,) = json.loads(line).values()
            if not states:
                await ok("task", "cancel", watched)
            states.append(state(event))
        equal((await child.wait(), states[0], states[-1]), (0, "working", "canceled"))

    async def handed_over_polled(self):
        begun = await task("--async", "--return-immediately", "pass greet the pilot")
        (seen,) = await ok("task", "get", "--wait", "--poll-interval", "100ms", begun["id"])
        self.check(seen.get("task", seen))


steps = Steps()
named = {
    "card": steps.card,
    "message": steps.message,
    "send": steps.send,
    "send at once": steps.send_at_once,
    "stream": steps.stream,
    "stream message": steps.stream_message,
    "get": steps.get,
    "list": steps.list,
    "cancel": steps.cancel,
    "cancel again": steps.cancel_again,
    "unknown task": steps.unknown,
    "continue": steps.go_on,
    "files and data": steps.parts,
    "set push": steps.set_push,
    "get push": steps.get_push,
    "list push": steps.list_push,
    "receive push": steps.receive_push,
    "delete push": steps.delete_push,
    "resubscribe": steps.resubscribe,
    "handover": lambda: steps.send("pass greet the pilot"),
    "handover polled": steps.handed_over_polled,
    "handover stream": lambda: steps.stream("pass stream 5"),
}

if __name__ == "__main__":
    asyncio.run(play(named))
