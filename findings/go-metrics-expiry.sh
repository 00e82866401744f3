#!/bin/sh
# A counter that hashicorp/go-metrics exports to Prometheus is gone a minute after its last change, and begins again at 0.
#
# One would guess: a counter keeps its value as long as the program runs, and an idle one is exported as it was.
# So it is: PrometheusSink deletes counters, gauges and summaries that were not touched for `Expiration`, 60 s unless set, and that are not
# declared in its options. A counter of 1,000,000 that pauses is missing from a scrape, and 1 after the next packet. A page of totals shows
# nothing for an idle link; increase() takes the 1 for the first value of a new series and misses it; a sum over a day is wrong. Declare
# counters in `CounterDefinitions`, or set the expiration to 0.
#
# This sets it to 2 s, to be quick, and shows the default. Uses github.com/hashicorp/go-metrics v0.7.0 and
# github.com/prometheus/client_golang v1.25.0 with Go; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
go mod init try 2> log && go get github.com/hashicorp/go-metrics@v0.7.0 2> log || { cat log >&2; exit 2; }
go get github.com/prometheus/client_golang@v1.25.0 2> log || { cat log >&2; exit 2; }
cat > main.go <<'END'
package main

import (
	"fmt"
	"os"
	"time"

	metrics "github.com/hashicorp/go-metrics"
	sinks "github.com/hashicorp/go-metrics/prometheus"
	"github.com/prometheus/client_golang/prometheus"
)

// Values of the counters that a scrape sees.
func trial(options sinks.PrometheusOpts) (seen []string) {
	registry := prometheus.NewRegistry()
	options.Registerer = registry
	sink, err := sinks.NewPrometheusSinkFrom(options)
	if err != nil {
		panic(err)
	}
	settings := metrics.DefaultConfig("")
	settings.EnableHostname, settings.EnableRuntimeMetrics = false, false
	all, err := metrics.New(settings, sink)
	if err != nil {
		panic(err)
	}
	scrape := func() {
		families, err := registry.Gather()
		if err != nil {
			panic(err)
		}
		now := "nothing"
		for _, family := range families {
			now = fmt.Sprintf("%s %.0f", family.GetName(), family.GetMetric()[0].GetCounter().GetValue())
		}
		seen = append(seen, now)
	}
	all.IncrCounter([]string{"packets"}, 1_000_000)
	scrape()
	time.Sleep(3 * time.Second)
	scrape()
	all.IncrCounter([]string{"packets"}, 1)
	scrape()
	return
}

func main() {
	fmt.Println("go-metrics v0.7.0, expiration unless set:", sinks.DefaultPrometheusOpts.Expiration)
	expiring := trial(sinks.PrometheusOpts{Expiration: 2 * time.Second})
	fmt.Printf("expiration of 2 s: %q, after 3 s %q, after one more packet %q\n", expiring[0], expiring[1], expiring[2])
	lasting := trial(sinks.PrometheusOpts{})
	fmt.Printf("no expiration: %q, %q, %q\n", lasting[0], lasting[1], lasting[2])
	as := fmt.Sprint(expiring) == "[packets 1000000 nothing packets 1]" && fmt.Sprint(lasting) == "[packets 1000000 packets 1000000 packets 1000001]"
	if !as || sinks.DefaultPrometheusOpts.Expiration != time.Minute {
		os.Exit(1)
	}
}
END
go mod tidy 2> log && go build -o try . || exit 2
./try
