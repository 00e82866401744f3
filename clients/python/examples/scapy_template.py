"""A Scapy packet as the template of a stream, with a varying field, captured and read by Scapy again."""

import tempfile
from pathlib import Path

from scapy.all import IP, TCP, UDP, Ether, rdpcap  # type: ignore[attr-defined]

import eagre

VARIED = Ether() / IP(src="10.0.0.1", dst="10.0.0.2", tos=0xB8) / UDP(sport=4000, dport=5000) / b"made with Scapy"
EXACT = (
    Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
    / IP(src="10.0.0.1", dst="10.0.0.2")
    / TCP(dport=443, flags="SA")
    / (b"x" * 60)
)


def profile() -> eagre.Profile:
    capture = eagre.Capture(file="east.pcapng")  # the server keeps it in a folder of the run's own
    return eagre.Profile(
        ports={
            "west": eagre.Port(device="ring:a", ip="10.0.0.1/24"),
            "east": eagre.Port(device="ring:b", ip="10.0.0.2/24", capture=capture),
        },
        streams=[
            # Named headers: the port's hardware address, right lengths and checksums, fields that vary, measured.
            eagre.Stream(
                name="varied", from_="west", to="east", packet=eagre.from_scapy(VARIED),
                vary={"udp.src": "4000..4009"}, rate="1kpps", count=100,
            ),
            # Byte for byte what Scapy builds, and nothing at its end: not measured.
            eagre.Stream(
                name="exact", from_="west", to="east", packet=eagre.from_scapy(EXACT, raw=True), measure=False,
                rate="1kpps", count=10,
            ),
        ],
        load=eagre.Load(duration="5s", drain="100ms"),
    )  # fmt: skip


def main(client: eagre.Client, folder: Path) -> list[Ether]:
    with client.start(profile(), name="scapy_template.py", keep=False) as run:
        file = run.save_capture("east", folder / "seen.pcapng")
        print(run.result())
    packets = rdpcap(str(file))
    ports = sorted({packet[UDP].sport for packet in packets if UDP in packet})
    exact = sum(bytes(packet) == bytes(EXACT) for packet in packets)
    print(f"{len(packets)} packets captured, source ports {ports[0]} to {ports[-1]}, {exact} as Scapy built them")
    return list(packets)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, eagre.serve() as client:
        main(client, Path(folder))
