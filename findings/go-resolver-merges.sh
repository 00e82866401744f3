#!/bin/sh
# 100 goroutines that resolve one name at once with Go's net.Resolver make one lookup: the server gets two queries.
#
# One would guess: each LookupIPAddr is a lookup of its own, with a query for A and one for AAAA: Go has no DNS cache, and 100 of them are
# 200 queries.
# So it is: lookups of a name that are under way are shared by all that ask for it, so that 100 at once are 2 queries; LookupHost, beside
# it, shares nothing and makes 200. Dial uses the former. A DNS load of N goroutines on a few names is as many queries as there are names,
# for each of which N answers with N latencies are counted; and a client that opens 100 connections at once asks once. Use names that
# differ, or a DNS library.
#
# Uses github.com/miekg/dns v1.1.73 with Go, as a server on a loopback port; seen with Go 1.26. No Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
go mod init try 2> log && go get github.com/miekg/dns@v1.1.73 2> log || { cat log >&2; exit 2; }
cat > main.go <<'END'
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/miekg/dns"
)

func main() {
	var queries atomic.Int64
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	// Each query is answered after 0.2 s, one for an IPv4 address with one.
	answer := func(writer dns.ResponseWriter, query *dns.Msg) {
		queries.Add(1)
		time.Sleep(200 * time.Millisecond)
		response := new(dns.Msg)
		response.SetReply(query)
		response.RecursionAvailable = true
		if query.Question[0].Qtype == dns.TypeA {
			record, _ := dns.NewRR(query.Question[0].Name + " 60 IN A 192.0.2.1")
			response.Answer = append(response.Answer, record)
		}
		writer.WriteMsg(response)
	}
	server := &dns.Server{PacketConn: socket, Handler: dns.HandlerFunc(answer)}
	go server.ActivateAndServe()
	dial := func(context.Context, string, string) (net.Conn, error) { return net.Dial("udp", socket.LocalAddr().String()) }
	resolver := &net.Resolver{PreferGo: true, Dial: dial}
	lookups := map[string]func(){
		"LookupHost":   func() { resolver.LookupHost(context.Background(), "a.example.") },
		"LookupIPAddr": func() { resolver.LookupIPAddr(context.Background(), "a.example.") },
	}
	fmt.Println(runtime.Version())
	seen := map[string]int64{}
	for name, lookup := range lookups {
		before := queries.Load()
		var group sync.WaitGroup
		for range 100 {
			group.Go(lookup)
		}
		group.Wait()
		seen[name] = queries.Load() - before
		fmt.Printf("100 times %s at once: %d queries\n", name, seen[name])
	}
	if seen["LookupIPAddr"] > 10 || seen["LookupHost"] < 150 {
		os.Exit(1)
	}
}
END
go mod tidy 2> log && go build -o try . || exit 2
./try
