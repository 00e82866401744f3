#!/usr/bin/python3
"""A server on TCP port 5001 that reads what connections bring and throws it away, one connection after the other."""

import socket

with socket.create_server(("", 5001)) as listening:
    buffer = bytearray(1 << 20)
    while True:
        connection, _ = listening.accept()
        with connection:
            try:
                while connection.recv_into(buffer):
                    pass
            except ConnectionError:
                pass
