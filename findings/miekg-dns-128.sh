#!/bin/sh
# A DNS server made with miekg/dns closes a TCP connection after 128 queries, without a word.
#
# One would guess: a client that keeps sending keeps its TCP connection, as RFC 7766 recommends, and only an idle one is closed.
# So it is: `MaxTCPQueries` of its Server is 128 unless set; the connection is closed behind the 128th answer. A client that has sent more
# at once loses what it has under way: of 1,000 queries in one write at most 128 are answered, as a reset follows. A load over TCP or TLS
# with kept connections has a failure each 128 queries, or is in part a test of handshakes. -1 has no limit.
#
# Uses github.com/miekg/dns v1.1.73 with Go, on loopback ports; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
go mod init try 2> log && go get github.com/miekg/dns@v1.1.73 2> log || { cat log >&2; exit 2; }
cat > main.go <<'END'
package main

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/miekg/dns"
)

const queries = 1000

// Answers that a client gets of queries over one connection, one after another or all in one write.
func trial(name string, limit int, atOnce bool) int {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	server := &dns.Server{Listener: listener, MaxTCPQueries: limit, Handler: dns.HandlerFunc(func(writer dns.ResponseWriter, query *dns.Msg) {
		writer.WriteMsg(new(dns.Msg).SetReply(query))
	})}
	go server.ActivateAndServe()
	connection, err := dns.Dial("tcp", listener.Addr().String())
	if err != nil {
		panic(err)
	}
	connection.SetDeadline(time.Now().Add(20 * time.Second))
	query := new(dns.Msg).SetQuestion("host.example.", dns.TypeA)
	packed, _ := query.Pack()
	message := append(binary.BigEndian.AppendUint16(nil, uint16(len(packed))), packed...)
	if atOnce {
		var all []byte
		for range queries {
			all = append(all, message...)
		}
		connection.Conn.Write(all)
	}
	answers := 0
	for range queries {
		if !atOnce {
			if _, err := connection.Conn.Write(message); err != nil {
				break
			}
		}
		if _, err := connection.ReadMsg(); err != nil {
			fmt.Printf("%s: after %d answers: %v\n", name, answers, err)
			break
		}
		answers++
	}
	fmt.Printf("%s: %d of %d queries over one connection are answered\n", name, answers, queries)
	connection.Close()
	return answers
}

func main() {
	fmt.Println("miekg/dns", dns.Version)
	one := trial("one after another", 0, false)
	all := trial("in one write", 0, true)
	open := trial("MaxTCPQueries: -1", -1, false)
	if one != 128 || all > 128 || open != queries {
		os.Exit(1)
	}
}
END
go mod tidy 2> log && go build -o try . 2> log || { cat log >&2; exit 2; }
./try
