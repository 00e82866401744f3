#!/bin/sh
# In a pytricia trie for both families 10.0.0.0/8 contains a00::1, and of the two prefixes with these bits the later one replaces the
# other's value.
#
# One would guess: a trie made with 128 bits holds prefixes of both families, as it takes both, and an IPv6 address is never within an IPv4
# prefix.
# So it is: the bits alone are compared: 10 is 0a, so a00::1 is found in 10.0.0.0/8, and after a00::/8 has been set, too, a look for
# 10.0.0.1 finds its value. len() is 1. What matches prefixes of a routing table of both families this way mixes them up without an error.
# A trie for each family is right, and py-radix keeps two inside.
#
# Uses pytricia 1.3.0 and py-radix 1.1.0 from PyPI; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv && venv/bin/pip -q install pytricia==1.3.0 py-radix==1.1.0 || exit 2
venv/bin/python - <<'END'
import sys
from importlib.metadata import version

import pytricia
import radix

trie = pytricia.PyTricia(128)
trie["10.0.0.0/8"] = "IPv4"
before = trie.get("a00::1")
trie["a00::/8"] = "IPv6"
after = trie.get("10.0.0.1")
print(f"pytricia {version('pytricia')}: with 10.0.0.0/8, a00::1 is in {before}; with a00::/8, too, 10.0.0.1 is in {after}; {len(trie)} prefix")
tree = radix.Radix()
tree.add("10.0.0.0/8").data["family"] = "IPv4"
alone = tree.search_best("a00::1")
tree.add("a00::/8").data["family"] = "IPv6"
found = tree.search_best("10.0.0.1").data["family"]
print(f"py-radix {version('py-radix')}: with 10.0.0.0/8, a00::1 is in {alone}; with a00::/8, too, 10.0.0.1 is in {found}")
sys.exit((before, after, len(trie), alone, found) != ("IPv4", "IPv6", 1, None, "IPv4"))
END
