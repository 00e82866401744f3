//! Stream Control Transmission Protocol: the common header and one chunk. Source: RFC 9260 section 3.
//!
//! A chunk's length is what is there up to the packet's end, so choose frame lengths that leave a whole number of four
//! bytes: a length does not count the padding that RFC 9260 wants otherwise.

use crate::catalogue::{Auto, Protocol, hex, in_order, number};

/// SCTP's common header.
pub static SCTP: Protocol = Protocol {
    name: "sctp",
    title: "Stream Control Transmission Protocol",
    source: "RFC 9260 section 3.1",
    len: 12,
    fields: &in_order([
        number("src", 16, "Source port").default(49152),
        number("dst", 16, "Destination port").default(9),
        hex("tag", 32, "Verification tag; zero with INIT"),
        hex("checksum", 32, "CRC-32C from here to the packet's end").auto(Auto::Crc32c),
    ]),
    follows: &[("ipv4", 132), ("ipv6", 132)],
    ..Protocol::PLAIN
};

/// Data chunk.
pub static SCTP_DATA: Protocol = Protocol {
    name: "sctp_data",
    title: "SCTP chunk: data",
    source: "RFC 9260 section 3.3.1",
    len: 16,
    fields: &in_order([
        number("type", 8, "0"),
        hex("flags", 8, "I 8, unordered 4, beginning 2, ending 1").default(3),
        number("length", 16, "Bytes from this chunk to the packet's end").auto(Auto::LengthWithHeader),
        number("tsn", 32, "Transmission sequence number"),
        number("stream", 16, "Stream identifier"),
        number("stream_sequence", 16, "Number of the message in its stream"),
        number("payload_protocol", 32, "Payload protocol identifier, defined by the application"),
    ]),
    follows: &[("sctp", 0)],
    recognise: Some(("type", &[0])),
    needs: &[("sctp", "tag", 1)],
    ..Protocol::PLAIN
};

/// Initiation chunk.
pub static SCTP_INIT: Protocol = Protocol {
    name: "sctp_init",
    title: "SCTP chunk: initiation",
    source: "RFC 9260 section 3.3.2",
    len: 20,
    fields: &in_order([
        number("type", 8, "1").default(1),
        hex("flags", 8, "Zero"),
        number("length", 16, "Bytes of this chunk").default(20),
        hex("initiate_tag", 32, "Verification tag of packets in reply; not zero").default(1),
        number("window", 32, "Bytes the sender is ready to receive").default(65535),
        number("outbound_streams", 16, "Streams the sender wants to send").default(1),
        number("inbound_streams", 16, "Streams the sender takes").default(1),
        number("initial_tsn", 32, "First transmission sequence number").default(1),
    ]),
    follows: &[("sctp", 0)],
    recognise: Some(("type", &[1])),
    ..Protocol::PLAIN
};
