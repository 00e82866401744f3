#!/bin/sh
# Scapy's MPLS() has a TTL of 0: the first router that decrements it drops the packet.
#
# One would guess: a label's TTL that is not given is that of the packet below, as RFC 3443 has it for an ingress router, or 64 as for
# IP().
# So it is: it is 0, while label (3), traffic class and the bottom of the stack have defaults that work. A switch that decrements the TTL,
# as every label switching router does (RFC 3032, section 2.4.2), drops all packets of such a stream: a loss of 100 % that looks like a
# missing label. With `ttl=64` all pass.
#
# Uses scapy 2.8.0 from PyPI, and openvswitch-switch and openvswitch-common 3.1.0-2+deb12u1 of Debian 12 as a router, with a datapath in
# memory; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'for file in "$folder"/*.pid; do kill "$(cat "$file")" 2> /dev/null || true; done; sleep 1; rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv && venv/bin/pip -q install scapy==2.8.0 || exit 2
for package in openvswitch-switch openvswitch-common; do
    apt-get -qq -o APT::Sandbox::User=root download "$package=3.1.0-2+deb12u1" || exit 2
done
for package in *.deb; do dpkg -x "$package" .; done
PATH=$folder/usr/bin:$folder/usr/sbin:$PATH
export OVS_RUNDIR="$folder" OVS_LOGDIR="$folder" OVS_DBDIR="$folder"
switch=$(find usr/lib usr/sbin -name 'ovs-vswitchd' | head -n 1)
"$switch" --version > version || exit 2
head -n 1 version
ovsdb-tool create db usr/share/openvswitch/vswitch.ovsschema
ovsdb-server db --detach --pidfile="$folder/server.pid" --remote="punix:$folder/db.sock" --log-file 2> server.log
"$switch" --enable-dummy=system --disable-system --detach --pidfile="$folder/switch.pid" --log-file "unix:$folder/db.sock" 2> switch.log
set -- add-br br0 -- set bridge br0 datapath-type=dummy fail-mode=secure
for port in 1 2; do set -- "$@" -- add-port br0 p$port -- set interface p$port type=dummy ofport_request=$port; done
ovs-vsctl --db="unix:$folder/db.sock" "$@"
ovs-ofctl -O OpenFlow13 add-flow "unix:$folder/br0.mgmt" mpls,mpls_label=100,actions=dec_mpls_ttl,output:2
cat > try.py <<'END'
import re
import subprocess
import sys
import time

import scapy
from scapy.all import IP, UDP, Ether
from scapy.contrib.mpls import MPLS

folder, pid = sys.argv[1:]


def sent():
    command = f"ovs-ofctl -O OpenFlow13 dump-ports unix:{folder}/br0.mgmt 2"
    return int(re.search(r"tx pkts=(\d+)", subprocess.run(command.split(), capture_output=True, text=True, check=True).stdout)[1])


print("scapy", scapy.__version__)
seen = []
for what, label in (("MPLS(label=100)", MPLS(label=100)), ("MPLS(label=100, ttl=64)", MPLS(label=100, ttl=64))):
    packet = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / label / IP(src="192.0.2.1", dst="192.0.2.2") / UDP(sport=5, dport=9)
    before = sent()
    command = f"ovs-appctl -t {folder}/ovs-vswitchd.{pid}.ctl netdev-dummy/receive p1"
    subprocess.run(command.split() + [bytes(packet).hex()] * 10, check=True)
    time.sleep(1)
    forwarded = sent() - before
    print(f"{what}: TTL {bytes(packet)[17]}; of 10 packets the switch forwards {forwarded}")
    seen.append((bytes(packet)[17], forwarded))
sys.exit(seen != [(0, 0), (64, 10)])
END
sleep 1
venv/bin/python try.py "$folder" "$(cat switch.pid)" 2> log
