//! FRRouting's daemons, by the configuration that needs them.

use crate::document::PortDoc;

/// A daemon, and the beginnings of lines in a configuration that need it.
pub(crate) type FrrDaemon = (&'static str, &'static [&'static str]);

/// Daemons of protocols that no host of a port has.
const OTHERS: &[FrrDaemon] = &[
    ("ripd", &["router rip"]),
    ("ripngd", &["router ripng"]),
    ("bfdd", &["bfd"]),
    ("pimd", &["ip pim", "ip igmp"]),
    ("ldpd", &["mpls ldp"]),
    ("staticd", &["ip route ", "ipv6 route "]),
];

/// The daemons that a configuration needs besides zebra.
pub fn frr_daemons(config: &str) -> impl Iterator<Item = &'static str> + Clone {
    let is_needed = move |words: &[&str]| {
        let mut lines = config.lines().map(str::trim_start);
        lines.any(|line| words.iter().any(|word| line.starts_with(word)))
    };
    let all = PortDoc::FRR.iter().copied().flatten().chain(OTHERS);
    all.filter(move |(_, words)| is_needed(words)).map(|(name, _)| *name)
}
