#!/bin/sh
# Node.js enforces `headersTimeout` twice a minute: with one of 1 s a client that has sent half a header gets its 408 after up to 31 s.
#
# One would guess: a server with `headersTimeout = 1000` answers a connection whose header is not complete after a second, and closes it.
# So it is: connections are looked at each 30 s, `connectionsCheckingInterval`, and those whose time is up then get a 408. The same goes
# for `requestTimeout`. A test of time-outs measures anything from 1 s to 31 s, by when the client came since the server's start. With
# `http.createServer({ connectionsCheckingInterval: 500 })` it takes 1 to 1.5 s.
#
# Uses node 20.20.2 from npm, as servers on loopback ports; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > init.log && npm install --silent node@20.20.2 || exit 2
cat > try.js <<'END'
const http = require("http");
const net = require("net");

/** Seconds until a client that has sent half a header gets an answer, of a server with these options. */
function wait(options) {
  return new Promise((resolve) => {
    const server = http.createServer({ headersTimeout: 1000, requestTimeout: 2000, ...options }, (request, response) => response.end());
    server.listen(0, "127.0.0.1", () => {
      const start = Date.now();
      const client = net.connect(server.address().port, "127.0.0.1", () => client.write("GET / HTTP/1.1\r\nHost: a\r\n"));
      client.on("data", (data) => {
        const seconds = (Date.now() - start) / 1000;
        console.log(process.version, "headersTimeout 1 s", options, String(data).split("\r\n")[0], `after ${seconds.toFixed(1)} s`);
        client.destroy();
        server.close();
        resolve(seconds);
      });
    });
  });
}

Promise.all([wait({}), wait({ connectionsCheckingInterval: 500 })]).then(([usual, often]) => {
  process.exit(usual > 20 && often < 10 ? 0 : 1);
});
END
node_modules/.bin/node try.js
