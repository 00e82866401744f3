#!/bin/sh
# A UDP relay of socat cuts each datagram to 8,192 bytes, without a word.
#
# One would guess: `socat UDP-LISTEN:… UDP:…` passes datagrams on as they are, or drops what is too long for it.
# So it is: it reads with a buffer of 8,192 bytes (`-b`), and the rest of a longer datagram is lost: one of 9,000 bytes arrives with
# 8,192, and counts as delivered. Tests with jumbo frames or large DNS, NFS and media datagrams through such a relay see damaged
# data, not loss. `-b 65536` passes all.
#
# Uses socat 1.7.4.4-2 of Debian 12, on loopback; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download socat=1.7.4.4-2 || exit 2
dpkg -x socat_*.deb .
usr/bin/socat -V | sed -n 2p || exit 2
cat > try.py <<'END'
import socket
import subprocess
import sys
import time


def relayed(*options):
    """Sizes of datagrams of 1,472, 8,192, 9,000 and 60,000 bytes behind a relay."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(5)
        command = ["usr/bin/socat", *options, "UDP-LISTEN:4000", f"UDP:127.0.0.1:{receiver.getsockname()[1]}"]
        relay = subprocess.Popen(command)
        try:
            time.sleep(1)
            sizes = []
            for size in (1472, 8192, 9000, 60000):
                sender.sendto(bytes(size), ("127.0.0.1", 4000))
                sizes.append(len(receiver.recv(65536)))
            receiver.settimeout(0.5)
            try:
                sizes.append(len(receiver.recv(65536)))
            except TimeoutError:
                pass  # no second part follows
        finally:
            relay.terminate()
            relay.wait()
    print("socat", *options, "passes 1472, 8192, 9000 and 60000 bytes as", *sizes)
    return sizes


sys.exit((relayed(), relayed("-b", "65536")) != ([1472, 8192, 8192, 8192], [1472, 8192, 9000, 60000]))
END
unshare -n sh -c 'ip link set lo up; exec python3 try.py'
