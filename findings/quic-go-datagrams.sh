#!/bin/sh
# quic-go keeps 128 received DATAGRAM frames and drops the next ones: 1,000 are acknowledged, none counts as lost, and a program has 128.
#
# One would guess: datagrams that were acknowledged reach the program; one that reads late holds the sender back, or the loss can be
# seen in a counter.
# So it is: behind 128 frames that nobody has read a new one is dropped, though its packet is acknowledged, and RFC 9221 (section
# 5.3) permits that. `ConnectionStats` of both ends show no loss, and SendDatagram no error. A receiver that pauses for 0.2 s at
# 1,000 datagrams a second loses some, which looks like a loss on the path that QUIC itself denies. Read in a goroutine that does nothing
# else, and number datagrams.
#
# Uses github.com/quic-go/quic-go v0.65.0 with Go, on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
go mod init try 2> log && go get github.com/quic-go/quic-go@v0.65.0 2> log || { cat log >&2; exit 2; }
cat > main.go <<'END'
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"math/big"
	"os"
	"time"

	"github.com/quic-go/quic-go"
)

const datagrams = 1000

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// certificate makes one of the day for the server.
func certificate() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	check(err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// trial sends datagrams to a receiver that begins to read after a pause: how many it reads, and the highest number among them.
func trial(pause time.Duration) (read int, highest uint32, lost uint64) {
	config := &quic.Config{EnableDatagrams: true}
	server := &tls.Config{Certificates: []tls.Certificate{certificate()}, NextProtos: []string{"try"}}
	listener, err := quic.ListenAddr("127.0.0.1:0", server, config)
	check(err)
	defer listener.Close()
	done := make(chan bool)
	go func() {
		connection, err := listener.Accept(context.Background())
		check(err)
		time.Sleep(pause)
		for {
			wait, cancel := context.WithTimeout(context.Background(), time.Second)
			datagram, err := connection.ReceiveDatagram(wait)
			cancel()
			if err != nil {
				done <- true
				return
			}
			read++
			highest = max(highest, binary.BigEndian.Uint32(datagram))
		}
	}()
	client := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"try"}}
	connection, err := quic.DialAddr(context.Background(), listener.Addr().String(), client, config)
	check(err)
	for number := range datagrams {
		check(connection.SendDatagram(binary.BigEndian.AppendUint32(nil, uint32(number+1))))
		time.Sleep(time.Millisecond)
	}
	<-done
	return read, highest, connection.ConnectionStats().PacketsLost
}

func main() {
	fmt.Println("quic-go 0.65.0,", datagrams, "datagrams, one each millisecond")
	for _, pause := range []time.Duration{0, 3 * time.Second} {
		read, highest, lost := trial(pause)
		fmt.Printf("receiver that begins to read after %v: %d read, up to number %d; packets lost by the sender's statistics: %d\n", pause, read, highest, lost)
		if pause == 0 && (read != datagrams) || pause > 0 && (read != 128 || highest != 128 || lost > 0) {
			os.Exit(1)
		}
	}
}
END
go get github.com/quic-go/quic-go@v0.65.0 2> log || { cat log >&2; exit 2; }
go run .
