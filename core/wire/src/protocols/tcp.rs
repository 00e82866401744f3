//! Transmission Control Protocol. Source: RFC 9293 section 3.1.
//!
//! Only the header: a connection request by default. Its options are separate headers, in `tcp_options.rs`. A
//! `data_offset` set beyond their length makes room and fills it with zeros, the end-of-options option.

use crate::catalogue::{Auto, Length, Protocol, hex, in_order, number};

/// TCP.
pub static TCP: Protocol = Protocol {
    name: "tcp",
    title: "Transmission Control Protocol",
    source: "RFC 9293",
    len: 20,
    fields: &in_order([
        number("src", 16, "Source port").default(49152),
        number("dst", 16, "Destination port").default(80),
        number("seq", 32, "Number of the first byte of data"),
        number("ack", 32, "Number of the next byte expected"),
        number("data_offset", 4, "Length of the header, in units of 4 bytes").default(5),
        hex("reserved", 4, "Zero"),
        hex("flags", 8, "CWR 0x80, ECE 0x40, URG 0x20, ACK 0x10, PSH 8, RST 4, SYN 2, FIN 1").default(0x02),
        number("window", 16, "Bytes the sender is ready to receive").default(65535),
        hex("checksum", 16, "Checksum from here to the packet's end, with pseudo-header")
            .auto(Auto::PseudoHeaderChecksum { zero_as_ones: false }),
        number("urgent", 16, "End of urgent data, relative to seq"),
    ]),
    follows: &[("ipv4", 6), ("ipv6", 6)],
    real_length: Some(Length { field: "data_offset", unit: 4, beyond: 0 }),
    ..Protocol::PLAIN
};
