"""XDP programs from outside Eagre, by the system call bpf(2).

usage: python3 bpf.py INTERFACE    drops all its frames before anything else sees them, until the input ends: the cheapest
                                   receiver there is
"""

import ctypes
import os
import socket
import struct
import sys

CALL = {"x86_64": 321, "aarch64": 280}
PROG_LOAD, PROG_GET_NEXT_ID, PROG_GET_FD_BY_ID, OBJ_GET_INFO_BY_FD, LINK_CREATE = 5, 11, 13, 15, 28
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


def drop_all(name):
    """Attaches a program that drops every frame, for as long as this process lives."""
    # r0 = XDP_DROP; exit
    program = ctypes.create_string_buffer(struct.pack("<BBhiBBhi", 0xB7, 0, 0, 1, 0x95, 0, 0, 0), 16)
    license = ctypes.create_string_buffer(b"Apache-2.0")
    load = struct.pack("=IIQQ", TYPE_XDP, 2, ctypes.addressof(program), ctypes.addressof(license)) + bytes(48)
    descriptor, _ = call(PROG_LOAD, load)
    call(LINK_CREATE, struct.pack("=IIII", descriptor, socket.if_nametoindex(name), ATTACH_XDP, DRIVER_MODE) + bytes(32))


if __name__ == "__main__":
    drop_all(sys.argv[1])
    print("ready", flush=True)
    sys.stdin.read()
