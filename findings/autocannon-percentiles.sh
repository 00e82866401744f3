#!/bin/sh
# autocannon's JSON has no 95th percentile; beside p90 it has p97_5.
#
# One would guess: `latency.p95` is there, as in the summaries of most load tools and in most objectives.
# So it is: there are p0_001 to p99_999, with p90, then p97_5 and p99. A script that reads `latency.p95` gets `undefined`, and a
# check such as `p95 > limit` on it never fails.
#
# Uses autocannon 8.0.0 from npm, with a server on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > init.log && npm install --silent autocannon@8.0.0 || exit 2
cat > try.js <<'END'
const autocannon = require("autocannon");
const { version } = require("autocannon/package.json");

const server = require("http").createServer((request, response) => response.end("hello"));
server.listen(0, "127.0.0.1", async () => {
  const url = `http://127.0.0.1:${server.address().port}/`;
  const { latency } = await autocannon({ url, connections: 2, amount: 200 });
  server.close();
  const names = Object.keys(latency).filter((name) => /^p\d/.test(name));
  console.log(`autocannon ${version}`);
  console.log(`percentiles: ${names.join(" ")}`);
  console.log(`latency.p95: ${latency.p95}; latency.p95 > 0: ${latency.p95 > 0}`);
  process.exit("p95" in latency || !("p97_5" in latency) ? 1 : 0);
});
END
node try.js
