#!/bin/sh
# A limiter of 100 a second lets 11 through at once after a pause: Uber's "leaky bucket" gives back up to ten turns that were missed.
#
# One would guess: `New(100)` keeps calls 10 ms apart, as its documentation has it, "a leaky-bucket rate limit algorithm", and a turn that
# nobody took is gone; bursts are for token buckets.
# So it is: up to ten missed turns are made up for without a wait (`WithSlack(10)` by default). After a second's pause eleven calls go
# through at the same instant. A load generator that stalls for 100 ms sends the next ten requests at once, and an even load becomes one of
# bursts wherever responses are late. `WithoutSlack` keeps calls apart, and makes the rate lower than set for each stall.
#
# Uses go.uber.org/ratelimit v0.3.1 with Go, and a clock of the script; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
go mod init try 2> log && go get go.uber.org/ratelimit@v0.3.1 2> log || { cat log >&2; exit 2; }
cat > main.go <<'END'
package main

import (
	"fmt"
	"os"
	"time"

	"go.uber.org/ratelimit"
)

// clock is a time that goes on only while somebody sleeps.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func (c *clock) Sleep(duration time.Duration) {
	if duration > 0 {
		c.now = c.now.Add(duration)
	}
}

// after returns when each of 20 calls goes through, from the end of a pause of a second on.
func after(options ...ratelimit.Option) (times []time.Duration) {
	now := &clock{time.Unix(1_000_000, 0)}
	limiter := ratelimit.New(100, append(options, ratelimit.WithClock(now))...)
	for i := 0; i < 50; i++ {
		limiter.Take()
	}
	now.Sleep(time.Second)
	start := now.now
	for i := 0; i < 20; i++ {
		limiter.Take()
		times = append(times, now.now.Sub(start))
	}
	return times
}

func main() {
	usual, strict := after(), after(ratelimit.WithoutSlack)
	fmt.Println("go.uber.org/ratelimit v0.3.1: 20 calls at 100/s after a pause of a second")
	fmt.Println("as it is:     ", usual)
	fmt.Println("WithoutSlack: ", strict)
	if usual[10] != 0 || usual[11] != 10*time.Millisecond || strict[1] != 10*time.Millisecond || strict[19] != 190*time.Millisecond {
		os.Exit(1)
	}
}
END
go run .
