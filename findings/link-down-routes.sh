#!/bin/sh
# An interface that is set down and up again has lost its IPv6 addresses and all static routes, and kept its IPv4 address; one whose
# cable is pulled and plugged in again loses nothing.
#
# One would guess: a link that flaps is as before when it is up again, and both ways to make it flap do the same.
# So it is: `ip link set ... down` removes the routes of both families that go out there, and the global IPv6 addresses; `up` brings back
# only the connected route of the IPv4 address. Loss of the carrier, as from setting the other end down, leaves addresses and routes.
# A failover test that sets the device's port down and up again measures a path that never comes back. Set the tester's end down.
# `net.ipv6.conf.*.keep_addr_on_down=1` keeps the IPv6 address, and `up` brings back its connected route, but no static one.
#
# Needs root, for a network namespace of its own. Uses the running kernel (Linux 6.18 when this was written) and iproute2 6.1.0-3 of Debian
# 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iproute2=6.1.0-3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/sbin:$folder/bin:$PATH"
echo Linux "$(uname -r)"
cat > try.py <<'END'
import subprocess
import sys
import time


def ip(command):
    return subprocess.run(["ip", *command.split()], capture_output=True, text=True, check=True).stdout


ADDRESSES, STATIC = ("10.0.0.1/24", "2001:db8::1/64"), ("10.1.0.0/16", "2001:db8:1::/64")
ROUTES = ("10.0.0.0/24", "2001:db8::/64", *STATIC)


def left(when):
    """Addresses, connected routes and static ones that are there."""
    addresses, routes = ip("address show dev near").split(), (ip("-4 route") + ip("-6 route")).split()
    kept = [address for address in ADDRESSES if address in addresses] + [route for route in ROUTES if route in routes]
    print(f"{when}:", *kept)
    return kept


def flap(end, keep=0):
    """Set up anew, then set an end down and up again."""
    ip("link add near type veth peer name far")
    with open("/proc/sys/net/ipv6/conf/near/keep_addr_on_down", "w") as setting:
        setting.write(str(keep))
    for name in ("far", "near"):
        ip(f"link set {name} up")
    ip("address add 10.0.0.1/24 dev near")
    ip("address add 2001:db8::1/64 dev near nodad")
    time.sleep(1)
    ip("route add 10.1.0.0/16 via 10.0.0.2")
    ip("-6 route add 2001:db8:1::/64 via 2001:db8::2")
    print(f"keep_addr_on_down={keep}, {end} end")
    seen = [left("  before")]
    for state in ("down", "up"):
        ip(f"link set {end} {state}")
        time.sleep(1)
        seen.append(left(f"  set {state}"))
    ip("link del near")
    return seen


carrier, administrative, kept = flap("far"), flap("near"), flap("near", 1)
every, ipv4 = [*ADDRESSES, *ROUTES], ["10.0.0.1/24", "10.0.0.0/24"]
expected = [every] * 3, [every, ipv4[:1], ipv4], [every, list(ADDRESSES), [*ADDRESSES, *ROUTES[:2]]]
sys.exit((carrier, administrative, kept) != expected)
END
unshare -n python3 try.py
