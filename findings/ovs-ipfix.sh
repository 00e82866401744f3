#!/bin/sh
# Open vSwitch's IPFIX has each packet of a bridge twice, and nfdump makes some six times as many of them: 100 packets are 200, and 598.
#
# One would guess: with `sampling=1` the exporter counts each packet once, and a collector adds up the records.
# So it is: the bridge exports a packet where it comes in and where it goes out, once for each output port, unless `other_config` switches
# one of them off; nothing in the record's counts tells them apart for a collector that adds. Besides, each record has the flow's total so
# far beside the counts since the last record (packetTotalCount and packetDeltaCount). nfdump 1.7.1 takes the totals and adds them up, so
# the number grows with each export of a long flow. Set `other_config:enable-output-sampling=false`, and use a collector that reads
# deltas.
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
ovs-vsctl --db="unix:$folder/db.sock" -- set bridge br0 ipfix=@ipfix \
    -- --id=@ipfix create ipfix 'targets="127.0.0.1:9001"' sampling=1 cache_active_timeout=4 cache_max_flows=1000 > /dev/null
sleep 1
exec python3 try.py "$folder" "$(cat switch.pid)"
END
cat > try.py <<'END'
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time

folder, pid = sys.argv[1:]
datagram = struct.pack("!HHHH", 1000, 2000, 966, 0) + bytes(958)
header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 986, 0, 0, 64, 17, 0, bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
frame = (bytes.fromhex("020000000002 020000000001 0800") + header + datagram).hex()
PACKET_DELTA, PACKET_TOTAL, VARIABLE = 2, 86, 65535
os.mkdir("flows")
collector = subprocess.Popen("nfcapd -w flows -l flows -b 127.0.0.1 -p 9002".split(), stdout=open("log", "w"), stderr=subprocess.STDOUT)
here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
here.bind(("127.0.0.1", 9001))
here.settimeout(0.2)
templates, records = {}, []


def read(message):
    """Learns templates, and notes the packets of each data record: since the last one, and in total."""
    at = 16
    while at + 4 <= len(message):
        kind, length = struct.unpack_from("!HH", message, at)
        end, at = at + length, at + 4
        while kind == 2 and at + 4 <= end:
            number, count = struct.unpack_from("!HH", message, at)
            at += 4
            fields = []
            for _ in range(count):
                field, size = struct.unpack_from("!HH", message, at)
                at += 8 if field & 0x8000 else 4
                fields.append((field, size))
            templates[number] = fields
        while kind in templates and at + 4 <= end:
            values = {}
            for field, size in templates[kind]:
                if size == VARIABLE:
                    size, at = message[at], at + 1
                values[field] = int.from_bytes(message[at:at + size], "big")
                at += size
            if PACKET_DELTA in values and values.get(11) == 2000:
                records.append((values[PACKET_DELTA], values[PACKET_TOTAL]))
        at = end


def pass_on(seconds):
    """Reads what the switch exports, and gives it to the collector."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            message = here.recv(9000)
        except TimeoutError:
            continue
        read(message)
        here.sendto(message, ("127.0.0.1", 9002))


pass_on(1)
for _ in range(2):
    for _ in range(50):
        subprocess.run(f"ovs-appctl -t {folder}/ovs-vswitchd.{pid}.ctl netdev-dummy/receive p1 {frame}".split(), check=True)
    pass_on(7)
collector.send_signal(signal.SIGINT)
collector.wait()
shown = re.findall(r"Flows: (\d+), Packets: (\d+)", open("log").read())
stored = sum(int(packets) for _, packets in shown)
print(f"100 packets from one port to another: {len(records)} records")
deltas, totals = map(sum, zip(*records))
print(f"packets since the last record: {deltas}; totals: {totals}; nfdump: {stored}")
sys.exit(not (deltas == 200 and stored == totals > 250))
END
export folder switch
unshare -n sh try.sh
