#!/bin/sh
# Scapy's NTP takes Unix times for those of 1900: a server built with `NTP(sent=time.time())` is 70 years behind.
#
# One would guess: fields that take seconds take those of `time.time()` and of packet.time, and write them as the era of NTP.
# So it is: the number is written as it is, so 2026 is 1956, and a client sees an offset of -2,208,988,800 s. Only a field that is left out
# is filled in with the present time, and rightly: one packet can have both. Reading gives seconds since 1900 back, as a decimal
# number, so a difference with packet.time is wrong by the same 70 years. Add 2,208,988,800.
#
# Uses scapy 2.8.0 and ntplib 0.4.0 from PyPI, with a server on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install scapy==2.8.0 ntplib==0.4.0 || exit 2
"$folder/venv/bin/python" - <<'END'
import logging
import socket
import sys
import threading
import time
from importlib.metadata import version

logging.getLogger("scapy").setLevel(logging.CRITICAL)

import ntplib
from scapy.layers.ntp import NTPHeader

EPOCH = 2_208_988_800
print("scapy", version("scapy"), "ntplib", version("ntplib"))
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 0))


def serve(added, count):
    """Answers each of `count` requests with the times of this clock."""
    for _ in range(count):
        request, client = server.recvfrom(2000)
        now = time.time() + added
        answer = NTPHeader(mode=4, stratum=1, orig=NTPHeader(request).sent, recv=now, sent=now, ref=now)
        server.sendto(bytes(answer), client)


seen = []
for added in (0, EPOCH):
    thread = threading.Thread(target=serve, args=(added, 1))
    thread.start()
    seen.append(ntplib.NTPClient().request("127.0.0.1", port=server.getsockname()[1], version=4).offset)
    thread.join()
    print(f"times of time.time() + {added:,}: the client has an offset of {seen[-1]:,.3f} s")
left_out = int.from_bytes(bytes(NTPHeader())[40:44], "big") - EPOCH - time.time()
print(f"left out: {left_out:.1f} s from now")
sys.exit(not (abs(seen[0] + EPOCH) < 10 and abs(seen[1]) < 10 and abs(left_out) < 10))
END
