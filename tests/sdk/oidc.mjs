// A real identity provider for the tests: npm `oidc-provider`, on a port of its own.
//
//   node tests/sdk/oidc.mjs <folder with oidc-provider>
//
// The first line of output is {"issuer"}. Then each line of input does something and gives one line of output:
//
//   {"do":"rotate"}                        signs with a new key, which is in the key set; the old one is gone from it
//   {"do":"sign","claims":{…},"alg","kid"} a token with these claims over the usual ones, signed as said
//   {"do":"log"}                           how often each path was asked for since the last time
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { createServer } from "node:http";
import { createHmac } from "node:crypto";
import { pathToFileURL } from "node:url";

const folder = process.argv[2];
const require = createRequire(pathToFileURL(`${folder}/node_modules/`));
const { default: Provider, errors } = await import(pathToFileURL(require.resolve("oidc-provider")));
const jose = await import(pathToFileURL(createRequire(require.resolve("oidc-provider")).resolve("jose")));

const RESOURCE = "urn:chancery:test";
let keys = 0;
async function makeKey() {
  keys += 1;
  const { privateKey, publicKey } = await jose.generateKeyPair("RS256", { extractable: true });
  const kid = `key-${keys}`;
  const jwk = { ...(await jose.exportJWK(privateKey)), kid, use: "sig", alg: "RS256" };
  return { kid, privateKey, publicKey, jwk };
}

let key = await makeKey();
const counts = {};
const server = createServer();
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const issuer = `http://127.0.0.1:${server.address().port}`;

// What the provider keeps, so that it is the same after its keys have changed.
const kept = new Map();
class Adapter {
  constructor(name) {
    this.name = name;
  }
  key(id) {
    return `${this.name}:${id}`;
  }
  async upsert(id, payload) {
    kept.set(this.key(id), payload);
  }
  async find(id) {
    return kept.get(this.key(id));
  }
  async findBy(member, value) {
    for (const [key, payload] of kept) if (key.startsWith(`${this.name}:`) && payload[member] === value) return payload;
    return undefined;
  }
  async findByUserCode(code) {
    return this.findBy("userCode", code);
  }
  async findByUid(uid) {
    return this.findBy("uid", uid);
  }
  async consume(id) {
    kept.get(this.key(id)).consumed = Math.floor(Date.now() / 1000);
  }
  async destroy(id) {
    kept.delete(this.key(id));
  }
  async revokeByGrantId(grant) {
    for (const [key, payload] of kept) if (payload.grantId === grant) kept.delete(key);
  }
}

function configuration() {
  return {
    adapter: Adapter,
    clients: [
      {
        client_id: "service",
        client_secret: "s3rv!ce:secret",
        grant_types: ["client_credentials", "urn:ietf:params:oauth:grant-type:token-exchange"],
        redirect_uris: [],
        response_types: [],
      },
      {
        client_id: "poster",
        client_secret: "posted",
        token_endpoint_auth_method: "client_secret_post",
        grant_types: ["client_credentials"],
        redirect_uris: [],
        response_types: [],
      },
      {
        client_id: "desk",
        application_type: "native",
        token_endpoint_auth_method: "none",
        grant_types: ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"],
        redirect_uris: ["http://127.0.0.1/callback"],
        response_types: ["code"],
      },
    ],
    jwks: { keys: [key.jwk] },
    cookies: { keys: ["only for tests"] },
    pkce: { required: () => true },
    ttl: {
      ClientCredentials: (_ctx, _token, client) => (client.clientId === "poster" ? 30 : 3600),
      AccessToken: 3600,
      DeviceCode: 600,
      Grant: 3600,
      Interaction: 600,
      RefreshToken: 3600,
      Session: 3600,
    },
    rotateRefreshToken: true,
    issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed("refresh_token"),
    features: {
      clientCredentials: { enabled: true },
      deviceFlow: { enabled: true },
      devInteractions: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => RESOURCE,
        useGrantedResource: () => true,
        getResourceServerInfo: (_ctx, resource) => ({
          scope: "agents.call agents.read",
          audience: resource,
          accessTokenFormat: "jwt",
          accessTokenTTL: 3600,
          jwt: { sign: { alg: "RS256" } },
        }),
      },
    },
    scopes: ["openid", "offline_access"],
  };
}

// The exchange of RFC 8693 is a grant that users of the package register themselves.
const EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
function registerExchange(provider) {
  const parameters = ["subject_token", "subject_token_type", "actor_token", "actor_token_type", "resource", "audience", "scope"];
  provider.registerGrantType(
    EXCHANGE,
    async (ctx) => {
      const { subject_token: shown, subject_token_type: type, resource, scope } = ctx.oidc.params;
      if (type !== "urn:ietf:params:oauth:token-type:access_token") throw new errors.InvalidRequest("unknown type of token");
      let claims;
      try {
        ({ payload: claims } = await jose.jwtVerify(shown, key.publicKey, { issuer }));
      } catch {
        throw new errors.InvalidGrant("the subject's token is not ours");
      }
      const now = Math.floor(Date.now() / 1000);
      const token = await signed({ sub: claims.sub, aud: resource, scope, act: { sub: ctx.oidc.client.clientId }, exp: now + 3600 });
      ctx.body = {
        access_token: token,
        issued_token_type: "urn:ietf:params:oauth:token-type:access_token",
        token_type: "Bearer",
        expires_in: 3600,
        scope,
      };
    },
    parameters,
  );
}

function usual() {
  const now = Math.floor(Date.now() / 1000);
  return { iss: issuer, aud: RESOURCE, sub: "made", iat: now, exp: now + 3600, jti: `${Math.random()}` };
}

async function signed(claims, { alg = "RS256", kid = key.kid } = {}) {
  const payload = { ...usual(), ...claims };
  for (const [name, value] of Object.entries(payload)) if (value === null) delete payload[name];
  const encode = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
  if (alg === "none") return `${encode({ alg, kid })}.${encode(payload)}.`;
  if (alg === "HS256") {
    // The attack: the public key, which everybody knows, as the shared secret.
    const content = `${encode({ alg, kid })}.${encode(payload)}`;
    const pem = await jose.exportSPKI(key.publicKey);
    return `${content}.${createHmac("sha256", pem).update(content).digest("base64url")}`;
  }
  return new jose.SignJWT(payload).setProtectedHeader({ alg, kid }).sign(key.privateKey);
}

let callback;
function start() {
  const provider = new Provider(issuer, configuration());
  provider.on("server_error", (_ctx, error) => console.error(error));
  registerExchange(provider);
  callback = provider.callback();
}
// The package warns of what is right for tests only.
console.warn = () => {};
console.info = () => {};
start();
server.on("request", (request, response) => {
  const path = new URL(request.url, issuer).pathname;
  counts[path] = (counts[path] ?? 0) + 1;
  callback(request, response);
});

const say = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
say({ issuer });
for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  switch (asked.do) {
    case "rotate":
      key = await makeKey();
      start();
      say({ kid: key.kid });
      break;
    case "sign":
      say({ token: await signed(asked.claims ?? {}, asked) });
      break;
    case "log":
      say({ counts: { ...counts } });
      for (const path of Object.keys(counts)) delete counts[path];
      break;
    default:
      say({ error: `nothing is known of ${asked.do}` });
  }
}
process.exit(0);
