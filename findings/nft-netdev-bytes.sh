#!/bin/sh
# An nftables counter in the netdev family counts the same frames with 14 bytes more on egress than on ingress.
#
# One would guess: both hooks of one family count the same bytes for a frame, with its Ethernet header or without.
# So it is: on ingress the kernel has taken the Ethernet header off, on egress it is still there. A hundred frames of 100 bytes
# are 10,000 bytes where they leave and 8,600 where they arrive at the other end of the link: 14% seem lost if bytes are compared.
#
# Needs root, for a network namespace of its own. Uses nftables and libnftables1 1.0.6-2+deb12u2 of Debian 12; seen with Linux
# 6.18. No Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in nftables=1.0.6-2+deb12u2 libnftables1=1.0.6-2+deb12u2 libnftnl11=1.2.4-2; do
    apt-get -qq -o APT::Sandbox::User=root download "$package" || exit 2
done
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/sbin/nft --version && uname -sr || exit 2
cat > try.sh <<'END'
ip link add name near type veth peer name far
usr/sbin/nft 'add table netdev t
    add chain netdev t out { type filter hook egress device near priority 0; }
    add chain netdev t in { type filter hook ingress device far priority 0; }
    add rule netdev t out ether type 0x88b5 counter
    add rule netdev t in ether type 0x88b5 counter' || exit 2
for end in near far; do ip link set $end up; done
sleep 1
python3 - <<'PYTHON'
import socket

sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
sender.bind(("near", 0))
for _ in range(100):
    sender.send(bytes(12) + b"\x88\xb5" + bytes(86))
PYTHON
sleep 1
for chain in out in; do
    usr/sbin/nft list chain netdev t $chain | grep -o 'packets.*' > $chain
    echo "100 frames of 100 bytes, ${chain}bound: $(cat $chain)"
done
test "$(cat out), $(cat in)" = "packets 100 bytes 10000, packets 100 bytes 8600"
END
unshare -n sh try.sh
