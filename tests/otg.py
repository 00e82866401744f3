"""Unmodified clients of Open Traffic Generator, and flows whose frames Scapy builds as well."""

import os
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

import pytest
from lab import making
from server import inside

SNAPPI, SCAPY = "1.62.0", "2.6.1"
FOLDER = Path(tempfile.gettempdir()) / f"eagre-reference-snappi-{SNAPPI}-scapy-{SCAPY}-{os.getuid()}"


def install():
    """snappi and Scapy from the registry, kept for the next time."""
    done = FOLDER / "complete"
    with making(FOLDER):
        if not done.exists():
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            wanted = [f"snappi=={SNAPPI}", f"scapy=={SCAPY}", "setuptools<80"]
            call = subprocess.run([*pip, "--target", str(FOLDER), *wanted], capture_output=True, text=True, timeout=400)
            if call.returncode != 0:
                pytest.fail(f"snappi {SNAPPI} can't be installed with pip: {call.stderr.strip()}", pytrace=False)
            done.touch()
    if str(FOLDER) not in sys.path:
        sys.path.insert(0, str(FOLDER))


class Client:
    """A client of snappi whose sockets belong to the server's namespace."""

    def __init__(self, server):
        import snappi

        self.server = server
        self.api = snappi.api(location=server.url, version_check=True)

    def config(self, first="afpacket:v0", second="afpacket:v1"):
        """A configuration with two ports, p and q."""
        config = self.api.config()
        config.ports.add(name="p", location=first)
        config.ports.add(name="q", location=second)
        return config

    def call(self, method, *arguments):
        """A method of the client."""
        with inside(self.server.ns):
            return getattr(self.api, method)(*arguments)

    def set(self, config):
        """Sets a configuration; its warnings."""
        return self.call("set_config", config).warnings

    def transmit(self, state, *flows):
        """Starts, stops, pauses or resumes flows."""
        control = self.api.control_state()
        control.traffic.flow_transmit.state = state
        if flows:
            control.traffic.flow_transmit.flow_names = list(flows)
        self.call("set_control_state", control)

    def capturing(self, state):
        """Starts or stops all captures."""
        control = self.api.control_state()
        control.port.capture.state = state
        self.call("set_control_state", control)

    def flows(self, *names, **columns):
        """Metrics of flows by name."""
        request = self.api.metrics_request()
        request.flow.flow_names = list(names)
        for column, value in columns.items():
            setattr(request.flow, column, value)
        return {row.name: row for row in self.call("get_metrics", request).flow_metrics}

    def ports(self):
        """Metrics of ports by name."""
        request = self.api.metrics_request()
        request.port.port_names = []
        return {row.name: row for row in self.call("get_metrics", request).port_metrics}

    def over(self, *names, most_s=30):
        """Waits until flows have ended."""
        end = time.monotonic() + most_s
        while any(row.transmit != "stopped" for row in self.flows(*names).values()):
            assert time.monotonic() < end, "the flows do not end"
            time.sleep(0.1)

    def refused(self, config):
        """The errors of a configuration that is not taken."""
        with pytest.raises(Exception) as raised:
            self.set(config)
        error = self.api.from_exception(raised.value)
        assert error is not None and error.code == 400 and error.kind == "validation", raised.value
        return error.errors


def flow(config, name, *headers, size=200, pps=1000, packets=3, measure=False):
    """A flow from p to q with these headers, and the headers to be filled in."""
    new = config.flows.add(name=name)
    new.tx_rx.port.tx_name, new.tx_rx.port.rx_name = "p", "q"
    new.size.fixed, new.rate.pps = size, pps
    new.duration.fixed_packets.packets = packets
    new.metrics.enable = measure
    for header in headers:
        getattr(new.packet, header)()
    return new, list(new.packet)


def frame(packet, size=200):
    """The bytes of a Scapy packet on the link: zeros up to its size, and its check sequence."""
    data = bytes(packet)
    data += bytes(size - 4 - len(data))
    return data + zlib.crc32(data).to_bytes(4, "little")


def padded_below(packet, size=200):
    """A Scapy packet as the link pads it: lengths and checksums are those of the packet."""
    data = bytes(packet)
    return data + bytes(size - 4 - len(data))


def padded(packet, size=200):
    """A Scapy packet with so many zeros behind it that its lengths and checksums are those of the whole frame."""
    from scapy.packet import Raw

    return packet / Raw(bytes(size - 4 - len(bytes(packet))))
