#!/bin/sh
# gopacket writes a UDP checksum that is computed as zero as zero, which says that there is none.
#
# One would guess: ComputeChecksums gives each UDP datagram a valid checksum. RFC 768 has all ones sent for one that is zero.
# So it is: about one payload in 65,536 gets the checksum 0x0000. Over IPv4 the datagram is then sent without a checksum; over
# IPv6, where one is required (RFC 8200, section 8.1), receivers drop it: unexplained loss of some 15 packets in a million.
#
# Uses github.com/google/gopacket v1.1.19 with Go; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
go mod init try 2> log && go get github.com/google/gopacket@v1.1.19 2> log || { cat log >&2; exit 2; }
cat > main.go <<'END'
package main

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

type network interface {
	gopacket.SerializableLayer
	gopacket.NetworkLayer
}

// zeros returns the two-byte payloads whose datagram is written with a checksum of zero or of all ones.
func zeros(ip network, header int) (zero, ones []string) {
	for i := 0; i < 1<<16; i++ {
		payload := binary.BigEndian.AppendUint16(nil, uint16(i))
		udp := &layers.UDP{SrcPort: 1000, DstPort: 2000}
		udp.SetNetworkLayerForChecksum(ip)
		buffer := gopacket.NewSerializeBuffer()
		options := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
		if err := gopacket.SerializeLayers(buffer, options, ip, udp, gopacket.Payload(payload)); err != nil {
			panic(err)
		}
		switch binary.BigEndian.Uint16(buffer.Bytes()[header+6:]) {
		case 0:
			zero = append(zero, fmt.Sprintf("%x", payload))
		case 0xffff:
			ones = append(ones, fmt.Sprintf("%x", payload))
		}
	}
	return zero, ones
}

func main() {
	ipv4 := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolUDP}
	ipv4.SrcIP, ipv4.DstIP = net.IP{192, 0, 2, 1}, net.IP{192, 0, 2, 2}
	ipv6 := &layers.IPv6{Version: 6, HopLimit: 64, NextHeader: layers.IPProtocolUDP}
	ipv6.SrcIP, ipv6.DstIP = net.ParseIP("2001:db8::1"), net.ParseIP("2001:db8::2")
	zero4, ones4 := zeros(ipv4, 20)
	zero6, ones6 := zeros(ipv6, 40)
	fmt.Println("gopacket v1.1.19, all payloads of two bytes")
	fmt.Println("over IPv4: checksum 0x0000 for", zero4, "and 0xffff for", ones4)
	fmt.Println("over IPv6: checksum 0x0000 for", zero6, "and 0xffff for", ones6)
	if len(zero4) == 0 || len(zero6) == 0 || len(ones4)+len(ones6) > 0 {
		os.Exit(1)
	}
}
END
go run .
