//! Headers with the model's fields in wire order.

use super::header::{Header, Part};
use crate::node::Node;
use Part::{Computed, Fixed, Pattern};

/// VLAN tag. The model's `tpid` is the type of the next header, after the identifier.
pub(super) const VLAN: &[Part] =
    &[Pattern("priority", 3), Pattern("cfi", 1), Pattern("id", 12), Computed("tpid", 16)];
pub(super) const VXLAN: &[Part] =
    &[Pattern("flags", 8), Pattern("reserved0", 24), Pattern("vni", 24), Pattern("reserved1", 8)];
pub(super) const MPLS: &[Part] = &[
    Pattern("label", 20),
    Pattern("traffic_class", 3),
    Computed("bottom_of_stack", 1),
    Pattern("time_to_live", 8),
];
pub(super) const UDP: &[Part] =
    &[Pattern("src_port", 16), Pattern("dst_port", 16), Computed("length", 16), Computed("checksum", 16)];
pub(super) const TCP: &[Part] = &[
    Pattern("src_port", 16),
    Pattern("dst_port", 16),
    Pattern("seq_num", 32),
    Pattern("ack_num", 32),
    Computed("data_offset", 4),
    Fixed(0, 3),
    Pattern("ecn_ns", 1),
    Pattern("ecn_cwr", 1),
    Pattern("ecn_echo", 1),
    Pattern("ctl_urg", 1),
    Pattern("ctl_ack", 1),
    Pattern("ctl_psh", 1),
    Pattern("ctl_rst", 1),
    Pattern("ctl_syn", 1),
    Pattern("ctl_fin", 1),
    Pattern("window", 16),
    Computed("checksum", 16),
    Fixed(0, 16),
];
pub(super) const ARP: &[Part] = &[
    Pattern("hardware_type", 16),
    Pattern("protocol_type", 16),
    Pattern("hardware_length", 8),
    Pattern("protocol_length", 8),
    Pattern("operation", 16),
    Pattern("sender_hardware_addr", 48),
    Pattern("sender_protocol_addr", 32),
    Pattern("target_hardware_addr", 48),
    Pattern("target_protocol_addr", 32),
];
/// Of ICMP and ICMPv6.
pub(super) const ECHO: &[Part] = &[
    Pattern("echo.type", 8),
    Pattern("echo.code", 8),
    Computed("echo.checksum", 16),
    Pattern("echo.identifier", 16),
    Pattern("echo.sequence_number", 16),
];
pub(super) const IGMPV1: &[Part] = &[
    Pattern("version", 4),
    Pattern("type", 4),
    Pattern("unused", 8),
    Computed("checksum", 16),
    Pattern("group_address", 32),
];
const ADDRESSES: &[Part] = &[Pattern("dst", 48), Pattern("src", 48), Pattern("ether_type", 16)];
const PFC: &[Part] = &[
    Pattern("control_op_code", 16),
    Pattern("class_enable_vector", 16),
    Pattern("pause_class_0", 16),
    Pattern("pause_class_1", 16),
    Pattern("pause_class_2", 16),
    Pattern("pause_class_3", 16),
    Pattern("pause_class_4", 16),
    Pattern("pause_class_5", 16),
    Pattern("pause_class_6", 16),
    Pattern("pause_class_7", 16),
];
const PAUSE: &[Part] = &[Pattern("control_op_code", 16), Pattern("time", 16)];
const GRE: &[Part] = &[
    Pattern("checksum_present", 1),
    Pattern("reserved0", 12),
    Pattern("version", 3),
    Computed("protocol", 16),
];
const GRE_CHECKSUM: &[Part] = &[Computed("checksum", 16), Pattern("reserved1", 16)];
const GTPV1: &[Part] = &[
    Pattern("version", 3),
    Pattern("protocol_type", 1),
    Pattern("reserved", 1),
    Pattern("e_flag", 1),
    Pattern("s_flag", 1),
    Pattern("pn_flag", 1),
    Pattern("message_type", 8),
    Computed("message_length", 16),
    Pattern("teid", 32),
];
const GTPV1_OPTIONS: &[Part] =
    &[Pattern("squence_number", 16), Pattern("n_pdu_number", 8), Pattern("next_extension_header_type", 8)];
const GTPV1_EXTENSION: &[Part] =
    &[Pattern("extension_length", 8), Pattern("contents", 48), Pattern("next_extension_header", 8)];
const GTPV2: &[Part] = &[
    Pattern("version", 3),
    Pattern("piggybacking_flag", 1),
    Pattern("teid_flag", 1),
    Pattern("spare1", 3),
    Pattern("message_type", 8),
    Pattern("message_length", 16),
];
const GTPV2_TEID: &[Part] = &[Pattern("teid", 32)];
const GTPV2_REST: &[Part] = &[Pattern("sequence_number", 24), Pattern("spare2", 8)];

/// Priority-based flow control, with its Ethernet header.
pub(super) fn pfc(node: &Node<'_>) -> Vec<Header> {
    vec![
        Header::native("ethernet", node).parts(node, ADDRESSES),
        Header::native("pfc", node).parts(node, PFC),
    ]
}

/// Pause, with its Ethernet header.
pub(super) fn pause(node: &Node<'_>) -> Vec<Header> {
    vec![
        Header::native("ethernet", node).parts(node, ADDRESSES),
        Header::native("pause", node).parts(node, PAUSE),
    ]
}

/// GRE. Checksum and reserved bits are present if the flag is set or one of them is given.
pub(super) fn gre(node: &Node<'_>) -> Vec<Header> {
    let mut gre = Header::native("gre", node).parts(node, GRE);
    gre.unknown_next = Some(0x0800);
    let checksum = gre.get(0, 1) == 1 || node.has("checksum") || node.has("reserved1");
    let mut headers = vec![gre];
    if checksum {
        headers.push(Header::native("gre_checksum", node).parts(node, GRE_CHECKSUM));
    }
    headers
}

/// GTP-U. The optional fields are present if a flag is set or one of them is given.
pub(super) fn gtpv1(node: &Node<'_>) -> Vec<Header> {
    let gtp = Header::native("gtpu", node).parts(node, GTPV1);
    let given = ["squence_number", "n_pdu_number", "next_extension_header_type"].iter().any(|n| node.has(n));
    let options = gtp.get(5, 3) != 0 || given || node.has("extension_headers");
    let mut headers = vec![gtp];
    if options {
        headers.push(Header::native("gtpu_options", node).parts(node, GTPV1_OPTIONS));
    }
    let extension = |node: &Node<'_>| Header::plain(node).parts(node, GTPV1_EXTENSION);
    headers.extend(node.items("extension_headers").iter().map(extension));
    headers
}

/// GTP version 2, not in the catalogue. The tunnel identifier is present if the flag is set or it is given.
pub(super) fn gtpv2(node: &Node<'_>) -> Vec<Header> {
    let gtp = Header::plain(node).parts(node, GTPV2);
    let teid = gtp.get(4, 1) == 1 || node.has("teid");
    let gtp = if teid { gtp.parts(node, GTPV2_TEID) } else { gtp };
    vec![gtp.parts(node, GTPV2_REST)]
}

/// PPP with the address and control bytes of HDLC-like framing (RFC 1662), not in the catalogue.
pub(super) fn ppp(node: &Node<'_>, next: Option<&str>) -> Vec<Header> {
    let mut ppp = Header::plain(node).parts(node, &[Pattern("address", 8), Pattern("control", 8)]);
    let protocol = node.child("protocol_type");
    match next.filter(|_| !protocol.is_given() || protocol.choice() == "auto") {
        Some("ipv6") => ppp.number(0x0057, 16),
        Some("mpls") => ppp.number(0x0281, 16),
        _ => ppp.pattern(&protocol, 16, crate::pattern::Absent::Default),
    }
    vec![ppp]
}

/// Custom bytes.
pub(super) fn custom(node: &Node<'_>) -> Vec<Header> {
    let mut header = Header::plain(node);
    header.bytes(&node.bytes("bytes"));
    for tag in node.items("metric_tags") {
        let (at, width) = (tag.whole("offset") as usize, tag.whole("length") as usize);
        if at + width > header.len() {
            tag.fail_at("length", "offset plus length exceeds the bytes");
            continue;
        }
        let name = tag.text("name").to_owned();
        let tag = crate::pattern::MetricTag { name, offset: 0, width };
        header.tags.push(super::header::Tag { tag, at });
    }
    vec![header]
}
