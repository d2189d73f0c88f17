// The server of @a2a-js/sdk 1.3, unchanged, with an agent that does what the demo of `a2a demo-server` does:
//
//     node demo.mjs <folder of the SDK>
//
// See demo.py, whose output this has.

import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const prefix = resolve(process.argv[2]);
const home = join(prefix, 'node_modules', '@a2a-js/sdk');
const manifest = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'));
const load = (entry) => import(pathToFileURL(join(home, manifest.exports[entry].import)));
const require = createRequire(join(prefix, 'package.json'));

// Nothing but the address may reach standard output.
for (const level of ['log', 'info', 'debug', 'warn', 'error']) console[level] = () => {};

const express = require('express');
const grpc = require('@grpc/grpc-js');
const sdk = await load('.');
const server = await load('./server');
const web = await load('./server/express');
const rpc = await load('./server/grpc');

const state = (name) => sdk.TaskState[`TASK_STATE_${name}`];
const part = ($case, value, filename = '', mediaType = '') => ({ content: { $case, value }, filename, mediaType, metadata: undefined });
const textOf = (message) => message.parts.map((each) => (each.content?.$case === 'text' ? each.content.value : '')).join('\n');
const milliseconds = (text) => {
  const [, number, unit] = /^(\d+)(ms|s|m)$/.exec(text || '3s');
  return Number(number) * { ms: 1, s: 1000, m: 60_000 }[unit];
};

const ENDS = {
  ask: ['INPUT_REQUIRED', 'Which city?'],
  login: ['AUTH_REQUIRED', 'Please sign in, then send anything.'],
  fail: ['FAILED', 'It failed, as you asked.'],
  reject: ['REJECTED', 'I would rather not.'],
};

const files = [
  part('text', 'One part of each kind.'),
  part('data', { tide: 'high', meters: 4.2 }),
  part('raw', Buffer.from('time,meters\n06:12,4.2\n'), 'tides.csv', 'text/csv'),
  part('url', 'https://example.com/harbor.png', 'harbor.png', 'image/png'),
];

/** A part in one line. */
function described(each, at) {
  const kind = { raw: 'file', url: 'file' }[each.content.$case] ?? each.content.$case;
  return [at + 1, kind, each.mediaType, each.filename].filter(Boolean).join(' ');
}

class Demo {
  stopped = new Map();

  constructor(binding) {
    this.binding = binding;
  }

  async execute(context, bus) {
    const words = textOf(context.userMessage).trim();
    const [, verb, rest] = /^(\S*)\s*([^]*)$/.exec(words);
    const ids = { taskId: context.taskId, contextId: context.contextId };
    const message = (text, taskId) => ({
      messageId: randomUUID(), role: sdk.Role.ROLE_AGENT, parts: [part('text', text)], taskId, contextId: context.contextId,
      extensions: [], referenceTaskIds: [], metadata: undefined,
    });
    const publish = (kind, data) => bus.publish(server.AgentEvent[kind](data));
    const status = (name, text) => ({
      state: state(name), timestamp: new Date().toISOString(), message: text ? message(text, context.taskId) : undefined,
    });
    const tell = (name, text) => publish('statusUpdate', { ...ids, status: status(name, text), metadata: undefined });
    const show = (artifactId, name, parts, append = false, lastChunk = true) =>
      publish('artifactUpdate', {
        ...ids, artifact: { artifactId, name, description: '', parts, extensions: [], metadata: undefined }, append, lastChunk, metadata: undefined,
      });
    const end = (name, ...parts) => {
      show(randomUUID(), name, parts.map((each) => (typeof each === 'string' ? part('text', each) : each)));
      tell('COMPLETED');
    };
    const asked = context.task && textOf(context.task.history[0]).split(' ')[0];
    if (verb === 'message' && !context.task) {
      publish('message', message(rest, ''));
      return bus.finished();
    }
    // The first event of a stream must be the task, also of one that goes on.
    const history = [context.userMessage];
    publish('task', context.task ?? { id: context.taskId, contextId: context.contextId, status: status('SUBMITTED'), history, artifacts: [], metadata: undefined });
    if (asked === 'ask' || asked === 'login') end('answer', asked === 'ask' ? `Booked for ${words}.` : 'Signed in.');
    else if (verb in ENDS) tell(ENDS[verb][0], rest || ENDS[verb][1]);
    else if (verb === 'stream' || verb === 'cut') await this.count(Number(rest), verb === 'cut', tell, show);
    else if (verb === 'slow' || verb === 'unspecified') {
      tell(verb === 'slow' ? 'WORKING' : 'UNSPECIFIED', `Working for ${rest}`);
      const canceled = await new Promise((done) => {
        this.stopped.set(context.taskId, () => done(true));
        setTimeout(() => done(false), milliseconds(rest));
      });
      if (canceled) tell('CANCELED');
      else end('result', `Done after ${rest}.`);
    } else if (verb === 'files') end('files', ...files);
    else if (verb === 'parts') end('parts', context.userMessage.parts.map(described).join('\n'));
    else if (verb === 'request') end('request', this.facts(context).join('\n'));
    else end('echo', words);
    bus.finished();
  }

  async count(number, cut, tell, show) {
    // As in demo.py, nothing goes out for a while after the stream is lost.
    const [count, lost] = cut ? [number + 5, number + 1] : [number, 0];
    tell('WORKING', `Counting to ${count}`);
    for (let at = 1; at <= count; at += 1) {
      show('numbers', 'numbers', [part('text', `${at}\n`)], at > 1, at === count);
      await new Promise((done) => setTimeout(done, at === lost ? 2000 : 20));
    }
    tell('COMPLETED');
  }

  facts(context) {
    const call = context.context;
    return [
      `Binding: ${this.binding}`,
      `Version: ${call?.requestedVersion ?? '1.0'}`,
      `Tenant: ${call?.tenant || 'none'}`,
      `Extensions: ${[...(call?.requestedExtensions ?? [])].join(', ') || 'none'}`,
      'Subject: none',
      'Credential: none',
    ];
  }

  async cancelTask(taskId) {
    this.stopped.get(taskId)?.();
  }
}

/** Loses the connection of a stream that a message `cut N` has begun, after N chunks. */
function cut(request, response, next) {
  let left = Infinity;
  request.on('data', (chunk) => {
    const found = /"text": ?"cut (\d+)"/.exec(chunk.toString());
    if (found) left = Number(found[1]);
  });
  const write = response.write.bind(response);
  response.write = (chunk, ...more) => {
    left -= (chunk.toString().match(/artifactUpdate/g) ?? []).length;
    if (left < 0) return response.destroy();
    return write(chunk, ...more);
  };
  next();
}

const app = express();
const listener = await new Promise((done) => {
  const at = app.listen(0, '127.0.0.1', () => done(at));
});
const place = `localhost:${listener.address().port}`;
const calls = new grpc.Server();
const port = await new Promise((done, fail) =>
  calls.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, bound) => (error ? fail(error) : done(bound))),
);
const face = (url, protocolBinding) => ({ url, protocolBinding, protocolVersion: '1.0', tenant: '' });
const card = {
  name: 'Demo', description: 'Does what the first word says', version: '1.0.0',
  defaultInputModes: ['text/plain', '*/*'], defaultOutputModes: ['text/plain', '*/*'],
  skills: [{ id: 'obey', name: 'Obey', description: 'Does what it is told', tags: ['test'], examples: [], inputModes: [], outputModes: [], securityRequirements: [] }],
  capabilities: { streaming: true, pushNotifications: true, extensions: [] },
  supportedInterfaces: [face(`http://${place}/rpc`, 'JSONRPC'), face(`http://${place}/rest`, 'HTTP+JSON'), face(`127.0.0.1:${port}`, 'GRPC')],
  provider: undefined, securitySchemes: {}, securityRequirements: [], signatures: [],
};

const [tasks, configs] = [new server.InMemoryTaskStore(), new server.InMemoryPushNotificationStore()];
const handler = (binding) =>
  new server.DefaultRequestHandler(
    card, tasks, new Demo(binding), new server.DefaultExecutionEventBusManager(), configs, new server.DefaultPushNotificationSender(configs),
  );
const userBuilder = web.UserBuilder.noAuthentication;
app.use(cut);
app.use('/.well-known/agent-card.json', web.agentCardHandler({ agentCardProvider: handler('JSONRPC') }));
app.use('/rpc', web.jsonRpcHandler({ requestHandler: handler('JSONRPC'), userBuilder }));
app.use('/rest', web.restHandler({ requestHandler: handler('HTTP+JSON'), userBuilder }));
calls.addService(rpc.A2AService, rpc.grpcService({ requestHandler: handler('GRPC'), userBuilder: rpc.UserBuilder.noAuthentication }));

process.stdout.write(`${JSON.stringify({ url: place, sdk: manifest.version })}\n`);
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
