#!/bin/sh
# iperf3 -u: packets lost at the end are no loss. With the second half of a test dropped, it says 0 %.
#
# One would guess: the sender knows how many datagrams it has sent, and what the receiver lacks is lost.
# So it is: the receiver counts gaps in the sequence numbers only, so what is missing after the last packet it got is unknown to
# it, and the sender's own count is not used. A link that fails in mid-test shows "0/583 (0%)" where 1,249 were sent; only the
# "sender" line above it has the true number of datagrams.
#
# Needs root, for a network namespace of its own whose loopback drops all after 600,000 bytes. Uses iperf3 3.12-1+deb12u2,
# libiperf0, libsctp1 and nftables of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iperf3=3.12-1+deb12u2 libiperf0=3.12-1+deb12u2 libsctp1=1.0.19+dfsg-2 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/bin/iperf3 --version > version || exit 2
head -n 1 version
cat > try.sh <<'END'
ip link set lo up
nft 'add table ip t; add chain ip t c { type filter hook input priority 0; }
     add rule ip t c udp dport 5201 quota over 600000 bytes counter drop' || exit 2
usr/bin/iperf3 --server --one-off > server.log &
sleep 1
usr/bin/iperf3 --client 127.0.0.1 --udp --bitrate 10M --length 1000 --time 1 > client.log || true
nft list chain ip t c | grep -o 'counter.*drop'
wait
END
unshare -n sh try.sh
grep -E 'sender|receiver' client.log
python3 - <<'END'
import re
import sys

lines = re.findall(r"(\d+)/(\d+) \(0%\) +(sender|receiver)", open("client.log").read())
seen = {end: (int(lost), int(packets)) for lost, packets, end in lines}
sys.exit(not (seen["receiver"][0] == 0 and seen["receiver"][1] < 700 and seen["sender"][1] > 1000))
END
