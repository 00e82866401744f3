#!/usr/bin/env python3
"""Traffic between two ports by snappi, the Python client of Open Traffic Generator.

    eagre serve --listen 127.0.0.1:8443 --grpc 127.0.0.1:40051
    pip install snappi
    python3 snappi-flows.py http://127.0.0.1:8443 ring:a ring:b
    python3 snappi-flows.py grpc://127.0.0.1:40051 ring:a ring:b
"""

import sys
import time

import snappi

server, west, east = sys.argv[1:4]
if server.startswith("grpc://"):
    api = snappi.api(location=server.removeprefix("grpc://"), transport=snappi.Transport.GRPC, version_check=True)
else:
    api = snappi.api(location=server, version_check=True)

config = api.config()
config.ports.add(name="west", location=west)
config.ports.add(name="east", location=east)
flow = config.flows.add(name="west to east")
flow.tx_rx.port.tx_name, flow.tx_rx.port.rx_name = "west", "east"
flow.packet.ethernet().ipv4().udp()
ethernet, ipv4, udp = flow.packet
ethernet.src.value, ethernet.dst.value = "02:00:00:00:00:01", "02:00:00:00:00:02"
ipv4.src.value = "10.0.0.1"
ipv4.dst.increment.start, ipv4.dst.increment.count = "10.0.1.1", 100
udp.src_port.value, udp.dst_port.values = 5000, [6000, 6001, 6002]
flow.size.fixed = 128
flow.rate.pps = 2000
flow.duration.fixed_packets.packets = 1000
flow.metrics.enable = flow.metrics.loss = flow.metrics.latency.enable = True
api.set_config(config)


def transmit(state):
    """Starts or stops all flows."""
    control = api.control_state()
    control.traffic.flow_transmit.state = state
    api.set_control_state(control)


def metrics():
    """What is known of the flow."""
    request = api.metrics_request()
    request.flow.flow_names = [flow.name]
    return api.get_metrics(request).flow_metrics[0]


transmit("start")
while metrics().transmit != "stopped":
    time.sleep(0.1)
transmit("stop")
found = metrics()
print(f"{found.name}: sent {found.frames_tx}, received {found.frames_rx}, lost {found.loss}%")
print(f"latency {found.latency.minimum_ns} / {found.latency.average_ns} / {found.latency.maximum_ns} ns")
api.set_config(api.config())
