#!/bin/sh
# A leaf with `default true` reads as False in pyangbind, and one with `default 30` as 0: a model's defaults are not values.
#
# One would guess: a leaf that is not set has the default of its YANG module, as RFC 7950 has it: "the server MUST act as if the leaf
# was present with the default value".
# So it is: the classes that pyang generates know the default, behind `_default`, but reading the leaf gives its type's empty value:
# False, 0 or "". `pybindJSON.dumps(..., filter=False)`, which writes leaves that are not set, writes `"enabled": false` for one that is
# enabled by default, so a device that gets this document switches off what the test did not touch. Documents with the filter, the
# default, leave them out.
#
# Uses pyangbind 0.8.7 and pyang 2.7.1 from PyPI; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install --no-compile pyangbind==0.8.7 pyang==2.7.1 || exit 2
cat > port.yang <<'END'
module port {
  namespace "urn:example:port";
  prefix port;
  container port {
    leaf enabled { type boolean; default true; }
    leaf interval { type uint32; default 30; }
    leaf mode { type string; default "auto"; }
  }
}
END
plugin=$(venv/bin/python -c 'import os, pyangbind; print(os.path.dirname(pyangbind.__file__))')/plugin
venv/bin/pyang --plugindir "$plugin" -f pybind -o binding.py port.yang 2> log || { cat log; exit 1; }
cat > try.py <<'END'
import json
import sys
from importlib.metadata import version

import pyangbind.lib.pybindJSON as pybind_json
from binding import port

print("pyangbind", version("pyangbind"))
made = port()
seen = {}
for name in ("enabled", "interval", "mode"):
    leaf = getattr(made.port, name)
    seen[name] = str(leaf), str(leaf._default)
    print(f"{name}: reads as {leaf!s:5}, its default is {leaf._default}")
whole = json.loads(pybind_json.dumps(made, mode="ietf", filter=False))
usual = json.loads(pybind_json.dumps(made, mode="ietf"))
print("without the filter:", whole, "with it:", usual)
made.port.interval = 5
print("set to 5:", pybind_json.dumps(made, mode="ietf", indent=None))
values = {"enabled": ("False", "True"), "interval": ("0", "30"), "mode": ("", "auto")}
sys.exit((seen, whole, usual) != (values, {"port:port": {"enabled": False, "interval": 0, "mode": ""}}, {}))
END
venv/bin/python try.py
