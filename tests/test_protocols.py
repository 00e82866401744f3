"""Every protocol of the catalogue is built so that tshark reports no fault, and reads back the set values.

All packets are sent by one simulated run, one stream for each, identified by their Ethernet source.
"""

import json

import pytest
from lab import call, need

WARNING = 0x00600000
PORTS = {
    "west": {"device": "ring:a", "ip": ["10.0.0.1/24", "2001:2::1/64"]},
    "east": {"device": "ring:b", "ip": ["10.0.0.2/24", "2001:2::2/64"]},
}
OPTIONS = [
    "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE",
    "-o", "sctp.checksum:CRC 32c", "-o", "tcp.analyze_sequence_numbers:FALSE",
]  # fmt: skip
CHECKSUMS = {
    layer: f"{layer}.checksum.status" for layer in ("ip", "udp", "tcp", "icmp", "icmpv6", "igmp", "gre", "sctp")
}
GOOD, UNVERIFIED = "1", "2"

INNER = [{"ethernet": {"src": "02:aa:00:00:00:01"}}, {"ipv4": {"src": "198.18.7.1"}}, {"udp": {"dst": 5555}}]
INNER_FIELDS = {"eth.src": "02:aa:00:00:00:01", "ip.src": "198.18.7.1", "udp.dstport": "5555"}
LLDP_END = [{"lldp_ttl": {"seconds": 77}}, "lldp_end"]

# Protocol: a packet with it, and the fields tshark must read, with the values that were set; of several values in a
# tuple one, because versions of tshark differ; one of several fields of that name is enough.
PROTOCOLS = {
    "ethernet": (
        [{"ethernet": {"src": "02:aa:00:00:00:07"}}, {"vlan": {"id": 5}}, "ipv4", "udp"],
        {"eth.src": "02:aa:00:00:00:07", "eth.type": "0x8100"},
    ),
    "vlan": (
        [{"vlan": {"id": 100, "pcp": 5, "dei": 1}}, {"vlan": {"id": 7}}, "ipv4", "udp"],
        {"ieee8021ad.id": "100", "ieee8021ad.priority": "5", "ieee8021ad.dei": "1", "vlan.id": "7"},
    ),
    "llc": ([{"llc": {"control": 3}}, "snap", "ipv4", "udp"], {"llc.dsap": "0xaa", "llc.ssap": "0xaa", "llc.control": "0x0003"}),
    "snap": (["vlan", "llc", "snap", {"ipv4": {"ttl": 9}}, "udp"], {"llc.oui": "0", "llc.type": "0x0800", "ip.ttl": "9"}),
    "mpls": (
        [{"mpls": {"label": 100, "traffic_class": 3, "ttl": 9}}, {"mpls": {"label": 200}}, "ipv6", "udp"],
        {"mpls.label": "100,200", "mpls.exp": "3,0", "mpls.ttl": "9,64", "mpls.bottom": "0,1", "ipv6.nxt": "17"},
    ),
    "mpls_control_word": (
        # tshark takes it for one only if the addresses behind it are of manufacturers it knows.
        [
            "mpls", {"mpls_control_word": {"sequence": 99}},
            {"ethernet": {"dst": "00:00:0c:f1:f2:f3", "src": "00:00:0c:00:00:01"}}, *INNER[1:],
        ],
        {"pweth.cw.sequence_number": "99", "eth.src": "00:00:0c:00:00:01", "ip.src": "198.18.7.1"},
    ),
    "pause": ([{"pause": {"quanta": 0x1234}}], {"macc.opcode": "0x0001", "macc.pause_time": "4660", "eth.dst": "01:80:c2:00:00:01"}),
    "pfc": (
        [{"pfc": {"classes": 8, "quanta3": 777}}],
        {"macc.opcode": "0x0101", "macc.cbfc.enbv": "0x0008", "macc.cbfc.pause_time.c3": "777"},
    ),
    "lacp": (
        [{"lacp": {"actor_key": 77, "actor_system": "02:00:00:00:00:99", "partner_port": 5, "collector_delay": 9}}],
        {"lacp.actor.key": "77", "lacp.actor.sysid": "02:00:00:00:00:99", "lacp.partner.port": "5"},
    ),
    "lldp": (
        [{"lldp": {"chassis": "02:00:00:00:00:55"}}, "lldp_port_id", *LLDP_END],
        {"lldp.chassis.id.mac": "02:00:00:00:00:55", "lldp.tlv.type": "1,2,3,0"},
    ),
    "lldp_port_id": (["lldp", {"lldp_port_id": {"id": "ge-0/0/1"}}, *LLDP_END], {"lldp.port.id": "ge-0/0/1"}),
    "lldp_ttl": (["lldp", "lldp_port_id", *LLDP_END], {"lldp.time_to_live": "77"}),
    "lldp_port_description": (
        ["lldp", "lldp_port_id", "lldp_ttl", {"lldp_port_description": {"text": "to the west"}}, "lldp_end"],
        {"lldp.port.desc": "to the west"},
    ),
    "lldp_system_name": (
        ["lldp", "lldp_port_id", "lldp_ttl", {"lldp_system_name": {"text": "severn"}}, "lldp_end"],
        {"lldp.tlv.system.name": "severn"},
    ),
    "lldp_system_description": (
        ["lldp", "lldp_port_id", "lldp_ttl", {"lldp_system_description": {"text": "a river"}}, "lldp_end"],
        {"lldp.tlv.system.desc": "a river"},
    ),
    "lldp_capabilities": (
        ["lldp", "lldp_port_id", "lldp_ttl", {"lldp_capabilities": {"capabilities": 0x14, "enabled": 4}}, "lldp_end"],
        {"lldp.tlv.system_cap": "0x0014", "lldp.tlv.enable_system_cap": "0x0004"},
    ),
    "lldp_organization": (
        ["lldp", "lldp_port_id", "lldp_ttl", {"lldp_organization": {"oui": 0x021122, "subtype": 9, "data": "0102"}}, "lldp_end"],
        {"lldp.orgtlv.oui": "135458", "lldp.unknown_subtype": "9"},
    ),
    "lldp_tlv": (
        ["lldp", "lldp_port_id", "lldp_ttl", {"lldp_tlv": {"type": 8, "data": "05 01 0a000009 02 00000007 00"}}, "lldp_end"],
        {"lldp.mgn.addr.ip4": "10.0.0.9", "lldp.mgn.interface.number": "7"},
    ),
    "lldp_end": (["lldp", "lldp_port_id", "lldp_ttl", "lldp_end"], {"lldp.tlv.type": "1,2,3,0"}),
    "pppoe_discovery": (
        [{"pppoe_discovery": {"code": 0x19, "session": 0}}, "pppoe_service_name"],
        {"pppoe.code": "0x19", "pppoe.payload_length": "4"},
    ),
    "pppoe_service_name": (
        ["pppoe_discovery", {"pppoe_service_name": {"name": "tidal"}}],
        {"pppoed.tags.service_name": "tidal", "pppoe.payload_length": "9"},
    ),
    "pppoe_tag": (
        ["pppoe_discovery", "pppoe_service_name", {"pppoe_tag": {"data": "cafe"}}],
        {"pppoed.tags.host_uniq": "cafe", "pppoe.payload_length": "10"},
    ),
    "pppoe": ([{"pppoe": {"session": 0x77}}, "ppp", "ipv4", "udp"], {"pppoe.session_id": "0x0077", "pppoe.payload_length": "40"}),
    "ppp": (["pppoe", "ppp", "ipv6", "udp"], {"ppp.protocol": "0x0057", "ipv6.nxt": "17"}),
    "arp": (
        [{"arp": {"operation": 2, "sender_ip": "10.0.0.77", "target_mac": "02:00:00:00:00:66"}}],
        {"arp.opcode": "2", "arp.src.proto_ipv4": "10.0.0.77", "arp.dst.hw_mac": "02:00:00:00:00:66"},
    ),
    "ipv4": (
        [{"ipv4": {"flags": 1, "id": 0x77, "fragment_offset": 185, "dscp": 46, "ecn": 1, "protocol": 17}}],
        {"ip.flags.mf": "1", "ip.id": "0x0077", "ip.frag_offset": ("185", "1480"), "ip.dsfield.dscp": "46", "ip.dsfield.ecn": "1"},
    ),
    "ipv4_nop": (["ipv4", "ipv4_nop", "ipv4_nop", "ipv4_router_alert", "udp"], {"ip.opt.type": "1,1,148,0", "ip.hdr_len": "28"}),
    "ipv4_router_alert": (["ipv4", {"ipv4_router_alert": {"value": 5}}, "udp"], {"ip.opt.ra": "5", "ip.hdr_len": "24"}),
    "ipv4_record_route": (
        ["ipv4", {"ipv4_record_route": {"pointer": 8, "route": "0a000007 00000000"}}, "udp"],
        {"ip.opt.type": "7,0", "ip.opt.len": "11", "ip.opt.ptr": "8", "ip.rec_rt": "10.0.0.7"},
    ),
    "ipv4_timestamp": (
        ["ipv4", {"ipv4_timestamp": {"overflow": 2, "flag": 0}}, "udp"],
        {"ip.opt.type": "68", "ip.opt.overflow": "2", "ip.opt.flag": "0x00"},
    ),
    "ipv4_option": (
        ["ipv4", {"ipv4_option": {"type": 0x88, "data": "0102"}}, "udp"],
        {"ip.opt.type": "136", "ip.opt.sid": "258"},
    ),
    "ipv6": (
        [{"ipv6": {"flow_label": 0x12345, "hop_limit": 7, "dscp": 10}}, "udp"],
        {"ipv6.flow": "0x012345", "ipv6.hlim": "7", "ipv6.tclass.dscp": "10"},
    ),
    "ipv6_hop_by_hop": (
        ["ipv6", "ipv6_hop_by_hop", "ipv6_router_alert", "ipv6_padn", "udp"],
        {"ipv6.nxt": "0", "ipv6.hopopts.nxt": "17", "ipv6.hopopts.len": "0"},
    ),
    "ipv6_destination": (
        ["ipv6", "ipv6_destination", {"ipv6_padn": {"data": "00" * 4}}, "tcp"],
        {"ipv6.nxt": "60", "ipv6.dstopts.nxt": "6", "ipv6.dstopts.len": "0"},
    ),
    "ipv6_router_alert": (["ipv6", "ipv6_hop_by_hop", {"ipv6_router_alert": {"value": 1}}, "udp"], {"ipv6.opt.router_alert": "1"}),
    "ipv6_tunnel_limit": (["ipv6", "ipv6_destination", {"ipv6_tunnel_limit": {"limit": 3}}, "ipv6", "udp"], {"ipv6.opt.tel": "3"}),
    "ipv6_padn": (
        ["ipv6", "ipv6_hop_by_hop", {"ipv6_padn": {"data": "00" * 12}}, "udp"],
        {"ipv6.opt.type": "0x01", "ipv6.opt.length": "12", "ipv6.hopopts.len": "1"},
    ),
    "ipv6_option": (
        ["ipv6", "ipv6_destination", {"ipv6_option": {"type": 0x1E, "data": "01020304"}}, "udp"],
        {"ipv6.opt.type": "0x1e", "ipv6.opt.experimental": "01020304"},
    ),
    "ipv6_fragment": (
        ["ipv6", {"ipv6_fragment": {"fragment_offset": 10, "more_fragments": 1, "id": 0xCAFE, "next_header": 17}}, {"payload": "sixteen bytes..."}],
        {"ipv6.fraghdr.offset": "10", "ipv6.fraghdr.more": "1", "ipv6.fraghdr.ident": "0x0000cafe"},
    ),
    "srh": (
        [
            {"ipv6": {"dst": "2001:2::22"}}, {"srh": {"tag": 0x1234}}, {"srh_segment": {"address": "2001:2::11"}},
            {"srh_segment": {"address": "2001:2::22"}}, "udp",
        ],
        {"ipv6.routing.type": "4", "ipv6.routing.segleft": "1", "ipv6.routing.srh.last_entry": "1", "ipv6.routing.len": "4"},
    ),
    "srh_segment": (
        ["ipv6", {"srh": {"segments_left": 0}}, {"srh_segment": {"address": "2001:2::33"}}, "tcp"],
        {"ipv6.routing.srh.addr": "2001:2::33", "ipv6.routing.nxt": "6"},
    ),
    "srh_tlv": (
        ["ipv6", {"srh": {"segments_left": 0}}, "srh_segment", {"srh_tlv": {"type": 4, "data": "00" * 6}}, "udp"],
        {"ipv6.routing.len": "3"},
    ),
    "ipv6_routing": (
        ["ipv6", {"ipv6_routing": {"routing_type": 253, "segments_left": 0, "data": "00000001"}}, "udp"],
        {"ipv6.routing.type": "253", "ipv6.routing.nxt": "17"},
    ),
    "ah": (["ipv4", {"ah": {"spi": 0x77, "sequence": 9, "icv": "11" * 12}}, "udp"], {"ah.spi": "0x00000077", "ah.sequence": "9", "ah.icv": "11" * 12}),
    "esp": (["ipv4", {"esp": {"spi": 0x99, "sequence": 12}}, {"fill": "random"}], {"esp.spi": "0x00000099", "esp.sequence": "12"}),
    "icmp": (["ipv4", {"icmp": {"id": 258, "seq": 3}}], {"icmp.type": "8", "icmp.ident": "258", "icmp.seq": "3"}),
    "icmp_unreachable": (
        ["ipv4", {"icmp_unreachable": {"code": 4, "mtu": 1280}}, *INNER[1:]],
        {"icmp.type": "3", "icmp.code": "4", "icmp.mtu": "1280", "ip.src": "198.18.7.1"},
    ),
    "icmp_redirect": (
        ["ipv4", {"icmp_redirect": {"gateway": "10.0.0.99"}}, *INNER[1:]],
        {"icmp.type": "5", "icmp.redir_gw": "10.0.0.99", "udp.dstport": "5555"},
    ),
    "icmp_time_exceeded": (["ipv4", {"icmp_time_exceeded": {"code": 1}}, *INNER[1:]], {"icmp.type": "11", "icmp.code": "1"}),
    "igmpv3_query": (
        [{"ipv4": {"dst": "239.9.9.9"}}, {"igmpv3_query": {"group": "239.9.9.9", "robustness": 3, "interval": 60}}, "igmp_source"],
        {"igmp.type": "0x11", "igmp.version": "3", "igmp.maddr": "239.9.9.9", "igmp.qrv": "3", "igmp.num_src": "1"},
    ),
    "igmpv3_report": (
        [{"ipv4": {"dst": "224.0.0.22"}}, "igmpv3_report", "igmpv3_record", {"igmpv3_record": {"group": "239.7.7.7"}}],
        {"igmp.type": "0x22", "igmp.num_grp_recs": "2", "igmp.maddr": "239.1.1.1,239.7.7.7"},
    ),
    "igmpv3_record": (
        [{"ipv4": {"dst": "224.0.0.22"}}, "igmpv3_report", {"igmpv3_record": {"type": 3, "group": "239.7.7.7"}}],
        {"igmp.record_type": "3", "igmp.maddr": "239.7.7.7"},
    ),
    "igmp_source": (
        [{"ipv4": {"dst": "224.0.0.22"}}, "igmpv3_report", "igmpv3_record", {"igmp_source": {"address": "10.9.9.9"}}],
        {"igmp.saddr": "10.9.9.9", "igmp.num_src": "1"},
    ),
    "igmp": (
        [{"ipv4": {"dst": "239.5.5.5"}}, {"igmp": {"type": 0x17, "group": "239.5.5.5"}}],
        {"igmp.type": "0x17", "igmp.maddr": "239.5.5.5", "ip.ttl": "1"},
    ),
    "icmpv6": (
        ["ipv6", {"icmpv6": {"id": 258, "seq": 3}}],
        {"icmpv6.type": "128", "icmpv6.echo.identifier": "0x0102", "icmpv6.echo.sequence_number": "3"},
    ),
    "icmpv6_unreachable": (["ipv6", {"icmpv6_unreachable": {"code": 3}}, "ipv6", "udp"], {"icmpv6.type": "1", "icmpv6.code": "3"}),
    "icmpv6_packet_too_big": (["ipv6", {"icmpv6_packet_too_big": {"mtu": 1400}}, "ipv6", "udp"], {"icmpv6.mtu": "1400"}),
    "icmpv6_time_exceeded": (["ipv6", {"icmpv6_time_exceeded": {"code": 1}}, "ipv6", "udp"], {"icmpv6.type": "3", "icmpv6.code": "1"}),
    "nd_solicit": (
        [{"ipv6": {"dst": "ff02::1:ff00:9"}}, {"nd_solicit": {"target": "2001:2::9", "lladdr": "02:00:00:00:00:31"}}],
        {"icmpv6.nd.ns.target_address": "2001:2::9", "icmpv6.opt.linkaddr": "02:00:00:00:00:31", "ipv6.hlim": "255"},
    ),
    "nd_advert": (
        ["ipv6", {"nd_advert": {"target": "2001:2::9", "flags": 6, "lladdr": "02:00:00:00:00:32"}}],
        {"icmpv6.nd.na.target_address": "2001:2::9", "icmpv6.nd.na.flag.r": "1", "icmpv6.opt.linkaddr": "02:00:00:00:00:32"},
    ),
    "nd_router_solicit": (
        [{"ipv6": {"dst": "ff02::2"}}, "nd_router_solicit", "nd_source_lladdr"],
        {"icmpv6.type": "133", "ipv6.hlim": "255"},
    ),
    "nd_router_advert": (
        [{"ipv6": {"src": "fe80::1", "dst": "ff02::1"}}, {"nd_router_advert": {"lifetime": 99, "managed": 1, "hop_limit": 32}}],
        {"icmpv6.nd.ra.router_lifetime": "99", "icmpv6.nd.ra.flag.m": "1", "icmpv6.nd.ra.cur_hop_limit": "32"},
    ),
    "nd_source_lladdr": (
        [{"ipv6": {"dst": "ff02::2"}}, "nd_router_solicit", {"nd_source_lladdr": {"lladdr": "02:00:00:00:00:41"}}],
        {"icmpv6.opt.src_linkaddr": "02:00:00:00:00:41"},
    ),
    "nd_prefix": (
        [{"ipv6": {"src": "fe80::1"}}, "nd_router_advert", {"nd_prefix": {"prefix": "2001:2:7::", "prefix_length": 56, "valid": 77, "preferred": 7}}],
        {"icmpv6.opt.prefix": "2001:2:7::", "icmpv6.opt.prefix.length": "56", "icmpv6.opt.prefix.valid_lifetime": "77"},
    ),
    "nd_mtu": ([{"ipv6": {"src": "fe80::1"}}, "nd_router_advert", {"nd_mtu": {"mtu": 9000}}], {"icmpv6.opt.mtu": "9000"}),
    "nd_option": (
        [{"ipv6": {"src": "fe80::1"}}, "nd_router_advert", {"nd_option": {"type": 25, "data": "0000 00000064 20010002000000000000000000000053"}}],
        {"icmpv6.opt.rdnss": "2001:2::53", "icmpv6.opt.rdnss.lifetime": "100"},
    ),
    "mldv2_query": (
        [{"ipv6": {"src": "fe80::1", "dst": "ff02::1"}}, "ipv6_hop_by_hop", "ipv6_router_alert", "ipv6_padn", {"mldv2_query": {"max_response": 500}}, "mld_source"],
        {"icmpv6.type": "130", "icmpv6.mld.maximum_response_code": "500", "icmpv6.mld.nb_sources": "1", "ipv6.hlim": "1"},
    ),
    "mld": (
        [{"ipv6": {"src": "fe80::1"}}, "ipv6_hop_by_hop", "ipv6_router_alert", "ipv6_padn", {"mld": {"type": 132, "group": "ff15::77"}}],
        {"icmpv6.type": "132", "icmpv6.mld.multicast_address": "ff15::77"},
    ),
    "mldv2_report": (
        [{"ipv6": {"src": "fe80::1", "dst": "ff02::16"}}, "ipv6_hop_by_hop", "ipv6_router_alert", "ipv6_padn", "mldv2_report", "mldv2_record", "mldv2_record"],
        {"icmpv6.type": "143", "icmpv6.mldr.nb_mcast_records": "2"},
    ),
    "mldv2_record": (
        [{"ipv6": {"src": "fe80::1", "dst": "ff02::16"}}, "mldv2_report", {"mldv2_record": {"type": 2, "group": "ff15::5"}}],
        {"icmpv6.mldr.mar.record_type": "2", "icmpv6.mldr.mar.multicast_address": "ff15::5"},
    ),
    "mld_source": (
        [{"ipv6": {"src": "fe80::1", "dst": "ff02::16"}}, "mldv2_report", "mldv2_record", {"mld_source": {"address": "2001:2::5"}}],
        {"icmpv6.mldr.mar.source_address": "2001:2::5", "icmpv6.mldr.mar.nb_sources": "1"},
    ),
    "udp": (["ipv4", {"udp": {"src": 1024, "dst": 9}}], {"udp.srcport": "1024", "udp.dstport": "9", "udp.length": "26"}),
    "tcp": (
        ["ipv6", {"tcp": {"src": 40000, "seq": 4_000_000_000, "ack": 5, "flags": "0x12", "window": 1000}}],
        {"tcp.srcport": "40000", "tcp.seq_raw": "4000000000", "tcp.ack_raw": "5", "tcp.window_size_value": "1000"},
    ),
    "tcp_nop": (["ipv4", "tcp", "tcp_nop", "tcp_nop", "tcp_mss"], {"tcp.option_kind": "1,1,2,0,0", "tcp.hdr_len": "28"}),
    "tcp_mss": (["ipv4", "tcp", {"tcp_mss": {"mss": 1234}}], {"tcp.options.mss_val": "1234", "tcp.hdr_len": "24"}),
    "tcp_wscale": (["ipv4", "tcp", {"tcp_wscale": {"shift": 9}}], {"tcp.options.wscale.shift": "9", "tcp.hdr_len": "24"}),
    "tcp_sack_permitted": (["ipv4", "tcp", "tcp_sack_permitted"], {"tcp.option_kind": "4,0,0", "tcp.hdr_len": "24"}),
    "tcp_sack": (
        ["ipv4", {"tcp": {"flags": "0x10"}}, "tcp_nop", "tcp_nop", "tcp_sack",
         {"tcp_sack_block": {"left": 300, "right": 400}}, {"tcp_sack_block": {"left": 100, "right": 200}}],
        {"tcp.options.sack.count": "2", "tcp.hdr_len": "40"},
    ),
    "tcp_sack_block": (
        ["ipv4", {"tcp": {"flags": "0x10"}}, "tcp_nop", "tcp_nop", "tcp_sack", {"tcp_sack_block": {"left": 100, "right": 200}}],
        {"tcp.options.sack_le": "100", "tcp.options.sack_re": "200"},
    ),
    "tcp_timestamps": (
        ["ipv6", "tcp", "tcp_nop", "tcp_nop", {"tcp_timestamps": {"value": 77, "echo": 66}}],
        {"tcp.options.timestamp.tsval": "77", "tcp.options.timestamp.tsecr": "66"},
    ),
    "tcp_fast_open": (["ipv4", "tcp", {"tcp_fast_open": {"cookie": "1122334455667788"}}], {"tcp.options.tfo.cookie": "1122334455667788"}),
    "tcp_option": (
        ["ipv4", "tcp", {"tcp_option": {"kind": 254, "data": "1234abcd"}}],
        {"tcp.option_kind": "254,0,0", "tcp.option_len": "6", "tcp.options.experimental.data": "abcd"},
    ),
    "sctp": (
        ["ipv4", {"sctp": {"src": 5000, "dst": 5001, "tag": 0x0A0B0C0D}}, "sctp_data", {"payload": "tide"}],
        {"sctp.srcport": "5000", "sctp.dstport": "5001", "sctp.verification_tag": "0x0a0b0c0d"},
    ),
    "sctp_data": (
        ["ipv6", "sctp", {"sctp_data": {"tsn": 77, "stream": 3, "stream_sequence": 4, "payload_protocol": 0}}, {"payload": "tide"}],
        {"sctp.data_tsn_raw": "77", "sctp.data_sid": "0x0003", "sctp.data_ssn": "4", "sctp.chunk_length": "20"},
    ),
    "sctp_init": (
        ["ipv4", {"sctp": {"tag": 0}}, {"sctp_init": {"initiate_tag": 0x55, "inbound_streams": 9, "initial_tsn": 1000}}],
        {"sctp.init_initiate_tag": "0x00000055", "sctp.init_nr_in_streams": "9", "sctp.init_initial_tsn": "1000"},
    ),
    "gre": (
        ["ipv4", "gre", "ipv6", "udp"],
        {"gre.proto": "0x86dd", "gre.flags_and_version": "0x0000", "ipv6.nxt": "17"},
    ),
    "gre_checksum": (
        ["ipv4", "gre", "gre_checksum", "gre_key", *INNER[1:]],
        {"gre.flags.checksum": "1", "gre.flags.key": "1", "gre.checksum.status": "1", "ip.src": "198.18.7.1"},
    ),
    "gre_key": (["ipv6", "gre", {"gre_key": {"key": 0x12345678}}, *INNER], {"gre.key": "0x12345678", **INNER_FIELDS}),
    "nvgre": (["ipv4", "gre", {"nvgre": {"vsid": 0xABCDEF, "flow": 7}}, *INNER], {"gre.key": "0xabcdef07", **INNER_FIELDS}),
    "gre_sequence": (["ipv4", "gre", "gre_key", {"gre_sequence": {"sequence": 77}}, "ipv4", "udp"], {"gre.sequence_number": "77", "gre.key": "0x00000001"}),
    "erspan2": (
        ["ipv4", "gre", {"gre_sequence": {"sequence": 7}}, {"erspan2": {"vlan": 55, "session": 100, "cos": 3, "index": 9}}, *INNER],
        {"erspan.version": "1", "erspan.vlan": "55", "erspan.spanid": "100", "erspan.cos": "3", "erspan.index": "9", **INNER_FIELDS},
    ),
    "erspan3": (
        ["ipv4", "gre", "gre_sequence", {"erspan3": {"vlan": 55, "session": 100, "timestamp": 4242, "direction": 1}}, *INNER],
        {"erspan.version": "2", "erspan.vlan": "55", "erspan.spanid": "100", "erspan.timestamp": "4242", **INNER_FIELDS},
    ),
    "vxlan": (["ipv4", "udp", {"vxlan": {"vni": 7777}}, *INNER], {"vxlan.vni": "7777", "vxlan.flags": "0x0800", **INNER_FIELDS}),
    "vxlan_gpe": (["ipv6", "udp", {"vxlan_gpe": {"vni": 88}}, "ipv4", {"udp": {"dst": 5555}}], {"vxlan.vni": "88", "vxlan.next_proto": "1", "udp.dstport": "4790,5555"}),
    "geneve": (["ipv4", "udp", {"geneve": {"vni": 99, "control": 0}}, *INNER], {"geneve.vni": "0x000063", "geneve.proto_type": "0x6558", **INNER_FIELDS}),
    "geneve_option": (
        ["ipv4", "udp", "geneve", {"geneve_option": {"class": 0xFFF1, "type": 5, "data": "0102030405"}}, *INNER],
        {"geneve.option.class": "0xfff1", "geneve.option.type": "0x05", "geneve.option.unknown.data": "0102030405000000", **INNER_FIELDS},
    ),
    "gtpu": (["ipv4", "udp", {"gtpu": {"teid": 0xABCD}}, *INNER[1:]], {"gtp.teid": "0x0000abcd", "gtp.message": "0xff", "udp.dstport": "2152,5555"}),
    "gtpu_options": (["ipv4", "udp", "gtpu", {"gtpu_options": {"sequence": 77}}, "ipv6", "udp"], {"gtp.seq_number": "0x004d", "gtp.flags.s": "1", "ipv6.nxt": "17"}),
    "gtpu_pdu_session": (
        ["ipv6", "udp", "gtpu", "gtpu_options", {"gtpu_pdu_session": {"type": 1, "qfi": 33}}, *INNER[1:]],
        {"gtp.flags.e": "1", "gtp.ext_hdr.pdu_ses_con.pdu_type": "1", "gtp.ext_hdr.pdu_ses_con.qos_flow_id": "33", "ip.src": "198.18.7.1"},
    ),
    "l2tp": (["ipv4", "udp", {"l2tp": {"tunnel": 5, "session": 6}}, "ppp", *INNER[1:]], {"l2tp.tunnel": "5", "l2tp.session": "6", "ip.src": "198.18.7.1"}),
    "l2tpv3": (["ipv4", {"l2tpv3": {"session": 0x55}}, *INNER], {"l2tp.sid": "0x00000055"}),
    "ptp": (
        [{"ptp": {"sequence": 77, "domain": 3, "seconds": 9, "nanoseconds": 8, "type": 1, "control": 1}}],
        {"ptp.v2.sequenceid": "77", "ptp.v2.domainnumber": "3", "ptp.v2.sdr.origintimestamp.seconds": "9", "ptp.v2.messagetype": "0x01"},
    ),
    "bfd": (
        ["ipv4", "udp", {"bfd": {"state": 3, "my_discriminator": 7, "your_discriminator": 8, "multiplier": 5}}],
        {"bfd.sta": "0x03", "bfd.my_discriminator": "0x00000007", "bfd.detect_time_multiplier": "5", "ip.ttl": "255"},
    ),
    "dns": (
        ["ipv4", "udp", {"dns": {"id": 0xBEEF, "recursion_desired": 0}}, "dns_question"],
        {"dns.id": "0xbeef", "dns.flags.recdesired": "0", "dns.count.queries": "1", "dns.qry.name": "example.com"},
    ),
    "dns_question": (
        ["ipv6", "udp", "dns", {"dns_question": {"name": "www.severn.example", "type": 28}}],
        {"dns.qry.name": "www.severn.example", "dns.qry.type": "28"},
    ),
    "dns_a": (
        ["ipv4", "udp", {"dns": {"response": 1}}, "dns_question", {"dns_a": {"address": "10.9.8.7", "ttl": 99}}],
        {"dns.a": "10.9.8.7", "dns.resp.ttl": "99", "dns.count.answers": "1", "dns.resp.name": "example.com"},
    ),
    "dns_aaaa": (
        ["ipv4", "udp", {"dns": {"response": 1}}, {"dns_question": {"type": 28}}, {"dns_aaaa": {"address": "2001:2::77"}}],
        {"dns.aaaa": "2001:2::77", "dns.resp.type": "28"},
    ),
    "dns_record": (
        ["ipv4", "udp", {"dns": {"response": 1}}, {"dns_question": {"type": 16}}, {"dns_record": {"data": "04 74696465"}}],
        {"dns.txt": "tide", "dns.resp.type": "16"},
    ),
    "bytes": (
        [{"ethernet": {"type": 0x8100}}, {"bytes": {"hex": "2007 0800"}}, {"ipv4": {"ttl": 9}}, "udp"],
        {"vlan.id": "7", "vlan.priority": "1", "ip.ttl": "9", "vlan.etype": "0x0800"},
    ),
}  # fmt: skip


def packet_of(number, packet):
    """The packet from its own Ethernet source, to an address that needs no resolution."""
    first, rest = (packet[0]["ethernet"], packet[1:]) if isinstance(packet[0], dict) and "ethernet" in packet[0] else ({}, packet)
    to = {} if first.get("dst") or fixes_destination(packet) else {"dst": "02:00:00:00:00:07"}
    return [{"ethernet": {"src": source(number), **to, **first}}, *rest]


def fixes_destination(packet):
    """Whether one of the headers has its own group address."""
    names = {element if isinstance(element, str) else next(iter(element)) for element in packet}
    return names & {"pause", "pfc", "lacp", "lldp", "pppoe_discovery"}


def source(number):
    return f"02:77:00:00:{number >> 8:02x}:{number & 255:02x}"


@pytest.fixture(scope="module")
def frames(shared):
    """Fields read by tshark, by protocol."""
    need("tshark")
    streams = [
        {
            "name": name, "from": "west", "to": "east", "packet": packet_of(number, packet), "rate": "10kpps", "count": 1,
            "measure": False,
        }
        for number, (name, (packet, _)) in enumerate(PROTOCOLS.items())
    ]  # fmt: skip
    profile = shared.profile(PORTS, streams, load={"duration": "10ms", "drain": "1ms"})
    capture = profile.parent / "sent.pcap"
    done = shared.eagre("sim", profile, "--pcap", capture, "--packets", 10_000, "--json", "-")
    assert done.ended, str(done)
    wanted = {field for _, fields in PROTOCOLS.values() for field in fields}
    fields = ["frame.number", "eth.src", "frame.protocols", "_ws.malformed", "_ws.expert.severity", "_ws.expert.message"]
    fields += sorted({*wanted, *CHECKSUMS.values()} - set(fields))
    arguments = [argument for field in fields for argument in ("-e", field)]
    out = call("tshark", "-r", capture, *OPTIONS, "-T", "fields", "-E", "separator=|", "-E", "aggregator=,", *arguments)
    decoded = [dict(zip(fields, line.split("|"))) for line in out.splitlines()]
    by_source = {frame["eth.src"].split(",")[0]: frame for frame in decoded}
    sources = {
        name: packet[0]["ethernet"].get("src", source(number)) if isinstance(packet[0], dict) and "ethernet" in packet[0] else source(number)
        for number, (name, (packet, _)) in enumerate(PROTOCOLS.items())
    }
    return {name: by_source.get(where) for name, where in sources.items()}


@pytest.mark.parametrize("name", PROTOCOLS)
def test_tshark_reads_what_the_profile_says(frames, name):
    """Nothing malformed, unknown or worth a warning; checksums right; fields as they were set."""
    frame, expected = frames[name], PROTOCOLS[name][1]
    assert frame, "tshark saw no such frame"
    said = {field: value for field, value in frame.items() if value}
    layers = frame["frame.protocols"].split(":")
    assert not frame["_ws.malformed"] and "_ws.malformed" not in layers and "_ws.unreassembled" not in layers, said
    severities = [int(severity, 0) for severity in frame["_ws.expert.severity"].split(",") if severity]
    assert all(severity < WARNING for severity in severities), said
    for layer, field in CHECKSUMS.items():
        if layer in layers and frame[field]:
            assert set(frame[field].split(",")) <= {GOOD, UNVERIFIED}, (field, said)
    for field, value in expected.items():
        values = value if isinstance(value, tuple) else (value,)
        read = {frame[field], *frame[field].split(",")}
        assert read & set(values), (field, value, said)


def catalogue(lab):
    """Names of all headers, from the program's schema."""
    schema = json.loads(lab.eagre("schema", "profile").ok().out)
    element = schema["$defs"]["PacketElement"]
    keyed = next(branch for branch in element["anyOf"] if branch["type"] == "object")
    return set(keyed["properties"]) - {"payload", "hex", "fill"}


def test_every_protocol_is_in_the_table(lab):
    """And nothing else; each packet has the header it is there for."""
    assert catalogue(lab) == set(PROTOCOLS)
    for name, (packet, expected) in PROTOCOLS.items():
        names = {element if isinstance(element, str) else next(iter(element)) for element in packet}
        assert name in names and expected, name


MEASURED = {
    "vxlan": ["ipv4", "udp", "vxlan", *INNER],
    "geneve": ["ipv6", "udp", "geneve", "geneve_option", *INNER],
    "gtpu": ["ipv4", "udp", "gtpu", "gtpu_options", "gtpu_pdu_session", *INNER[1:]],
    "gre": ["ipv4", "gre", "gre_checksum", *INNER[1:]],
    "mpls": ["mpls", "mpls", *INNER[1:]],
    "tcp": ["ipv4", "tcp", "tcp_mss", "tcp_timestamps", {"payload": "tide"}, {"fill": "counter"}],
    "srv6": ["ipv6", "srh", "srh_segment", "srh_segment", {"udp": {"dst": 9}}],
    "sctp": ["ipv4", "sctp", "sctp_data"],
    "sctp in vxlan": ["ipv4", "udp", "vxlan", *INNER[:2], "sctp", "sctp_data", {"fill": "prbs"}],
}


@pytest.mark.parametrize("name", MEASURED)
def test_every_checksum_of_a_measured_stream_is_right(lab, name):
    """Each packet has another signature; what covers it, in the tunnel and around it, is right in all of them."""
    need("tshark")
    stream = {
        "name": "s", "from": "west", "to": "east", "packet": packet_of(1, MEASURED[name]), "rate": "10kpps", "count": 50,
        "size": "300B",
    }  # fmt: skip
    profile = lab.profile(PORTS, [stream], load={"duration": "100ms", "drain": "10ms"})
    capture = profile.parent / "sent.pcap"
    result = lab.eagre("sim", profile, "--pcap", capture, "--json", "-").json
    assert result["streams"]["s"]["rx"] == 50 and result["streams"]["s"]["lost"] == 0
    arguments = [argument for field in CHECKSUMS.values() for argument in ("-e", field)]
    out = call("tshark", "-r", capture, *OPTIONS, "-T", "fields", "-E", "separator=|", "-E", "aggregator=,", *arguments)
    verdicts = [dict(zip(CHECKSUMS, line.split("|"))) for line in out.splitlines()]
    assert len(verdicts) == 50
    expected = {element if isinstance(element, str) else next(iter(element)) for element in MEASURED[name]}
    for verdict in verdicts:
        for layer in expected & {"udp", "tcp", "sctp", "gre_checksum"}:
            assert verdict[layer.removesuffix("_checksum")], (layer, verdict)
        assert {one for found in verdict.values() for one in found.split(",") if one} == {GOOD}, verdict


@pytest.mark.parametrize(
    "elements, payload",
    [
        ([{"fill": "counter"}], bytes(range(58))),
        ([{"payload": "tide"}, {"fill": {"repeat": "ab"}}], b"tide" + b"ab" * 27),
        ([{"hex": "ff"}, {"fill": "zeros"}], b"\xff" + bytes(57)),
        ([{"fill": "prbs"}], bytes.fromhex("fffffff1")),
    ],
)
def test_payloads_are_filled(lab, elements, payload):
    """From behind the bytes that are given up to the frame's end."""
    need("tshark")
    packet = packet_of(1, ["ipv4", {"udp": {"dst": 5555}}, *elements])
    stream = {
        "name": "s", "from": "west", "to": "east", "packet": packet, "rate": "1kpps", "count": 1, "size": "104B",
        "measure": False,
    }  # fmt: skip
    profile = lab.profile(PORTS, [stream], load={"duration": "10ms", "drain": "1ms"})
    capture = profile.parent / "sent.pcap"
    lab.eagre("sim", profile, "--pcap", capture, "--json", "-")
    read = call("tshark", "-r", capture, "-d", "udp.port==5555,data", "-T", "fields", "-e", "data.data").strip()
    assert len(read) == 2 * 58 and bytes.fromhex(read).startswith(payload)


@pytest.mark.parametrize(
    "packet, words",
    [
        (["ipv4", "udp", "tcp_mss"], "tcp_mss cannot follow udp; it follows tcp"),
        (["ipv4", "tcp", *["tcp_timestamps"] * 5], "and its parts need 72 bytes, but it can have only 60"),
        (["ipv4", "udp", "dns", {"dns_question": {"name": "a..b"}}], "'a..b' is not a domain name such as example.com"),
        (["ipv4", {"bytes": {"hex": "0"}}], "'0' is not bytes as pairs of hexadecimal digits such as '00 ff'"),
        (["ipv4", "udp", {"fill": "noise"}], "unknown fill 'noise'. Allowed: zeros, counter, prbs, random"),
        (["ipv4", "udp", {"fill": "prbs"}, {"payload": "x"}], "the fill must be the last element of the packet"),
        (["ipv4", {"payload": "x"}, "udp"], "the payload must be the last element, followed only by 'fill'"),
    ],
)
def test_says_what_is_wrong_with_a_packet(lab, packet, words):
    """In the words of the catalogue."""
    stream = {"name": "s", "from": "west", "to": "east", "packet": packet, "rate": "1kpps"}
    profile = lab.profile(PORTS, [stream])
    assert words in lab.eagre("check", profile).err
