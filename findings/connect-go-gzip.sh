#!/bin/sh
# A connect-go server compresses each response, however short: one of 7 bytes is 31 bytes of gzip.
#
# One would guess: compression is off, as in grpc-go, or begins at some size at which it saves anything.
# So it is: client and server know gzip, the client accepts it, and the least size for compression is 0: all three protocols (Connect, gRPC,
# gRPC-Web) send a short message four times as long as it is, with the processor time of gzip for each call. Requests are not
# compressed. A load of small calls measures gzip, and comparing bytes with a grpc-go server says more of that than of the protocol.
# Set connect.WithCompressMinBytes for the handler, or connect.WithAcceptCompression("gzip", nil, nil) for the client.
#
# Uses connectrpc.com/connect v1.21.1 with Go, on loopback; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
go mod init try 2> log || exit 2
go get connectrpc.com/connect@v1.21.1 2> log || { cat log >&2; exit 2; }
cat > main.go <<'END'
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

type text = wrapperspb.StringValue

// watched keeps what a response says of compression, and its length.
type watched struct {
	http.RoundTripper
	encoding string
	length   int
}

func (each *watched) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := each.RoundTripper.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	each.encoding, each.length = response.Header.Get("Content-Encoding")+response.Header.Get("Grpc-Encoding"), len(body)
	return response, nil
}

func call(options []connect.HandlerOption, client ...connect.ClientOption) (string, int) {
	handler := connect.NewUnaryHandler("/try.Try/Try", func(_ context.Context, request *connect.Request[text]) (*connect.Response[text], error) {
		return connect.NewResponse(request.Msg), nil
	}, options...)
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	transport := &watched{RoundTripper: server.Client().Transport}
	caller := connect.NewClient[text, text](&http.Client{Transport: transport}, server.URL+"/try.Try/Try", client...)
	response, err := caller.CallUnary(context.Background(), connect.NewRequest(wrapperspb.String("hello")))
	if err != nil || response.Msg.Value != "hello" {
		panic(fmt.Sprint("another response: ", err))
	}
	return transport.encoding, transport.length
}

func main() {
	plain := []connect.HandlerOption{connect.WithCompressMinBytes(1000)}
	encoding, length := call(nil)
	_, short := call(plain)
	grpcEncoding, grpcLength := call(nil, connect.WithGRPC())
	_, grpcShort := call(plain, connect.WithGRPC())
	fmt.Printf("a message of 7 bytes: Connect: %q, %d bytes, and %d if only messages from 1,000 bytes on are compressed\n", encoding, length, short)
	fmt.Printf("gRPC: %q, %d bytes with the prefix of 5, and %d\n", grpcEncoding, grpcLength, grpcShort)
	if encoding != "gzip" || length < 25 || short != 7 || grpcEncoding != "gzip" || grpcLength < 30 || grpcShort != 12 {
		os.Exit(1)
	}
}
END
go mod tidy 2> log || { cat log >&2; exit 2; }
go list -m connectrpc.com/connect && go version
go run .
