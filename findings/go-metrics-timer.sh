#!/bin/sh
# The maximum and the sum of a go-metrics Timer are those of a sample: of a million calls the slowest, of 10 s, does not show.
#
# One would guess: count, sum, minimum and maximum are of all values, and only the percentiles of a sample, as in other libraries.
# So it is: only the count is. A Timer keeps 1,028 values that it draws at random, and Max(), Min(), Mean() and Sum() are theirs. A million
# calls of 1 ms and one of 10 s show a maximum of 1 ms in 999 of a thousand tries, and a sum of 1.028 s instead of 1,010 s. Whoever divides
# the sum by the count has 1 µs for a mean. What should have shown the stall hides it.
#
# Uses github.com/rcrowley/go-metrics v0.0.0-20250401214520-65e299d6c5c9 with Go; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
go mod init try 2> log && go get github.com/rcrowley/go-metrics@v0.0.0-20250401214520-65e299d6c5c9 2> log || { cat log >&2; exit 2; }
cat > main.go <<'END'
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/rcrowley/go-metrics"
)

func main() {
	fmt.Println("go-metrics v0.0.0-20250401214520-65e299d6c5c9: 1,000,000 calls of 1 ms and one of 10 s, five times")
	hidden := 0
	for try := 0; try < 5; try++ {
		timer := metrics.NewTimer()
		for i := 0; i < 1_000_001; i++ {
			if i == 500_000 {
				timer.Update(10 * time.Second)
			} else {
				timer.Update(time.Millisecond)
			}
		}
		sum := time.Duration(timer.Sum())
		fmt.Println("count", timer.Count(), "max", time.Duration(timer.Max()), "sum", sum)
		if timer.Count() == 1_000_001 && timer.Max() == int64(time.Millisecond) && sum == 1028*time.Millisecond {
			hidden++
		}
		timer.Stop()
	}
	if hidden < 3 {
		os.Exit(1)
	}
}
END
go run .
