#!/bin/sh
# grpc-go raises a client's keepalive time to 10 s without a word: with `Time: time.Second` a dead peer is found after 11 s, not 2.
#
# One would guess: a client with a keepalive time of 1 s and a time-out of 1 s sends a ping each second, as far as its server allows it,
# or refuses the setting.
# So it is: the first ping comes after 10 s, and the next one 10 s later. A failover through a silent failure is measured as some 11 s,
# all of them the client's; for a faster one set `TCP_USER_TIMEOUT` or deadlines. (grpcio for Python sends its first pings after the time
# set.)
#
# Uses google.golang.org/grpc v1.85.0 with Go, with a server of the script on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
go mod init try 2> log && go get google.golang.org/grpc@v1.85.0 2> log || { cat log >&2; exit 2; }
cat > main.go <<'END'
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

const settings, ping, acknowledge = 4, 6, 1

// serve answers settings and pings, and passes on when pings come.
func serve(listener net.Listener, pings chan time.Duration) {
	connection, err := listener.Accept()
	if err != nil {
		panic(err)
	}
	start := time.Now()
	connection.Write([]byte{0, 0, 0, settings, 0, 0, 0, 0, 0})
	io.ReadFull(connection, make([]byte, 24))
	for {
		header := make([]byte, 9)
		if _, err := io.ReadFull(connection, header); err != nil {
			return
		}
		body := make([]byte, int(header[0])<<16|int(header[1])<<8|int(header[2]))
		io.ReadFull(connection, body)
		if header[3] == settings && header[4] != acknowledge {
			connection.Write([]byte{0, 0, 0, settings, acknowledge, 0, 0, 0, 0})
		}
		if header[3] == ping && header[4] != acknowledge {
			header[4] = acknowledge
			connection.Write(append(header, body...))
			pings <- time.Since(start)
		}
	}
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	pings := make(chan time.Duration, 100)
	go serve(listener, pings)
	connection, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: time.Second, Timeout: time.Second, PermitWithoutStream: true}))
	if err != nil {
		panic(err)
	}
	connection.Connect()
	fmt.Println("grpc-go", grpc.Version, "with keepalive time 1 s")
	first, second := <-pings, <-pings
	fmt.Printf("pings after %.1f s and %.1f s\n", first.Seconds(), second.Seconds())
	if first < 9*time.Second || second-first < 9*time.Second {
		os.Exit(1)
	}
}
END
go get google.golang.org/grpc/keepalive@v1.85.0 2> log || { cat log >&2; exit 2; }
go run .
