"""XDP programs from outside Eagre, by the system call bpf(2).

usage: python3 bpf.py INTERFACE [udp]    drops all its frames, or those of UDP over IPv4, before anything else sees them, until the
                                         input ends: the cheapest receiver there is
"""

import contextlib
import ctypes
import os
import socket
import struct
import sys
from pathlib import Path

CALL = {"x86_64": 321, "aarch64": 280}
PROG_LOAD, PROG_GET_NEXT_ID, PROG_GET_FD_BY_ID, OBJ_GET_INFO_BY_FD, LINK_CREATE = 5, 11, 13, 15, 28
LINK_GET_FD_BY_ID, LINK_DETACH = 30, 34
TYPE_XDP, ATTACH_XDP = 6, 37
DRIVER_MODE = 1 << 2


def call(command, attributes):
    """The result, and the attributes as the kernel leaves them."""
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(attributes, len(attributes))
    code = libc.syscall(CALL[os.uname().machine], command, buffer, len(attributes))
    if code < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return code, buffer.raw


def programs():
    """Names of all programs the kernel has, by number."""
    found, number = {}, 0
    while True:
        try:
            number = struct.unpack_from("=4xI", call(PROG_GET_NEXT_ID, struct.pack("=III", number, 0, 0))[1])[0]
        except FileNotFoundError:
            return found
        try:
            descriptor, _ = call(PROG_GET_FD_BY_ID, struct.pack("=III", number, 0, 0))
        except FileNotFoundError:
            continue
        info = ctypes.create_string_buffer(80)
        call(OBJ_GET_INFO_BY_FD, struct.pack("=IIQ", descriptor, len(info), ctypes.addressof(info)))
        os.close(descriptor)
        found[number] = info.raw[64:80].split(b"\0")[0].decode()


def detach(process, index):
    """Takes the XDP program off that a process has on the interface with this number; returns whether it had one."""
    for info in Path(f"/proc/{process}/fdinfo").iterdir():
        with contextlib.suppress(FileNotFoundError):
            said = dict(line.split(":\t", 1) for line in info.read_text().splitlines() if ":\t" in line)
            if said.get("link_type") == "xdp" and said.get("ifindex") == str(index):
                descriptor, _ = call(LINK_GET_FD_BY_ID, struct.pack("=III", int(said["link_id"]), 0, 0))
                call(LINK_DETACH, struct.pack("=I", descriptor))
                os.close(descriptor)
                return True
    return False


# r0 = XDP_DROP; exit
DROP = [(0xB7, 0, 0, 1), (0x95, 0, 0, 0)]
# Unless a frame is long enough, of type IPv4, and of protocol UDP, it passes. Operation, registers, offset, number.
DROP_UDP = [
    (0x61, 0x12, 0, 0), (0x61, 0x13, 4, 0), (0xBF, 0x24, 0, 0), (0x07, 4, 0, 24), (0x2D, 0x34, 6, 0), (0x69, 0x25, 12, 0), (0x55, 5, 4, 8),
    (0x71, 0x25, 23, 0), (0x55, 5, 2, 17), *DROP, (0xB7, 0, 0, 2), (0x95, 0, 0, 0),
]  # fmt: skip


def attach(name, instructions):
    """Attaches a program for as long as this process lives."""
    program = ctypes.create_string_buffer(b"".join(struct.pack("<BBhi", *one) for one in instructions), 8 * len(instructions))
    license = ctypes.create_string_buffer(b"Apache-2.0")
    load = struct.pack("=IIQQ", TYPE_XDP, len(instructions), ctypes.addressof(program), ctypes.addressof(license)) + bytes(48)
    descriptor, _ = call(PROG_LOAD, load)
    call(LINK_CREATE, struct.pack("=IIII", descriptor, socket.if_nametoindex(name), ATTACH_XDP, DRIVER_MODE) + bytes(32))


if __name__ == "__main__":
    attach(sys.argv[1], DROP_UDP if sys.argv[2:] == ["udp"] else DROP)
    print("ready", flush=True)
    sys.stdin.read()
