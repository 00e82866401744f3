//! Bidirectional Forwarding Detection, control packets over one hop. Source: RFC 5880 section 4.1; RFC 5881 section 4.

use crate::catalogue::{Protocol, hex, in_order, number};

/// BFD.
pub static BFD: Protocol = Protocol {
    name: "bfd",
    title: "Bidirectional Forwarding Detection",
    source: "RFC 5880",
    len: 24,
    fields: &in_order([
        number("version", 3, "1").default(1),
        number("diagnostic", 5, "Why the session went down"),
        number("state", 2, "0 administratively down, 1 down, 2 init, 3 up").default(1),
        number("poll", 1, "Asks for a confirmation"),
        number("final", 1, "Answers a poll"),
        number("independent", 1, "Forwarding continues without the control plane"),
        number("authentication", 1, "An authentication section follows"),
        number("demand", 1, "Demand mode"),
        number("multipoint", 1, "Zero"),
        number("multiplier", 8, "Lost packets until the session is down").default(3),
        number("length", 8, "Bytes of the packet").default(24),
        hex("my_discriminator", 32, "Names the session at the sender").default(1),
        hex("your_discriminator", 32, "Names the session at the receiver; zero while unknown"),
        number("desired_min_tx", 32, "Microseconds between packets the sender wants to send")
            .default(1_000_000),
        number("required_min_rx", 32, "Microseconds between packets the sender can take").default(1_000_000),
        number("required_min_echo_rx", 32, "Microseconds between echoes the sender can take; zero is none"),
    ]),
    follows: &[("udp", 3784)],
    // RFC 5881 section 5: anything else was not sent from the link and is discarded.
    needs: &[("ipv4", "ttl", 255), ("ipv6", "hop_limit", 255)],
    ..Protocol::PLAIN
};
