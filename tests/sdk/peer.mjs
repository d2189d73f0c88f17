// A released @a2a-js/sdk as a parsing peer, driven over standard input and
// output: node peer.mjs <npm prefix of the SDK>
//
// The protocol and the idea are those of peer.py: a request goes to the SDK's
// server and what the server understood is sent by the SDK's client; a response
// goes to the SDK's client and what the client understood is sent by the SDK's
// server. The servers are the SDK's express handlers on a loopback socket and its
// gRPC service called in this process.

import { createInterface } from "node:readline";
import { createRequire } from "node:module";
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const prefix = resolve(process.argv[2] ?? ".");
const SDK = "@a2a-js/sdk";
const home = join(prefix, "node_modules", SDK);
const manifest = JSON.parse(readFileSync(join(home, "package.json"), "utf8"));
const load = (entry) => import(pathToFileURL(join(home, manifest.exports[entry].import)));

// Nothing but answers may reach standard output, and SDK code logs every refusal.
for (const level of ["log", "info", "debug", "warn", "error"]) console[level] = () => {};

const client = await load("./client");
const server = await load("./server");
const http = await load("./server/express");
const grpcServer = await load("./server/grpc");
const grpcClient = await load("./client/grpc");
const require = createRequire(join(prefix, "package.json"));
const express = require("express");
const { Metadata } = require("@grpc/grpc-js");

const V1 = manifest.version.startsWith("1.");
const BASE = "http://peer.test";
const headers = V1 ? { "A2A-Version": "1.0" } : {};

class Refused extends Error {
  name = "Refused";
}

// --- The stand-in for the request handler ---------------------------------

const handler = {
  seen: undefined,
  value: undefined,
  error: undefined,
  card: undefined,
  expect(value, error) {
    this.seen = undefined;
    this.value = value;
    this.error = error;
  },
  one(params) {
    // The checks that the SDK's own DefaultRequestHandler makes on its input.
    if (params && "message" in params && !params.message?.messageId) {
      throw V1
        ? new errors.RequestMalformedError("message.messageId is required.")
        : server.A2AError.invalidParams("message.messageId is required.");
    }
    this.seen = params;
    if (this.error) throw this.error;
    return this.value;
  },
  async *stream(params) {
    yield this.one(params);
  },
  async getAgentCard() {
    return this.card ?? ownCard;
  },
};
const errors = V1 ? await load("./errors") : undefined;
for (const name of [
  "sendMessage",
  "getTask",
  "listTasks",
  "cancelTask",
  "createTaskPushNotificationConfig",
  "setTaskPushNotificationConfig",
  "getTaskPushNotificationConfig",
  "listTaskPushNotificationConfigs",
  "deleteTaskPushNotificationConfig",
]) {
  handler[name] = async (params) => handler.one(params);
}
for (const name of ["sendMessageStream", "resubscribe"]) {
  handler[name] = (params) => handler.stream(params);
}
handler.getAuthenticatedExtendedAgentCard = async () => {
  handler.seen = {};
  if (handler.error) throw handler.error;
  return handler.value;
};

const ownCard = {
  name: "n",
  description: "d",
  url: BASE,
  version: "1",
  protocolVersion: "0.3.0",
  supportedInterfaces: ["JSONRPC", "HTTP+JSON", "GRPC"].map((protocolBinding) => ({
    url: BASE,
    protocolBinding,
    protocolVersion: "1.0",
    tenant: "",
  })),
  capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true },
  supportsAuthenticatedExtendedCard: true,
  defaultInputModes: [],
  defaultOutputModes: [],
  skills: [],
};

// --- The SDK's HTTP servers -----------------------------------------------

const options = {
  requestHandler: handler,
  agentCardProvider: handler,
  userBuilder: http.UserBuilder.noAuthentication,
};
const app = express();
app.use("/card", http.agentCardHandler(options));
app.use("/rpc", http.jsonRpcHandler(options));
app.use("/rest", http.restHandler(options));
const listener = createServer(app);
// A test may think for longer than the default keeps an idle connection.
listener.keepAliveTimeout = 0;
await new Promise((ready) => listener.listen(0, "127.0.0.1", ready));
const address = `http://127.0.0.1:${listener.address().port}`;

async function exchange(method, path, body) {
  const response = await fetch(address + path, {
    method,
    headers: { ...headers, ...(body === undefined ? {} : { "Content-Type": "application/json" }) },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  if (response.headers.get("content-type")?.startsWith("text/event-stream")) {
    const data = text
      .split("\n")
      .filter((line) => line.startsWith("data:"))
      .map((line) => line.slice(5).replace(/^ /, ""));
    return { status: response.status, json: JSON.parse(data.join("\n")) };
  }
  return { status: response.status, json: text ? JSON.parse(text) : undefined };
}

// --- The SDK's HTTP clients -----------------------------------------------

// The far end of the client: keeps the request, returns what it is told.
const replay = {
  sent: undefined,
  make: undefined,
  answer(value, status = 200) {
    this.make = () => [value, status, "application/json"];
  },
  answerEvent(value) {
    this.make = () => [value, 200, "text/event-stream"];
  },
  // The client checks that the id is the one it has sent. The given envelope is
  // the answer to some request, so an id it has stands for that request's.
  answerEnvelope(envelope, stream) {
    this.make = () => {
      const id = replay.sent?.id;
      const known = typeof envelope.id === "string" || typeof envelope.id === "number";
      return [known ? { ...envelope, id } : envelope, 200, stream ? "text/event-stream" : "application/json"];
    };
  },
  async fetch(url, init) {
    replay.sent = init?.body === undefined ? null : JSON.parse(init.body);
    const [value, status, type] = replay.make();
    const text = JSON.stringify(value);
    return new Response(type === "text/event-stream" ? `data: ${text}\n\n` : text, {
      status,
      headers: { "Content-Type": type },
    });
  },
};
const transportOptions = { fetchImpl: replay.fetch };
const rpcClient = await new client.JsonRpcTransportFactory(transportOptions).create(BASE, ownCard);
const restClient = await new client.RestTransportFactory(transportOptions).create(BASE, ownCard);

// The result of a call; of a streaming call its only event.
async function consume(call) {
  if (typeof call?.[Symbol.asyncIterator] !== "function") return await call;
  const events = [];
  for await (const event of call) events.push(event);
  if (events.length !== 1) throw new Refused(`${events.length} events instead of one`);
  return events[0];
}

// --- Methods and objects ----------------------------------------------------

// JSON-RPC method: method of the client, params of a request that only asks.
const message = V1
  ? { messageId: "m", contextId: "", taskId: "", role: 1, parts: [{ content: { $case: "text", value: "hi" }, metadata: undefined, filename: "", mediaType: "" }], metadata: undefined, extensions: [], referenceTaskIds: [] }
  : { kind: "message", messageId: "m", role: "user", parts: [{ kind: "text", text: "hi" }] };
const send = V1
  ? { tenant: "", message, configuration: undefined, metadata: undefined }
  : { message };
const methods = V1
  ? {
      SendMessage: ["sendMessage", send],
      SendStreamingMessage: ["sendMessageStream", send],
      GetTask: ["getTask", { tenant: "", id: "t" }],
      ListTasks: ["listTasks", { tenant: "", contextId: "", status: 0, pageToken: "", includeArtifacts: true }],
      CancelTask: ["cancelTask", { tenant: "", id: "t" }],
      SubscribeToTask: ["resubscribeTask", { tenant: "", id: "t" }],
      CreateTaskPushNotificationConfig: ["createTaskPushNotificationConfig", { tenant: "", id: "c", taskId: "t", url: "http://hook.test", token: "", authentication: undefined }],
      GetTaskPushNotificationConfig: ["getTaskPushNotificationConfig", { tenant: "", taskId: "t", id: "c" }],
      ListTaskPushNotificationConfigs: ["listTaskPushNotificationConfig", { tenant: "", taskId: "t", pageSize: 0, pageToken: "" }],
      DeleteTaskPushNotificationConfig: ["deleteTaskPushNotificationConfig", { tenant: "", taskId: "t", id: "c" }],
      GetExtendedAgentCard: ["getExtendedAgentCard", { tenant: "" }],
    }
  : {
      "message/send": ["sendMessage", send],
      "message/stream": ["sendMessageStream", send],
      "tasks/get": ["getTask", { id: "t" }],
      "tasks/cancel": ["cancelTask", { id: "t" }],
      "tasks/resubscribe": ["resubscribeTask", { id: "t" }],
      "tasks/pushNotificationConfig/set": ["setTaskPushNotificationConfig", { taskId: "t", pushNotificationConfig: { url: "http://hook.test" } }],
      "tasks/pushNotificationConfig/get": ["getTaskPushNotificationConfig", { id: "t", pushNotificationConfigId: "c" }],
      "tasks/pushNotificationConfig/list": ["listTaskPushNotificationConfig", { id: "t" }],
      "tasks/pushNotificationConfig/delete": ["deleteTaskPushNotificationConfig", { id: "t", pushNotificationConfigId: "c" }],
      "agent/getAuthenticatedExtendedCard": ["getExtendedAgentCard", undefined],
    };
const streaming = ["SendStreamingMessage", "SubscribeToTask", "message/stream", "tasks/resubscribe"];
// The same operation in both versions.
const name = V1
  ? { send: "SendMessage", stream: "SendStreamingMessage", get: "GetTask", list: "ListTasks", cancel: "CancelTask", subscribe: "SubscribeToTask", set: "CreateTaskPushNotificationConfig", getConfig: "GetTaskPushNotificationConfig", listConfigs: "ListTaskPushNotificationConfigs", deleteConfig: "DeleteTaskPushNotificationConfig", card: "GetExtendedAgentCard" }
  : { send: "message/send", stream: "message/stream", get: "tasks/get", cancel: "tasks/cancel", subscribe: "tasks/resubscribe", set: "tasks/pushNotificationConfig/set", getConfig: "tasks/pushNotificationConfig/get", listConfigs: "tasks/pushNotificationConfig/list", deleteConfig: "tasks/pushNotificationConfig/delete", card: "agent/getAuthenticatedExtendedCard" };
const objects = {
  SendMessageRequest: [name.send, "params"],
  SendMessageResponse: [name.send, "result"],
  StreamResponse: [name.stream, "result"],
  Task: [name.get, "result"],
  GetTaskRequest: [name.get, "params"],
  ...(V1 ? { ListTasksRequest: [name.list, "params"], ListTasksResponse: [name.list, "result"] } : {}),
  CancelTaskRequest: [name.cancel, "params"],
  SubscribeToTaskRequest: [name.subscribe, "params"],
  PushConfig: [name.set, "result"],
  CreatePushConfigRequest: [name.set, "params"],
  GetPushConfigRequest: [name.getConfig, "params"],
  ListPushConfigsRequest: [name.listConfigs, "params"],
  ListPushConfigsResponse: [name.listConfigs, "result"],
  DeletePushConfigRequest: [name.deleteConfig, "params"],
};

// Something for the handler to return when only the request matters.
function sampleValue(method) {
  const task = { id: "t", contextId: "c", status: { state: V1 ? 2 : "working", timestamp: undefined }, artifacts: [], history: [], kind: "task" };
  if (method === name.stream || method === name.subscribe) return V1 ? { payload: { $case: "task", value: task } } : task;
  if (method === name.list) return { tasks: [], nextPageToken: "", pageSize: 0, totalSize: 0 };
  if (method === name.listConfigs) return V1 ? { configs: [], nextPageToken: "" } : [];
  if (method === name.deleteConfig) return undefined;
  if (method === name.set || method === name.getConfig) return methods[name.set][1];
  if (method === name.card) return ownCard;
  return task;
}

function call(transport, method, params) {
  const [operation] = methods[method];
  // The 0.3 clients take no params for the card.
  return !V1 && method === name.card ? transport[operation]() : transport[operation](params);
}

// --- JSON-RPC ---------------------------------------------------------------

async function clientSends(transport, method, params) {
  replay.sent = undefined;
  replay.answer({});
  try {
    await consume(call(transport, method, params));
  } catch (e) {
    // It could not read the empty answer; the request is out.
    if (replay.sent === undefined) throw e;
  }
  return replay.sent;
}

async function request(method, envelope) {
  if (envelope?.method !== method && !Array.isArray(envelope)) throw new Refused(`the method is not ${method}`);
  handler.expect(sampleValue(method));
  const { json } = await exchange("POST", "/rpc", envelope);
  if ("error" in json) throw new Refused(JSON.stringify(json.error));
  const sent = await clientSends(rpcClient, method, handler.seen);
  // Clients number their requests themselves.
  delete sent.id;
  if ("id" in envelope) sent.id = envelope.id;
  return sent;
}

async function response(method, envelope) {
  replay.answerEnvelope(envelope, streaming.includes(method));
  let value, error;
  try {
    value = await consume(call(rpcClient, method, methods[method][1]));
  } catch (e) {
    error = serverError(e);
  }
  handler.expect(value, error);
  const params = requestJson(method);
  const { json } = await exchange("POST", "/rpc", { jsonrpc: "2.0", id: envelope.id ?? null, method, params });
  return json;
}

// The params of a request that only asks, as the client writes them.
const requests = {};
function requestJson(method) {
  return requests[method];
}
for (const method of Object.keys(methods)) {
  requests[method] = (await clientSends(rpcClient, method, methods[method][1])).params;
}

// An error response as the server's code throws it.
function serverError(e) {
  if (V1) {
    if (e instanceof Error && e.cause && isSdkError(e.cause)) return e.cause;
    if (isSdkError(e)) return e;
    throw e;
  }
  const reported = e.errorResponse ?? e.cause?.errorResponse;
  if (!reported) throw e;
  const { code, message, data } = reported.error;
  return new server.A2AError(code, message, data);
}

function isSdkError(e) {
  return e?.transport === "jsonrpc" || e?.transport === "rest";
}

const kinds = {};
for (const [kind, [method, side]] of Object.entries(objects)) {
  kinds[kind] = async (value) =>
    side === "params"
      ? ((await request(method, { jsonrpc: "2.0", id: "peer", method, params: value })).params ?? {})
      : (await response(method, { jsonrpc: "2.0", id: "peer", result: value })).result;
}
for (const method of Object.keys(methods)) {
  kinds[`JsonRpcRequest.${method}`] = (value) => request(method, value);
  kinds[`JsonRpcResponse.${method}`] = (value) => response(method, value);
}
kinds.Message = async (value) =>
  V1 ? (await kinds.SendMessageResponse({ message: value })).message : kinds.SendMessageResponse(value);

// --- Card and webhook body --------------------------------------------------

kinds.AgentCard = async (value) => {
  replay.answer(value);
  handler.card = await new client.DefaultAgentCardResolver(transportOptions).resolve(BASE);
  try {
    const { status, json } = await exchange("GET", "/card");
    if (status !== 200) throw new Refused(JSON.stringify(json));
    return json;
  } finally {
    handler.card = undefined;
  }
};

kinds.PushBody = async (value) => {
  // The SDK has no receiver of webhook calls. In 1.x the stream events of the
  // client have the same type, in 0.x tasks do.
  let event;
  if (V1) {
    replay.answerEnvelope({ jsonrpc: "2.0", id: 1, result: value }, true);
    event = await consume(call(rpcClient, name.stream, send));
  } else {
    replay.answerEnvelope({ jsonrpc: "2.0", id: 1, result: value });
    event = await call(rpcClient, name.get, { id: "t" });
  }
  const config = { url: "http://hook.test", id: "c", taskId: "t", token: "", tenant: "" };
  const store = { load: async () => [config] };
  const sender = new server.DefaultPushNotificationSender(store);
  const original = globalThis.fetch;
  replay.sent = undefined;
  replay.answer({});
  globalThis.fetch = replay.fetch;
  try {
    await sender.send(event, { requestedVersion: "1.0" }, undefined);
  } finally {
    globalThis.fetch = original;
  }
  if (replay.sent === undefined) throw new Refused("the sender did not send it");
  return replay.sent;
};

// --- REST -------------------------------------------------------------------

const v1path = V1 ? "" : "/v1";
function restRequest(method, path) {
  return async (value) => {
    // The path names the task, as the SDK's client would have it.
    const task = value.taskId ?? value.parent?.replace("tasks/", "") ?? "t";
    handler.expect(sampleValue(method));
    const { status, json } = await exchange("POST", `/rest${v1path}${path.replace("/t/", `/${task}/`)}`, value);
    if (handler.seen === undefined) throw new Refused(`${status} ${JSON.stringify(json)}`);
    return await clientSends(restClient, method, handler.seen);
  };
}
function restResponse(method, httpMethod, path, wrap) {
  return async (value) => {
    const body = wrap ? { [wrap]: value } : value;
    if (streaming.includes(method)) replay.answerEvent(body);
    else replay.answer(body);
    const result = await consume(call(restClient, method, methods[method][1]));
    handler.expect(result);
    const asked = httpMethod === "POST" ? restSend : undefined;
    const { status, json } = await exchange(httpMethod, `/rest${v1path}${path}`, asked);
    if (status >= 300) throw new Refused(`${status} ${JSON.stringify(json)}`);
    return wrap ? json[wrap] : json;
  };
}
const restSend = await clientSends(restClient, name.send, send);
async function restError(value) {
  replay.answer(value, value?.error?.code ?? 400);
  try {
    await call(restClient, name.get, methods[name.get][1]);
  } catch (e) {
    handler.expect(undefined, restServerError(e));
    return (await exchange("GET", `/rest${v1path}/tasks/t`)).json;
  }
  throw new Refused("not an error");
}
function restServerError(e) {
  if (V1) {
    if (!isSdkError(e)) throw e;
    return e;
  }
  const codes = {
    TaskNotFoundError: -32001,
    TaskNotCancelableError: -32002,
    PushNotificationNotSupportedError: -32003,
    UnsupportedOperationError: -32004,
    ContentTypeNotSupportedError: -32005,
    InvalidAgentResponseError: -32006,
    AuthenticatedExtendedCardNotConfiguredError: -32007,
  };
  if (!(e.name in codes)) throw e;
  return new server.A2AError(codes[e.name], e.message);
}
const configs = "/tasks/t/pushNotificationConfigs";
Object.assign(kinds, {
  "rest/SendMessageRequest": restRequest(name.send, "/message:send"),
  "rest/SendMessageResponse": restResponse(name.send, "POST", "/message:send"),
  "rest/StreamResponse": restResponse(name.stream, "POST", "/message:stream"),
  "rest/Message": restResponse(name.send, "POST", "/message:send", "message"),
  "rest/Task": restResponse(name.get, "GET", "/tasks/t"),
  "rest/PushConfig": restResponse(name.getConfig, "GET", `${configs}/c`),
  "rest/CreatePushConfigRequest": restRequest(name.set, configs),
  "rest/ListPushConfigsResponse": restResponse(name.listConfigs, "GET", configs),
  "rest/AgentCard": restResponse(name.card, "GET", V1 ? "/extendedAgentCard" : "/card"),
  "rest/Error": restError,
});
if (V1) {
  kinds["rest/ListTasksResponse"] = restResponse(name.list, "GET", "/tasks?includeArtifacts=true");
}

// --- gRPC -------------------------------------------------------------------

const definition = grpcServer.A2AService;
const service = grpcServer.grpcService(options);
const wire = { sent: undefined, body: undefined };
const grpc = await new grpcClient.GrpcTransportFactory().create("127.0.0.1:1", ownCard);
grpc.grpcClient.close();
// The far end of the gRPC client.
grpc.grpcClient = Object.fromEntries(
  Object.entries(definition).map(([rpc, d]) => [
    rpc,
    (params, _metadata, _options, done) => {
      wire.sent = d.requestSerialize(params);
      if (!d.responseStream) {
        done(null, d.responseDeserialize(wire.body));
        return { cancel() {} };
      }
      const events = [d.responseDeserialize(wire.body)];
      return { cancel() {}, [Symbol.asyncIterator]: () => events[Symbol.iterator]() };
    },
  ]),
);

function serve(rpc, params) {
  const metadata = new Metadata();
  for (const [key, value] of Object.entries(headers)) metadata.set(key.toLowerCase(), value);
  return new Promise((done, fail) => {
    const refuse = (e) => fail(new Refused(`${e.code}: ${e.details}`));
    const stream = {
      request: params,
      metadata,
      sendMetadata() {},
      write: done,
      emit: (_, e) => refuse(e),
      end() {},
    };
    service[rpc](stream, (e, value) => (e ? refuse(e) : done(value)));
  });
}

function grpcRequest(rpc, method) {
  return async (bytes) => {
    handler.expect(sampleValue(method));
    await serve(rpc, definition[rpc].requestDeserialize(bytes));
    wire.sent = undefined;
    wire.body = Buffer.alloc(0);
    try {
      await consume(call(grpc, method, handler.seen));
    } catch (e) {
      if (wire.sent === undefined) throw e;
    }
    return wire.sent.toString("base64");
  };
}
function grpcResponse(rpc, method) {
  return async (bytes) => {
    wire.body = bytes;
    handler.expect(await consume(call(grpc, method, methods[method][1])));
    // What the client asks is what the server is asked.
    const params = definition[rpc].requestDeserialize(wire.sent);
    return definition[rpc].responseSerialize(await serve(rpc, params)).toString("base64");
  };
}
Object.assign(kinds, {
  "pb/SendMessageRequest": grpcRequest("sendMessage", name.send),
  "pb/SendMessageResponse": grpcResponse("sendMessage", name.send),
  "pb/StreamResponse": grpcResponse("sendStreamingMessage", name.stream),
  "pb/GetTaskRequest": grpcRequest("getTask", name.get),
  "pb/Task": grpcResponse("getTask", name.get),
  "pb/CancelTaskRequest": grpcRequest("cancelTask", name.cancel),
  "pb/GetTaskPushNotificationConfigRequest": grpcRequest("getTaskPushNotificationConfig", name.getConfig),
  "pb/TaskPushNotificationConfig": grpcResponse("getTaskPushNotificationConfig", name.getConfig),
  "pb/DeleteTaskPushNotificationConfigRequest": grpcRequest("deleteTaskPushNotificationConfig", name.deleteConfig),
});
if (V1) {
  Object.assign(kinds, {
    "pb/ListTasksRequest": grpcRequest("listTasks", name.list),
    "pb/ListTasksResponse": grpcResponse("listTasks", name.list),
    "pb/SubscribeToTaskRequest": grpcRequest("subscribeToTask", name.subscribe),
    "pb/ListTaskPushNotificationConfigsRequest": grpcRequest("listTaskPushNotificationConfigs", name.listConfigs),
    "pb/ListTaskPushNotificationConfigsResponse": grpcResponse("listTaskPushNotificationConfigs", name.listConfigs),
    "pb/AgentCard": grpcResponse("getExtendedAgentCard", name.card),
  });
} else {
  Object.assign(kinds, {
    "pb/TaskSubscriptionRequest": grpcRequest("taskSubscription", name.subscribe),
    "pb/CreateTaskPushNotificationConfigRequest": grpcRequest("createTaskPushNotificationConfig", name.set),
    "pb/ListTaskPushNotificationConfigRequest": grpcRequest("listTaskPushNotificationConfig", name.listConfigs),
    "pb/ListTaskPushNotificationConfigResponse": grpcResponse("listTaskPushNotificationConfig", name.listConfigs),
    "pb/AgentCard": grpcResponse("getAgentCard", name.card),
  });
}

// --- The line protocol ------------------------------------------------------

function say(value) {
  process.stdout.write(JSON.stringify(value) + "\n");
}

async function answer(line) {
  try {
    const question = JSON.parse(line);
    const run = Object.hasOwn(kinds, question.type) ? kinds[question.type] : undefined;
    if (!run) throw new Refused(`unknown type ${question.type}`);
    if ("base64" in question) return { ok: true, base64: await run(Buffer.from(question.base64, "base64")) };
    const json = await run(question.json);
    return { ok: true, json: json === undefined ? null : json };
  } catch (e) {
    return { ok: false, error: `${e?.name ?? "Error"}: ${e?.message ?? e}` };
  }
}

say({ sdk: SDK, version: manifest.version, types: Object.keys(kinds).sort() });
for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  if (line.trim()) say(await answer(line));
}
listener.closeAllConnections();
listener.close();
