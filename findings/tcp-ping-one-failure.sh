#!/bin/sh
# tcp-ping has no average, minimum and maximum of ten attempts if one of them failed.
#
# One would guess: a connection that is refused counts as a failure, and the times are those of the nine that were made.
# So it is: the average is NaN (null in JSON), the minimum and maximum are undefined, and the call has no error. A check such as
# `avg > 10` is false for a host that fails, and a graph shows a gap or 0. The times of the nine are in `results`.
#
# Uses tcp-ping 0.1.1 from npm, with a server on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent tcp-ping@0.1.1 || exit 2
cat > try.cjs <<'END'
const net = require("node:net");
const { promisify } = require("node:util");
const { ping } = require("tcp-ping");

const ATTEMPTS = 10;

// trial gives what tcp-ping says of a server that refuses all connections but the first ones.
async function trial(served) {
  let count = 0;
  const server = net.createServer((connection) => {
    connection.destroy();
    count += 1;
    if (count === served) server.close();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const result = await promisify(ping)({ address: "127.0.0.1", port: server.address().port, attempts: ATTEMPTS, timeout: 2000 });
  const times = result.results.filter(({ time }) => time !== undefined);
  console.log(`${ATTEMPTS} attempts, ${times.length} with a time: avg ${result.avg} min ${result.min} max ${result.max}`);
  return { times: times.length, ...result };
}

(async () => {
  const all = await trial(ATTEMPTS);
  const some = await trial(ATTEMPTS - 1);
  const same = all.times === ATTEMPTS && all.avg > 0 && all.max >= all.min
    && some.times === ATTEMPTS - 1 && Number.isNaN(some.avg) && some.min === undefined && some.max === undefined;
  process.exit(same ? 0 : 1);
})();
END
echo tcp-ping 0.1.1
timeout 60 node try.cjs
