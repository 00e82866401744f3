#!/bin/sh
# A select group of Open vSwitch sends all UDP flows between two addresses to one bucket.
#
# One would guess: "select" spreads flows over the buckets by addresses and ports, of TCP and of UDP.
# So it is: the hash has the ports of TCP, but not those of UDP. 300 UDP flows that differ in their source port take one of
# three paths; 300 TCP flows take all three. A test of load sharing with UDP streams, the usual kind, finds two paths idle.
# Vary addresses, too, or give the group `selection_method=hash` with the ports among its fields (OpenFlow 1.5).
#
# Uses openvswitch-switch and openvswitch-common 3.1.0-2+deb12u1 of Debian 12, with the datapath in the program that its own tests
# use; no Eagre.
set -eu
folder=$(mktemp -d)
cd "$folder"
trap 'for daemon in "$folder"/*.pid; do if [ -e "$daemon" ]; then kill "$(cat "$daemon")"; fi; done; sleep 1; rm -rf "$folder"' EXIT
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
"$switch" --enable-dummy=system --disable-system --detach --pidfile="$folder/switch.pid" --log-file \
    "unix:$folder/db.sock" 2> switch.log
set -- add-br br0 -- set bridge br0 datapath-type=dummy fail-mode=secure
for port in 1 2 3 4; do set -- "$@" -- add-port br0 p$port -- set interface p$port type=dummy ofport_request=$port; done
ovs-vsctl --db="unix:$folder/db.sock" "$@"
groups() { ovs-ofctl -O OpenFlow13 "$@"; }
groups add-group "unix:$folder/br0.mgmt" group_id=1,type=select,bucket=output:2,bucket=output:3,bucket=output:4
groups add-flow "unix:$folder/br0.mgmt" in_port=1,actions=group:1
# Sends 300 flows of a protocol; prints how many packets each bucket has had.
spread() {
    for port in $(seq 1001 1300); do
        ip="ipv4(src=192.0.2.1,dst=192.0.2.2,proto=$2,tos=0,ttl=64,frag=no),$1(src=$port,dst=80)"
        ovs-appctl -t "$folder/ovs-vswitchd.$(cat switch.pid).ctl" netdev-dummy/receive p1 \
            "in_port(1),eth(src=02:00:00:00:00:01,dst=02:00:00:00:00:02),eth_type(0x0800),$ip"
    done
    sleep 3
    groups dump-group-stats "unix:$folder/br0.mgmt" | grep -o 'bucket[0-9]:packet_count=[0-9]*' | cut -d = -f 2 | tr '\n' ' '
}
echo "packets of each bucket after 300 UDP flows: $(spread udp 17 | tee udp)"
echo "after 300 TCP flows more: $(spread tcp 6 | tee tcp)"
python3 - <<'END'
import sys

udp, tcp = (list(map(int, open(name).read().split())) for name in ("udp", "tcp"))
more = [after - before for before, after in zip(udp, tcp)]
sys.exit(not (sorted(udp)[:2] == [0, 0] and sum(udp) > 200 and min(more) > 30))
END
