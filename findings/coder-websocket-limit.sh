#!/bin/sh
# coder/websocket ends the connection at a message longer than 32,768 bytes: a server that gorilla's client can read cannot be read.
#
# One would guess: without a limit of one's own a client reads messages of any size, or up to megabytes, as those of other libraries do
# (gorilla: no limit; Python's websockets: 1 MiB; ws for Node.js: 100 MiB).
# So it is: 32,768 bytes are read, 32,769 are an error, "message too big", and the connection is closed with the status 1009. A load test
# with small messages passes, and the first long list or picture cuts its connection, on the side that reads: the sender sees a close by
# its peer. `SetReadLimit(-1)` after Dial or Accept lifts the limit.
#
# Uses github.com/coder/websocket v1.8.15 and github.com/gorilla/websocket v1.5.3 with Go, on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
go mod init try 2> log && go get github.com/coder/websocket@v1.8.15 2> log || { cat log >&2; exit 2; }
go get github.com/gorilla/websocket@v1.5.3 2> log || { cat log >&2; exit 2; }
cat > main.go <<'END'
package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"github.com/coder/websocket"
	gorilla "github.com/gorilla/websocket"
)

// receive gets one message of the size given with either library, and returns the bytes that came without an error, and how it ended for
// the server.
func receive(size int, coder bool) (int, int) {
	ended := make(chan int, 1)
	server := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		connection, err := (&gorilla.Upgrader{}).Upgrade(writer, request, nil)
		if err != nil {
			panic(err)
		}
		connection.WriteMessage(gorilla.TextMessage, []byte(strings.Repeat("x", size)))
		_, _, err = connection.ReadMessage()
		code := 0
		if closed, ok := err.(*gorilla.CloseError); ok {
			code = closed.Code
		}
		ended <- code
		connection.Close()
	}))
	defer server.Close()
	address := "ws" + strings.TrimPrefix(server.URL, "http")
	if !coder {
		connection, _, err := gorilla.DefaultDialer.Dial(address, nil)
		if err != nil {
			panic(err)
		}
		_, data, err := connection.ReadMessage()
		connection.Close()
		if err != nil {
			return 0, <-ended
		}
		return len(data), <-ended
	}
	context, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	connection, _, err := websocket.Dial(context, address, nil)
	if err != nil {
		panic(err)
	}
	_, data, err := connection.Read(context)
	connection.CloseNow()
	if err != nil {
		fmt.Println("  ", err)
		return 0, <-ended
	}
	return len(data), <-ended
}

func main() {
	fmt.Println("coder/websocket v1.8.15, gorilla/websocket v1.5.3")
	same := true
	for _, size := range []int{32768, 32769, 1000000} {
		read, code := receive(size, true)
		other, _ := receive(size, false)
		fmt.Printf("a message of %d bytes: coder's client reads %d (the server sees status %d), gorilla's %d\n", size, read, code, other)
		same = same && other == size && (size == 32768 && read == size || size > 32768 && read == 0 && code == 1009)
	}
	if !same {
		os.Exit(1)
	}
}
END
go run .
