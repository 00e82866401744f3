#!/bin/sh
# Python's ipfix reads times in microseconds 70 years too late: a flow of November 2023 is one of November 2093.
#
# One would guess: flowStartMilliseconds and flowStartMicroseconds of one instant are read as one instant.
# So it is: those in seconds and milliseconds are right. Those in microseconds and nanoseconds are in the format of NTP, whose seconds begin
# in 1900, and are taken for seconds since 1970: 25,567 days too much. What the library writes has the same fault, so its own files look
# right to it, and 70 years too early to a collector.
#
# Uses ipfix 0.9.7 from PyPI; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install ipfix==0.9.7 || exit 2
cat > try.py <<'END'
import datetime
import io
import struct
import sys
from importlib.metadata import version

import ipfix.ie
import ipfix.message
import ipfix.reader
import ipfix.template

BEGIN = 1_700_000_001  # 14 November 2023, 22:13:21 UTC
TO_1900 = 2_208_988_800
ipfix.ie.use_iana_default()
UNITS = {
    "Seconds": (150, struct.pack("!I", BEGIN)),
    "Milliseconds": (152, struct.pack("!Q", BEGIN * 1000)),
    "Microseconds": (154, struct.pack("!II", BEGIN + TO_1900, 0)),  # the format of NTP, as RFC 7011 has it
    "Nanoseconds": (156, struct.pack("!II", BEGIN + TO_1900, 0)),
}
print("ipfix", version("ipfix"))
seen = {}
for unit, (element, value) in UNITS.items():
    template = struct.pack("!HHHHHH", 2, 12, 256, 1, element, len(value))
    record = struct.pack("!HH", 256, 4 + len(value)) + value
    data = struct.pack("!HHIII", 10, 28 + len(record), BEGIN, 0, 1) + template + record
    [read] = ipfix.reader.from_stream(io.BytesIO(data)).namedict_iterator()
    message = ipfix.message.MessageBuffer()
    message.begin_export(1)
    message.add_template(ipfix.template.from_ielist(256, ipfix.ie.spec_list([f"flowStart{unit}"])))
    message.export_new_set(256)
    instant = datetime.datetime.fromtimestamp(BEGIN, datetime.timezone.utc).replace(tzinfo=None)
    message.export_namedict({f"flowStart{unit}": instant})
    written = message.to_bytes()[-len(value):]
    seen[unit] = read[f"flowStart{unit}"].year, written == value
    print(f"flowStart{unit} {value.hex()} is read as {read[f'flowStart{unit}']}, and that instant written as {written.hex()}")
sys.exit(seen != {"Seconds": (2023, True), "Milliseconds": (2023, True), "Microseconds": (2093, False), "Nanoseconds": (2093, False)})
END
venv/bin/python try.py
