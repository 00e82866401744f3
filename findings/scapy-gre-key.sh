#!/bin/sh
# Scapy's GRE(key=5) has no key: the field is left out unless key_present=1 is given, too, and no error says so.
#
# One would guess: a field that is given is written, and the flag that announces it is set, as Scapy does with lengths, checksums and
# protocols, and as it sets the flag of the sequence number by itself in front of ERSPAN.
# So it is: `GRE(key=5)` is four bytes, its flags are 0, and it equals GRE(). The same holds for `seqence_number`. Packets that were meant
# for a hundred tunnels, told apart by key, are one and the same, and a receiver with keys drops them all, while show() before sending has
# the key in it only if the flag is set, and repr() does not either. Give `GRE(key_present=1, key=5)`.
#
# Uses scapy 2.8.0 from PyPI; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install scapy==2.8.0 || exit 2

"$folder/venv/bin/python" - <<'END'
import sys
from importlib.metadata import version

from scapy.all import GRE, IP, raw

print("scapy", version("scapy"))
plain = raw(GRE() / IP())[:4]
given = {
    "GRE(key=5)": GRE(key=5),
    "GRE(seqence_number=5)": GRE(seqence_number=5),
    "GRE(key_present=1, key=5)": GRE(key_present=1, key=5),
}
headers = {name: raw(layer / IP())[:-20] for name, layer in given.items()}
for name, header in headers.items():
    print(f"{name}: {header.hex()}, shown as {given[name]!r}")
same = headers["GRE(key=5)"] == headers["GRE(seqence_number=5)"] == plain
different = len({raw(GRE(key=key) / IP()) for key in range(100)})
print(f"packets with 100 keys: {different} different")
sys.exit(not (same and different == 1 and headers["GRE(key_present=1, key=5)"].hex() == "2000080000000005"))
END
