"""Prints a TRex profile's content as one JSON document, on a separate descriptor; the profile's own output goes to stderr.

python3 -B -m eagre_trex.load --fd 3 --ports 0,1 -t fsize=128 profile.py
"""

import argparse
import json
import os
import sys
import traceback

from eagre_trex import SCHEMA
from trex.common.trex_exceptions import TRexError


def _tunables(text):
    out = {}
    for part in filter(None, text.split(",")):
        name, equals, value = part.partition("=")
        if not equals:
            raise TRexError(f"tunable '{part}' is not NAME=VALUE")
        out[name.strip()] = value.strip()
    return out


def reason(error):
    """An error as text: what happened, and the profile's own frames of the traceback."""
    inner = ("/eagre_trex/", "/trex/", "/trex_stl_lib/", "/scapy/", "<frozen", "/lib/python", "/runpy")
    cause = error.__cause__ or error
    frames = [
        frame for frame in traceback.extract_tb(cause.__traceback__) if not any(part in frame.filename for part in inner)
    ]
    lines = [f"  {frame.filename}:{frame.lineno}, in {frame.name}: {frame.line}" for frame in frames]
    return "\n".join([str(error) or type(error).__name__, *lines])


def main(arguments=None):
    """Loads a profile; the exit code is 0, or 2 with the reason in the document's key 'error'."""
    parser = argparse.ArgumentParser(prog="eagre_trex.load")
    parser.add_argument("profile")
    parser.add_argument("words", nargs="*", help="the profile's own options, after --")
    parser.add_argument("--fd", type=int, default=1)
    parser.add_argument("--ports", default="0")
    parser.add_argument("--direction", type=int)
    parser.add_argument("--ipv6", action="store_true")
    parser.add_argument("-t", "--tunables", action="append", default=[])
    options = parser.parse_args(arguments)
    # Not the profile's standard output: its prints must not be in the document.
    out = os.fdopen(os.dup(options.fd), "w")
    os.dup2(2, 1)
    code, document = 0, None
    try:
        from eagre_trex import document as documents

        tunables = _tunables(",".join(options.tunables))
        ports = [int(port) for port in options.ports.split(",")]
        document = documents.load(options.profile, ports, options.direction, options.words or None, tunables, options.ipv6)
    except TRexError as error:
        code = 2
        document = {"schema": SCHEMA, "error": reason(error)}
    if document is not None:
        json.dump(document, out)
    out.flush()
    return code


if __name__ == "__main__":
    sys.exit(main())
