#!/bin/sh
# A counter of OpenTelemetry for JavaScript keeps 1,999 sets of attributes: of 10,000 flows, counted by flow, 8,001 are one.
#
# One would guess: each set of attributes is a data point, as many as there are, as with clients of Prometheus.
# So it is: the first 1,999 have points, and all others are added up in one with the attribute `otel.metric.overflow`. The total is right,
# so no sum looks odd, but a flow, port or client that comes late has no count at all, though it is counted without an error or a
# log. A view with an `aggregationCardinalityLimit` of 20,000 has all 10,000.
#
# Uses @opentelemetry/sdk-metrics 3.1.1 from npm; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > init.log && npm install --silent @opentelemetry/sdk-metrics@3.1.1 || exit 2
cat > try.js <<'END'
const metrics = require("@opentelemetry/sdk-metrics");

async function count(views) {
  const exporter = new metrics.InMemoryMetricExporter(metrics.AggregationTemporality.CUMULATIVE);
  const reader = new metrics.PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 60_000 });
  const provider = new metrics.MeterProvider({ readers: [reader], views });
  const counter = provider.getMeter("try").createCounter("packets");
  for (let flow = 0; flow < 10_000; flow++) counter.add(1, { flow });
  await reader.forceFlush();
  const points = exporter.getMetrics()[0].scopeMetrics[0].metrics[0].dataPoints;
  const rest = points.filter((point) => point.attributes["otel.metric.overflow"]).map((point) => point.value);
  const total = points.reduce((sum, point) => sum + point.value, 0);
  const late = points.some((point) => point.attributes.flow === 5000);
  console.log("10,000 flows:", points.length, "points, total", total, "overflow", rest, "flow 5000 has a point:", late);
  await provider.shutdown();
  return [points.length, total, ...rest].join();
}

(async () => {
  console.log("@opentelemetry/sdk-metrics", require("./package-lock.json").packages["node_modules/@opentelemetry/sdk-metrics"].version);
  const seen = [await count([]), await count([{ instrumentName: "packets", aggregationCardinalityLimit: 20_000 }])];
  process.exit(seen.join(" ") === "2000,10000,8001 10000,10000" ? 0 : 1);
})();
END
node try.js
