#!/bin/sh
# pro-bing with `Count = 10` never ends if one of ten echo replies is lost; with none lost it ends at once.
#
# One would guess: Run() returns when ten requests are sent and answered, or have waited for some seconds, as ping does.
# So it is: it returns when ten replies are there. For those that do not come it waits until `Timeout`, which NewPinger sets to 292 years.
# A monitor that pings ten times hangs at the first loss, so that a path with losses has no results at all. Set `Timeout`, which is the
# time of the whole run, not that of one request.
#
# Needs root, for a network namespace of its own. Uses github.com/prometheus-community/pro-bing v0.9.1 with Go, nftables and libnftables1
# 1.0.6-2+deb12u2 and libnftnl11 1.2.4-2 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download nftables=1.0.6-2+deb12u2 libnftables1=1.0.6-2+deb12u2 libnftnl11=1.2.4-2 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu" PATH="$folder/usr/sbin:$PATH"
go mod init try 2> log && go get github.com/prometheus-community/pro-bing@v0.9.1 2> log || { cat log >&2; exit 2; }
cat > main.go <<'END'
package main

import (
	"fmt"
	"os"
	"time"

	probing "github.com/prometheus-community/pro-bing"
)

// ends is whether ten pings, 50 ms apart, end within ten seconds.
func ends(name string) bool {
	pinger, err := probing.NewPinger("127.0.0.1")
	if err != nil {
		panic(err)
	}
	pinger.SetPrivileged(true)
	pinger.Count, pinger.Interval = 10, 50*time.Millisecond
	done := make(chan error, 1)
	go func() { done <- pinger.Run() }()
	ended := true
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		ended = false
		pinger.Stop()
		<-done
	}
	statistics := pinger.Statistics()
	fmt.Printf("%s: %d sent, %d received, ", name, statistics.PacketsSent, statistics.PacketsRecv)
	fmt.Printf("ends: %v, Timeout: %v\n", ended, pinger.Timeout)
	return ended
}

func main() {
	fmt.Println("pro-bing v0.9.1")
	if ends(os.Args[1]) != (os.Args[1] == "no loss") {
		os.Exit(1)
	}
}
END
go mod tidy 2> log && go build -o try . || exit 2
cat > try.sh <<'END'
set -e
ip link set lo up
./try "no loss"
nft add table inet t
nft "add chain inet t in { type filter hook input priority 0; }"
nft add rule inet t in icmp type echo-reply numgen inc mod 10 3 drop
./try "a loss of one in ten"
END
unshare -n sh try.sh
