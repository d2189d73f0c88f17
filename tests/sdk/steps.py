"""What the scripts of the clients that are no SDK's have in common: steps, and a line of output for each.

A line is {"name", "ok", "detail"}, as of client.py; "ok" is null when the client has no such call.
"""

import asyncio
import json
import os

# The longest time a step may take on a busy machine.
PATIENCE = 60.0

NAMES = [
    "card", "message", "send", "send at once", "stream", "stream message", "get", "list", "cancel", "cancel again",
    "unknown task", "continue", "files and data", "set push", "get push", "list push", "receive push", "send with push",
    "delete push", "resubscribe", "handover", "handover polled", "handover stream",
]

# Nothing but answers may reach the real standard output.
answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)


def report(name, ok, detail=""):
    print(json.dumps({"name": name, "ok": ok, "detail": detail}), file=answers, flush=True)


def equal(seen, wanted):
    assert seen == wanted, f"{seen!r} instead of {wanted!r}"


async def play(steps):
    """Does the steps in their order, `steps` being asynchronous functions by name; whatever has none is no call."""
    for name in NAMES:
        if name not in steps:
            report(name, None, "the client has no such call")
            continue
        try:
            await asyncio.wait_for(steps[name](), PATIENCE)
        except Exception as error:  # noqa: BLE001
            report(name, False, f"{type(error).__name__}: {error}")
        else:
            report(name, True)
