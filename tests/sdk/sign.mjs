// A released @a2a-js/sdk that signs and checks agent cards:
//
//   node sign.mjs <npm prefix of the SDK>
//
// The protocol is that of sign.py. Cards are given to the SDK as parsed JSON.

import { createInterface } from "node:readline";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const home = join(resolve(process.argv[2] ?? "."), "node_modules", "@a2a-js/sdk");
const manifest = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
const sdk = await import(pathToFileURL(join(home, manifest.exports["."].import)));
const write = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);

async function answer({ card, key, protected: header, keys }) {
  if (key) {
    return { ok: true, card: await sdk.generateAgentCardSignature(key, header)(card) };
  }
  const find = async (kid) => {
    const found = keys.keys.find((key) => key.kid === kid);
    if (!found) throw new Error(`no key ${kid}`);
    return found;
  };
  try {
    await sdk.verifyAgentCardSignature(find)(card);
    return { ok: true };
  } catch (refusal) {
    return { ok: false, error: String(refusal) };
  }
}

// Nothing but answers may reach standard output.
for (const level of ["log", "info", "debug", "warn", "error"]) console[level] = () => {};
write({ version: manifest.version });
for await (const line of createInterface({ input: process.stdin })) {
  write(await answer(JSON.parse(line)));
}
