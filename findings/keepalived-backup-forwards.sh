#!/bin/sh
# A VRRP backup of keepalived forwards what reaches it by the virtual MAC address, although it is not the master.
#
# One would guess: only the master forwards packets that are addressed to the virtual MAC address (RFC 9568 section 6.4.2).
# So it is: with `use_vmac` the interface with that address is up on the backup, too, and Linux forwards what it takes. Behind
# a hub, or a switch that floods, both routers forward each packet. A switch that sees the master's link go down floods until
# the address is learned again: so nothing is lost, and a test of the failover time finds none. Let frames of the master be
# dropped while its link stays up.
#
# Needs root, for network and mount namespaces of its own. Uses keepalived 1:2.2.7-1+b2 of Debian 12 with the libraries it
# depends on; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download keepalived=1:2.2.7-1+b2 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
usr/sbin/keepalived --version 2>&1 | head -n 1 > version
grep Keepalived version || exit 2
cat > try.sh <<'END'
set -eu
trap 'for file in *.pid; do if [ -e "$file" ]; then kill "$(cat "$file")"; fi; done; wait' EXIT
mount -t tmpfs none /run
ip link add hub type bridge ageing_time 0 mcast_snooping 0
ip link set hub up
# A namespace with an interface at the hub and an address.
join() {
    ip netns add "$1"
    ip link add "$1" type veth peer name in netns "$1"
    ip link set "$1" master hub up
    ip -n "$1" link set in up
    ip -n "$1" address add "$2" dev in
}
join client 10.0.0.2/24
ip -n client route add 10.9.0.0/24 via 10.0.0.1
priority=200
for router in first second; do
    join $router 10.0.0.$priority/24
    ip netns exec $router sysctl -q -w net.ipv4.ip_forward=1 net.ipv6.conf.all.disable_ipv6=1
    ip -n $router link add out type veth peer name away
    for end in out away; do ip -n $router link set $end up; done
    ip -n $router address add 10.9.0.1/24 dev out
    ip -n $router neigh add 10.9.0.9 lladdr 02:00:00:00:00:09 dev out
    cat > $router.conf <<CONF
global_defs { vrrp_version 3 }
vrrp_instance one {
 state BACKUP
 interface in
 use_vmac virtual
 virtual_router_id 7
 priority $priority
 advert_int 0.3
 virtual_ipaddress { 10.0.0.1/24 }
}
CONF
    ip netns exec $router usr/sbin/keepalived --dont-fork --vrrp --log-console -f $router.conf -p $router.pid -r $router-vrrp.pid \
        > $router.log 2>&1 &
    priority=100
    sleep 3
done
ip netns exec client ping -q -c 10 -i 0.2 -W 1 10.9.0.9 > ping || true
for router in first second; do
    ip -n $router -j -s link show out | grep -o '"tx":{"bytes":[0-9]*,"packets":[0-9]*' | grep -o '[0-9]*$' > $router.sent
    echo "$router router: $(grep -o '[A-Z]* STATE' $router.log | tail -n 1), $(cat $router.sent) packets forwarded of 10 sent"
done
grep -q 'MASTER STATE' first.log && ! grep -q 'MASTER STATE' second.log
[ "$(cat first.sent)" -eq 10 ] && [ "$(cat second.sent)" -eq 10 ]
END
unshare -n -m sh try.sh
