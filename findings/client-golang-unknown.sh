#!/bin/sh
# A Go counter named `packets` is a counter in Prometheus' text format, and "unknown" in OpenMetrics, which Prometheus asks for.
#
# One would guess: both formats have the same types; a counter without `_total` is named `packets_total` in OpenMetrics, or refused.
# So it is: with `EnableOpenMetrics` the same handler answers with what the scraper prefers, and a counter whose name does not end in
# `_total` cannot be one in OpenMetrics 1.0, so client_golang writes `# TYPE packets unknown`. curl shows a counter, and a
# scraper that prefers OpenMetrics has none: programs that decide by type do not know that its rate is of interest. The client for
# Python appends `_total` in both formats. Name counters with `_total`.
#
# Uses github.com/prometheus/client_golang v1.25.0 with Go, and prometheus_client 0.26.0 from PyPI, on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv && venv/bin/pip -q install prometheus_client==0.26.0 || exit 2
go mod init try 2> log && go get github.com/prometheus/client_golang@v1.25.0 2> log || { cat log >&2; exit 2; }
cat > main.go <<'END'
package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// scrape returns the lines about counters that a scraper with the header gets.
func scrape(url, accept string) []string {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		panic(err)
	}
	request.Header.Set("Accept", accept)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		panic(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		panic(err)
	}
	lines := []string{}
	for line := range strings.Lines(string(body)) {
		if strings.HasPrefix(line, "# TYPE") {
			lines = append(lines, strings.TrimSpace(strings.TrimPrefix(line, "# TYPE ")))
		}
	}
	return lines
}

func main() {
	registry := prometheus.NewRegistry()
	for _, name := range []string{"packets", "frames_total"} {
		counter := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: "Sent."})
		registry.MustRegister(counter)
		counter.Add(5)
	}
	server := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	expected := map[string]string{
		"text/plain": "frames_total counter, packets counter",
		"application/openmetrics-text;version=1.0.0": "frames counter, packets unknown",
	}
	fmt.Println("client_golang 1.25.0, counters packets and frames_total")
	for accept, types := range expected {
		seen := strings.Join(scrape(server.URL, accept), ", ")
		fmt.Printf("%s: %s\n", accept, seen)
		if seen != types {
			os.Exit(1)
		}
	}
}
END
go get github.com/prometheus/client_golang/prometheus/promhttp@v1.25.0 2> log || { cat log >&2; exit 2; }
go run .
cat > try.py <<'END'
import sys

from prometheus_client import CollectorRegistry, Counter, generate_latest
from prometheus_client.openmetrics import exposition

registry = CollectorRegistry()
Counter("packets", "Sent.", registry=registry)
types = [write(registry).decode().splitlines()[1] for write in (generate_latest, exposition.generate_latest)]
print("prometheus_client 0.26.0:", "; ".join(types))
sys.exit(types != ["# TYPE packets_total counter", "# TYPE packets counter"])
END
venv/bin/python try.py
