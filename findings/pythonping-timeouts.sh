#!/bin/sh
# pythonping counts a lost ping as one whose RTT is the time-out: with an RTT of 10 ms and every fifth ping lost its average is 408 ms.
#
# One would guess: minimum, average and maximum are those of the answers, as ping shows them, and the loss is shown apart.
# So it is: a time-out adds its whole length (2 s unless set) to `rtt_avg_ms`, and `rtt_max_ms` is the time-out as soon as one ping is
# lost. So the average is mostly a measure of loss, and changes with the time-out. Take it from those of the responses whose `success`
# is true.
#
# Needs root, for a network namespace of its own with a TUN device on which the script answers. Uses pythonping 1.1.4 from PyPI;
# no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv && venv/bin/pip -q install pythonping==1.1.4 || exit 2
cat > try.py <<'END'
import fcntl
import os
import struct
import subprocess
import sys
import threading
from importlib.metadata import version

from pythonping import ping

RTT = 0.01
tun = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tun, 0x400454CA, struct.pack("16sH22x", b"tun0", 0x1001))  # TUNSETIFF: IFF_TUN, IFF_NO_PI
for command in ("link set lo up", "addr add 192.0.2.1/24 dev tun0", "link set tun0 up"):
    subprocess.run(["ip", *command.split()], check=True)


def answer():
    """Answers four of five ICMP echo requests after the round-trip time. An echo reply's checksum differs by that of its type only."""
    requests = 0
    while True:
        packet = bytearray(os.read(tun, 2048))
        if packet[0] >> 4 == 4 and packet[9] == 1 and packet[20] == 8:
            requests += 1
            if requests % 5:
                checksum = struct.unpack_from("!H", packet, 22)[0] + 0x0800
                struct.pack_into("!BBH", packet, 20, 0, 0, (checksum & 0xFFFF) + (checksum >> 16))
                packet[12:16], packet[16:20] = packet[16:20], packet[12:16]
                threading.Timer(RTT, os.write, (tun, bytes(packet))).start()


threading.Thread(target=answer, daemon=True).start()
print("pythonping", version("pythonping"))
as_described = True
for timeout_s in (1, 2):
    result = ping("192.0.2.2", count=10, timeout=timeout_s)
    answers = [response.time_elapsed_ms for response in result if response.success]
    mean = sum(answers) / len(answers)
    print(f"time-out {timeout_s} s, {len(answers)} of 10 answered: average {result.rtt_avg_ms} ms, maximum {result.rtt_max_ms} ms; "
          f"of the answers {mean:.2f} ms and {max(answers)} ms")
    as_described &= len(answers) == 8 and mean < 100 and abs(result.rtt_avg_ms - (mean * 8 + timeout_s * 2000) / 10) < 1
    as_described &= result.rtt_max_ms == timeout_s * 1000
sys.stdout.flush()
os._exit(not as_described)
END
unshare -n venv/bin/python try.py
