#!/bin/sh
# A Go TLS server's first bytes are small records that grow from 1.2 kB on: 16,000 bytes on a new connection are five, later on one.
#
# One would guess: a response of 16,000 bytes is one TLS record, as a record has room for 16,384.
# So it is: crypto/tls fills the first record of a connection to the size of a segment, 1,186 bytes, the second to two of them, and so on up
# to 16 kB. A tester that counts records, or takes TLS's bytes from the length of a body, is off by a dozen records a connection, and a
# receiver may handle a first page in parts. `DynamicRecordSizingDisabled` of tls.Config makes it one from the start.
#
# Uses github.com/valyala/fasthttp v1.79.0 (for the server) with Go 1.26, on loopback ports; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
go mod init try 2> log && go get github.com/valyala/fasthttp@v1.79.0 2> log || { cat log >&2; exit 2; }
cat > main.go <<'END'
package main

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"runtime"

	"github.com/valyala/fasthttp"
)

const size = 16_000

// Keeps the bytes that are read.
type tap struct {
	net.Conn
	read []byte
}

func (t *tap) Read(to []byte) (int, error) {
	count, err := t.Conn.Read(to)
	t.read = append(t.read, to[:count]...)
	return count, err
}

// Records with more than a header's bytes that a first and a 20th response consist of.
func trial(settings *tls.Config) (first, later []int) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	server := fasthttp.Server{Handler: func(context *fasthttp.RequestCtx) { context.Write(make([]byte, size)) }, WriteBufferSize: 32768}
	go server.Serve(tls.NewListener(listener, settings))
	connection, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		panic(err)
	}
	counted := &tap{Conn: connection}
	client := tls.Client(counted, &tls.Config{InsecureSkipVerify: true})
	if err := client.Handshake(); err != nil {
		panic(err)
	}
	reader := bufio.NewReader(client)
	for number := range 20 {
		counted.read = nil
		fmt.Fprint(client, "GET / HTTP/1.1\r\nHost: try\r\n\r\n")
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			panic(err)
		}
		if count, _ := io.Copy(io.Discard, response.Body); count != size {
			panic(count)
		}
		var records []int
		for data := counted.read; len(data) >= 5; {
			length := int(binary.BigEndian.Uint16(data[3:]))
			if length > 300 { // no session ticket
				records = append(records, length)
			}
			data = data[5+length:]
		}
		if number == 0 {
			first = records
		}
		later = records
	}
	client.Close()
	return
}

func main() {
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	certificate, _ := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	pair := []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}}
	fmt.Println(runtime.Version())
	first, later := trial(&tls.Config{Certificates: pair})
	fmt.Println("16,000 bytes, lengths of the records:", first, "and in the 20th response:", later)
	fixed, _ := trial(&tls.Config{Certificates: pair, DynamicRecordSizingDisabled: true})
	fmt.Println("with DynamicRecordSizingDisabled:", fixed)
	if len(first) < 4 || len(later) != 1 || len(fixed) != 1 || first[0] > 1300 {
		os.Exit(1)
	}
}
END
go mod tidy 2> log && go build -o try . 2> log || { cat log >&2; exit 2; }
./try
