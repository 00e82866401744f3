#!/bin/sh
# kcp-go, which is used for speed, moves some 130 kB a second over loopback with its defaults.
#
# One would guess: a protocol that exists to be faster than TCP fills a path without delay and loss at least at some megabytes a second.
# So it is: a receiver acknowledges each 100 ms, and a congestion window that begins small waits for that, so that 1 MB takes seven seconds
# on loopback, where the round trip of a small message is below a millisecond. Larger windows do not help. A first test looks like a slow
# device or path. `SetACKNoDelay(true)` at both ends makes it 20 times faster or more.
#
# Uses github.com/xtaci/kcp-go/v5 v5.7.6 with Go, on loopback ports; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
go mod init try 2> log && go get github.com/xtaci/kcp-go/v5@v5.7.6 2> log || { cat log >&2; exit 2; }
cat > main.go <<'END'
package main

import (
	"fmt"
	"io"
	"os"
	"time"

	kcp "github.com/xtaci/kcp-go/v5"
)

const size = 1_000_000

func set(session *kcp.UDPSession, fast bool) {
	if fast {
		session.SetACKNoDelay(true)
	}
}

// Time that a transfer to a server takes, until its receipt has come, and that of a round trip of four bytes before.
func trial(name string, fast bool) (transfer, trip time.Duration) {
	listener, err := kcp.ListenWithOptions("127.0.0.1:0", nil, 0, 0)
	if err != nil {
		panic(err)
	}
	go func() {
		session, err := listener.AcceptKCP()
		if err != nil {
			panic(err)
		}
		set(session, fast)
		for _, length := range []int64{4, 4, size} {
			io.CopyN(io.Discard, session, length)
			session.Write([]byte("done"))
		}
	}()
	session, err := kcp.DialWithOptions(listener.Addr().String(), nil, 0, 0)
	if err != nil {
		panic(err)
	}
	set(session, fast)
	for _, length := range []int{4, 4, size} {
		start := time.Now()
		session.Write(make([]byte, length))
		io.ReadFull(session, make([]byte, 4))
		trip, transfer = transfer, time.Since(start)
	}
	fmt.Printf("%s: a round trip of 4 bytes %v, 1 MB %v: %.0f kB/s\n", name, trip, transfer, size/1000/transfer.Seconds())
	return
}

func main() {
	fmt.Println("kcp-go v5.7.6")
	slow, trip := trial("default", false)
	fast, _ := trial("SetACKNoDelay(true)", true)
	if slow < 3*time.Second || trip > 500*time.Millisecond || fast > slow/3 {
		os.Exit(1)
	}
}
END
go mod tidy 2> log && go build -o try . 2> log || { cat log >&2; exit 2; }
timeout 60 ./try
