#!/bin/sh
# npm's websocket takes messages of 1 MB from its own client, and of another one none above 65,536 bytes: it limits frames.
#
# One would guess: a server that takes a message of 1,000,000 bytes takes it from any client.
# So it is: its server limits messages to 1 MiB and frames to 64 KiB. Its own client cuts messages into frames of 16 KiB, so it never meets
# the second limit; ws and others send a message as one frame, and at 70,000 bytes the server closes with 1009. A
# server tested with the package's own client works, and fails with others from a size on that is a sixteenth. Set
# `maxReceivedFrameSize`.
#
# Uses websocket 1.0.35 and ws 8.23.0 from npm with Node.js 20, on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund websocket@1.0.35 ws@8.23.0 || exit 2
cat > try.mjs <<'END'
import http from 'node:http';
import websocket from 'websocket';
import WebSocket from 'ws';

const web = http.createServer();
let report;
new websocket.server({ httpServer: web, autoAcceptConnections: true }).on('connect', (connection) => {
  connection.on('message', (message) => report(message.binaryData.length));
  connection.on('close', (code) => report(`closed with ${code}`));
});
await new Promise((done) => web.listen(0, '127.0.0.1', done));
const url = `ws://127.0.0.1:${web.address().port}`;

/** Length of the message that the server gets, or the code with which it closes. */
async function trial(name, size, send) {
  const result = await new Promise((done) => {
    report = done;
    send(Buffer.alloc(size));
  });
  console.log(`${name}: a message of ${size} bytes: ${result}`);
  return result;
}

function own(data) {
  new websocket.client().on('connect', (connection) => connection.sendBytes(data)).connect(url);
}

function ws(data) {
  const client = new WebSocket(url);
  client.on('open', () => client.send(data)).on('error', () => {});
}

const seen = [
  await trial('websocket 1.0.35 as client', 1_000_000, own),
  await trial('ws 8.23.0 as client', 65_000, ws),
  await trial('ws 8.23.0 as client', 70_000, ws),
];
process.exit(seen.join() === '1000000,65000,closed with 1009' ? 0 : 1);
END
timeout 60 node try.mjs
