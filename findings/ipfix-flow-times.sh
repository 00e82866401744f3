#!/bin/sh
# nfdump dates a flow 1970 whose IPFIX times are in seconds, microseconds or nanoseconds, and nfacctd puts the time of export in their place.
#
# One would guess: a collector reads the times of flows in each of the units that IPFIX has elements for, as goflow2 and tshark do.
# So it is: of flowStartSeconds, flowStartMilliseconds, flowStartMicroseconds and flowStartNanoseconds nfdump knows that in milliseconds
# alone. The other flows begin and end on 1 January 1970 and last 0 s, without a word in its log, and without an error. nfacctd knows seconds
# and milliseconds; a flow with finer times begins at the time in the message's header and ends at 0. Packets and bytes are right. A
# rate, or a filter by time, of an exporter that is more exact than others is wrong.
#
# Needs root, for a network namespace of its own. Uses nfdump 1.7.1-2+deb12u1 and pmacct 1.7.7-1+b1 with libraries of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download nfdump=1.7.1-2+deb12u1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download pmacct=1.7.7-1+b1 libgeoip1=1.6.12-10 librabbitmq4=0.11.0-1+deb12u3 || exit 2
apt-get -qq -o APT::Sandbox::User=root download librdkafka1=2.0.2-1 libzmq5=4.3.4-6 libnorm1=1.5.9+dfsg-2 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libpgm-5.3-0=5.3.128~dfsg-2 libsodium23=1.0.18-1+deb12u1 libmaxminddb0=1.7.1-1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu" PATH="$folder/usr/bin:$folder/usr/sbin:$PATH"
nfdump -V && nfacctd -V > version || exit 2
head -1 version
cat > nfacctd.conf <<'END'
nfacctd_ip: 127.0.0.1
nfacctd_port: 9002
plugins: print
aggregate: src_port, timestamp_start, timestamp_end
timestamps_since_epoch: true
print_output: csv
print_refresh_time: 2
print_output_file: nfacctd.csv
print_output_file_append: true
END
cat > try.py <<'END'
import csv
import os
import signal
import socket
import struct
import subprocess
import sys
import time

BEGIN, END = 1_700_000_001.5, 1_700_000_003.5  # in November 2023; exported six seconds later
TO_1900 = 2_208_988_800


def ntp(seconds):
    return struct.pack("!II", int(seconds) + TO_1900, int(seconds % 1 * 2**32))


UNITS = {
    "seconds": (150, 4, lambda time: struct.pack("!I", int(time))),
    "milliseconds": (152, 8, lambda time: struct.pack("!Q", int(time * 1000))),
    "microseconds": (154, 8, ntp),  # both in the format of NTP, as RFC 7011 has it
    "nanoseconds": (156, 8, ntp),
}


def message(number, element, length, encode):
    fields = [(8, 4), (12, 4), (7, 2), (11, 2), (4, 1), (1, 8), (2, 8), (element, length), (element + 1, length)]
    template = struct.pack("!HH", 256 + number, len(fields)) + b"".join(struct.pack("!HH", *field) for field in fields)
    record = bytes([10, 0, 0, 1, 10, 0, 0, 2]) + struct.pack("!HHBQQ", 1000 + number, 2000, 17, 98_600, 100) + encode(BEGIN) + encode(END)
    sets = struct.pack("!HH", 2, 4 + len(template)) + template + struct.pack("!HH", 256 + number, 4 + len(record)) + record
    return struct.pack("!HHIII", 10, 16 + len(sets), 1_700_000_009, number, 1) + sets


os.mkdir("flows")
collectors = [
    subprocess.Popen(command.split(), stdout=open(f"{command[:7]}.log", "w"), stderr=subprocess.STDOUT)
    for command in ("nfcapd -w flows -l flows -b 127.0.0.1 -p 9001", "nfacctd -f nfacctd.conf")
]
time.sleep(3)
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number, unit in enumerate(UNITS.values()):
    for port in (9001, 9002):
        sender.sendto(message(number, *unit), ("127.0.0.1", port))
    time.sleep(0.1)
time.sleep(5)
for collector in collectors:
    collector.send_signal(signal.SIGINT)
    try:
        collector.wait(20)
    except subprocess.TimeoutExpired:
        collector.kill()
os.environ["TZ"] = "UTC"
text = ""
for file in os.listdir("flows"):  # two if a new one was begun meanwhile
    if file[-1].isdigit():
        command = ["nfdump", "-q", "-r", f"flows/{file}", "-o", "fmt:%sp|%ts|%te|%pkt|%byt"]
        text += subprocess.run(command, capture_output=True, text=True).stdout
nfdump = {row[0].strip(): [part.strip() for part in row[1:]] for row in (line.split("|") for line in text.splitlines() if "|" in line)}
nfacctd = {row["SRC_PORT"]: [row["TIMESTAMP_START"], row["TIMESTAMP_END"]] for row in csv.DictReader(open("nfacctd.csv"))}
print("flows from 22:13:21.5 to 22:13:23.5 on 2023-11-14, or 1,700,000,001.5 to 1,700,000,003.5, with their times in")
for number, unit in enumerate(UNITS):
    print(f"{unit}: nfdump {nfdump[str(1000 + number)]}, nfacctd {nfacctd[str(1000 + number)]}")
years = [nfdump[str(1000 + number)][0][:4] for number in range(4)]
ends = [float(nfacctd[str(1000 + number)][1]) for number in range(4)]
sys.exit((years, ends) != (["1970", "2023", "1970", "1970"], [1_700_000_003, END, 0, 0]))
END
cat > try.sh <<'END'
ip link set lo up
exec python3 try.py
END
unshare -n sh try.sh
