"""An agent of google-adk behind its `to_a2a`, unchanged, that does what the first word says:

    python adk_server.py

The agent needs no model. The first line of output is {"url", "sdk"}, as of server.py. The server ends when its
standard input does.
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

import uvicorn  # noqa: E402
from google.adk.a2a.utils.agent_to_a2a import to_a2a  # noqa: E402
from google.adk.agents import BaseAgent  # noqa: E402
from google.adk.events import Event  # noqa: E402
from google.genai.types import Content, Part  # noqa: E402


class Clerk(BaseAgent):
    """Does what the first word says."""

    async def _run_async_impl(self, context):
        text = "".join(part.text or "" for part in context.user_content.parts)
        verb, _, rest = text.partition(" ")
        if verb == "wait":
            await asyncio.Event().wait()
        elif verb == "later":
            await asyncio.sleep(3)
        elif verb == "fail":
            raise RuntimeError("The crane is broken.")
        elif verb == "stream":
            for number in range(1, int(rest) + 1):
                yield self.said(context, f"{number};")
            return
        yield self.said(context, text)

    def said(self, context, text):
        content = Content(role="model", parts=[Part(text=text)])
        return Event(author=self.name, invocation_id=context.invocation_id, content=content)


async def main():
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    application = to_a2a(Clerk(name="clerk", description="Does what the first word says"), host="127.0.0.1", port=port)
    server = uvicorn.Server(uvicorn.Config(application, log_level="critical", lifespan="on"))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started:
        await asyncio.sleep(0.01)
    print(json.dumps({"url": f"http://127.0.0.1:{port}", "sdk": version("google-adk")}), file=answers, flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    serving.cancel()
    os._exit(0)


asyncio.run(main())
