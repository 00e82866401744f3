"""Packets of Scapy as packets of a stream."""

import pytest

scapy = pytest.importorskip("scapy.all")

import eagre  # noqa: E402

MACS = {"src": "02:00:00:00:00:01", "dst": "02:00:00:00:00:02"}
ETHERNET = {"ethernet": {"dst": MACS["dst"], "src": MACS["src"], "type": 0x800}}


def names(elements):
    return [next(iter(element)) for element in elements]


def test_headers_have_names_and_what_scapy_computes_is_left_out():
    packet = (
        scapy.Ether(**MACS) / scapy.IP(src="10.0.0.1", dst="10.0.0.2", tos=0xB8) / scapy.UDP(sport=5, dport=6) / b"hello"
    )
    ethernet, ip, udp, payload = eagre.from_scapy(packet)
    assert ethernet == ETHERNET and udp == {"udp": {"src": 5, "dst": 6}} and payload == {"hex": b"hello".hex()}
    assert ip["ipv4"]["dscp"] == 46 and not {"total_length", "checksum", "header_length"} & set(ip["ipv4"])


def test_what_was_set_stays_even_if_it_is_wrong():
    packet = scapy.Ether(**MACS) / scapy.IP(src="10.0.0.1", dst="10.0.0.2", chksum=1, len=99) / scapy.UDP(chksum=0)
    _, ip, udp = eagre.from_scapy(packet)
    assert (ip["ipv4"]["checksum"], ip["ipv4"]["total_length"], udp["udp"]["checksum"]) == (1, 99, 0)


def test_addresses_that_were_not_set_are_left_to_the_ports():
    ethernet, ip, _ = eagre.from_scapy(scapy.Ether() / scapy.IP() / scapy.UDP())
    assert set(ethernet["ethernet"]) == {"type"} and not {"src", "dst"} & set(ip["ipv4"])


def test_what_has_no_name_is_bytes():
    packet = scapy.Ether(**MACS) / scapy.IP(src="10.0.0.1", dst="10.0.0.2") / scapy.UDP() / scapy.DNS()
    assert names(eagre.from_scapy(packet)) == ["ethernet", "ipv4", "udp", "hex"]
    assert bytes.fromhex(eagre.from_scapy(packet)[-1]["hex"]) == bytes(packet)[42:]


def test_raw_keeps_every_byte():
    packet = scapy.Ether(**MACS) / scapy.IP(src="10.0.0.1", dst="10.0.0.2") / scapy.TCP() / b"x"
    ethernet, rest = eagre.from_scapy(packet, raw=True)
    assert ethernet == ETHERNET and bytes.fromhex(rest["hex"]) == bytes(packet)[14:]


def test_options_are_headers_of_their_own():
    packet = scapy.IP(src="10.0.0.1", dst="10.0.0.2") / scapy.TCP(options=[("MSS", 1460), ("NOP", None), ("WScale", 7)])
    assert names(eagre.from_scapy(packet)) == ["ipv4", "tcp", "tcp_option", "tcp_nop", "tcp_option"]


def test_the_packet_stays_as_it_is():
    packet = scapy.Ether() / scapy.IP() / scapy.UDP()
    before = packet.fields.copy(), packet[scapy.IP].fields.copy()
    eagre.from_scapy(packet)
    assert (packet.fields, packet[scapy.IP].fields) == before


def test_other_things_are_refused():
    with pytest.raises(TypeError, match="not bytes"):
        eagre.from_scapy(b"123")
    with pytest.raises(ValueError, match="begins with DNS"):
        eagre.from_scapy(scapy.DNS())
