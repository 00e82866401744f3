#!/bin/sh
# fortio's median of 99 calls of 0.1 ms and one of 0.9 ms is 0.5 ms; a hundredth of its resolution mends that, and makes slow calls worse.
#
# One would guess: percentiles are exact to about the resolution (`-r`), 1 ms, and a finer resolution is finer everywhere.
# So it is: all up to the resolution is one bucket, in which percentiles lie on a straight line from the minimum to the maximum: the
# median is 0.50 ms and p90 0.82 ms, of calls of 0.1 ms. Further up buckets get wider with the number of resolutions, so a finer one has
# coarser buckets there: 99 calls of 150 ms and one of 1.5 s have a median of 155 ms with 1 ms, and of 175 ms with 10 µs. The average is
# right. Choose `-r` a little below the fastest call.
#
# Uses fortio.org/fortio v1.69.5 with Go; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
go mod init try 2> log && go get fortio.org/fortio/stats@v1.69.5 2> log || { cat log >&2; exit 2; }
cat > main.go <<'END'
package main

import (
	"fmt"
	"os"

	"fortio.org/fortio/stats"
)

func main() {
	seen := ""
	for _, resolution := range []float64{0.001, 0.00001} {
		for _, call := range []struct{ usual, slowest float64 }{{0.0001, 0.0009}, {0.150, 1.5}} {
			histogram := stats.NewHistogram(0, resolution)
			for i := 0; i < 99; i++ {
				histogram.Record(call.usual)
			}
			histogram.Record(call.slowest)
			found := histogram.Export().CalcPercentiles([]float64{50, 90})
			median, p90 := found.Percentiles[0].Value*1000, found.Percentiles[1].Value*1000
			fmt.Printf("fortio v1.69.5, resolution %g ms: 99 calls of %g ms and one of %g ms: median %.2f ms, p90 %.2f ms, average %.2f ms\n",
				resolution*1000, call.usual*1000, call.slowest*1000, median, p90, found.Avg*1000)
			seen += fmt.Sprintf("%.2f %.2f ", median, p90)
		}
	}
	if seen != "0.50 0.82 155.00 159.08 0.10 0.10 175.00 195.41 " {
		os.Exit(1)
	}
}
END
go run .
