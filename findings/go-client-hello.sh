#!/bin/sh
# A Go client's first TLS message has 1,516 bytes, more than a segment holds, and a QUIC client's fills two datagrams of 1,280 bytes.
#
# One would guess: a ClientHello has 200 to 500 bytes and comes in one packet, the first one of a QUIC connection, too, so a balancer
# or firewall finds the server's name in the first packet.
# So it is: since Go 1.24 clients offer a post-quantum key exchange (X25519MLKEM768), whose share alone is 1,216 bytes. The same client
# with X25519 alone sends some 284 bytes. Behind a link of 1,500 bytes the message is two segments, and what reads names from first
# packets, counts bytes per handshake or sizes a first window meets another load than it did with the same program a year before.
# For the old size set CurvePreferences, or GODEBUG=tlsmlkem=0.
#
# Uses github.com/quic-go/quic-go v0.65.0 with Go 1.26, on loopback; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
go mod init try 2> log || exit 2
go get github.com/quic-go/quic-go@v0.65.0 2> log || { cat log >&2; exit 2; }
cat > main.go <<'END'
package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/quic-go/quic-go"
)

func config(curves ...tls.CurveID) *tls.Config {
	return &tls.Config{ServerName: "www.example.com", InsecureSkipVerify: true, NextProtos: []string{"h3"}, CurvePreferences: curves}
}

// overTCP returns the bytes that a client sends before the server has answered.
func overTCP(config *tls.Config) int {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer listener.Close()
	count := make(chan int)
	go func() {
		server, err := listener.Accept()
		if err != nil {
			panic(err)
		}
		defer server.Close()
		total, buffer := 0, make([]byte, 65536)
		server.SetReadDeadline(time.Now().Add(500 * time.Millisecond))
		for {
			length, err := server.Read(buffer)
			total += length
			if err != nil {
				break
			}
		}
		count <- total
	}()
	go tls.Dial("tcp4", listener.Addr().String(), config)
	return <-count
}

// overQUIC returns the sizes of the datagrams that a client sends in its first 150 ms, before it repeats any.
func overQUIC(config *tls.Config) []int {
	server, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IP{127, 0, 0, 1}})
	if err != nil {
		panic(err)
	}
	defer server.Close()
	limit, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	go quic.DialAddr(limit, server.LocalAddr().String(), config, nil)
	var sizes []int
	buffer := make([]byte, 2000)
	for {
		length, _, err := server.ReadFrom(buffer)
		if err != nil {
			return sizes
		}
		if len(sizes) == 0 {
			server.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		}
		sizes = append(sizes, length)
	}
}

func main() {
	usual, alone := overTCP(config()), overTCP(config(tls.X25519))
	datagrams, one := overQUIC(config()), overQUIC(config(tls.X25519))
	fmt.Printf("TLS over TCP: %d bytes; with X25519 alone: %d\n", usual, alone)
	fmt.Printf("QUIC: datagrams of %d bytes; with X25519 alone: %d\n", datagrams, one)
	if usual < 1460 || alone > 400 || len(datagrams) != 2 || len(one) != 1 {
		os.Exit(1)
	}
}
END
go mod tidy 2> log || { cat log >&2; exit 2; }
go list -m github.com/quic-go/quic-go && go version
go run .
