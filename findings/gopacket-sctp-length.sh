#!/bin/sh
# gopacket 1.7.7 writes SCTP data chunks with a length of 0 and without padding; the library it succeeds does both right.
#
# One would guess: FixLengths and ComputeChecksums make a packet that is right, as for UDP, TCP and IP, and a program that moves from
# google/gopacket to gopacket/gopacket, its successor with the same API, sends the same packets.
# So it is: of five bytes of data google/gopacket (1.1.19) makes a chunk with the length 21 and three bytes of padding, as RFC 9260 (section
# 3.2) wants it. The successor leaves the length as it was set, or 0, and pads nothing. tshark complains, and a
# receiver cannot take such a chunk. Set `Length` to the data's length and 16, and append the padding to the payload.
#
# Uses github.com/google/gopacket v1.1.19 and github.com/gopacket/gopacket v1.7.7 with Go, and tshark 4.0.17-0+deb12u3 of Debian 12; no
# Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
tshark --version 2> log | head -1 || exit 2
go mod init try 2> log || exit 2
go get github.com/google/gopacket@v1.1.19 2> log && go get github.com/gopacket/gopacket@v1.7.7 2> log || { cat log >&2; exit 2; }
mkdir old new
cat > new/main.go <<'END'
package main

import (
	"net"
	"os"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
)

func main() {
	ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolSCTP, SrcIP: net.IP{192, 0, 2, 1}, DstIP: net.IP{192, 0, 2, 2}}
	sctp := &layers.SCTP{SrcPort: 1000, DstPort: 2000}
	data := &layers.SCTPData{BeginFragment: true, EndFragment: true, TSN: 1}
	data.Type = layers.SCTPChunkTypeData
	buffer := gopacket.NewSerializeBuffer()
	options := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	if err := gopacket.SerializeLayers(buffer, options, ip, sctp, data, gopacket.Payload("hello")); err != nil {
		panic(err)
	}
	file := pcapgo.NewWriter(os.Stdout)
	file.WriteFileHeader(65535, layers.LinkTypeRaw)
	length := len(buffer.Bytes())
	file.WritePacket(gopacket.CaptureInfo{Timestamp: time.Unix(1, 0), CaptureLength: length, Length: length}, buffer.Bytes())
}
END
sed s,github.com/gopacket/,github.com/google/, new/main.go > old/main.go
go mod tidy 2> log || { cat log >&2; exit 2; }
for library in old new; do
    go run ./$library > $library.pcap
    bytes=$(tail -c +41 $library.pcap | od -An -v -tx1 | tr -d ' \n')  # behind the headers of the file and of its record
    chunk=$(echo "$bytes" | cut -c65-72)
    shown=$(tshark -r $library.pcap -V 2> log | grep -c "Malformed Packet\|Bogus chunk length 0" || true)
    echo "$library gopacket: an IP packet of $((${#bytes} / 2)) bytes; the chunk begins with $chunk: length 0x${chunk#????};" \
        "tshark: $shown complaints"
    eval "$library='$((${#bytes} / 2)) ${chunk#????} $((shown > 0))'"
done
[ "$old, $new" = "56 0015 0, 53 0000 1" ]
