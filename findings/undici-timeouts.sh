#!/bin/sh
# undici's headersTimeout of 900 ms ends a request after anything from 0.5 to 1 s: also one whose answer would have come after 700 ms.
#
# One would guess: a request with `headersTimeout: 900` whose answer comes after 700 ms succeeds, whenever it begins.
# So it is: times up to 1 s are counted by a clock that ticks each half second, and end with its second tick, so from 0.5 to 1 s
# after the start, regardless of the number; longer ones are up to 0.5 s off. Of requests to a server that takes 0.7 s those that begin
# early in a tick succeed, and the others fail with UND_ERR_HEADERS_TIMEOUT: a rate of errors that is the client's. The same holds
# for `bodyTimeout`, and for a time-out of 100 ms, which ends nothing before half a second. For exact times use
# `AbortSignal.timeout(900)`.
#
# Uses undici 7.30.2 from npm with Node.js, with a server of the script on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent undici@7.30.2 || exit 2
cat > try.mjs <<'END'
import http from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

import { Agent, request } from "undici";

import undici from "undici/package.json" with { type: "json" };

const EACH = 10;
const server = http.createServer(async (asked, response) => {
  await sleep(Number(asked.url.slice(1)));
  response.end("ok");
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const origin = `http://127.0.0.1:${server.address().port}`;

// Requests that begin 50 ms apart to a server that takes a time: when those that succeed and those that fail end, in ms.
async function trial(takes, options) {
  const agent = new Agent({ headersTimeout: options.headersTimeout ?? 0, connections: EACH });
  const ends = { succeeded: [], failed: [] };
  await Promise.all(
    Array.from({ length: EACH }, async (_, number) => {
      await sleep(50 * number);
      const start = performance.now();
      const signal = options.signal && AbortSignal.timeout(options.signal);
      const outcome = await request(`${origin}/${takes}`, { dispatcher: agent, signal }).then(
        ({ body }) => body.text().then(() => "succeeded"),
        (error) => (/TIMEOUT|Timeout/.test(error.code ?? error.name) || error.code === 23 ? "failed" : "other"),
      );
      ends[outcome].push(performance.now() - start);
    }),
  );
  await agent.destroy();
  const range = (times) => (times.length ? `, ${Math.min(...times).toFixed(0)} to ${Math.max(...times).toFixed(0)} ms` : "");
  const lines = Object.entries(ends).map(([outcome, times]) => `${times.length} ${outcome}${range(times)}`);
  console.log(`server takes ${takes} ms, ${JSON.stringify(options)}: ${lines.join("; ")}`);
  return ends;
}

console.log(`undici ${undici.version}, Node.js ${process.versions.node}`);
const mixed = await trial(700, { headersTimeout: 900 });
const short = await trial(400, { headersTimeout: 100 });
const long = await trial(5000, { headersTimeout: 2100 });
const exact = await trial(700, { signal: 900 });
server.closeAllConnections();
server.close();
const spread = Math.max(...long.failed) - Math.min(...long.failed);
const split = mixed.succeeded.length > 1 && mixed.failed.length > 1 && Math.min(...mixed.failed) < 690;
process.exitCode = split && short.succeeded.length === EACH && spread > 200 && exact.succeeded.length === EACH ? 0 : 1;
END
node try.mjs 2> /dev/null
