//! Connectivity fault management, as bytes: the catalogue has no header with these TLVs. Source: IEEE 802.1Q clause 21.

use super::header::{Header, Part};
use crate::node::Node;
use crate::pattern::{Absent, Values};
use Part::{Fixed, Number, Pattern};

/// Bytes of a maintenance association identifier, padded with zeros (clause 21.6.5).
const MAID: usize = 48;
/// Zeros after it, for ITU-T Y.1731 (clause 21.6.6).
const CCM_RESERVED: usize = 16;
/// From the end of the common header to the first TLV of a CCM (clause 21.6.1).
const CCM_OFFSET: u128 = 70;
const LOOPBACK_OFFSET: u128 = 4;

/// A message.
pub(super) fn header(node: &Node<'_>) -> Vec<Header> {
    let operation = node.child("op_code");
    let choice = operation.choice();
    let inner = operation.child(choice);
    let code = match choice {
        "lbr" => 2,
        "lbm" => 3,
        _ => 1,
    };
    let mut header =
        Header::plain(node).parts(node, &[Number("md_level", 3), Number("version", 5), Fixed(code, 8)]);
    if choice == "ccm" {
        let flags = inner.child("flags");
        header.number(u128::from(flags.flag("rdi")), 1);
        header = header.parts(&flags, &[Fixed(0, 4), Number("ccm_interval", 3)]);
        header.number(CCM_OFFSET, 8);
        header =
            header.parts(&inner, &[Pattern("sequence_number", 32), Pattern("ma_endpoint_identifier", 16)]);
        inner.child("ethernet_oam_protocol").choice();
        header.bytes(&association(&inner.at("ethernet_oam_protocol.cfm")));
        header.bytes(&[0; CCM_RESERVED]);
    } else {
        header.number(0, 8);
        header.number(LOOPBACK_OFFSET, 8);
        header = header.parts(&inner, &[Pattern("transaction_id", 32)]);
    }
    inner.items("tlvs").iter().for_each(|item| header.append(tlv(item)));
    if inner.flag("append_end_tlv") {
        header.number(0, 8);
    }
    vec![header]
}

/// The given length, or the actual one.
fn length(node: &Node<'_>, real: usize) -> u8 {
    match node.choice() {
        "value" => node.whole("value") as u8,
        _ => {
            node.value("auto");
            real as u8
        }
    }
}

/// The association's identifier: a domain's name and a short name, each with format and length (clause 21.6.5).
fn association(node: &Node<'_>) -> Vec<u8> {
    let domain = node.child("md_name");
    let (format, name) = match domain.choice() {
        "domain_name_str" => (2, domain.text("domain_name_str").as_bytes().to_vec()),
        "mac_addr" => {
            let mac = domain.child("mac_addr");
            let mut bytes = mac.bits("mac").to_be_bytes()[10..].to_vec();
            bytes.extend((mac.whole("id") as u16).to_be_bytes());
            (3, bytes)
        }
        _ => (4, domain.text("char_str").as_bytes().to_vec()),
    };
    let mut bytes = vec![format, length(&domain.child("length"), name.len())];
    bytes.extend(name);
    let short = node.child("short_ma_name");
    let (format, name) = match short.choice() {
        "primary_vid" => (1, (short.whole("primary_vid") as u16).to_be_bytes().to_vec()),
        "two_oct_int" => (3, (short.whole("two_oct_int") as u16).to_be_bytes().to_vec()),
        "rfc_2685_vpn_id" => (4, short.bytes("rfc_2685_vpn_id")),
        _ => (2, short.text("char_str").as_bytes().to_vec()),
    };
    bytes.extend([format, length(&short.child("length"), name.len())]);
    bytes.extend(name);
    if bytes.len() > MAID {
        node.fail(format!("names with formats and lengths take {} bytes: at most {MAID}", bytes.len()));
    }
    bytes.resize(MAID, 0);
    bytes
}

fn tlv(node: &Node<'_>) -> Header {
    let choice = node.choice();
    let inner = node.child(choice);
    let (kind, body) = match choice {
        "port_status" => (2, vec![if inner.text("status") == "port_blocked" { 1 } else { 2 }]),
        "interface_status" => (4, vec![interface_status(inner.text("status"))]),
        "data" => (3, inner.bytes("data")),
        _ => (1, sender(&inner)),
    };
    let mut header = Header::plain(node);
    header.number(kind, 8);
    match Values::read(&node.child("length"), 16, Absent::Computed) {
        Values::Computed => header.number(body.len() as u128, 16),
        _ => header.pattern(&node.child("length"), 16, Absent::Default),
    }
    header.bytes(&body);
    header
}

fn interface_status(word: &str) -> u8 {
    let words = ["up", "down", "testing", "unknown", "dormant", "not_present", "lower_layer_down"];
    words.iter().position(|known| *known == word).map_or(1, |at| at as u8 + 1)
}

/// Sender: chassis and management address (clause 21.5.3).
fn sender(node: &Node<'_>) -> Vec<u8> {
    let chassis = node.child("chassis_id");
    let choice = chassis.choice();
    let (kind, id) = match choice {
        "mac_address" => (4, chassis.bits("mac_address").to_be_bytes()[10..].to_vec()),
        "network_address" => (5, network(&chassis.child("network_address"))),
        text => {
            let kinds = [
                ("chassis_component", 1),
                ("interface_alias", 2),
                ("port_component", 3),
                ("interface_name", 6),
                ("locally_assigned", 7),
            ];
            let kind = kinds.iter().find(|(word, _)| *word == text).map_or(7, |(_, kind)| *kind);
            (kind, chassis.text(text).as_bytes().to_vec())
        }
    };
    let mut bytes = vec![length(&chassis.child("length"), id.len()), kind];
    bytes.extend(id);
    let domain = chassis.child("management_address_domain");
    if domain.is_given() {
        let name = domain.bytes("domain");
        bytes.push(length(&domain.child("length"), name.len()));
        bytes.extend(name);
        let address = domain.child("management_address");
        let name = address.bytes("address");
        bytes.push(length(&address.child("length"), name.len()));
        bytes.extend(name);
    }
    bytes
}

/// An address after its family (clause 21.5.3.3): 1 is IPv4, 2 IPv6.
fn network(node: &Node<'_>) -> Vec<u8> {
    let (family, bytes) = match node.choice() {
        "ipv6" => (2, node.bits("ipv6").to_be_bytes().to_vec()),
        _ => (1, (node.bits("ipv4") as u32).to_be_bytes().to_vec()),
    };
    let mut all = vec![family];
    all.extend(bytes);
    all
}
