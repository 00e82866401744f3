#!/bin/sh
# undici never reuses a connection whose server says "Keep-Alive: timeout=2", however soon the next request comes.
#
# One would guess: a client that sends its next request within a millisecond reuses the connection, if the server offers two seconds.
# So it is: undici takes two seconds off the time that a server announces, to be safe, and what is left of 1 or 2 s is nothing: each request
# is a new connection, 20 for 20, and with TLS a handshake each. From 3 s on two serve all. Node's own fetch(), which is undici, does the
# same, and the agent of node:http takes one second off. A server that shortens its keep-alive time from 5 to 2 s for a load test gets
# a new connection for each request. `keepAliveTimeoutThreshold` of Agent sets it.
#
# Uses undici 7.30.2 from npm with Node.js 20, on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund undici@7.30.2 || exit 2
cat > try.mjs <<'END'
import http from 'node:http';
import { Agent, request } from 'undici';

const REQUESTS = 20;
let connections = 0;
const server = http.createServer((asked, response) => {
  response.setHeader('Connection', 'keep-alive');
  response.setHeader('Keep-Alive', `timeout=${asked.url.slice(1)}`);
  response.end('ok');
});
server.on('connection', () => connections++);
server.keepAliveTimeout = 10_000;
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const base = `http://127.0.0.1:${server.address().port}/`;

/** Connections that requests one after another need, where the server announces a time in seconds. */
async function trial(name, seconds, get) {
  connections = 0;
  for (let number = 0; number < REQUESTS; number++) await get(base + seconds);
  console.log(`${name}, "Keep-Alive: timeout=${seconds}": ${REQUESTS} requests, ${connections} connections`);
  return connections;
}

const undici = (dispatcher) => async (url) => (await request(url, { dispatcher })).body.text();
const agent = new http.Agent({ keepAlive: true });
const node = (url) => new Promise((done) => http.get(url, { agent }, (response) => response.resume().on('end', done)));
console.log('undici 7.30.2, Node.js', process.version);
const each = [
  await trial('undici', 1, undici(new Agent())),
  await trial('undici', 2, undici(new Agent())),
  await trial('fetch of Node.js', 2, async (url) => (await fetch(url)).text()),
];
const few = [
  await trial('undici', 3, undici(new Agent())),
  await trial('undici, keepAliveTimeoutThreshold 100', 2, undici(new Agent({ keepAliveTimeoutThreshold: 100 }))),
  await trial('node:http', 2, node),
];
process.exit(each.every((count) => count === REQUESTS) && few.every((count) => count < 5) ? 0 : 1);
END
timeout 60 node try.mjs
