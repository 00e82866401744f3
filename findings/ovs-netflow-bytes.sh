#!/bin/sh
# Open vSwitch's NetFlow counts the Ethernet header, too: 100 packets of 986 bytes are 100,000 bytes.
#
# One would guess: the bytes of a NetFlow record are those of IP packets ("total number of layer 3 bytes in the packets of the flow"), as
# routers export them.
# So it is: they are the bytes of the switch's flow counters, 14 more for each packet, 18 with a VLAN tag. For small packets that is a
# third: 100 datagrams of 46 bytes are 6,000 bytes instead of 4,600. The switch's own IPFIX exporter has bytes of layer 3. A rate or an
# invoice from both, or from this switch and a router, differs by what the packets' sizes are.
#
# Uses openvswitch-switch and openvswitch-common 3.1.0-2+deb12u1 of Debian 12, with a datapath in memory, and nfdump 1.7.1-2+deb12u1; no
# Eagre.
set -eu
folder=$(mktemp -d)
cd "$folder"
trap 'for file in "$folder"/*.pid; do kill "$(cat "$file")" 2> /dev/null || true; done; sleep 1; rm -rf "$folder"' EXIT
for package in openvswitch-switch=3.1.0-2+deb12u1 openvswitch-common=3.1.0-2+deb12u1 nfdump=1.7.1-2+deb12u1; do
    apt-get -qq -o APT::Sandbox::User=root download "$package" || exit 2
done
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/usr/bin:$folder/usr/sbin:$PATH" LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
export OVS_RUNDIR="$folder" OVS_LOGDIR="$folder" OVS_DBDIR="$folder"
switch=$(find usr/lib usr/sbin -name 'ovs-vswitchd' | head -n 1)
"$switch" --version > version || exit 2
head -n 1 version && nfdump -V || exit 2
cat > try.sh <<'END'
ip link set lo up
ovsdb-tool create db usr/share/openvswitch/vswitch.ovsschema
ovsdb-server db --detach --pidfile="$folder/server.pid" --remote="punix:$folder/db.sock" --log-file 2> server.log
"$switch" --enable-dummy=system --disable-system --detach --pidfile="$folder/switch.pid" --log-file "unix:$folder/db.sock" 2> switch.log
set -- add-br br0 -- set bridge br0 datapath-type=dummy fail-mode=secure
for port in 1 2; do set -- "$@" -- add-port br0 p$port -- set interface p$port type=dummy ofport_request=$port; done
ovs-vsctl --db="unix:$folder/db.sock" "$@"
ovs-ofctl add-flow "unix:$folder/br0.mgmt" in_port=1,actions=output:2
ovs-vsctl --db="unix:$folder/db.sock" -- set bridge br0 netflow=@netflow \
    -- --id=@netflow create netflow 'targets="127.0.0.1:9001"' active_timeout=1 > /dev/null
sleep 1
exec python3 try.py "$folder" "$(cat switch.pid)"
END
cat > try.py <<'END'
import os
import re
import signal
import struct
import subprocess
import sys
import time

folder, pid = sys.argv[1:]
PACKETS = 100


def frame(size):
    """An Ethernet frame with a datagram whose IP packet has the size given."""
    header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, size, 0, 0, 64, 17, 0, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
    ports = struct.pack("!HHHH", size, 9, size - 20, 0)
    return bytes.fromhex("020000000002 020000000001 0800") + header + ports + bytes(size - 28)


os.mkdir("flows")
collector = subprocess.Popen("nfcapd -w flows -l flows -b 127.0.0.1 -p 9001".split(), stdout=open("log", "w"), stderr=subprocess.STDOUT)
time.sleep(1)
for size in (46, 986):
    for _ in range(PACKETS):
        command = f"ovs-appctl -t {folder}/ovs-vswitchd.{pid}.ctl netdev-dummy/receive p1 {frame(size).hex()}"
        subprocess.run(command.split(), check=True)
time.sleep(4)
collector.send_signal(signal.SIGINT)
collector.wait()
shown = subprocess.run(["nfdump", "-q", "-R", "flows", "-N", "-o", "fmt:%sp %pkt %byt"], capture_output=True, text=True, check=True).stdout
seen = {46: [0, 0], 986: [0, 0]}
for port, packets, size in re.findall(r"(\d+) +(\d+) +(\d+)", shown):
    seen[int(port)][0] += int(packets)
    seen[int(port)][1] += int(size)
for size, (packets, total) in seen.items():
    print(f"{PACKETS} IP packets of {size} bytes: NetFlow has {packets} packets, {total} bytes")
sys.exit(seen != {46: [100, 6000], 986: [100, 100_000]})
END
export folder switch
unshare -n sh try.sh
