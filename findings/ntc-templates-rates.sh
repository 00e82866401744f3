#!/bin/sh
# ntc-templates drops the interval of an interface's rate: "5 minute input rate" and "30 second input rate" are the same INPUT_RATE.
#
# One would guess: the parsed output says over which time the rate is an average, or has a field for each, since devices differ in it.
# So it is: the templates of Cisco IOS read the interval and drop it. Of two interfaces with a load-interval of 30 s and the default of
# 5 min both have `input_rate`, so a test of a minute shows the full rate on one, and some 20 % of it on the other. Nothing in the
# parsed data distinguishes them. Read counters twice, or set the same load-interval everywhere.
#
# Uses ntc-templates 9.3.0 from PyPI; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install ntc-templates==9.3.0 || exit 2
"$folder/venv/bin/python" - <<'END'
import sys
from importlib.metadata import version

from ntc_templates.parse import parse_output

print("ntc-templates", version("ntc-templates"))
OUTPUT = """GigabitEthernet0/{number} is up, line protocol is up
  Hardware is iGbE, address is 5254.0000.000{number} (bia 5254.0000.000{number})
  MTU 1500 bytes, BW 1000000 Kbit/sec, DLY 10 usec,
     reliability 255/255, txload 1/255, rxload 1/255
  Encapsulation ARPA, loopback not set
  Last input 00:00:00, output 00:00:00, output hang never
  {interval} input rate {rate} bits/sec, {packets} packets/sec
  {interval} output rate {rate} bits/sec, {packets} packets/sec
     60000 packets input, 60000000 bytes, 0 no buffer
"""
both = OUTPUT.format(number=1, interval="5 minute", rate=1_600_000, packets=200)
both += OUTPUT.format(number=2, interval="30 second", rate=8_000_000, packets=1000)
parsed = parse_output(platform="cisco_ios", command="show interfaces", data=both)
for interface, interval in zip(parsed, ("5 minute", "30 second")):
    print(f"{interval}:", {name: value for name, value in interface.items() if "rate" in name or "pps" in name or "interval" in name})
same = set(parsed[0]) == set(parsed[1])
mentions = any("minute" in str(value) or "second" in str(value) for interface in parsed for value in interface.values())
sys.exit(not (same and not mentions and [one["input_rate"] for one in parsed] == ["1600000", "8000000"]))
END
