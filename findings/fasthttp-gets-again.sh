#!/bin/sh
# fasthttp sends a GET five times if the server closes the connection without a response, and reports one error.
#
# One would guess: a client sends a request again at most if a connection that it had kept is closed, and a new connection that ends
# without a response is an error at once.
# So it is: a GET, HEAD or PUT is tried up to five times, each on a new connection, without a wait between. A server that closes each
# connection for overload gets five times the load, and the error comes after the fifth. A server that breaks off each second one has
# no failures at all. A POST is sent once. `MaxIdemponentCallAttempts` of 1 ends it.
#
# Uses github.com/valyala/fasthttp v1.79.0 with Go, on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
go mod init try 2> log && go get github.com/valyala/fasthttp@v1.79.0 2> log || { cat log >&2; exit 2; }
cat > main.go <<'END'
package main

import (
	"fmt"
	"net"
	"os"
	"sync/atomic"

	"github.com/valyala/fasthttp"
)

var (
	requests atomic.Int64
	every    int64 // A request of so many is answered, of 0 none.
)

func serve(connection net.Conn) {
	defer connection.Close()
	if count, _ := connection.Read(make([]byte, 4000)); count == 0 {
		return
	}
	if number := requests.Add(1); every > 0 && number%every == 0 {
		fmt.Fprint(connection, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
	}
}

// Requests that the server gets of calls, and those calls that fail.
func trial(client *fasthttp.Client, url, method string, calls int, answered int64) string {
	requests.Store(0)
	every = answered
	failed := 0
	for range calls {
		asked, got := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
		asked.SetRequestURI(url)
		asked.Header.SetMethod(method)
		if client.Do(asked, got) != nil {
			failed++
		}
	}
	shown := fmt.Sprintf("%d requests, %d failed", requests.Load(), failed)
	fmt.Printf("%s, MaxIdemponentCallAttempts %d, responses: 1 of %d requests (0: none): %d calls are %s\n", method, client.MaxIdemponentCallAttempts, answered, calls, shown)
	return shown
}

func main() {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go serve(connection)
		}
	}()
	url := "http://" + listener.Addr().String() + "/"
	fmt.Println("fasthttp v1.79.0")
	usual, once := &fasthttp.Client{}, &fasthttp.Client{MaxIdemponentCallAttempts: 1}
	if trial(usual, url, "GET", 1, 0) != "5 requests, 1 failed" || trial(usual, url, "GET", 20, 2) != "40 requests, 0 failed" {
		os.Exit(1)
	}
	if trial(usual, url, "POST", 1, 0) != "1 requests, 1 failed" || trial(once, url, "GET", 1, 0) != "1 requests, 1 failed" {
		os.Exit(1)
	}
}
END
go mod tidy 2> log && go build -o try . 2> log || { cat log >&2; exit 2; }
./try
