#!/bin/sh
# Go's netlink takes the Rate of a Tbf in bytes a second and that of an HtbClass in bits: of the same 1000000 tc shows 8 and 1 Mbit.
#
# One would guess: fields of the same name in one library have the same unit, be it bits or bytes.
# So it is: Tbf{Rate: 1000000} shapes to 8 Mbit/s, NewHtbClass with Rate: 1000000 to 1 Mbit/s. The HtbClass that NewHtbClass returns, and
# that ClassList reads back, has a Rate of 125000, in bytes: copied into HtbClassAttrs it becomes an eighth. Neither field has a
# comment with its unit.
#
# Needs root, for a network namespace of its own. Uses github.com/vishvananda/netlink v1.3.1 with Go, and iproute2 6.1.0-3 of Debian 12; no
# Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iproute2=6.1.0-3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/sbin:$folder/bin:$PATH"
go mod init try 2> log && go get github.com/vishvananda/netlink@v1.3.1 2> log || { cat log >&2; exit 2; }
cat > main.go <<'END'
package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"

	"github.com/vishvananda/netlink"
)

const rate = 1_000_000

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// shown is the rate that tc shows of the queues or classes of the device.
func shown(kind string) string {
	output, err := exec.Command("tc", kind, "show", "dev", "near").Output()
	must(err)
	return regexp.MustCompile(`rate (\S+)`).FindStringSubmatch(string(output))[1]
}

func main() {
	must(netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "near"}, PeerName: "far"}))
	link, err := netlink.LinkByName("near")
	must(err)
	root := netlink.QdiscAttrs{LinkIndex: link.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT}
	tbf := &netlink.Tbf{QdiscAttrs: root, Rate: rate, Limit: 100_000, Buffer: 16_000}
	must(netlink.QdiscAdd(tbf))
	asTbf := shown("qdisc")
	must(netlink.QdiscDel(tbf))
	must(netlink.QdiscAdd(netlink.NewHtb(root)))
	attributes := netlink.ClassAttrs{LinkIndex: root.LinkIndex, Parent: root.Handle, Handle: netlink.MakeHandle(1, 1)}
	class := netlink.NewHtbClass(attributes, netlink.HtbClassAttrs{Rate: rate, Ceil: rate})
	must(netlink.ClassAdd(class))
	asHtb := shown("class")
	fmt.Printf("netlink v1.3.1, Rate: %d\nTbf: tc shows %s\nHtbClassAttrs: tc shows %s, HtbClass.Rate is %d\n", rate, asTbf, asHtb, class.Rate)
	if asTbf != "8Mbit" || asHtb != "1Mbit" || class.Rate != rate/8 {
		os.Exit(1)
	}
}
END
go build -o try . || exit 2
unshare -n ./try
