#!/bin/sh
# A cluster's Summary adds up the quantiles of its workers: four workers with a median of 100 ms have one of 400 ms together.
#
# One would guess: quantiles of several processes cannot be merged exactly, so the aggregated Summary has their average, their maximum,
# or none.
# So it is: prom-client's AggregatorRegistry adds all samples of the same labels, and a quantile is one of them. With four workers, each
# of which saw 100 requests of 0.1 s, the cluster's 0.5 and 0.99 quantiles are 0.4 s; with 16 they would be 1.6 s. Gauges add up, too,
# unless they name another `aggregator`. Count and sum are right. A test that scales a server by workers sees it get slower. Use a
# Histogram, whose buckets may be added.
#
# Uses prom-client 15.1.3 from npm; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > init.log && npm install --silent prom-client@15.1.3 || exit 2
cat > try.js <<'END'
const { AggregatorRegistry, Registry, Summary } = require("prom-client");

/** What a worker of a cluster sends to its primary process: a Summary of 100 requests of 0.1 s each. */
function worker() {
  const registers = [new Registry()];
  const summary = new Summary({ name: "latency_seconds", help: "Latency in s.", percentiles: [0.5, 0.99], registers });
  for (let i = 0; i < 100; i++) summary.observe(0.1);
  return registers[0].getMetricsAsJSON();
}

(async () => {
  console.log(`prom-client ${require("prom-client/package.json").version}`);
  const seen = [];
  for (const workers of [1, 4, 16]) {
    const sent = await Promise.all(Array.from({ length: workers }, worker));
    const text = await AggregatorRegistry.aggregate(sent).metrics();
    const [median, p99, count] = [/"0.5"} (\S+)/, /"0.99"} (\S+)/, /_count (\S+)/].map((form) => Number(text.match(form)[1]));
    console.log(`${workers} workers, all requests of 0.1 s: median ${median} s, 0.99 quantile ${p99} s, count ${count}`);
    seen.push(median.toFixed(3), p99.toFixed(3), count);
  }
  process.exit(seen.join() === "0.100,0.100,100,0.400,0.400,400,1.600,1.600,1600" ? 0 : 1);
})();
END
node try.js
