#!/bin/sh
# In tshark's JSON a tunnel's packet has the key "ip" twice in one object, and readers keep one: the outer or the inner header is gone.
#
# One would guess: `-T json` has the layers of a packet as a list, or the second IP header under another name, so that a JSON reader
# gets both, as the text output shows both.
# So it is: layers are keys of one object. Of a VXLAN packet it has "ip", "udp", "vxlan", "eth", "ip" and "udp"; Python and Node.js
# keep the last of equal keys without an error, so the packet is one from 192.168.0.1, and jq and others may keep another one. A count of
# outer addresses finds inner ones. `--no-duplicate-keys` makes a list where there are two, and an object where there is one; `-T ek` does
# the same.
#
# Uses wireshark-common and tshark 4.0.17-0+deb12u3 of Debian 12, and Node.js; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download wireshark-common=4.0.17-0+deb12u3 tshark=4.0.17-0+deb12u3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/usr/bin:$PATH"
tshark --version 2> log | head -1 || exit 2
cat > try.py <<'END'
import json
import struct
import subprocess
import sys


def packet(source, destination, ports, data):
    udp = struct.pack("!HHHH", *ports, 8 + len(data), 0) + data
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), 1, 0, 64, 17, 0) + bytes(source) + bytes(destination)
    return bytes([2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]) + ip + udp


plain = packet([10, 0, 0, 1], [10, 0, 0, 2], (1000, 2000), b"hello")
inner = packet([192, 168, 0, 1], [192, 168, 0, 2], (1000, 2000), b"hello")
vxlan = packet([10, 0, 0, 1], [10, 0, 0, 2], (50000, 4789), struct.pack("!II", 0x08000000, 42 << 8) + inner)
with open("in.pcap", "wb") as file:
    file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    for data in (plain, vxlan):
        file.write(struct.pack("<IIII", 1_700_000_000, 0, len(data), len(data)) + data)


def tshark(*options):
    return subprocess.run(["tshark", "-r", "in.pcap", *options], capture_output=True, text=True, check=True).stdout


def sources(layers):
    found = layers["ip"] if isinstance(layers["ip"], list) else [layers["ip"]]
    return [ip["ip.src"] for ip in found]


text = tshark("-T", "json")
usual = [sources(frame["_source"]["layers"]) for frame in json.loads(text)]
both = [frame["_source"]["layers"] for frame in json.loads(tshark("-T", "json", "--no-duplicate-keys"))]
script = 'for (const f of JSON.parse(require("fs").readFileSync(0))) console.log(f._source.layers.ip["ip.src"])'
node = subprocess.run(["node", "-e", script], input=text, capture_output=True, text=True, check=True).stdout.split()
print(f'"ip.src" is {text.count(chr(34) + "ip.src" + chr(34))} times in the JSON of two packets, the second one VXLAN from 10.0.0.1')
print("Python reads", usual, "and Node.js", node)
print("with --no-duplicate-keys:", [(type(layers["ip"]).__name__, sources(layers)) for layers in both])
sys.exit(not (
    usual == [["10.0.0.1"], ["192.168.0.1"]] and node == ["10.0.0.1", "192.168.0.1"] and sources(both[1]) == ["10.0.0.1", "192.168.0.1"]
))
END
python3 try.py
