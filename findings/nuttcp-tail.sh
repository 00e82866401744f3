#!/bin/sh
# nuttcp's UDP rate is per second of its waiting, too: of 10 Mbit/s for two seconds with the last 40 % lost it shows less than 3 Mbit/s.
#
# One would guess: what was received is divided by the two seconds of the test: 60 % of the packets are 6 Mbit/s, as the same loss spread
# over the test is.
# So it is: if the end of the stream does not arrive, the receiver goes on waiting for it, here for 2.7 s, and that time is in its seconds:
# "1.4 MB / 4.7 sec = 2.5 Mbps". With 40 % lost evenly it shows 6 Mbit/s in 2.0 s. The loss it shows is right in both cases. A link that
# fails in mid-test has a rate that it never had. Look at the seconds, or compute the rate from the bytes.
#
# Needs root, for network namespaces of its own. Uses nuttcp 6.1.2-4+b1, iproute2 6.1.0-3, nftables and libnftables1 1.0.6-2+deb12u2 and
# libnftnl11 1.2.4-2 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download nuttcp=6.1.2-4+b1 iproute2=6.1.0-3 || exit 2
apt-get -qq -o APT::Sandbox::User=root download nftables=1.0.6-2+deb12u2 libnftables1=1.0.6-2+deb12u2 libnftnl11=1.2.4-2 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
export PATH="$folder/sbin:$folder/bin:$folder/usr/bin:$folder/usr/sbin:$PATH"
ip -V && nft --version && uname -sr || exit 2

nuttcp -V 2>&1 | head -n 1
cat > try.py <<'END'
import re
import subprocess
import sys


def measure(rule):
    """Mbit/s, seconds and loss that nuttcp shows of 10 Mbit/s for two seconds."""
    for command in ("flush chain inet t in", f"add rule inet t in udp dport 5000-5100 {rule} drop"):
        subprocess.run(["nft", *command.split()], check=True)
    command = "ip netns exec sender nuttcp -T 2 -u -R 10M -l 1000 10.0.0.2"
    shown = subprocess.run(command.split(), capture_output=True, text=True, timeout=60, check=True).stdout
    print(f"{rule}: {' '.join(shown.split())}")
    found = re.search(r"/\s+([\d.]+) sec =\s+([\d.]+) Mbps.* ([\d.]+) %loss", shown)
    return tuple(float(each) for each in found.groups())


even = measure("numgen inc mod 5 < 2")
tail = measure("quota over 1545 kbytes")
sys.exit(not (35 < even[2] < 45 and 35 < tail[2] < 45 and even[0] < 2.5 and even[1] > 5.5 and tail[0] > 3.5 and tail[1] < 4.2))
END
cat > try.sh <<'END'
set -e
mount -t tmpfs none /run
ip netns add sender
ip link add near netns sender type veth peer name far
ip -n sender address add 10.0.0.1/24 dev near
ip -n sender link set near up
ip -n sender link set lo up
ip address add 10.0.0.2/24 dev far
ip link set far up
ip link set lo up
nft add table inet t
nft "add chain inet t in { type filter hook input priority 0; }"
nuttcp -S --nofork > server.log 2>&1 &
server=$!
trap 'kill $server' EXIT
sleep 0.5
python3 try.py
END
unshare -nm sh try.sh
