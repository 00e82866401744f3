#!/bin/sh
# perfdhcp counts the time it waits for late answers as time of the test: with `-W` of eight seconds 20 exchanges a second are 4.
#
# One would guess: the rate is that of the exchanges while requests were sent; waiting for stragglers makes drops right, and costs time.
# So it is: the rate is all exchanges divided by all of the time. 40 clients at `-r 20` in two seconds are 19.5 exchanges/second without
# `-W`, 10 with two seconds of waiting and 4 with eight, from the same server with the same answers, beside "expected rate: 20". Without
# `-W` the last answers are drops or missing. Take the number of exchanges, and divide by the time of sending.
#
# Needs root, for network namespaces of its own. Uses kea-admin and kea-common 2.2.0-6, liblog4cplus-2.0.5 2.0.8-1 and dnsmasq-base
# 2.90-4~deb12u2 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download kea-admin=2.2.0-6 kea-common=2.2.0-6 liblog4cplus-2.0.5=2.0.8-1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download dnsmasq-base=2.90-4~deb12u2 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu" PATH="$folder/usr/sbin:$PATH"
perfdhcp -v && dnsmasq --version | head -1 || exit 2
cat > try.py <<'END'
import os
import re
import subprocess
import sys
import time

server = subprocess.Popen(
    "nsenter --net=far dnsmasq -k --no-ping --port=0 --interface=far --dhcp-range=10.0.1.0,10.0.9.0,255.255.0.0,1h "
    f"--dhcp-leasefile={os.getcwd()}/leases --log-facility={os.getcwd()}/log --pid-file= --user=root --conf-file=/dev/null".split()
)
time.sleep(3)
seen = {}
try:
    for wait in (0, 2, 8):
        command = f"perfdhcp -4 -l near -r 20 -n 40 -R 200 -W {wait * 1_000_000}"
        output = subprocess.run(command.split(), capture_output=True, text=True).stdout
        rate = float(re.search(r"Rate: (\S+)", output)[1])
        sent, received = (re.findall(rf"{what} packets: (\d+)", output) for what in ("sent", "received"))
        seen[wait] = rate
        print(f"-W {wait} s: {rate:.1f} exchanges/second; DISCOVER {sent[0]}, OFFER {received[0]}, REQUEST {sent[1]}, ACK {received[1]}")
finally:
    server.terminate()
    server.wait()
sys.exit(not (seen[8] < 4.5 and seen[2] < 11 and seen[0] > seen[2] * 1.2 > seen[8] * 1.5))
END
cat > try.sh <<'END'
set -e
unshare -n sleep 60 &
holder=$!
trap 'kill $holder' EXIT
sleep 1
touch far
mount --bind /proc/$holder/ns/net far
ip link set lo up
ip link add near type veth peer name far netns $holder
ip link set near up
ip address add 10.0.0.2/16 dev near
nsenter --net=far ip link set far up
nsenter --net=far ip address add 10.0.0.1/16 dev far
python3 try.py
END
unshare -n -m sh try.sh
