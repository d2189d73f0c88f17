// The client of a released @a2a-js/sdk, unchanged, at work on a server:
//
//   node client.mjs <npm prefix of the SDK> <binding> <url>
//
// The steps and their output are those of client.py.

import { createServer } from "node:http";
import { isDeepStrictEqual } from "node:util";
import { join, resolve } from "node:path";
import { once } from "node:events";
import { pathToFileURL } from "node:url";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";

const [prefix, binding, base] = process.argv.slice(2);
const home = join(resolve(prefix), "node_modules", "@a2a-js/sdk");
const manifest = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
const load = (entry) => import(pathToFileURL(join(home, manifest.exports[entry].import)));

// Nothing but answers may reach standard output.
const answers = process.stdout.write.bind(process.stdout);
for (const level of ["log", "info", "debug", "warn", "error"]) console[level] = () => {};

const { ClientFactory, ...sdkClient } = await load("./client");
const { GrpcTransportFactory } = await load("./client/grpc");

// The longest time a step may take on a busy machine.
const PATIENCE = 60_000;

const FILE = { bytes: Buffer.from([0, 159, 146, 150]), name: "seal.bin", type: "application/octet-stream" };
const LINK = { url: "https://example.com/chart.png", name: "chart.png", type: "image/png" };
const DATA = { berth: 7, tugs: ["Ada", "Bo"], draft: { bow: 6.5 } };

const transports = {
  JSONRPC: sdkClient.JsonRpcTransportFactory,
  "HTTP+JSON": sdkClient.RestTransportFactory,
  GRPC: GrpcTransportFactory,
};

/** A client that has the binding that was asked for and no other; its address comes from the card. */
function connect(clientConfig) {
  return new ClientFactory({ transports: [new transports[binding]()], clientConfig }).createFromUrl(base);
}

async function both(client) {
  client.plain = await connect({});
  client.polling = await connect({ polling: true });
  const card = await client.plain.getAgentCard();
  return {
    name: card.name,
    skills: card.skills.map((skill) => skill.id),
    streaming: card.capabilities.streaming,
    push: card.capabilities.pushNotifications,
  };
}

/** 1.x: protobuf messages. */
async function client1() {
  const { Message, Part, Role, StreamResponse, Task } = await load(".");
  const errors = await load("./errors");
  const makers = {
    text: (value) => ({ content: { $case: "text", value } }),
    file: (f) => ({ content: { $case: "raw", value: f.bytes }, filename: f.name, mediaType: f.type }),
    link: (f) => ({ content: { $case: "url", value: f.url }, filename: f.name, mediaType: f.type }),
    data: (value) => ({ content: { $case: "data", value } }),
  };
  const part = ([kind, value]) => ({ metadata: undefined, filename: "", mediaType: "", ...makers[kind](value) });
  const request = (parts, taskId = "", contextId = "") => ({
    tenant: "",
    metadata: {},
    configuration: undefined,
    message: {
      messageId: randomUUID(),
      role: Role.ROLE_USER,
      taskId,
      contextId,
      parts: parts.map(part),
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    },
  });
  const config = ({ id, url, token }) => ({ id, url, token });
  const event = (response) => Object.values(StreamResponse.toJSON(response))[0];
  async function* events(stream) {
    for await (const response of stream) yield event(response);
  }
  return {
    open() {
      return both(this);
    },
    async send(parts, { taskId, contextId, atOnce, push } = {}) {
      const client = atOnce ? this.polling : this.plain;
      const params = request(parts, taskId, contextId);
      if (push) {
        const taskPushNotificationConfig = { tenant: "", taskId: "", authentication: undefined, ...push };
        params.configuration = { acceptedOutputModes: [], taskPushNotificationConfig, returnImmediately: false };
      }
      const answer = await client.sendMessage(params);
      return "messageId" in answer ? Message.toJSON(answer) : Task.toJSON(answer);
    },
    stream(parts) {
      return events(this.plain.sendMessageStream(request(parts)));
    },
    async get(id) {
      return Task.toJSON(await this.plain.getTask({ tenant: "", id }));
    },
    async list(contextId) {
      const answer = await this.plain.listTasks({ tenant: "", contextId, status: 0, pageToken: "", includeArtifacts: true });
      return answer.tasks.map(Task.toJSON);
    },
    async cancel(id) {
      return Task.toJSON(await this.plain.cancelTask({ tenant: "", id, metadata: undefined }));
    },
    async setPush(taskId, wanted) {
      const request = { tenant: "", taskId, authentication: undefined, ...wanted };
      return config(await this.plain.createTaskPushNotificationConfig(request));
    },
    async getPush(taskId, id) {
      return config(await this.plain.getTaskPushNotificationConfig({ tenant: "", taskId, id }));
    },
    async listPush(taskId) {
      const request = { tenant: "", taskId, pageSize: 0, pageToken: "" };
      return (await this.plain.listTaskPushNotificationConfig(request)).configs.map(config);
    },
    deletePush(taskId, id) {
      return this.plain.deleteTaskPushNotificationConfig({ tenant: "", taskId, id });
    },
    resubscribe(id) {
      return events(this.plain.resubscribeTask({ tenant: "", id }));
    },
    namesFiles: true,
    writesNull: true,
    wrapsEvents: true,
    errors: { "unknown task": errors.TaskNotFoundError, "cancel again": errors.TaskNotCancelableError },
  };
}

/** 0.3: the JSON of the specification. */
function client0() {
  const file = (f) => ({ name: f.name, mimeType: f.type, ...(f.bytes ? { bytes: f.bytes.toString("base64") } : { uri: f.url }) });
  const makers = {
    text: (text) => ({ kind: "text", text }),
    file: (f) => ({ kind: "file", file: file(f) }),
    link: (f) => ({ kind: "file", file: file(f) }),
    data: (data) => ({ kind: "data", data }),
  };
  const request = (parts, taskId, contextId) => ({
    message: {
      kind: "message",
      messageId: randomUUID(),
      role: "user",
      ...(taskId && { taskId, contextId }),
      parts: parts.map(([kind, value]) => makers[kind](value)),
    },
  });
  const config = ({ pushNotificationConfig: { id, url, token } }) => ({ id, url, token });
  return {
    open() {
      return both(this);
    },
    send(parts, { taskId, contextId, atOnce, push } = {}) {
      const params = request(parts, taskId, contextId);
      if (push) params.configuration = { pushNotificationConfig: push };
      return (atOnce ? this.polling : this.plain).sendMessage(params);
    },
    stream(parts) {
      return this.plain.sendMessageStream(request(parts));
    },
    get(id) {
      return this.plain.getTask({ id });
    },
    cancel(id) {
      return this.plain.cancelTask({ id });
    },
    async setPush(taskId, pushNotificationConfig) {
      return config(await this.plain.setTaskPushNotificationConfig({ taskId, pushNotificationConfig }));
    },
    async getPush(id, pushNotificationConfigId) {
      return config(await this.plain.getTaskPushNotificationConfig({ id, pushNotificationConfigId }));
    },
    async listPush(id) {
      return (await this.plain.listTaskPushNotificationConfig({ id })).map(config);
    },
    deletePush(id, pushNotificationConfigId) {
      return this.plain.deleteTaskPushNotificationConfig({ id, pushNotificationConfigId });
    },
    resubscribe(id) {
      return this.plain.resubscribeTask({ id });
    },
    // The protobuf file of this release, which its REST uses too, has no names of files.
    namesFiles: binding === "JSONRPC",
    // Over gRPC it cannot serialize a null inside of data: "invalid int32: object".
    writesNull: binding !== "GRPC",
    wrapsEvents: false,
    errors: { "unknown task": sdkClient.TaskNotFoundError, "cancel again": sdkClient.TaskNotCancelableError },
  };
}

// --- What both releases have in common ---------------------------------------

function equal(seen, wanted) {
  if (!isDeepStrictEqual(seen, wanted)) throw new Error(`${JSON.stringify(seen)} instead of ${JSON.stringify(wanted)}`);
}

const state = (task) => task.status.state.replace(/^TASK_STATE_/, "").toLowerCase().replaceAll("_", "-");
const text = (parts) => parts.map((part) => part.text ?? "").join("");

/** A part in the words of this script. */
function part(part) {
  const { name, mimeType, bytes, uri } = part.file ?? {};
  if (bytes !== undefined) return ["file", { bytes: Buffer.from(bytes, "base64"), name, type: mimeType }];
  if (uri !== undefined) return ["link", { url: uri, name, type: mimeType }];
  const facts = { name: part.filename, type: part.mediaType };
  if (part.raw !== undefined) return ["file", { bytes: Buffer.from(part.raw, "base64"), ...facts }];
  if (part.url !== undefined) return ["link", { url: part.url, ...facts }];
  return part.data !== undefined ? ["data", part.data] : ["text", part.text];
}

/** An HTTP server that keeps what is posted to it. */
const posts = [];
const hook = createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request.setEncoding("utf8")) body += chunk;
  posts.push({ headers: request.headers, body: JSON.parse(body) });
  response.writeHead(204).end();
  hook.emit("post");
});

/** The first post about this task in this state, in the form of the client's release. */
async function posted(task, wanted) {
  for (;;) {
    while (posts.length) {
      const { headers, body } = posts.shift();
      const about = client.wrapsEvents ? Object.values(body)[0] : body;
      if ([about.id, about.taskId].includes(task) && about.status && state(about) === wanted) return headers;
    }
    await once(hook, "post");
  }
}

const client = manifest.version.startsWith("1.") ? await client1() : client0();
let url, done, waiting, watched;
const config = () => ({ id: "harbor", url, token: "pass-7" });

function checkDone(task) {
  equal(state(task), "completed");
  equal(task.artifacts.map((artifact) => text(artifact.parts)), ["greet the pilot"]);
}

/** A task that waits to be canceled. */
async function wait() {
  const task = await client.send([["text", "wait here"]], { atOnce: true });
  equal(["submitted", "working"].includes(state(task)), true);
  return task.id;
}

async function refused(name, call) {
  let answer;
  try {
    answer = await call;
  } catch (error) {
    if (error instanceof client.errors[name]) return;
    throw error;
  }
  throw new Error(`no error but ${JSON.stringify(answer)}`);
}

async function streamed(words) {
  const states = [];
  let chunks = "";
  for await (const event of client.stream([["text", words]])) {
    if (event.status) states.push(state(event));
    chunks += text([...(event.artifact ? [event.artifact] : []), ...(event.artifacts ?? [])].flatMap((each) => each.parts));
  }
  equal(chunks, "1;2;3;4;5;");
  equal([["submitted", "working"].includes(states[0]), states.includes("working"), states.at(-1)], [true, true, "completed"]);
}

// The steps, in the order in which they are done, and the call of the SDK's client
// without which there is nothing to do.
const steps = [
  ["card", async () => equal(await client.open(), { name: "Clerk", skills: ["obey"], streaming: true, push: true })],
  [
    "message",
    async () => {
      const answer = await client.send([["text", "say ahoy"]]);
      equal([answer.status, text(answer.parts)], [undefined, "ahoy"]);
    },
  ],
  ["send", async () => checkDone((done = await client.send([["text", "greet the pilot"]])))],
  ["send at once", async () => (waiting = await wait())],
  ["stream", () => streamed("stream 5")],
  [
    "stream message",
    async () => {
      const events = [];
      for await (const event of client.stream([["text", "say ahoy"]])) events.push([event.status, text(event.parts)]);
      equal(events, [[undefined, "ahoy"]]);
    },
  ],
  [
    "get",
    async () => {
      const task = await client.get(done.id);
      checkDone(task);
      equal(text(task.history[0].parts), "greet the pilot");
    },
  ],
  [
    "list",
    async () => {
      const tasks = await client.list(done.contextId);
      equal(tasks.map((task) => task.id), [done.id]);
      checkDone(tasks[0]);
    },
    "listTasks",
  ],
  [
    "cancel",
    async () => {
      const task = await client.cancel(waiting);
      equal([task.id, state(task)], [waiting, "canceled"]);
    },
  ],
  ["cancel again", () => refused("cancel again", client.cancel(waiting))],
  [
    "unknown task",
    async () => {
      await refused("unknown task", client.get("no-such-task"));
      await refused("unknown task", client.cancel("no-such-task"));
    },
  ],
  [
    "continue",
    async () => {
      const asked = await client.send([["text", "ask"]]);
      equal([state(asked), text(asked.status.message.parts)], ["input-required", "Which quay?"]);
      const task = await client.send([["text", "Quay four"]], { taskId: asked.id, contextId: asked.contextId });
      equal([task.id, task.contextId, state(task)], [asked.id, asked.contextId, "completed"]);
      equal(text(task.artifacts[0].parts), "Quay four");
    },
  ],
  [
    "files and data",
    async () => {
      const data = client.writesNull ? { ...DATA, pilot: null } : DATA;
      const sent = [["text", "back"], ["file", FILE], ["link", LINK], ["data", data]];
      const task = await client.send(sent);
      equal(state(task), "completed");
      const name = client.namesFiles ? (f) => f : (f) => ({ ...f, name: undefined });
      const wanted = [["file", name(FILE)], ["link", name(LINK)], ["data", data]];
      equal(task.artifacts[0].parts.map(part), wanted);
    },
  ],
  [
    "set push",
    async () => {
      watched = await wait();
      equal(await client.setPush(watched, config()), config());
    },
  ],
  ["get push", async () => equal(await client.getPush(watched, "harbor"), config())],
  ["list push", async () => equal(await client.listPush(watched), [config()])],
  [
    "receive push",
    async () => {
      await client.cancel(watched);
      equal((await posted(watched, "canceled"))["x-a2a-notification-token"], "pass-7");
    },
  ],
  [
    "send with push",
    async () => {
      const task = await client.send([["text", "greet the pilot"]], { push: config() });
      checkDone(task);
      equal((await posted(task.id, "completed"))["x-a2a-notification-token"], "pass-7");
    },
  ],
  [
    "delete push",
    async () => {
      const task = await wait();
      await client.setPush(task, config());
      equal(await client.listPush(task), [config()]);
      await client.deletePush(task, "harbor");
      equal(await client.listPush(task), []);
      await client.cancel(task);
    },
  ],
  [
    "resubscribe",
    async () => {
      const task = await wait();
      const states = [];
      for await (const event of client.resubscribe(task)) {
        if (!states.length) await client.cancel(task);
        states.push(state(event));
      }
      equal([states[0], states.at(-1)], ["working", "canceled"]);
    },
  ],
  // Two agents pass it on before the third does it, of which this client sees nothing.
  ["handover", async () => checkDone(await client.send([["text", "pass greet the pilot"]]))],
  [
    "handover polled",
    async () => {
      const begun = await client.send([["text", "pass greet the pilot"]], { atOnce: true });
      let task = begun;
      while (["submitted", "working"].includes(state(task))) {
        await new Promise((resolve) => setTimeout(resolve, 50));
        task = await client.get(begun.id);
      }
      equal([task.id, task.contextId], [begun.id, begun.contextId]);
      checkDone(task);
    },
  ],
  ["handover stream", () => streamed("pass stream 5")],
];

const report = (name, ok, detail) => answers(`${JSON.stringify({ name, ok, detail })}\n`);

async function step(name, call, needs) {
  if (needs && !(needs in client.plain)) return report(name, null, "the client has no such call");
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done within ${PATIENCE} ms`)), PATIENCE);
  });
  try {
    await Promise.race([call(), late]);
    report(name, true, "");
  } catch (error) {
    report(name, false, `${error?.constructor?.name}: ${error?.message}`);
  } finally {
    clearTimeout(timer);
  }
}

hook.listen(0, "127.0.0.1");
await once(hook, "listening");
url = `http://127.0.0.1:${hook.address().port}/push`;
for (const [name, call, needs] of steps) await step(name, call, needs);
// Idle connections would keep the process alive.
process.exit(0);
