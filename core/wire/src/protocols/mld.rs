//! Multicast Listener Discovery. Source: RFC 2710 (version 1), RFC 3810 section 5 (version 2).
//!
//! A query of version 2 is distinguished from version 1 by its length (RFC 3810 section 8.1). The router alert that
//! belongs to them is `ipv6_router_alert` after `ipv6_hop_by_hop`.

use crate::catalogue::{Auto, Field, Found, Part, Protocol, hex, in_order, ipv6, number};

const CHECKSUM: Field = hex("checksum", 16, "Checksum from here to the packet's end, with pseudo-header")
    .auto(Auto::PseudoHeaderChecksum { zero_as_ones: false });
/// ff15::1:1, a transient group of the site.
const GROUP: u128 = 0xff15 << 112 | 0x1_0001;
/// RFC 2710 section 3.
const ON_THE_LINK: &[(&str, &str, u128)] = &[("ipv6", "hop_limit", 1)];

/// Query of version 2.
pub static MLDV2_QUERY: Protocol = Protocol {
    name: "mldv2_query",
    title: "MLDv2 query",
    source: "RFC 3810 section 5.1",
    len: 28,
    fields: &in_order([
        number("type", 8, "130").default(130),
        number("code", 8, "Zero"),
        CHECKSUM,
        number("max_response", 16, "Maximum response time, milliseconds").default(10_000),
        hex("reserved", 16, "Zero"),
        ipv6("group", "Queried group; zero is a general query"),
        hex("reserved2", 4, "Zero"),
        number("suppress", 1, "Other routers must not update their timers"),
        number("robustness", 3, "Of how many lost packets one is enough").default(2),
        number("interval", 8, "Seconds between queries").default(125),
        number("sources", 16, "Number of sources").auto(Auto::Count { parts: &["mld_source"], less: 0 }),
    ]),
    follows: &[("ipv6", 58)],
    recognise: Some(("type", &[130])),
    needs: ON_THE_LINK,
    ..Protocol::PLAIN
};

/// MLD, version 1: a report by default.
pub static MLD: Protocol = Protocol {
    name: "mld",
    title: "Multicast Listener Discovery, version 1",
    source: "RFC 2710",
    len: 24,
    fields: &in_order([
        number("type", 8, "130 query, 131 report, 132 done").default(131),
        number("code", 8, "Zero"),
        CHECKSUM,
        number("max_delay", 16, "Maximum response time, milliseconds"),
        hex("reserved", 16, "Zero"),
        ipv6("group", "The group").default(GROUP),
    ]),
    follows: &[("ipv6", 58)],
    recognise: Some(("type", &[131, 130, 132])),
    needs: ON_THE_LINK,
    ..Protocol::PLAIN
};

/// Report of version 2; its records follow.
pub static MLDV2_REPORT: Protocol = Protocol {
    name: "mldv2_report",
    title: "MLDv2 report",
    source: "RFC 3810 section 5.2",
    len: 8,
    fields: &in_order([
        number("type", 8, "143").default(143),
        hex("reserved", 8, "Zero"),
        CHECKSUM,
        hex("reserved2", 16, "Zero"),
        number("records", 16, "Number of records").auto(Auto::Count { parts: &["mldv2_record"], less: 0 }),
    ]),
    follows: &[("ipv6", 58)],
    recognise: Some(("type", &[143])),
    needs: ON_THE_LINK,
    ..Protocol::PLAIN
};

/// Record of a report.
pub static MLDV2_RECORD: Protocol = Protocol {
    name: "mldv2_record",
    title: "Address record of an MLDv2 report",
    source: "RFC 3810 section 5.2.4",
    len: 20,
    fields: &in_order([
        number("type", 8, "1 is include, 2 is exclude, 3 to include, 4 to exclude").default(4),
        number("auxiliary", 8, "Zero: length of undefined auxiliary data"),
        number("sources", 16, "Number of sources").auto(Auto::Count { parts: &["mld_source"], less: 0 }),
        ipv6("group", "The group").default(GROUP),
    ]),
    part: Some(Part { of: &["mldv2_report"], found: Found::ByCount { field: "records", more: 0 } }),
    ..Protocol::PLAIN
};

/// A source, of a query or a record.
pub static MLD_SOURCE: Protocol = Protocol {
    name: "mld_source",
    title: "Source address of an MLDv2 query or record",
    source: "RFC 3810 section 5.1.10",
    len: 16,
    fields: &in_order([ipv6("address", "Sender to the group").default(0x2001_0002 << 96 | 1)]),
    part: Some(Part {
        of: &["mldv2_query", "mldv2_record"],
        found: Found::ByCount { field: "sources", more: 0 },
    }),
    ..Protocol::PLAIN
};
