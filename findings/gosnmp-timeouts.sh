#!/bin/sh
# gosnmp doubles its time-out with each retry: 2 s and three retries, its defaults, are half a minute for an agent that is silent.
#
# One would guess: as with snmpget, a time-out of 2 s and three retries end after four times 2 s.
# So it is: `gosnmp.Default` has ExponentialTimeout, so the waits are 2, 4, 8 and 16 s. With 200 ms, as here, they are 3.0 s instead of
# 0.8 s. A poll of a dead device takes longer than many intervals between polls. A struct made anew instead of from Default has false, and
# waits four times the same.
#
# Uses github.com/gosnmp/gosnmp v1.47.0 with Go, with a silent UDP socket on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
go mod init try 2> log && go get github.com/gosnmp/gosnmp@v1.47.0 2> log || { cat log >&2; exit 2; }
cat > main.go <<'END'
package main

import (
	"fmt"
	"net"
	"os"
	"time"

	"github.com/gosnmp/gosnmp"
)

// Seconds until a request to a silent agent fails, and the times of its packets.
func trial(client gosnmp.GoSNMP) (float64, []float64) {
	silent, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		panic(err)
	}
	client.Target, client.Port = "127.0.0.1", uint16(silent.LocalAddr().(*net.UDPAddr).Port)
	client.Community, client.Version = "public", gosnmp.Version2c
	client.Timeout, client.Retries = 200*time.Millisecond, 3
	start := time.Now()
	var sent []float64
	done := make(chan bool)
	go func() {
		packet := make([]byte, 1000)
		for {
			if _, err := silent.Read(packet); err != nil {
				done <- true
				return
			}
			sent = append(sent, time.Since(start).Seconds())
		}
	}()
	if err := client.Connect(); err != nil {
		panic(err)
	}
	if _, err := client.Get([]string{".1.3.6.1.2.1.1.3.0"}); err == nil {
		panic("an answer")
	}
	took := time.Since(start).Seconds()
	silent.Close()
	<-done
	return took, sent
}

func main() {
	fmt.Println("gosnmp v1.47.0, Default:", gosnmp.Default.Timeout, gosnmp.Default.Retries, "retries, exponential:", gosnmp.Default.ExponentialTimeout)
	doubled, at := trial(*gosnmp.Default)
	fmt.Printf("Default with a time-out of 0.2 s: requests at %.1f s, failed after %.1f s\n", at, doubled)
	even, times := trial(gosnmp.GoSNMP{})
	fmt.Printf("a new struct with 0.2 s: requests at %.1f s, failed after %.1f s\n", times, even)
	as := gosnmp.Default.ExponentialTimeout && len(at) == 4 && len(times) == 4
	if !as || doubled < 2.9 || even < 0.8 || even > 2 {
		os.Exit(1)
	}
}
END
go mod tidy 2> log && go build -o try . || { cat log >&2; exit 2; }
./try
