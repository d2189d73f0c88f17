"""The released biscuit-python that mints, narrows and checks scope tokens: python scope.py

One line of input, one line of output. {"mint": code, "kid"} gives {"ok": true, "token", "public_key"}. {"narrow": token,
"root": public key, "block": code} gives {"ok": true, "token"}. {"check": token, "root": public key, "code": facts and checks}
gives {"ok": true, "blocks"}. What is refused gives {"ok": false, "error"}.
"""

import json
import sys

from datetime import timedelta
from importlib.metadata import version

from biscuit_auth import (
    AuthorizationError,
    AuthorizerBuilder,
    Biscuit,
    BiscuitBuilder,
    BiscuitValidationError,
    BlockBuilder,
    KeyPair,
    PublicKey,
)


def answer(question):
    if "mint" in question:
        root = KeyPair()
        builder = BiscuitBuilder(question["mint"])
        builder.set_root_key_id(question["kid"])
        token = builder.build(root.private_key)
        return {"ok": True, "token": token.to_base64(), "public_key": repr(root.public_key)}
    root = PublicKey(question["root"])
    if "narrow" in question:
        token = Biscuit.from_base64(question["narrow"], root)
        return {"ok": True, "token": token.append(BlockBuilder(question["block"])).to_base64()}
    token = Biscuit.from_base64(question["check"], root)
    builder = AuthorizerBuilder(question["code"])
    limits = builder.limits()
    limits.max_time = timedelta(milliseconds=500)
    builder.set_limits(limits)
    builder.build(token).authorize()
    return {"ok": True, "blocks": token.block_count()}


print(json.dumps({"version": version("biscuit-python")}), flush=True)
for line in sys.stdin:
    try:
        print(json.dumps(answer(json.loads(line))), flush=True)
    except (AuthorizationError, BiscuitValidationError) as refusal:
        print(json.dumps({"ok": False, "error": repr(refusal)}), flush=True)
