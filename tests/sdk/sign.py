"""A released a2a-sdk that signs and checks agent cards: python sign.py

One line of input, one line of output. {"card", "key", "protected"} is signed with
the private JWK and gives {"ok": true, "card"}. {"card", "keys"} is checked with the
JWK set and gives {"ok": true}, or {"ok": false, "error"} when the SDK refuses it.
"""

import json
import logging
import sys

from importlib.metadata import version

from a2a.types import AgentCard
from a2a.utils.signing import SignatureVerificationError, create_agent_card_signer, create_signature_verifier
from google.protobuf.json_format import MessageToDict, ParseDict
from jwt import PyJWK


def answer(question):
    card = ParseDict(question["card"], AgentCard(), ignore_unknown_fields=True)
    if "key" in question:
        sign = create_agent_card_signer(PyJWK.from_dict(question["key"]), question["protected"])
        return {"ok": True, "card": MessageToDict(sign(card))}
    keys = {key["kid"]: PyJWK.from_dict(key) for key in question["keys"]["keys"]}
    verify = create_signature_verifier(lambda kid, jku: keys[kid], ["ES256", "RS256", "EdDSA"])
    try:
        verify(card)
    except SignatureVerificationError as refusal:
        return {"ok": False, "error": repr(refusal)}
    return {"ok": True}


# It warns of every card with empty members, and there are some on purpose.
logging.disable()
print(json.dumps({"version": version("a2a-sdk")}), flush=True)
for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))), flush=True)
