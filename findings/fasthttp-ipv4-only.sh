#!/bin/sh
# fasthttp's client does not speak IPv6 unless told to: it looks [::1] up as a name, and finds none.
#
# One would guess: a client of 2026 connects to http://[::1]:PORT/ as net/http does.
# So it is: the client dials IPv4 only unless `DialDualStack` is set. A literal IPv6 address is looked up as a name and fails with "couldn't
# find dns entries for the given domain: try using dual-stack dialing". To a load tool that
# is made with it a server that listens on IPv6 only is down. With `DialDualStack: true` it works.
#
# Needs root, for a network namespace of its own. Uses github.com/valyala/fasthttp v1.79.0 with Go; no Eagre.
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

	"github.com/valyala/fasthttp"
)

func main() {
	listener, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		panic(err)
	}
	go http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	url := "http://" + listener.Addr().String() + "/"
	response, err := http.Get(url)
	fmt.Println("net/http:", response.Status, err)
	as := err == nil
	_, _, err = fasthttp.Get(nil, url)
	fmt.Println("fasthttp:", err)
	as = as && err != nil
	client := fasthttp.Client{DialDualStack: true}
	_, body, err := client.Get(nil, url)
	fmt.Println("fasthttp with DialDualStack:", string(body), err)
	as = as && err == nil
	if !as {
		os.Exit(1)
	}
}
END
go mod tidy 2> log && go build -o try . || exit 2
cat > try.sh <<'END'
ip link set lo up
exec ./try
END
unshare -n sh try.sh
