//! RSVP path messages, as bytes: the catalogue has no nested objects. Source: RFC 2205 section 3.1 and
//! appendix A, RFC 3209 section 4, RFC 2210 section 3.1.

use super::header::{Header, Part};
use crate::node::Node;
use crate::pattern::{Absent, Values};
use Part::{Fixed, Number, Pattern};

const PATH: u128 = 1;
const SENDER_TSPEC: &[Part] = &[
    Pattern("version", 4),
    Pattern("reserved1", 12),
    Pattern("overall_length", 16),
    Pattern("service_header", 8),
    Pattern("zero_bit", 1),
    Pattern("reserved2", 7),
    Pattern("length_of_service_data", 16),
    Pattern("parameter_id_token_bucket_tspec", 8),
    Pattern("parameter_127_flag", 8),
    Pattern("parameter_127_length", 16),
];

/// A message.
pub(super) fn header(node: &Node<'_>) -> Vec<Header> {
    let mut objects = Header::plain(node);
    for object in node.at("message_type.path").items("objects") {
        objects.append(self::object(&object.child("class_num")));
    }
    let length = match node.child("rsvp_length") {
        length if length.choice() == "value" => length.bits("value"),
        length => {
            length.value("auto");
            (8 + objects.len() / 8) as u128
        }
    };
    let flag = u128::from(node.text("flag") == "refresh_reduction_capable");
    let mut header = Header::plain(node).parts(
        node,
        &[Number("version", 4), Fixed(flag, 4), Fixed(PATH, 8), Fixed(0, 16), Pattern("time_to_live", 8)],
    );
    header = header.parts(node, &[Pattern("reserved", 8), Fixed(length, 16)]);
    header.append(objects);
    checksum(node, &mut header);
    vec![header]
}

/// Sets the checksum over the whole message (RFC 2205 section 3.1.1).
fn checksum(node: &Node<'_>, header: &mut Header) {
    let values = Values::read(&node.child("rsvp_checksum"), 16, Absent::Computed);
    if values.one().is_none() && !header.varied.is_empty() {
        node.fail_at("rsvp_checksum", "varying rsvp fields need a custom checksum");
    }
    let right = !wire::checksum::fold(wire::checksum::sum(&header.to_bytes(), 0));
    let value = match values {
        Values::One(value) => value as u16,
        Values::Bad => right ^ 1,
        _ => right,
    };
    header.set(16, u128::from(value), 16);
}

fn object(node: &Node<'_>) -> Header {
    let choice = node.choice();
    let object = node.child(choice);
    let (class, kind, body) = match choice {
        "session" => (1, 7, session(&object.at("c_type.lsp_tunnel_ipv4"))),
        "rsvp_hop" => {
            let parts = [Pattern("ipv4_address", 32), Pattern("logical_interface_handle", 32)];
            (3, 1, plain(&object.at("c_type.ipv4"), &parts))
        }
        "time_values" => (5, 1, plain(&object.at("c_type.type_1"), &[Pattern("refresh_period_r", 32)])),
        "explicit_route" => (20, 1, explicit_route(&object.at("c_type.type_1"))),
        "label_request" => {
            let parts = [Pattern("reserved", 16), Pattern("l3pid", 16)];
            (19, 1, plain(&object.at("c_type.without_label_range"), &parts))
        }
        "session_attribute" => session_attribute(&object.child("c_type")),
        "sender_template" => {
            let parts =
                [Pattern("ipv4_tunnel_sender_address", 32), Pattern("reserved", 16), Pattern("lsp_id", 16)];
            (11, 7, plain(&object.at("c_type.lsp_tunnel_ipv4"), &parts))
        }
        "sender_tspec" => (12, 2, sender_tspec(&object.at("c_type.int_serv"))),
        "record_route" => (21, 1, record_route(&object.at("c_type.type_1"))),
        _ => return custom(&object),
    };
    if object.may_have("c_type") {
        object.child("c_type").choice();
    }
    wrap(&object, class, plain(&object, &[Fixed(kind, 8)]), body)
}

/// Length, class and C-type before an object's body.
fn wrap(node: &Node<'_>, class: u128, kind: Header, body: Header) -> Header {
    let length = length(&node.child("length"), 4 + body.len() / 8);
    let mut header = Header::plain(node);
    header.number(length, 16);
    header.number(class, 8);
    header.append(kind);
    header.append(body);
    header
}

/// The given length, or the actual one.
fn length(node: &Node<'_>, real: usize) -> u128 {
    match node.choice() {
        "value" => node.bits("value"),
        _ => {
            node.value("auto");
            real as u128
        }
    }
}

fn plain(node: &Node<'_>, parts: &[Part]) -> Header {
    Header::plain(node).parts(node, parts)
}

fn session(node: &Node<'_>) -> Header {
    let parts =
        [Pattern("ipv4_tunnel_end_point_address", 32), Pattern("reserved", 16), Pattern("tunnel_id", 16)];
    let mut header = plain(node, &parts);
    let extended = node.child("extended_tunnel_id");
    header.pattern(&extended.child(extended.choice()), 32, Absent::Default);
    header
}

fn explicit_route(node: &Node<'_>) -> Header {
    let mut route = Header::plain(node);
    for hop in node.items("subobjects") {
        let kind = hop.child("type");
        let hop = kind.child(kind.choice());
        let mut header = plain(&hop, &[Pattern("l_bit", 1)]);
        match kind.choice() {
            "as_number" => {
                header.number(32, 7);
                header.number(length(&hop.child("length"), 4), 8);
                header = header.parts(&hop, &[Number("as_number", 16)]);
            }
            _ => {
                header.number(1, 7);
                header.number(length(&hop.child("length"), 8), 8);
                header = header.parts(&hop, &[Pattern("ipv4_address", 32), Number("prefix", 8), Fixed(0, 8)]);
            }
        }
        route.append(header);
    }
    route
}

fn session_attribute(node: &Node<'_>) -> (u128, u128, Header) {
    let choice = node.choice();
    let inner = node.child(choice);
    let mut header = Header::plain(&inner);
    if choice == "lsp_tunnel_ra" {
        header = header.parts(
            &inner,
            &[Number("exclude_any", 32), Number("include_any", 32), Number("include_all", 32)],
        );
    }
    let flags = match inner.child("flags").choice() {
        "label_recording_desired" => 2,
        "se_style_desired" => 4,
        _ => 1,
    };
    let name = inner.text("session_name").as_bytes().to_vec();
    // Names are padded to four bytes (RFC 3209 section 4.7.1).
    let mut padded = name.clone();
    padded.resize(name.len().next_multiple_of(4), 0);
    header =
        header.parts(&inner, &[Number("setup_priority", 8), Number("holding_priority", 8), Fixed(flags, 8)]);
    header.number(length(&inner.child("name_length"), name.len()), 8);
    header.bytes(&padded);
    (207, if choice == "lsp_tunnel_ra" { 1 } else { 7 }, header)
}

fn sender_tspec(node: &Node<'_>) -> Header {
    let mut header = plain(node, SENDER_TSPEC);
    for name in ["token_bucket_rate", "token_bucket_size", "peak_data_rate"] {
        header.bytes(&(node.real(name) as f32).to_be_bytes());
    }
    header.parts(node, &[Pattern("minimum_policed_unit", 32), Pattern("maximum_packet_size", 32)])
}

fn record_route(node: &Node<'_>) -> Header {
    let mut route = Header::plain(node);
    for hop in node.items("subobjects") {
        let kind = hop.child("type");
        let hop = kind.child(kind.choice());
        let mut header = Header::plain(&hop);
        match kind.choice() {
            "label" => {
                header.number(3, 8);
                header.number(length(&hop.child("length"), 8), 8);
                header = header.parts(&hop, &[Pattern("flags", 8), Pattern("c_type", 8)]);
                let label = hop.child("label");
                header.number(label.bits(label.choice()), 32);
            }
            _ => {
                header.number(1, 8);
                header.number(length(&hop.child("length"), 8), 8);
                header = header.parts(&hop, &[Pattern("ipv4_address", 32), Pattern("prefix_length", 8)]);
                let used = hop.child("flags").choice() == "local_protection_in_use";
                header.number(if used { 2 } else { 1 }, 8);
            }
        }
        route.append(header);
    }
    route
}

/// A custom object with a type and bytes.
fn custom(node: &Node<'_>) -> Header {
    let mut body = Header::plain(node);
    body.bytes(&node.bytes("bytes"));
    let mut header = Header::plain(node);
    header.number(length(&node.child("length"), 4 + body.len() / 8), 16);
    header.pattern(&node.child("type"), 8, Absent::Default);
    header.number(1, 8);
    header.append(body);
    header
}
