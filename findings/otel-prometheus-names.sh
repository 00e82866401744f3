#!/bin/sh
# One OpenTelemetry metric has three names in Prometheus: "loss" with the unit 1 is loss_ratio with Go, "latency" in ms is latency with
# Node.js and latency_milliseconds with the others.
#
# One would guess: the same instruments, exported by the Prometheus exporters of OpenTelemetry's own SDKs, have the same names, so one
# dashboard serves programs in all languages.
# So it is: Node.js adds no unit, Go and Python do; Go alone writes the unit 1 of a gauge as _ratio; a counter named "bytes" with the unit
# By is bytes_total with Node.js and Go, and bytes_bytes_total with Python. Panels and alerts made for one of them have no data for the
# others, and no error. Metrics without units, and with names that end in none, are alike in all three. Or export OTLP and let one
# collector write the names.
#
# Uses @opentelemetry/exporter-prometheus 0.223.0 and @opentelemetry/sdk-metrics 2.12.1 from npm, opentelemetry-exporter-prometheus 0.66b2
# from PyPI, and go.opentelemetry.io/otel/exporters/prometheus v0.69.0 with Go; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv && venv/bin/pip -q install opentelemetry-exporter-prometheus==0.66b2 || exit 2
npm init -y > log && npm install --silent @opentelemetry/exporter-prometheus@0.223.0 @opentelemetry/sdk-metrics@2.12.1 || exit 2
go mod init try 2> log || exit 2
go get go.opentelemetry.io/otel/exporters/prometheus@v0.69.0 2> log || { cat log >&2; exit 2; }
cat > try.js <<'END'
const { PrometheusExporter } = require("@opentelemetry/exporter-prometheus");
const { MeterProvider } = require("@opentelemetry/sdk-metrics");

const exporter = new PrometheusExporter({ preventServerStart: true });
const meter = new MeterProvider({ readers: [exporter] }).getMeter("try");
meter.createCounter("packets").add(1);
meter.createCounter("bytes", { unit: "By" }).add(1);
meter.createUpDownCounter("latency", { unit: "ms" }).add(1);
meter.createObservableGauge("loss", { unit: "1" }).addCallback((result) => result.observe(0.5));
exporter.getMetricsRequestHandler({}, { setHeader() {}, end: (text) => console.log(text) });
END
cat > try.py <<'END'
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.metrics import Observation
from opentelemetry.sdk.metrics import MeterProvider
from prometheus_client import generate_latest

meter = MeterProvider([PrometheusMetricReader()]).get_meter("try")
meter.create_counter("packets").add(1)
meter.create_counter("bytes", unit="By").add(1)
meter.create_up_down_counter("latency", unit="ms").add(1)
meter.create_observable_gauge("loss", unit="1", callbacks=[lambda _: [Observation(0.5)]])
print(generate_latest().decode())
END
cat > main.go <<'END'
package main

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
)

func main() {
	exporter, err := prometheus.New()
	if err != nil {
		panic(err)
	}
	meter, always := sdk.NewMeterProvider(sdk.WithReader(exporter)).Meter("try"), context.Background()
	packets, _ := meter.Int64Counter("packets")
	packets.Add(always, 1)
	bytes, _ := meter.Int64Counter("bytes", metric.WithUnit("By"))
	bytes.Add(always, 1)
	latency, _ := meter.Int64UpDownCounter("latency", metric.WithUnit("ms"))
	latency.Add(always, 1)
	half := func(_ context.Context, observer metric.Float64Observer) error { observer.Observe(0.5); return nil }
	meter.Float64ObservableGauge("loss", metric.WithUnit("1"), metric.WithFloat64Callback(half))
	response := httptest.NewRecorder()
	promhttp.Handler().ServeHTTP(response, httptest.NewRequest("GET", "/metrics", nil))
	fmt.Println(response.Body)
}
END
go mod tidy 2> log || { cat log >&2; exit 2; }
names() { grep -o '^\(packets\|bytes\|latency\|loss\)[a-z_]*' "$1" | sort | tr '\n' ' '; }
node try.js > node.txt && venv/bin/python try.py > python.txt && go run . > go.txt
as_described=0
check() {
    echo "$1: $(names "$1.txt")"
    [ "$(names "$1.txt")" = "$2 " ] || as_described=1
}
check node "bytes_total latency loss packets_total"
check python "bytes_bytes_total latency_milliseconds loss packets_total"
check go "bytes_total latency_milliseconds loss_ratio packets_total"
exit $as_described
