#!/bin/sh
# node_exporter says that a bridge or a tunnel has a speed of -125,000 bytes a second, and that the loopback interface is down.
#
# One would guess: an interface whose speed is not known has no node_network_speed_bytes, and node_network_up is 1 for all that are up.
# So it is: the kernel's -1 for "not known" is multiplied as a speed in Mbit/s would be. A utilization, bytes per second by speed, is
# negative there, so an alert "above 0.8" never fires, and a sum of speeds is too low. node_network_up is 1 only where the kernel's state
# is "up": it is 0 for lo, bridges without ports and VXLAN devices, whose state is "unknown" though they work. node_network_carrier is 1
# for them.
#
# Needs root, for network and mount namespaces of its own. Uses prometheus-node-exporter 1.5.0-1+b6 of Debian 12; seen with Linux 6.18. No
# Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download prometheus-node-exporter=1.5.0-1+b6 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
usr/bin/prometheus-node-exporter --version > version 2>&1 || exit 2
head -1 version
cat > try.py <<'END'
import re
import subprocess
import sys
import time
import urllib.request

exporter = subprocess.Popen(
    "usr/bin/prometheus-node-exporter --collector.disable-defaults --collector.netclass --web.listen-address=127.0.0.1:9100".split(),
    stderr=open("log", "w"),
)
try:
    for _ in range(100):
        try:
            text = urllib.request.urlopen("http://127.0.0.1:9100/metrics").read().decode()
            break
        except OSError:
            time.sleep(0.1)
finally:
    exporter.terminate()
    exporter.wait()
seen = {}
for metric in ("speed_bytes", "up", "carrier"):
    found = re.findall(rf'^node_network_{metric}{{device="(\w+)"}} (\S+)$', text, re.MULTILINE)
    seen[metric] = {device: float(value) for device, value in found}
    print(f"node_network_{metric}:", seen[metric])
speeds = {"bridge": -125_000, "tunnel": -125_000, "veth": 1.25e9, "peer": 1.25e9}
up = {"bridge": 0, "tunnel": 0, "lo": 0, "veth": 1, "peer": 1}
sys.exit((seen["speed_bytes"], seen["up"], set(seen["carrier"].values())) != (speeds, up, {1}))
END
cat > try.sh <<'END'
set -e
ip link set lo up
ip link add veth type veth peer name peer
ip link add bridge type bridge
ip link add tunnel type vxlan id 1 dstport 4789 local 127.0.0.1
for name in veth peer bridge tunnel; do ip link set $name up; done
mount -t sysfs none /sys
sleep 1
python3 try.py
END
unshare -n -m sh try.sh
