#!/bin/sh
# layeh.com/radius repeats a request each second without an end or a longer pause: a silent server gets one a second of each client.
#
# One would guess: Exchange gives up after a few tries, with growing pauses as RFC 5080 (section 2.2.1) has them, and returns a time-out.
# So it is: it sends the request again each second until its context ends, which with context.Background() is never. A thousand clients that
# wait for a server that is down send it a thousand requests a second, and a load generator that has no deadline hangs, without
# a failure in its results. Give each call a context with a time-out.
#
# Takes a third of a minute. Uses layeh.com/radius v0.0.0-20231213012653-1006025d24f8 with Go, on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
go mod init try 2> log && go get layeh.com/radius@v0.0.0-20231213012653-1006025d24f8 2> log || { cat log >&2; exit 2; }
cat > main.go <<'END'
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"

	"layeh.com/radius"
	"layeh.com/radius/rfc2865"
)

func main() {
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	var count atomic.Int64
	go func() {
		for buffer := make([]byte, 4096); ; {
			if _, _, err := server.ReadFrom(buffer); err != nil {
				return
			}
			count.Add(1)
		}
	}()
	request := radius.New(radius.CodeAccessRequest, []byte("secret"))
	if err := rfc2865.UserName_SetString(request, "user"); err != nil {
		panic(err)
	}
	const seconds = 15
	ctx, cancel := context.WithTimeout(context.Background(), seconds*time.Second)
	defer cancel()
	start := time.Now()
	_, err = radius.Exchange(ctx, request, server.LocalAddr().String())
	taken := time.Since(start)
	fmt.Printf("a silent server and a context of %d s: %d requests, and after %.1f s the error %v\n", seconds, count.Load(), taken.Seconds(), err)
	if count.Load() < seconds-2 || count.Load() > seconds+1 || taken < (seconds-1)*time.Second {
		os.Exit(1)
	}
}
END
go mod tidy 2> log || { cat log >&2; exit 2; }
timeout 200 go run .
