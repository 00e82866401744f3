#!/bin/sh
# Scapy's CoAP()/b"hello" has no payload: its bytes are read as options.
#
# One would guess: what follows a CoAP layer is its payload, and the byte 0xff that marks one (RFC 7252, section 3) is written before it, as
# lengths and checksums of other layers are.
# So it is: the marker is a field, `paymark`, and empty unless it is set. Without it the payload's first byte is an option's number and
# length: "hello" is an Accept option of four bytes, which aiocoap cannot read, and "world!" an option of a number that does not exist.
# Scapy reads its own messages back so. Write CoAP(..., paymark=b"\xff")/b"hello".
#
# Uses Scapy 2.8.0 and aiocoap 0.4.17 from PyPI; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install scapy==2.8.0 aiocoap==0.4.17 || exit 2
"$folder/venv/bin/python" - <<'END'
import sys
from importlib.metadata import version

import aiocoap
from scapy.contrib.coap import CoAP

print("Scapy", version("scapy"), "aiocoap", version("aiocoap"))


def read(packet):
    """The payload and the options that both libraries see."""
    built = bytes(packet)
    again = CoAP(built)
    try:
        message = aiocoap.Message.decode(built)
        other = message.payload, [int(option.number) for option in message.opt.option_list()]
    except Exception as error:  # the library has several for a message that it cannot read
        other = type(error).__name__
    own = bytes(again.payload)
    print(f"{built.hex(' ')}: Scapy reads options {again.options} and payload {own}, aiocoap {other}")
    return own, other


header = dict(code=2, options=[("Uri-Path", "a")])
plain, longer, marked = read(CoAP(**header) / b"hello"), read(CoAP(**header) / b"world!"), read(CoAP(**header, paymark=b"\xff") / b"hello")
sys.exit(not (plain[0] == longer[0] == b"" and isinstance(plain[1], str) and isinstance(longer[1], str) and marked == (b"hello", (b"hello", [11]))))
END
