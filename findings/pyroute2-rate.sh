#!/bin/sh
# In pyroute2, rate=1000000 is 8 Mbit/s and rate="1000000" is 1 Mbit/s.
#
# One would guess: a rate without a unit means the same as a number and as text, bits per second as for `tc`.
# So it is: a number is bytes per second, text without a unit bits per second. A shaper set from a computed number is eight times
# faster than one set from the same figure out of a file.
#
# Needs root, for a network namespace of its own. Uses pyroute2 0.9.4 from PyPI and iproute2 6.1.0-3 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iproute2=6.1.0-3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
python3 -m venv venv && venv/bin/pip -q install pyroute2==0.9.4 || exit 2
sbin/tc -V || exit 2
cat > try.py <<'END'
import re
import subprocess
import sys
from importlib.metadata import version

from pyroute2 import IPRoute

seen = {}
print("pyroute2", version("pyroute2"))
with IPRoute() as ip:
    for rate in (1_000_000, "1000000", "1mbit"):
        ip.link("add", ifname="near", kind="veth", peer="far")
        index = ip.link_lookup(ifname="near")[0]
        ip.tc("add", "tbf", index, handle=0x10000, parent=0xFFFFFFFF, rate=rate, latency="50ms", burst=10_000)
        shown = subprocess.run(["sbin/tc", "qdisc", "show", "dev", "near"], capture_output=True, text=True, check=True).stdout
        seen[rate] = re.search(r"rate (\S+)", shown)[1]
        print(f"tbf, rate={rate!r}: tc shows {seen[rate]}")
        ip.link("del", index=index)
sys.exit(seen != {1_000_000: "8Mbit", "1000000": "1Mbit", "1mbit": "1Mbit"})
END
unshare -n venv/bin/python try.py
