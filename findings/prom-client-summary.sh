#!/bin/sh
# A Summary of prom-client shows quantiles far from every observation: the median of 99 times 1 and once 1,000 is 10.99.
#
# One would guess: the median of a hundred values of which 99 are 1 is 1, and so is the 0.95 quantile; an approximation is off by
# a few percent.
# So it is: equal values are one centroid, and quantiles between two centroids lie on a straight line between them: 0.5 is 10.99,
# 0.9 is 810.19, 0.95 is 910.09. Measured times rounded to milliseconds give such groups. The sum and the count are right.
#
# Uses prom-client 15.1.3 from npm; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > init.log && npm install --silent prom-client@15.1.3 || exit 2
cat > try.js <<'END'
const { Summary } = require("prom-client");

(async () => {
  const summary = new Summary({ name: "latency_ms", help: "Latency in ms.", percentiles: [0.5, 0.9, 0.95, 0.99] });
  for (let i = 0; i < 99; i++) summary.observe(1);
  summary.observe(1000);
  const { values } = await summary.get();
  const seen = values.filter(({ labels }) => labels.quantile).map(({ value }) => value.toFixed(2));
  console.log(`prom-client ${require("prom-client/package.json").version}`);
  console.log("99 observations of 1 and one of 1000:");
  for (const { labels, metricName, value } of values) console.log(` ${metricName ?? "quantile " + labels.quantile}: ${value}`);
  process.exit(seen.join() === "10.99,810.19,910.09,990.01" ? 0 : 1);
})();
END
node try.js
