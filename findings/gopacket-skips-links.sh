#!/bin/sh
# gopacket's pcapng reader skips the packets of interfaces whose link type is not the first one's, without an error.
#
# One would guess: all packets of a file are read, or an error says what cannot be, as libpcap does.
# So it is: with its default options NgReader goes on to the next packet of the first interface's link type. Of a capture of an Ethernet
# card and a tunnel (raw IP) it reads the card's packets only; whoever counts or replays them takes the rest for lost. With the option
# WantMixedLinkType it reads all, and the caller asks for each one's link type. Both google/gopacket and its successor do that.
#
# Uses github.com/google/gopacket v1.1.19 and github.com/gopacket/gopacket v1.7.7 with Go; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
go mod init try 2> log || { cat log >&2; exit 2; }
go get github.com/google/gopacket@v1.1.19 2> log || { cat log >&2; exit 2; }
go get github.com/gopacket/gopacket@v1.7.7 2> log || { cat log >&2; exit 2; }
cat > main.go <<'END'
package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	older "github.com/google/gopacket/pcapgo"
	newer "github.com/gopacket/gopacket/pcapgo"
)

// block is a pcapng block of 32-bit words, little-endian, followed by zeros.
func block(kind uint32, zeros int, words ...uint32) []byte {
	length := uint32(12 + 4*len(words) + zeros)
	data := binary.LittleEndian.AppendUint32(nil, kind)
	data = binary.LittleEndian.AppendUint32(data, length)
	for _, word := range words {
		data = binary.LittleEndian.AppendUint32(data, word)
	}
	return binary.LittleEndian.AppendUint32(append(data, make([]byte, zeros)...), length)
}

// read counts the packets that a reader gives until the end of the file.
func read(next func() error) int {
	for count := 0; ; count++ {
		if err := next(); errors.Is(err, io.EOF) {
			return count
		} else if err != nil {
			panic(err)
		}
	}
}

func main() {
	const ethernet, raw = 1, 101
	file := block(0x0A0D0D0A, 0, 0x1A2B3C4D, 1, 0xffffffff, 0xffffffff)
	file = append(file, block(1, 0, ethernet, 0)...)
	file = append(file, block(1, 0, raw, 0)...)
	for number := range uint32(10) {
		file = append(file, block(6, 60, number%2, 0, number, 60, 60)...)
	}
	counts := map[string]int{}
	for _, mixed := range []bool{false, true} {
		first, err := older.NewNgReader(bytes.NewReader(file), older.NgReaderOptions{WantMixedLinkType: mixed})
		if err != nil {
			panic(err)
		}
		second, err := newer.NewNgReader(bytes.NewReader(file), newer.NgReaderOptions{WantMixedLinkType: mixed})
		if err != nil {
			panic(err)
		}
		counts[fmt.Sprint("google v1.1.19, mixed ", mixed)] = read(func() error { _, _, err := first.ReadPacketData(); return err })
		counts[fmt.Sprint("gopacket v1.7.7, mixed ", mixed)] = read(func() error { _, _, err := second.ReadPacketData(); return err })
	}
	fmt.Println("five packets of an Ethernet and five of a raw IP interface; read:", counts)
	for name, count := range counts {
		if name[len(name)-4:] == "true" && count != 10 || name[len(name)-4:] != "true" && count != 5 {
			os.Exit(1)
		}
	}
	if older.DefaultNgReaderOptions.WantMixedLinkType || newer.DefaultNgReaderOptions.WantMixedLinkType {
		os.Exit(1)
	}
}
END
go mod tidy 2> log || { cat log >&2; exit 2; }
go run .
