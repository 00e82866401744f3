#!/bin/sh
# http-proxy closes the connections on both sides after each request: 50 requests of one client are 50 connections at each end.
#
# One would guess: a proxy keeps the client's connection open, as the client and Node.js do by default, and reuses those to the server.
# So it is: without an `agent` http-proxy sends "Connection: close" to the server, whose response has the same, and passes it on to the
# client. 50 requests over a client's one kept connection are 50 connections in front and 50 behind, so a load through it is a test of
# connection set-up, with TLS of handshakes. http-proxy-3 is the same, httpxy keeps one each. With `agent: new http.Agent({keepAlive:
# true})` all do.
#
# Uses http-proxy 1.18.1, http-proxy-3 2.0.1 and httpxy 0.5.6 from npm with Node.js 20, on loopback ports; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund http-proxy@1.18.1 http-proxy-3@2.0.1 httpxy@0.5.6 || exit 2
cat > try.mjs <<'END'
import http from 'node:http';
import httpProxy from 'http-proxy';
import { createProxyServer } from 'http-proxy-3';
import { createProxyServer as createHttpxy } from 'httpxy';

const REQUESTS = 50;
const listening = (server) => new Promise((done) => server.listen(0, '127.0.0.1', () => done(server.address().port)));
let behind = 0;
const server = http.createServer((request, response) => response.end('ok'));
server.on('connection', () => behind++);
const target = `http://127.0.0.1:${await listening(server)}`;

/** Connections in front of and behind a proxy that one client's requests need. */
async function trial(name, proxy) {
  let inFront = 0;
  const front = http.createServer((request, response) => proxy.web(request, response));
  front.on('connection', () => inFront++);
  const port = await listening(front);
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  behind = 0;
  for (let number = 0; number < REQUESTS; number++) {
    await new Promise((done, fail) => {
      http.get({ host: '127.0.0.1', port, agent }, (response) => response.resume().on('end', done)).on('error', fail);
    });
  }
  agent.destroy();
  front.close();
  console.log(`${name}: ${REQUESTS} requests of one client: ${inFront} connections in front, ${behind} behind`);
  return `${inFront} ${behind}`;
}

const agent = new http.Agent({ keepAlive: true });
const seen = [
  await trial('http-proxy 1.18.1', httpProxy.createProxyServer({ target })),
  await trial('http-proxy-3 2.0.1', createProxyServer({ target })),
  await trial('httpxy 0.5.6', createHttpxy({ target })),
  await trial('http-proxy 1.18.1 with an agent', httpProxy.createProxyServer({ target, agent })),
];
process.exit(seen.join() === '50 50,50 50,1 1,1 1' ? 0 : 1);
END
timeout 60 node --no-deprecation try.mjs
