#!/bin/sh
# an RTP packet that comes after a report of its loss stays lost in all later reports of pion, though it was received.
#
# One would guess: the cumulative loss of an RTCP receiver report is that of RFC 3550, packets expected less packets received, so a packet
# that was reordered or delayed over a report is lost in one report, and no more in the next.
# So it is: what is missing when a report is made is added to the count once, and a later arrival takes nothing off. Of a stream that is
# reordered and loses nothing the loss grows with each report: a packet each 300 ms that comes 60 ms late is a loss of some per cent.
# Count packets instead, or compare with a receiver that subtracts.
#
# Uses github.com/pion/interceptor v0.1.51, github.com/pion/rtp v1.10.6 and github.com/pion/rtcp v1.2.20 with Go, without a network; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
go mod init try 2> log && go get github.com/pion/interceptor/pkg/report@v0.1.51 github.com/pion/rtp@v1.10.6 github.com/pion/rtcp@v1.2.20 2> log \
    || { cat log >&2; exit 2; }
cat > main.go <<'END'
package main

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/interceptor/pkg/report"
	"github.com/pion/rtcp"
	"github.com/pion/rtp"
)

const interval = 300 * time.Millisecond

func main() {
	factory, err := report.NewReceiverInterceptor(report.ReceiverInterval(interval))
	if err != nil {
		panic(err)
	}
	receiver, err := factory.NewInterceptor("")
	if err != nil {
		panic(err)
	}
	var reports, lost atomic.Int64
	receiver.BindRTCPWriter(interceptor.RTCPWriterFunc(func(packets []rtcp.Packet, _ interceptor.Attributes) (int, error) {
		for _, packet := range packets {
			for _, block := range packet.(*rtcp.ReceiverReport).Reports {
				fmt.Printf("report up to packet %d: fraction lost %d/256, lost %d\n", block.LastSequenceNumber, block.FractionLost, block.TotalLost)
				lost.Store(int64(block.TotalLost))
				reports.Add(1)
			}
		}
		return 0, nil
	}))
	var next []byte
	reader := receiver.BindRemoteStream(&interceptor.StreamInfo{SSRC: 1, ClockRate: 8000}, interceptor.RTPReaderFunc(
		func(buffer []byte, attributes interceptor.Attributes) (int, interceptor.Attributes, error) {
			return copy(buffer, next), attributes, nil
		}))
	received := 0
	arrive := func(number int) {
		packet := rtp.Packet{Header: rtp.Header{Version: 2, SequenceNumber: uint16(number), Timestamp: uint32(number) * 160, SSRC: 1}}
		next, _ = packet.Marshal()
		if _, _, err := reader.Read(make([]byte, 1500), interceptor.Attributes{}); err != nil {
			panic(err)
		}
		received++
	}
	// Ten packets between two reports; the fifth of them comes behind the report that follows.
	const rounds = 4
	for round, number := 0, 0; round < rounds; round++ {
		late := number + 4
		for i := 0; i < 10; i, number = i+1, number+1 {
			if number != late {
				arrive(number)
			}
		}
		for before := reports.Load(); reports.Load() == before; {
			time.Sleep(time.Millisecond)
		}
		arrive(late)
	}
	for before := reports.Load(); reports.Load() == before; {
		time.Sleep(time.Millisecond)
	}
	_ = receiver.Close()
	fmt.Printf("pion/interceptor v0.1.51: %d packets sent, %d received, %d lost in the last report\n", 10*rounds, received, lost.Load())
	if received != 10*rounds || lost.Load() != rounds {
		os.Exit(1)
	}
}
END
go mod tidy 2> log || { cat log >&2; exit 2; }
timeout 200 go run .
