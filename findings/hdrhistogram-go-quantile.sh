#!/bin/sh
# ValueAtQuantile of HdrHistogram for Go takes per cent: ValueAtQuantile(0.99) is not p99 but next to the minimum.
#
# One would guess: a quantile is between 0 and 1, as in ports for other languages and in Prometheus, so 0.99 is p99.
# So it is: it is the same as ValueAtPercentile. Of the times from 1 ms to 1,000 ms ValueAtQuantile(0.99) is 10 ms, and ValueAtQuantile(99)
# is 990 ms. Quantiles above 100 are no error either, but the maximum. A limit on `ValueAtQuantile(0.999)` never fails, since it
# looks at the fastest hundredth.
#
# Uses github.com/HdrHistogram/hdrhistogram-go v1.4.0 with Go; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
go mod init try 2> log && go get github.com/HdrHistogram/hdrhistogram-go@v1.4.0 2> log || { cat log >&2; exit 2; }
cat > main.go <<'END'
package main

import (
	"fmt"
	"os"

	"github.com/HdrHistogram/hdrhistogram-go"
)

func main() {
	fmt.Println("hdrhistogram-go v1.4.0, 1,000 times from 1 ms to 1,000 ms, in microseconds")
	histogram := hdrhistogram.New(1, 60_000_000, 3)
	for i := int64(1); i <= 1000; i++ {
		if err := histogram.RecordValue(i * 1000); err != nil {
			panic(err)
		}
	}
	near := func(value, expected int64) bool { return value*100 > expected*99 && value*100 < expected*101 }
	small, large, beyond := histogram.ValueAtQuantile(0.99), histogram.ValueAtQuantile(99), histogram.ValueAtQuantile(999)
	fmt.Println("ValueAtQuantile(0.99):", small, "ValueAtQuantile(99):", large, "ValueAtQuantile(999):", beyond)
	fmt.Println("ValueAtPercentile(0.99):", histogram.ValueAtPercentile(0.99), "ValueAtPercentile(99):", histogram.ValueAtPercentile(99))
	if !near(small, 10_000) || !near(large, 990_000) || !near(beyond, 1_000_000) {
		os.Exit(1)
	}
}
END
go run .
