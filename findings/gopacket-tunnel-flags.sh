#!/bin/sh
# gopacket's VXLAN{VNI: 10} says that it has no VNI, and the last of its MPLS labels is not marked as the last.
#
# One would guess: who gives a VNI, or puts a label in front of an IP packet, gets the bits that go with it, as FixLengths and
# ComputeChecksums fill in what follows from the rest; Scapy's MPLS()/IP() sets the bottom of the stack.
# So it is: both bits are fields of their own and false unless set: ValidIDFlag and StackBottom. Linux drops such VXLAN packets, and a
# router takes the IP header for the next label. Set both.
#
# Uses github.com/gopacket/gopacket v1.7.7 with Go; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
go mod init try 2> log && go get github.com/gopacket/gopacket@v1.7.7 2> log || { cat log >&2; exit 2; }
cat > main.go <<'END'
package main

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
)

func written(parts ...gopacket.SerializableLayer) []byte {
	buffer := gopacket.NewSerializeBuffer()
	options := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	if err := gopacket.SerializeLayers(buffer, options, parts...); err != nil {
		panic(err)
	}
	return buffer.Bytes()
}

func main() {
	ip := &layers.IPv4{Version: 4, TTL: 64, Protocol: layers.IPProtocolUDP, SrcIP: net.IP{192, 0, 2, 1}, DstIP: net.IP{192, 0, 2, 2}}
	udp := &layers.UDP{SrcPort: 1000, DstPort: 2000}
	udp.SetNetworkLayerForChecksum(ip)
	data := gopacket.Payload("hello")
	ethernet := &layers.Ethernet{SrcMAC: make([]byte, 6), DstMAC: make([]byte, 6), EthernetType: layers.EthernetTypeIPv4}
	vxlan := written(&layers.VXLAN{VNI: 10}, ethernet, ip, udp, data)
	mpls := written(&layers.MPLS{Label: 16, TTL: 64}, &layers.MPLS{Label: 17, TTL: 64}, ip, udp, data)
	last := binary.BigEndian.Uint32(mpls[4:])
	fmt.Println("gopacket v1.7.7")
	fmt.Printf("VXLAN{VNI: 10}: %x, its flags are 0x%02x and should be 0x08\n", vxlan[:8], vxlan[0])
	fmt.Printf("MPLS{Label: 17} in front of IP: %08x, bottom of the stack %d\n", last, last>>8&1)
	if vxlan[0] != 0 || last>>8&1 != 0 || last>>12 != 17 {
		os.Exit(1)
	}
}
END
go mod tidy 2> log || { cat log >&2; exit 2; }
go run .
