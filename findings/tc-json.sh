#!/bin/sh
# `tc -j` shows a rate of 1 Mbit/s as 125000, 50 ms as 50000, and classes as text.
#
# One would guess: with `-j` each list is JSON, and its numbers are those of the text, without their units: 1000000 bit/s, as tc counts
# rates in bits, and one unit for times.
# So it is: rates are in bytes a second, whatever unit they were set in, and tbf's latency is in microseconds; no field says so.
# `tc -j class show` prints the same text as without `-j` if the classes are of HTB, and exits with 0. A test that compares the JSON with
# what it has set finds an eighth of its rate.
#
# Needs root, for a network namespace of its own. Uses iproute2 6.1.0-3 of Debian 12; seen with Linux 6.18. No Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iproute2=6.1.0-3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/sbin:$folder/bin:$PATH"
tc -V && uname -sr || exit 2
cat > try.py <<'END'
import json
import subprocess
import sys


def run(command):
    """Output of a command."""
    return subprocess.run(command.split(), capture_output=True, text=True, check=True).stdout.strip()


run("ip link add near type veth peer name far")
run("tc qdisc add dev near root handle 1: htb default 1")
run("tc class add dev near parent 1: classid 1:1 htb rate 1mbit")
run("tc qdisc add dev near parent 1:1 handle 2: tbf rate 1mbit burst 5k latency 50ms")
(text,) = [line for line in run("tc qdisc show dev near").splitlines() if "tbf" in line]
(tbf,) = [qdisc["options"] for qdisc in json.loads(run("tc -j qdisc show dev near")) if qdisc["kind"] == "tbf"]
print(text)
print("with -j:", tbf)
classes = run("tc -j class show dev near")
print("tc -j class show:", classes.splitlines()[0])
as_described = tbf["rate"] == 125_000 and tbf["lat"] == 50_000 and "rate 1Mbit" in text and "lat 50ms" in text
try:
    json.loads(classes)
except json.JSONDecodeError:
    sys.exit(not (as_described and classes == run("tc class show dev near") and "class htb 1:1" in classes))
sys.exit(1)
END
unshare -n python3 try.py
