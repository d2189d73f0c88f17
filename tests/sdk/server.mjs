// The server of a released @a2a-js/sdk, unchanged, with an agent that does what the first word says:
//
//     node server.mjs <folder of the SDK>
//
// The first line of output is {"url", "sdk"}: the address of the card, which names every binding. The
// server ends when its standard input does.

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
const NEW = manifest.version.startsWith('1.');

// Nothing but the address may reach standard output.
for (const level of ['log', 'info', 'debug', 'warn', 'error']) console[level] = () => {};

const express = require('express');
const grpc = require('@grpc/grpc-js');
const sdk = await load('.');
const server = await load('./server');
const web = await load('./server/express');
const rpc = await load('./server/grpc');

const now = () => new Date().toISOString();

// What differs between the releases: 1.x has protobuf shapes and wraps what it publishes.
const shapes = NEW
  ? {
      state: (name) => sdk.TaskState[`TASK_STATE_${name.toUpperCase().replace('-', '_')}`],
      part: (text) => ({ content: { $case: 'text', value: text }, mediaType: '', filename: '', metadata: undefined }),
      text: (message) => message.parts.map((part) => (part.content?.$case === 'text' ? part.content.value : '')).join('\n'),
      message: (text, task, context) => ({
        messageId: randomUUID(), role: sdk.Role.ROLE_AGENT, parts: [shapes.part(text)], taskId: task, contextId: context,
        extensions: [], referenceTaskIds: [], metadata: undefined,
      }),
      publish: (bus, kind, data) => bus.publish(server.AgentEvent[kind](data)),
    }
  : {
      state: (name) => name,
      part: (text) => ({ kind: 'text', text }),
      text: (message) => message.parts.map((part) => (part.kind === 'text' ? part.text : '')).join('\n'),
      message: (text, task, context) => ({
        kind: 'message', messageId: randomUUID(), role: 'agent', parts: [shapes.part(text)],
        ...(task ? { taskId: task } : {}), contextId: context,
      }),
      publish: (bus, kind, data) =>
        bus.publish({ kind: { task: 'task', message: 'message', statusUpdate: 'status-update', artifactUpdate: 'artifact-update' }[kind], ...data }),
    };

class Clerk {
  waiting = new Map();

  async execute(context, bus) {
    const input = shapes.text(context.userMessage);
    const [verb, rest] = [input.split(' ')[0], input.split(' ').slice(1).join(' ')];
    const ids = { taskId: context.taskId, contextId: context.contextId };
    if (verb === 'say') {
      shapes.publish(bus, 'message', shapes.message(rest, NEW ? '' : undefined, context.contextId));
      bus.finished();
      return;
    }
    const status = (name, text) => ({
      state: shapes.state(name), timestamp: now(), message: text ? shapes.message(text, context.taskId, context.contextId) : undefined,
    });
    const tell = (name, text, final) => shapes.publish(bus, 'statusUpdate', { ...ids, status: status(name, text), final, metadata: undefined });
    if (!context.task) {
      shapes.publish(bus, 'task', {
        id: context.taskId, contextId: context.contextId, status: status('submitted'), history: [context.userMessage], artifacts: [],
        metadata: undefined,
      });
    }
    const show = (artifactId, name, text, append, lastChunk) =>
      shapes.publish(bus, 'artifactUpdate', {
        ...ids, artifact: { artifactId, name, description: '', parts: [shapes.part(text)], extensions: [], metadata: undefined },
        append, lastChunk, metadata: undefined,
      });
    if (verb === 'ask') {
      tell('input-required', 'Which quay?', true);
      bus.finished();
      return;
    }
    tell('working', 'Working', false);
    if (verb === 'wait') {
      await new Promise((resolve) => this.waiting.set(context.taskId, resolve));
      tell('canceled', undefined, true);
      bus.finished();
      return;
    }
    if (verb === 'later') {
      await new Promise((resolve) => setTimeout(resolve, 3000));
    }
    if (verb === 'fail') {
      tell('failed', 'The crane is broken.', true);
      bus.finished();
      return;
    }
    if (verb === 'stream') {
      const count = Number(rest);
      for (let number = 1; number <= count; number += 1) {
        show('numbers', 'numbers', `${number};`, number > 1, number === count);
      }
    } else if (verb !== 'later') {
      show(randomUUID(), 'echo', input, false, true);
    }
    tell('completed', undefined, true);
    bus.finished();
  }

  async cancelTask(taskId) {
    this.waiting.get(taskId)?.();
  }
}

const app = express();
const listener = await new Promise((resolve) => {
  const at = app.listen(0, '127.0.0.1', () => resolve(at));
});
const base = `http://127.0.0.1:${listener.address().port}`;
const calls = new grpc.Server();
const port = await new Promise((resolve, reject) =>
  calls.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, bound) => (error ? reject(error) : resolve(bound))),
);

const members = {
  name: 'Clerk', description: 'Does what the first word says', version: '1.0.0',
  defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'],
  skills: [{ id: 'obey', name: 'Obey', description: 'Does what it is told', tags: ['test'], examples: [], inputModes: [], outputModes: [], securityRequirements: [] }],
};
const card = NEW
  ? {
      ...members,
      capabilities: { streaming: true, pushNotifications: true, extensions: [] },
      supportedInterfaces: [
        { url: `${base}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: '' },
        { url: `${base}/rest`, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0', tenant: '' },
        { url: `127.0.0.1:${port}`, protocolBinding: 'GRPC', protocolVersion: '1.0', tenant: '' },
      ],
      provider: undefined, securitySchemes: {}, securityRequirements: [], signatures: [],
    }
  : {
      ...members,
      capabilities: { streaming: true, pushNotifications: true },
      protocolVersion: '0.3.0', url: `${base}/rpc`, preferredTransport: 'JSONRPC',
      additionalInterfaces: [
        { url: `${base}/rpc`, transport: 'JSONRPC' },
        { url: `${base}/rest`, transport: 'HTTP+JSON' },
        { url: `127.0.0.1:${port}`, transport: 'GRPC' },
      ],
    };

const configs = new server.InMemoryPushNotificationStore();
const requestHandler = new server.DefaultRequestHandler(
  card, new server.InMemoryTaskStore(), new Clerk(), new server.DefaultExecutionEventBusManager(), configs,
  new server.DefaultPushNotificationSender(configs),
);
const userBuilder = web.UserBuilder.noAuthentication;
app.use('/.well-known/agent-card.json', web.agentCardHandler({ agentCardProvider: requestHandler }));
app.use('/rpc', web.jsonRpcHandler({ requestHandler, userBuilder }));
app.use('/rest', web.restHandler({ requestHandler, userBuilder }));
calls.addService(rpc.A2AService, rpc.grpcService({ requestHandler, userBuilder: rpc.UserBuilder.noAuthentication }));

process.stdout.write(`${JSON.stringify({ url: base, sdk: manifest.version })}\n`);
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
