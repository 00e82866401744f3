#!/bin/sh
# A message above 1 MB disconnects a Socket.IO client, which connects again, and the emit that lost it reports nothing.
#
# One would guess: a message that is too long for the server gets an error at the sender, or at the server, and the connection lasts.
# So it is: `maxHttpBufferSize` is 1,000,000 bytes; a longer message ends the connection with "transport close" or "transport error", as a
# broken network does. emit() has returned, the client connects again by itself with a new id, and the message and what came behind it are
# gone; only an acknowledgement with a time-out shows it. In a load test this is a reconnect rate that grows with the size of messages.
#
# Uses socket.io 4.8.4 and socket.io-client 4.8.4 from npm with Node.js 20, on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund socket.io@4.8.4 socket.io-client@4.8.4 || exit 2
cat > try.mjs <<'END'
import { Server } from 'socket.io';
import { io } from 'socket.io-client';

const server = new Server(0);
let got = [];
let connections = 0;
server.on('connection', (socket) => {
  connections++;
  socket.on('data', (bytes) => got.push(bytes.length));
});
const url = `http://127.0.0.1:${server.httpServer.address().port}`;

/** Messages that arrive of one and a short one behind it, connections, and errors that the sender sees. */
async function trial(size) {
  got = [];
  connections = 0;
  const errors = [];
  const client = io(url, { forceNew: true });
  await new Promise((done) => client.once('connect', done));
  client.on('disconnect', (reason) => errors.push(reason));
  client.on('connect_error', (error) => errors.push(error.message));
  client.emit('data', Buffer.alloc(size));
  client.emit('data', Buffer.alloc(5));
  await new Promise((done) => setTimeout(done, 8000));
  client.off('disconnect');
  client.close();
  console.log(`emit of ${size} bytes and of 5: ${JSON.stringify(got)} arrive, ${connections} connections; the client sees ${JSON.stringify(errors)}`);
  return `${got} in ${connections}`;
}

console.log('socket.io 4.8.4');
const fits = await trial(900_000);
const long = await trial(1_100_000);
process.exit(fits === '900000,5 in 1' && long === ' in 2' ? 0 : 1);
END
timeout 60 node try.mjs
