#!/bin/sh
# fasthttp's client and server have room for 4,096 bytes of headers: a response with a cookie of 5,000 bytes is an error, a request 431.
#
# One would guess: headers may have 8 KB, as with nginx and Apache, or 1 MB as with net/http of Go.
# So it is: headers have to fit into the read buffer, 4,096 bytes unless set. A client reports "small read buffer" for a response that curl
# and net/http take; it is one of a server that works, and counts as a failure of it. A server responds with 431. Load tools made with
# fasthttp meet it with long cookies, tokens or a content security policy. Set `ReadBufferSize` of the client, and of the server.
#
# Uses github.com/valyala/fasthttp v1.79.0 with Go, on loopback ports; no Eagre.
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
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"
)

func listen() (net.Listener, string) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	return listener, "http://" + listener.Addr().String() + "/"
}

// Whether a client takes a response with a header of a length.
func response(client *fasthttp.Client, url string, length int) bool {
	_, body, err := client.Get(nil, url+strconv.Itoa(length))
	reason := fmt.Sprint(err)
	fmt.Printf("fasthttp client, ReadBufferSize %d, response header of %d bytes: %.75s\n", client.ReadBufferSize, length, reason)
	return err == nil && string(body) == "ok"
}

// Status of a request with a header of a length.
func request(url string, length int) int {
	asked, _ := http.NewRequest("GET", url, nil)
	asked.Header.Set("X-Long", strings.Repeat("a", length))
	got, err := http.DefaultClient.Do(asked)
	if err != nil {
		panic(err)
	}
	got.Body.Close()
	fmt.Printf("fasthttp server, request header of %d bytes: %d\n", length, got.StatusCode)
	return got.StatusCode
}

func main() {
	fmt.Println("fasthttp v1.79.0")
	standard, url := listen()
	go http.Serve(standard, http.HandlerFunc(func(writer http.ResponseWriter, asked *http.Request) {
		length, _ := strconv.Atoi(asked.URL.Path[1:])
		writer.Header().Set("X-Long", strings.Repeat("a", length))
		fmt.Fprint(writer, "ok")
	}))
	fast, fastURL := listen()
	go fasthttp.Serve(fast, func(context *fasthttp.RequestCtx) { context.WriteString("ok") })
	got, err := http.Get(url + "5000")
	if err != nil || got.StatusCode != 200 {
		panic(err)
	}
	fmt.Println("net/http client, response header of 5000 bytes:", got.StatusCode)
	usual, wide := &fasthttp.Client{}, &fasthttp.Client{ReadBufferSize: 65536}
	if !response(usual, url, 3000) || response(usual, url, 5000) || !response(wide, url, 5000) {
		os.Exit(1)
	}
	if request(fastURL, 3000) != 200 || request(fastURL, 5000) != 431 {
		os.Exit(1)
	}
}
END
go mod tidy 2> log && go build -o try . 2> log || { cat log >&2; exit 2; }
./try
