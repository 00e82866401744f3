//! Internet Group Management Protocol. Source: RFC 2236 (version 2), RFC 3376 section 4 (version 3).
//!
//! A query of version 3 is distinguished from version 2 by its length (RFC 3376 section 7.1).

use crate::catalogue::{Auto, Field, Found, Part, Protocol, hex, in_order, ipv4, number};

const CHECKSUM: Field =
    hex("checksum", 16, "Checksum from here to the packet's end").auto(Auto::PlainChecksum);
/// 239.1.1.1, of the addresses for private use (RFC 2365).
const GROUP: u128 = 0xef01_0101;
/// RFC 2236 section 2.
const ON_THE_LINK: &[(&str, &str, u128)] = &[("ipv4", "ttl", 1)];

/// Query of version 3.
pub static IGMPV3_QUERY: Protocol = Protocol {
    name: "igmpv3_query",
    title: "IGMPv3 query",
    source: "RFC 3376 section 4.1",
    len: 12,
    fields: &in_order([
        hex("type", 8, "0x11").default(0x11),
        number("max_response", 8, "Maximum response time, tenths of a second").default(100),
        CHECKSUM,
        ipv4("group", "Queried group; zero is a general query"),
        hex("reserved", 4, "Zero"),
        number("suppress", 1, "Other routers must not update their timers"),
        number("robustness", 3, "Of how many lost packets one is enough").default(2),
        number("interval", 8, "Seconds between queries").default(125),
        number("sources", 16, "Number of sources").auto(Auto::Count { parts: &["igmp_source"], less: 0 }),
    ]),
    follows: &[("ipv4", 2)],
    recognise: Some(("type", &[0x11])),
    needs: ON_THE_LINK,
    ..Protocol::PLAIN
};

/// Report of version 3; its records follow.
pub static IGMPV3_REPORT: Protocol = Protocol {
    name: "igmpv3_report",
    title: "IGMPv3 report",
    source: "RFC 3376 section 4.2",
    len: 8,
    fields: &in_order([
        hex("type", 8, "0x22").default(0x22),
        hex("reserved", 8, "Zero"),
        CHECKSUM,
        hex("reserved2", 16, "Zero"),
        number("records", 16, "Number of records").auto(Auto::Count { parts: &["igmpv3_record"], less: 0 }),
    ]),
    follows: &[("ipv4", 2)],
    recognise: Some(("type", &[0x22])),
    needs: ON_THE_LINK,
    ..Protocol::PLAIN
};

/// Record of a report.
pub static IGMPV3_RECORD: Protocol = Protocol {
    name: "igmpv3_record",
    title: "Group record of an IGMPv3 report",
    source: "RFC 3376 section 4.2.4",
    len: 8,
    fields: &in_order([
        number("type", 8, "1 is include, 2 is exclude, 3 to include, 4 to exclude").default(4),
        number("auxiliary", 8, "Zero: length of undefined auxiliary data"),
        number("sources", 16, "Number of sources").auto(Auto::Count { parts: &["igmp_source"], less: 0 }),
        ipv4("group", "The group").default(GROUP),
    ]),
    part: Some(Part { of: &["igmpv3_report"], found: Found::ByCount { field: "records", more: 0 } }),
    ..Protocol::PLAIN
};

/// A source, of a query or a record.
pub static IGMP_SOURCE: Protocol = Protocol {
    name: "igmp_source",
    title: "Source address of an IGMPv3 query or record",
    source: "RFC 3376 section 4.1.9",
    len: 4,
    fields: &in_order([ipv4("address", "Sender to the group").default(0xc612_0001)]),
    part: Some(Part {
        of: &["igmpv3_query", "igmpv3_record"],
        found: Found::ByCount { field: "sources", more: 0 },
    }),
    ..Protocol::PLAIN
};

/// IGMP, version 2: a report by default.
pub static IGMP: Protocol = Protocol {
    name: "igmp",
    title: "Internet Group Management Protocol, version 2",
    source: "RFC 2236",
    len: 8,
    fields: &in_order([
        hex("type", 8, "0x11 query, 0x16 report, 0x17 leave").default(0x16),
        number("max_response", 8, "Maximum response time, tenths of a second"),
        CHECKSUM,
        ipv4("group", "The group").default(GROUP),
    ]),
    follows: &[("ipv4", 2)],
    needs: ON_THE_LINK,
    ..Protocol::PLAIN
};
