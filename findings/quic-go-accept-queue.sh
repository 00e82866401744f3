#!/bin/sh
# A quic-go server that accepts nothing for a while breaks off each connection after the 32nd, though the client has dialed it with success.
#
# One would guess: connections that a program has not accepted yet wait, as in TCP's backlog, and those beyond it are refused while they
# are dialed, or repeat their first packet until there is room.
# So it is: a listener has room for 32 connections between handshake and Accept(). Of 60 clients that come meanwhile all 60 finish
# the handshake, and Dial() returns without an error; then 28 of them are closed with CONNECTION_REFUSED. A load generator counts 60
# connections opened and 28 broken off later. The limit is a constant: a program has to call Accept() all the time, and do its work in
# other goroutines.
#
# Uses github.com/quic-go/quic-go v0.65.0 with Go, on loopback; no Eagre.
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
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"os"
	"time"

	"github.com/quic-go/quic-go"
)

const clients = 60

func config() *tls.Config {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}}, NextProtos: []string{"try"}}
}

func main() {
	listener, err := quic.ListenAddr("127.0.0.1:0", config(), nil)
	if err != nil {
		panic(err)
	}
	failed, refused, open := 0, 0, 0
	var connections []*quic.Conn
	for range clients {
		limit, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		client := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"try"}}
		connection, err := quic.DialAddr(limit, listener.Addr().String(), client, nil)
		cancel()
		if err != nil {
			failed++
			continue
		}
		connections = append(connections, connection)
	}
	time.Sleep(time.Second)
	for _, connection := range connections {
		var closed *quic.TransportError
		if cause := context.Cause(connection.Context()); errors.As(cause, &closed) && closed.ErrorCode == quic.ConnectionRefused {
			refused++
		} else if cause == nil {
			open++
		}
	}
	accepted := 0
	for {
		limit, cancel := context.WithTimeout(context.Background(), time.Second)
		_, err := listener.Accept(limit)
		cancel()
		if err != nil {
			break
		}
		accepted++
	}
	fmt.Printf("of %d clients %d failed to dial; of the others %d were closed with CONNECTION_REFUSED, and %d are open\n", clients, failed, refused, open)
	fmt.Printf("accepted later: %d\n", accepted)
	if failed != 0 || refused != 28 || open != 32 || accepted != 32 {
		os.Exit(1)
	}
}
END
go mod tidy 2> log || { cat log >&2; exit 2; }
go list -m github.com/quic-go/quic-go && go version
go run .
