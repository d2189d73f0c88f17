"""The `RemoteA2aAgent` of google-adk, unchanged, as the client of a server:

    python adk.py <binding> <url>

Its runner drives it as it drives any agent: a session, a message of the user, the events of the answer. No model
is needed, for the remote agent is the root. The output is that of steps.py.
"""

import asyncio
import logging
import os
import sys
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

from steps import equal, play  # noqa: E402

import httpx  # noqa: E402
from a2a.client import ClientConfig  # noqa: E402
from a2a.client.client_factory import ClientFactory  # noqa: E402
from google.adk.agents.remote_a2a_agent import AGENT_CARD_WELL_KNOWN_PATH, RemoteA2aAgent  # noqa: E402
from google.adk.agents.run_config import RunConfig, StreamingMode  # noqa: E402
from google.adk.runners import InMemoryRunner  # noqa: E402
from google.genai.types import Blob, Content, Part  # noqa: E402

binding, url = sys.argv[1:]
SEAL = b"\x00\x9f\x92\x96"


class Talk:
    """One session with the agent."""

    async def open(self, streaming):
        config = ClientConfig(
            httpx_client=httpx.AsyncClient(timeout=60), streaming=streaming, supported_protocol_bindings=[binding]
        )
        agent = RemoteA2aAgent(
            name="clerk",
            agent_card=url + AGENT_CARD_WELL_KNOWN_PATH,
            a2a_client_factory=ClientFactory(config),
        )
        self.agent = agent
        self.runner = InMemoryRunner(agent=agent, app_name="trial")
        self.session = await self.runner.session_service.create_session(app_name="trial", user_id="pilot")
        return self

    async def say(self, *parts, mode=StreamingMode.NONE):
        """The events of an answer. What went wrong is an event too, and an error here."""
        message = Content(role="user", parts=[Part(text=part) if isinstance(part, str) else part for part in parts])
        events = []
        async for event in self.runner.run_async(
            user_id="pilot",
            session_id=self.session.id,
            new_message=message,
            run_config=RunConfig(streaming_mode=mode),
        ):
            assert not event.error_message, event.error_message
            events.append(event)
        return events


async def talk(streaming=False):
    return await Talk().open(streaming)


def text(event):
    return "".join(part.text or "" for part in (event.content and event.content.parts) or [] if not part.thought)


def texts(events):
    return "".join(text(event) for event in events if not event.partial)


def data(events, key):
    return [event.custom_metadata.get(key) for event in events if event.custom_metadata and key in event.custom_metadata]


async def card():
    session = await talk()
    await session.agent._ensure_resolved()
    seen = session.agent._agent_card
    equal((seen.name, [skill.id for skill in seen.skills], seen.capabilities.streaming), ("Clerk", ["obey"], True))
    # What the agent says of itself reaches whoever hands work to it.
    assert "Does what the first word says" in session.agent.description, session.agent.description


async def message(streaming=False):
    equal(texts(await (await talk(streaming)).say("say ahoy")), "ahoy")


async def send(words="greet the pilot"):
    equal(texts(await (await talk()).say(words)), "greet the pilot")


async def stream(words="stream 5"):
    events = await (await talk(streaming=True)).say(words, mode=StreamingMode.SSE)
    # A chunk that more follow is partial.
    equal("".join(text(event) for event in events), "1;2;3;4;5;")


async def go_on():
    session = await talk()
    asked = await session.say("ask")
    assert "Which quay?" in str([event.model_dump(exclude_none=True) for event in asked]), asked
    calls = [call for event in asked for call in event.get_function_calls()]
    if calls:
        # The question is a call of a tool that takes long; the answer is its response.
        from google.genai.types import FunctionResponse

        answer = FunctionResponse(id=calls[0].id, name=calls[0].name, response={"result": "Quay four"})
        told = await session.say(Part(function_response=answer))
    else:
        told = await session.say("Quay four")
    equal(texts(told), "Quay four")
    tasks = {*data(asked, "a2a:task_id"), *data(told, "a2a:task_id")}
    equal(len(tasks), 1)


async def parts():
    session = await talk()
    blob = Blob(data=SEAL, mime_type="application/octet-stream", display_name="seal.bin")
    events = await session.say("back", Part(inline_data=blob))
    back = [part.inline_data for event in events if event.content for part in event.content.parts or [] if part.inline_data]
    equal([(each.data, each.mime_type) for each in back], [(SEAL, "application/octet-stream")])


steps = {
    "card": card,
    "message": message,
    "send": send,
    "stream": stream,
    "stream message": lambda: message(streaming=True),
    "continue": go_on,
    "files and data": parts,
    "handover": lambda: send("pass greet the pilot"),
    "handover stream": lambda: stream("pass stream 5"),
}

if __name__ == "__main__":
    asyncio.run(play(steps))
