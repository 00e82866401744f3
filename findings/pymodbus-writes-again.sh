#!/bin/sh
# pymodbus writes again what is not answered in time: one write_register() is four writes at a device that does not answer.
#
# One would guess: a call is one request, and a write that may have been done already is not done again by a library without being told to.
# So it is: the client sends a request that was not answered within `timeout` (3 s unless set) up to three times more, writes, too, with
# the same transaction identifier. A device that answers after 0.7 s to a client with 0.5 s gets two writes, and the call succeeds with the
# answer to the first one; one that executes and stays silent gets four. A coil that starts something starts it again. `retries=0` sends one.
#
# Uses pymodbus 3.16.1 from PyPI, with a device on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install pymodbus==3.16.1 || exit 2
"$folder/venv/bin/python" - <<'END'
import logging
import socket
import sys
import threading
import time
from importlib.metadata import version

from pymodbus.client import ModbusTcpClient
from pymodbus.exceptions import ModbusException

print("pymodbus", version("pymodbus"))
logging.disable(logging.CRITICAL)


def device(listener, delay, writes):
    """Takes writes of a register (function 6) and answers each after a delay, or never."""
    while True:
        client, _ = listener.accept()
        try:
            while request := client.recv(12):
                writes.append(request)
                if delay is not None:
                    threading.Timer(delay, client.send, (request,)).start()
        except ConnectionError:
            pass


def trial(delay, **options):
    """Writes that a device sees of one call, and whether that succeeds."""
    writes = []
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=device, args=(listener, delay, writes), daemon=True).start()
    client = ModbusTcpClient("127.0.0.1", port=listener.getsockname()[1], timeout=0.5, **options)
    client.connect()
    try:
        result = "success" if not client.write_register(1, 42).isError() else "error"
    except ModbusException:
        result = "error"
    time.sleep(1)
    client.close()
    same = len(set(writes)) == 1
    print(f"answer after {delay} s, time-out 0.5 s, {options or 'defaults'}: {len(writes)} writes, all the same: {same}; {result}")
    return len(writes), same, result


seen = trial(0.7), trial(None), trial(None, retries=0)
sys.exit(seen != ((2, True, "success"), (4, True, "error"), (1, True, "error")))
END
