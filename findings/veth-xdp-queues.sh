#!/bin/sh
# A veth takes no XDP program if its other end has more transmit queues than it has receive queues.
#
# One would guess: the number of queues of the other end does not matter to a program that runs on what this end receives; and
# a refusal would be EINVAL or EOPNOTSUPP.
# So it is: the kernel refuses with ENOSPC, "No space left on device", which sounds like memory. Some container runtimes and
# multi-queue test beds make such pairs; AF_XDP sockets fail on them, too. As many receive queues as the other end has
# transmit queues, and the program is taken.
#
# Needs root, for a network namespace of its own. Uses pyroute2 0.9.4 from PyPI; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install pyroute2==0.9.4 || exit 2
cat > "$folder/try.py" <<'END'
import ctypes
import errno
import os
import platform
import struct
import sys

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

BPF = {"x86_64": 321, "aarch64": 280}[platform.machine()]


def passing():
    """An XDP program that returns XDP_PASS."""
    text = struct.pack("<BBhi", 0xB7, 0, 0, 2) + struct.pack("<BBhi", 0x95, 0, 0, 0)
    code, license = ctypes.create_string_buffer(text, len(text)), ctypes.create_string_buffer(b"GPL")
    attributes = struct.pack("<IIQQ", 6, 2, ctypes.addressof(code), ctypes.addressof(license)).ljust(128, b"\0")
    descriptor = ctypes.CDLL(None).syscall(BPF, 5, ctypes.create_string_buffer(attributes, 128), 128)
    if descriptor < 0:
        sys.exit(2)
    return descriptor


def attached(ip, receive, transmit, program):
    """What the kernel says to the program on a veth with so many receive queues, and so many transmit queues at the other end."""
    peer = {"ifname": "far", "num_tx_queues": transmit, "num_rx_queues": 1}
    ip.link("add", ifname="near", kind="veth", num_rx_queues=receive, num_tx_queues=1, peer=peer)
    index = ip.link_lookup(ifname="near")[0]
    try:
        ip.link("set", index=index, xdp={"attrs": [("IFLA_XDP_FD", program), ("IFLA_XDP_FLAGS", 4)]})
        return 0
    except NetlinkError as error:
        return error.code
    finally:
        ip.link("del", index=index)


program, seen = passing(), {}
print("Linux", platform.release())
with IPRoute() as ip:
    for receive, transmit in ((1, 1), (1, 2), (1, 4), (4, 4)):
        code = seen[receive, transmit] = attached(ip, receive, transmit, program)
        outcome = f"{errno.errorcode[code]}: {os.strerror(code)}" if code else "taken"
        print(f"{receive} receive queue(s), {transmit} transmit queue(s) at the other end: {outcome}")
sys.exit(seen != {(1, 1): 0, (1, 2): errno.ENOSPC, (1, 4): errno.ENOSPC, (4, 4): 0})
END
unshare -n "$folder/venv/bin/python" "$folder/try.py"
