//! A Linux host as a hop: one open shell, locally, in a network namespace or by ssh, and the scripts run in it.
//!
//! Not here: parsing of the output (`parse`, `nft`).

mod nft;
mod parse;
mod shell;

use crate::hop::{Depth, Reader};
use crate::reading::Reading;
use crate::{CounterError, HopConfig, Local, LocalSource};
use shell::Shell;
use std::collections::BTreeMap;

/// Adds the directories of administration programs.
const PATH: &str = "PATH=$PATH:/usr/sbin:/sbin; export PATH LC_ALL=C";
/// Prefix of each output section.
const MARK: &str = "@@";

/// Output sections by name.
type Sections<'a> = BTreeMap<&'a str, &'a str>;

/// A Linux host.
pub(crate) struct LinuxHop {
    name: String,
    location: Local,
    inside: String,
    outside: String,
    sources: Vec<LocalSource>,
    shell: Shell,
    requests_sent: u64,
}

impl LinuxHop {
    /// Opens the hop and checks its shell, interfaces and sources.
    pub(crate) fn open(hop: &HopConfig, location: &Local) -> Result<Self, CounterError> {
        let failed = |reason: String| unreachable(&hop.name, location, reason);
        let mut shell = Shell::open(&words(location)).map_err(failed)?;
        let answer = shell.run(&format!("{PATH}\n{}", probe())).map_err(failed)?;
        let sources = sources(hop, location, &answer)?;
        let (name, location) = (hop.name.clone(), location.clone());
        let (inside, outside) = (hop.inside.clone(), hop.outside.clone());
        let mut opened = Self { name, location, inside, outside, sources, shell, requests_sent: 0 };
        opened.check(hop.sources.is_some())?;
        Ok(opened)
    }

    /// Checks that a full reading works.
    fn check(&mut self, is_explicit: bool) -> Result<(), CounterError> {
        let unreachable = |hop: &Self, reason| unreachable(&hop.name, &hop.location, reason);
        let answer = self.run(Depth::Full).map_err(|reason| unreachable(self, reason))?;
        let sections = sections(&answer);
        for interface in [&self.inside, &self.outside] {
            if !parse::has_link(&sections, interface) {
                let listed = self.shell.run("ip -j link show 2>/dev/null");
                return Err(CounterError::NoInterface {
                    hop: self.name.clone(),
                    location: described(&self.location),
                    interface: interface.clone(),
                    known: parse::names(&listed.unwrap_or_default()),
                });
            }
        }
        let wants_nft = is_explicit && self.sources.contains(&LocalSource::Nft);
        if wants_nft && !nft::is_readable(&sections) {
            return Err(unreachable(
                self,
                "nft cannot list the rules: root privilege may be required".to_owned(),
            ));
        }
        Ok(())
    }

    fn run(&mut self, depth: Depth) -> Result<String, String> {
        self.requests_sent += u64::from(self.location.ssh.is_some());
        let script = self.script(depth);
        if self.shell.is_ended() {
            let mut shell = Shell::open(&words(&self.location))?;
            shell.run(PATH)?;
            self.shell = shell;
        }
        self.shell.run(&script)
    }

    /// The script of a reading. Interfaces come last, so that packets are counted right before the traffic starts.
    fn script(&self, depth: Depth) -> String {
        let mut interfaces = vec![self.inside.as_str(), self.outside.as_str()];
        interfaces.dedup();
        let mut commands: Vec<(String, String)> = match depth {
            Depth::Full => {
                self.sources.iter().flat_map(|source| full_commands(*source, &interfaces)).collect()
            }
            Depth::Light => self.sources.iter().filter_map(|source| light_command(*source)).collect(),
        };
        match depth {
            Depth::Full => commands.extend(each("link", "ip -s -s -j link show dev", &interfaces)),
            Depth::Light => commands.push(one("dev", "cat /proc/net/dev")),
        }
        let section = |(name, command)| format!("echo; echo '{MARK} {name}'; {command} 2>/dev/null");
        commands.into_iter().map(section).collect::<Vec<_>>().join("\n")
    }
}

/// A section's name and the command that fills it.
fn one(name: &str, command: &str) -> (String, String) {
    (name.to_owned(), command.to_owned())
}

/// One section per interface.
fn each(name: &str, command: &str, interfaces: &[&str]) -> Vec<(String, String)> {
    interfaces.iter().map(|of| (format!("{name} {of}"), format!("{command} '{of}'"))).collect()
}

/// A source's cheap command.
fn light_command(source: LocalSource) -> Option<(String, String)> {
    match source {
        LocalSource::Ip => Some(one("ip", "cat /proc/net/snmp /proc/net/netstat /proc/net/snmp6")),
        LocalSource::Cpu => Some(one("cpu", r#"read -r line </proc/stat; echo "$line""#)),
        _ => None,
    }
}

/// All commands of a source. Links are always read, last.
fn full_commands(source: LocalSource, interfaces: &[&str]) -> Vec<(String, String)> {
    match source {
        LocalSource::Link => Vec::new(),
        LocalSource::Ethtool => each("ethtool", "ethtool -S", interfaces),
        LocalSource::Nft => {
            vec![one("nft json", "nft -t -j list ruleset"), one("nft text", "nft -t -a list ruleset")]
        }
        LocalSource::Conntrack => vec![
            one("conntrack", "conntrack -S"),
            one("conntrack count", "cat /proc/sys/net/netfilter/nf_conntrack_count"),
            one("conntrack max", "cat /proc/sys/net/netfilter/nf_conntrack_max"),
        ],
        LocalSource::Qdisc => each("qdisc", "tc -s -j qdisc show dev", interfaces),
        LocalSource::Softnet => vec![one("softnet", "cat /proc/net/softnet_stat")],
        LocalSource::Ip | LocalSource::Cpu => light_command(source).into_iter().collect(),
    }
}

impl Reader for LinuxHop {
    fn read(&mut self, depth: Depth) -> Result<Reading, String> {
        let answer = self.run(depth)?;
        Ok(parse::reading(&sections(&answer), &self.inside, &self.outside))
    }

    fn is_cached(&self) -> bool {
        false
    }

    fn requests_sent(&self) -> u64 {
        self.requests_sent
    }
}

/// The error of a hop's shell; recognizes the message of `ip netns` about an unknown namespace.
fn unreachable(hop: &str, location: &Local, reason: String) -> CounterError {
    match &location.namespace {
        Some(namespace) if reason.contains("Cannot open network namespace") => {
            CounterError::NoNamespace { hop: hop.to_owned(), namespace: namespace.clone() }
        }
        _ => CounterError::Unreachable {
            hop: hop.to_owned(),
            reason: format!("{}: {reason}", described(location)),
        },
    }
}

/// The location as text.
fn described(location: &Local) -> String {
    match (&location.ssh, &location.namespace) {
        (None, None) => "this network namespace".to_owned(),
        (None, Some(namespace)) => format!("namespace {namespace}"),
        (Some(host), None) => host.clone(),
        (Some(host), Some(namespace)) => format!("namespace {namespace} of {host}"),
    }
}

/// Program and arguments of the shell.
fn words(location: &Local) -> Vec<String> {
    let shell = location.namespace.iter().flat_map(|name| ["ip", "netns", "exec", name]).chain(["sh"]);
    let shell = shell.map(str::to_owned);
    match &location.ssh {
        None => shell.collect(),
        // No password prompt. The remote shell splits the words again; names have no blanks.
        Some(host) => ["ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "--", host]
            .map(str::to_owned)
            .into_iter()
            .chain([format!("{PATH}; exec {}", shell.collect::<Vec<_>>().join(" "))])
            .collect(),
    }
}

/// The program or file that each source requires.
const NEEDS: [(LocalSource, &str); 8] = [
    (LocalSource::Link, "ip"),
    (LocalSource::Ethtool, "ethtool"),
    (LocalSource::Nft, "nft"),
    (LocalSource::Conntrack, "conntrack"),
    (LocalSource::Qdisc, "tc"),
    (LocalSource::Ip, "/proc/net/snmp"),
    (LocalSource::Softnet, "/proc/net/softnet_stat"),
    (LocalSource::Cpu, "/proc/stat"),
];

fn probe() -> String {
    let needs: Vec<&str> = NEEDS.iter().map(|(_, needs)| *needs).collect();
    let is_there = r#"if [ -r "$what" ] || command -v "$what" >/dev/null 2>&1; then echo "$what"; fi"#;
    format!("for what in {}; do {is_there}; done", needs.join(" "))
}

/// The sources to read, given the available programs and files.
fn sources(hop: &HopConfig, location: &Local, available: &str) -> Result<Vec<LocalSource>, CounterError> {
    let available: Vec<&str> = available.lines().collect();
    let mut wanted = hop.sources.clone().unwrap_or_else(|| LocalSource::ALL.to_vec());
    wanted.push(LocalSource::Link);
    wanted.sort_unstable();
    wanted.dedup();
    let mut sources = Vec::new();
    for (source, needs) in NEEDS.into_iter().filter(|(source, _)| wanted.contains(source)) {
        let is_requested = source == LocalSource::Link || hop.sources.is_some();
        match available.contains(&needs) {
            true => sources.push(source),
            false if is_requested => {
                let (hop, location) = (hop.name.clone(), described(location));
                return Err(CounterError::NoSource { hop, source_name: source.name(), needs, location });
            }
            false => {}
        }
    }
    Ok(sources)
}

/// Splits output into sections.
fn sections(answer: &str) -> Sections<'_> {
    let mark = format!("\n{MARK} ");
    let parts = answer.split(mark.as_str()).skip(1);
    parts.map(|part| part.split_once('\n').unwrap_or((part, ""))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_have_sections() {
        let found = sections("\n@@ a\nx\n\n@@ b c\n\n@@ d\ny @@ z\n");
        assert_eq!(found, BTreeMap::from([("a", "x\n"), ("b c", ""), ("d", "y @@ z\n")]));
    }

    #[test]
    fn shells_are_opened_where_the_hop_is() {
        let location = |namespace: Option<&str>, ssh: Option<&str>| Local {
            namespace: namespace.map(str::to_owned),
            ssh: ssh.map(str::to_owned),
        };
        assert_eq!(words(&location(None, None)), ["sh"]);
        assert_eq!(words(&location(Some("r2"), None)), ["ip", "netns", "exec", "r2", "sh"]);
        let far = words(&location(Some("r2"), Some("admin@dut")));
        assert_eq!(far[far.len() - 2], "admin@dut");
        assert!(far[far.len() - 1].ends_with("; exec ip netns exec r2 sh"));
    }

    #[test]
    fn requested_sources_must_exist() {
        let hop = |sources: Option<Vec<LocalSource>>| HopConfig {
            name: "r".to_owned(),
            inside: "a".to_owned(),
            outside: "b".to_owned(),
            snmp: None,
            local: Some(Local::default()),
            sources,
        };
        let there = "ip\n/proc/stat\n";
        let found = sources(&hop(None), &Local::default(), there).unwrap();
        assert_eq!(found, [LocalSource::Link, LocalSource::Cpu]);
        let error = sources(&hop(Some(vec![LocalSource::Nft])), &Local::default(), there).unwrap_err();
        assert_eq!(
            error.to_string(),
            "hop r: source 'nft' requires nft, which is missing in this network namespace"
        );
    }
}
