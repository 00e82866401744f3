"""Reading multipliers: '10%', '5kpps', '1gbps', '1gbpsl1', '3'. Nothing else of TRex's console is here."""

import re

MULTIPLIER = re.compile(r"([+-]?)(\d+(?:\.\d+)?)(%|([kmg]?)(bpsl1|bps|pps))?$", re.IGNORECASE)
FACTORS = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9}


def decode_multiplier(val, allow_update=False, divide_count=1):
    """The parts of a multiplier: type (raw, percentage, bps, bpsl1, pps), value, op (abs, add, sub); None if it is wrong."""
    found = MULTIPLIER.match(str(val))
    if not found or (found[1] and not allow_update):
        return None
    unit = (found[3] or "").lower()
    kind = "percentage" if unit == "%" else (found[5] or "raw").lower()
    value = float(found[2]) * FACTORS[(found[4] or "").lower()] / divide_count
    return {"type": kind, "value": value, "op": {"": "abs", "+": "add", "-": "sub"}[found[1]]}


def match_multiplier(val):
    """The text, if it is a multiplier."""
    import argparse

    if decode_multiplier(val, allow_update=True) is None:
        raise argparse.ArgumentTypeError(f"'{val}' is not a multiplier; write 10%, 5kpps, 1gbps, 1gbpsl1 or 3")
    return val
