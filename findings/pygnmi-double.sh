#!/bin/sh
# pygnmi drops values of the type `double_val`: an update of telemetry has its path and its time, and no value.
#
# One would guess: an update with 1.5 is {"path": …, "val": 1.5}, whatever of the types for numbers the device has chosen.
# So it is: `float_val`, which gNMI has deprecated, is read, and `double_val`, which took its place, is not: the update comes
# without "val", and without an error. Whoever reads it with .get("val", 0) has a temperature, a power or a load of 0 for the devices that
# follow the newer specification. A `decimal_val` is an object of digits and precision, not 123.45.
#
# Uses pygnmi 0.8.15 from PyPI; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install pygnmi==0.8.15 || exit 2
"$folder/venv/bin/python" - <<'END'
import sys
from importlib.metadata import version

from pygnmi.client import telemetryParser
from pygnmi.spec.v080.gnmi_pb2 import Decimal64, Notification, Path, PathElem, SubscribeResponse, TypedValue, Update

print("pygnmi", version("pygnmi"))
path = Path(elem=[PathElem(name="temperature")])
seen = {}
for kind, value in {"float_val": 1.5, "double_val": 1.5, "uint_val": 5, "decimal_val": Decimal64(digits=12345, precision=2)}.items():
    update = Update(path=path, val=TypedValue(**{kind: value}))
    read = telemetryParser(SubscribeResponse(update=Notification(timestamp=1, update=[update])))["update"]["update"][0]
    seen[kind] = read.get("val", "missing")
    print(kind, repr(value).replace("\n", " "), "is read as", repr(read).replace("\n", " "))
sys.exit(not (
    (seen["float_val"], seen["double_val"], seen["uint_val"]) == (1.5, "missing", 5) and isinstance(seen["decimal_val"], Decimal64)
))
END
