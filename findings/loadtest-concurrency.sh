#!/bin/sh
# With a rate loadtest ignores its concurrency: `-c 10 --rps 100` holds 101 requests open at a server that takes a second.
#
# One would guess: ten clients have at most ten requests open; a server that takes a second then gets ten a second, and the result
# shows a rate below the one asked for.
# So it is: with a rate a request that finds all clients busy makes a new client, without a limit: 101 are open at once, and the server
# has its 100 a second. Without a rate ten are open. The result says "clients": 101 beside "concurrency": 10. Requests still open at the
# end count as nothing: of 300 sent in three seconds 200 are reported, as 67 a second, without an error.
#
# Uses loadtest 8.2.1 from npm, on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > init.log && npm install --silent loadtest@8.2.1 || exit 2
cat > try.js <<'END'
const http = require("http");
const { loadTest } = require("loadtest");

let open = 0, most = 0, seen = 0;
const server = http.createServer((request, response) => {
    seen += 1;
    most = Math.max(most, ++open);
    setTimeout(() => { open -= 1; response.end("x"); }, 1000);
});
server.listen(0, "127.0.0.1", async () => {
    console.log("loadtest", require("loadtest/package.json").version);
    const found = [];
    for (const rate of [undefined, 100]) {
        most = seen = 0;
        const url = `http://127.0.0.1:${server.address().port}/`;
        const result = await loadTest({ url, concurrency: 10, maxSeconds: 3, requestsPerSecond: rate });
        console.log(`concurrency 10, rate ${rate}: at most ${most} open, ${seen} seen;`,
            `reported: clients ${result.clients}, requests ${result.totalRequests}, errors ${result.totalErrors}, rps ${result.rps}`);
        found.push([most, seen, result.clients, result.totalRequests, result.totalErrors]);
        await new Promise((resolve) => setTimeout(resolve, 1500));
    }
    const [[plain], [with_rate, sent, clients, reported, errors]] = found;
    process.exit(plain === 10 && with_rate > 60 && clients > 60 && reported < 0.8 * sent && errors === 0 ? 0 : 1);
});
END
node try.js
