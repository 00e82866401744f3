//! Checks the machine for causes of worse measurements, and gives remedies.
//!
//! Every check is a function from what was read to a [`Finding`]; only `machine` reads. Nothing is changed but by [`fix`], and
//! nothing else needs a privilege: what cannot be seen from here is noted as not known.
//!
//! Invariant: [`examine`] gives one finding for every name in [`CHECKS`], in that order.

mod cores;
pub mod fix;
mod machine;
mod memory;
mod network;
mod system;

use machine::Machine;
pub use network::Nic;
use std::fmt::Write;
use system::Host;

/// Network cards on the PCI bus.
pub fn network_cards() -> Vec<Nic> {
    machine::network_cards()
}

/// Severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// Spoils measurements, or prevents them.
    Bad,
    /// May widen them or lower what the tester can do; or it could not be checked.
    Note,
    /// As it should be.
    Good,
}

impl Status {
    /// The word for it: `bad`, `note` or `good`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Bad => "bad",
            Self::Note => "note",
            Self::Good => "good",
        }
    }
}

/// Result of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Name of the check, one of [`CHECKS`].
    pub check: &'static str,
    /// Severity.
    pub status: Status,
    /// State of this machine.
    pub found: String,
    /// Effect on measurements.
    pub why: String,
    /// Remedy: a command where there is one.
    pub remedy: Option<String>,
}

impl Finding {
    fn good(check: &'static str, found: impl Into<String>, why: &str) -> Self {
        Self { check, status: Status::Good, found: found.into(), why: why.to_owned(), remedy: None }
    }

    fn note(check: &'static str, found: impl Into<String>, why: &str) -> Self {
        Self { status: Status::Note, ..Self::good(check, found, why) }
    }

    fn bad(check: &'static str, found: impl Into<String>, why: &str) -> Self {
        Self { status: Status::Bad, ..Self::good(check, found, why) }
    }

    fn unknown(check: &'static str, why: &str) -> Self {
        Self::note(check, "not known here", why)
    }

    fn mend(self, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }
}

/// Names of all checks.
pub const CHECKS: &[&str] = &[
    "privileges",
    "cores",
    "isolated cores",
    "hyper-threads",
    "frequency governor",
    "frequency boost",
    "idle states",
    "cpu quota",
    "machine load",
    "interrupts",
    "clock source",
    "virtual machine",
    "cpu mitigations",
    "huge pages",
    "transparent huge pages",
    "numa",
    "swap",
    "overcommit",
    "locked memory",
    "network devices",
    "default route",
    "flow control",
    "offloads",
    "iommu",
    "bpf jit",
    "xdp ports",
    "dpdk",
];

/// Looks at everything. Takes some ms. `dpdk_abis` are the DPDKs the program can use, by the number in the names of their
/// libraries.
pub fn examine(dpdk_abis: &[u32]) -> Vec<Finding> {
    let m = Machine::read();
    let guest = matches!(m.host, Host::Guest(_));
    vec![
        system::privileges(m.status_text.as_deref()),
        cores::count(m.allowed.len()),
        cores::isolated(
            m.isolated.as_deref(),
            m.nohz_full.as_deref(),
            m.cmdline.as_deref(),
            &m.workers,
            m.allowed.len(),
        ),
        cores::hyper_threads(m.smt_active.as_deref(), &m.workers, &m.worker_siblings),
        cores::governor(&m.governors, m.scaling_driver.as_deref(), guest),
        cores::boost(m.boost, guest),
        cores::idle_states(&m.idle_states, m.idle_driver.as_deref(), guest),
        system::cpu_quota(m.quota_cores),
        system::load(m.loadavg.as_deref(), m.allowed.len()),
        cores::interrupts(m.irqbalance, m.interrupts.as_deref(), &m.workers),
        system::clock_source(m.clocksource.as_deref(), m.tsc_objection),
        system::virtual_machine(&m.host, m.stat.as_deref()),
        system::mitigations(&m.vulnerabilities, m.cmdline.as_deref()),
        memory::huge_pages(&m.huge_pools, m.mounts.as_deref(), m.bypass_nics() > 0),
        memory::transparent(m.thp.as_deref()),
        memory::numa(&m.nodes, &m.workers_nodes, &m.device_nodes()),
        memory::swap(m.swaps.as_deref(), m.swappiness.as_deref()),
        memory::overcommit(m.overcommit.as_deref()),
        memory::locked(
            m.memlock_bytes,
            system::has_capability(m.status_text.as_deref(), system::CAP_IPC_LOCK),
        ),
        network::devices(m.pci, &m.nics, &m.default_routes()),
        network::default_route(m.default_routes.as_deref()),
        network::flow_control(&m.pauses),
        network::offloads(m.links_known, &m.offloads),
        network::iommu(&m.nics, &m.default_routes(), &m.vfio),
        system::bpf_jit(m.bpf_jit.as_deref()),
        system::xdp_ports(m.release.as_deref(), m.status_text.as_deref(), &m.tall_peers),
        system::dpdk(&m.dpdk, dpdk_abis),
    ]
}

/// The findings as a table for a terminal, the worst first, with what mends them.
pub fn render(findings: &[Finding]) -> String {
    const NAME: usize = 24;
    const INDENT: usize = 6 + NAME;
    const WIDTH: usize = 110;
    let mut sorted: Vec<&Finding> = findings.iter().collect();
    sorted.sort_by_key(|finding| finding.status);
    let mut text = String::new();
    for finding in sorted {
        let _ = write!(text, "{:<6}{:<NAME$}", finding.status.word(), finding.check);
        write_wrapped(&mut text, &finding.found, INDENT, WIDTH);
        if finding.status != Status::Good {
            let _ = write!(text, "{:INDENT$}", "");
            write_wrapped(&mut text, &finding.why, INDENT, WIDTH);
        }
        // A command is one line, to be copied.
        if let Some(remedy) = &finding.remedy {
            let _ = writeln!(text, "{:INDENT$}-> {remedy}", "");
        }
    }
    let count = |status| findings.iter().filter(|finding| finding.status == status).count();
    let _ = writeln!(
        text,
        "\n{} bad, {} to note, {} good",
        count(Status::Bad),
        count(Status::Note),
        count(Status::Good)
    );
    text
}

/// Writes words from column `indent` on, in lines of at most `width` where words allow.
fn write_wrapped(text: &mut String, words: &str, indent: usize, width: usize) {
    let mut column = indent;
    for (at, word) in words.split_whitespace().enumerate() {
        let len = word.chars().count();
        if at > 0 && column + 1 + len > width {
            let _ = write!(text, "\n{:indent$}", "");
            column = indent;
        } else if at > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += len;
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_something_for_every_check() {
        let findings = examine(&[23]);
        let names: Vec<&str> = findings.iter().map(|finding| finding.check).collect();
        assert_eq!(names, CHECKS);
        for finding in &findings {
            assert!(!finding.found.is_empty() && !finding.why.is_empty(), "{finding:?}");
            assert!(finding.status != Status::Good || finding.remedy.is_none(), "{finding:?}");
        }
        let text = render(&findings);
        assert!(CHECKS.iter().all(|check| text.contains(check)));
    }

    #[test]
    fn a_machine_that_shows_nothing_is_not_called_bad_or_good() {
        let text = None;
        for finding in [
            system::privileges(text),
            system::load(text, 4),
            system::clock_source(text, None),
            system::bpf_jit(text),
            system::xdp_ports(text, text, &[]),
            memory::transparent(text),
            memory::swap(text, text),
            memory::overcommit(text),
            memory::numa(&[], &[], &[]),
            memory::locked(None, false),
            cores::governor(&[], None, false),
            cores::boost(None, false),
            cores::isolated(None, text, text, &[], 4),
            system::virtual_machine(&system::Host::Unknown, text),
            network::devices(false, &[], &[]),
            cores::idle_states(&[], None, false),
            cores::hyper_threads(text, &[], &[]),
            network::default_route(None),
            network::offloads(false, &[]),
        ] {
            assert_eq!(finding.status, Status::Note, "{finding:?}");
        }
    }

    #[test]
    fn the_table_is_sorted_wrapped_and_counted() {
        let findings = [
            Finding::good("swap", "none", "nothing is moved to disk"),
            Finding::bad("flow control", "eth1: on", &"a pause frame stops the sender ".repeat(4))
                .mend("sudo ethtool -A eth1 rx off"),
            Finding::note("numa", "not known here", "why"),
        ];
        let expected = "\
bad   flow control            eth1: on
                              a pause frame stops the sender a pause frame stops the sender a pause frame
                              stops the sender a pause frame stops the sender
                              -> sudo ethtool -A eth1 rx off
note  numa                    not known here
                              why
good  swap                    none

1 bad, 1 to note, 1 good
";
        assert_eq!(render(&findings), expected);
    }
}
