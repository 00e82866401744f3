#!/bin/sh
# netutils names 1.5, 2 and 2.5 Gbit/s alike: "2Gbps"; read back, a link of 2.5 Gbit/s has lost a fifth.
#
# One would guess: `bits_to_name(2_500_000_000)` is "2.5Gbps", which `name_to_bits` understands, so that both undo each other.
# So it is: unless `nbr_decimal` is set the number is rounded to a whole one, halves to the even one: 1.5 and 2.5 Gbit/s are "2Gbps",
# an E-carrier's 2.048 Mbit/s is "2Mbps", and OC-192 is "10Gbps". A utilization computed from the name is off by up to a third. Use
# `nbr_decimal=3`, or keep bits.
#
# Uses netutils 1.19.2 from PyPI; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install netutils==1.19.2 || exit 2
"$folder/venv/bin/python" - <<'END'
import sys
from importlib.metadata import version

from netutils.bandwidth import bits_to_name, name_to_bits

print("netutils", version("netutils"))
seen = []
for rate in (1_500_000_000, 2_000_000_000, 2_500_000_000, 2_048_000, 9_953_280_000):
    name = bits_to_name(rate)
    back = name_to_bits(name)
    print(f"{rate:,} bit/s: {name}, read back {back:,} bit/s ({back / rate - 1:+.1%}); nbr_decimal=3: {bits_to_name(rate, nbr_decimal=3)}")
    seen.append(name)
sys.exit(seen != ["2Gbps", "2Gbps", "2Gbps", "2Mbps", "10Gbps"])
END
