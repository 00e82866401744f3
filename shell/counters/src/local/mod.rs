//! A Linux host as a hop: one shell that stays open, here, in a network namespace or behind ssh, and what is typed into it.
//!
//! Not here: what the answers mean (`parse`, `nft`).

mod nft;
mod parse;
mod shell;

use crate::hop::{Depth, Reader};
use crate::reading::Reading;
use crate::{CounterError, HopConfig, Local, LocalSource};
use shell::Shell;
use std::collections::BTreeMap;

/// Programs for administrators are not on everybody's path.
const PATH: &str = "PATH=$PATH:/usr/sbin:/sbin; export PATH LC_ALL=C";
/// In front of each section of an answer.
const MARK: &str = "@@";

/// An answer's sections by their names.
type Sections<'a> = BTreeMap<&'a str, &'a str>;

/// A Linux host.
pub(crate) struct LinuxHop {
    name: String,
    place: Local,
    inside: String,
    outside: String,
    sources: Vec<LocalSource>,
    shell: Shell,
    asked: u64,
}

impl LinuxHop {
    /// Opens the hop: its shell answers, its interfaces are there, and so is what the sources need.
    pub(crate) fn open(hop: &HopConfig, place: &Local) -> Result<Self, CounterError> {
        let failed = |reason: String| unreachable(&hop.name, place, reason);
        let mut shell = Shell::open(&words(place)).map_err(failed)?;
        let answer = shell.run(&format!("{PATH}\n{}", probe())).map_err(failed)?;
        let sources = sources(hop, place, &answer)?;
        let (name, place) = (hop.name.clone(), place.clone());
        let (inside, outside) = (hop.inside.clone(), hop.outside.clone());
        let mut opened = Self { name, place, inside, outside, sources, shell, asked: 0 };
        opened.check(hop.sources.is_some())?;
        Ok(opened)
    }

    /// Makes sure that a full reading has what it needs.
    fn check(&mut self, is_explicit: bool) -> Result<(), CounterError> {
        let unreachable = |hop: &Self, reason| unreachable(&hop.name, &hop.place, reason);
        let answer = self.run(Depth::Full).map_err(|reason| unreachable(self, reason))?;
        let sections = sections(&answer);
        for interface in [&self.inside, &self.outside] {
            if !parse::has_link(&sections, interface) {
                let listed = self.shell.run("ip -j link show 2>/dev/null");
                return Err(CounterError::NoInterface {
                    hop: self.name.clone(),
                    place: described(&self.place),
                    interface: interface.clone(),
                    there: parse::names(&listed.unwrap_or_default()),
                });
            }
        }
        let wants_nft = is_explicit && self.sources.contains(&LocalSource::Nft);
        if wants_nft && !nft::is_readable(&sections) {
            return Err(unreachable(
                self,
                "nft does not list its rules: it may lack the privilege".to_owned(),
            ));
        }
        Ok(())
    }

    fn run(&mut self, depth: Depth) -> Result<String, String> {
        self.asked += u64::from(self.place.ssh.is_some());
        let script = self.script(depth);
        if self.shell.is_ended() {
            let mut shell = Shell::open(&words(&self.place))?;
            shell.run(PATH)?;
            self.shell = shell;
        }
        self.shell.run(&script)
    }

    /// What is typed. The interfaces come last: their packets are counted next to the beginning of the traffic.
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

/// A section for each interface.
fn each(name: &str, command: &str, interfaces: &[&str]) -> Vec<(String, String)> {
    interfaces.iter().map(|of| (format!("{name} {of}"), format!("{command} '{of}'"))).collect()
}

/// What a source costs little for.
fn light_command(source: LocalSource) -> Option<(String, String)> {
    match source {
        LocalSource::Ip => Some(one("ip", "cat /proc/net/snmp /proc/net/netstat /proc/net/snmp6")),
        LocalSource::Cpu => Some(one("cpu", r#"read -r line </proc/stat; echo "$line""#)),
        _ => None,
    }
}

/// All that a source has. Links are read in any case, and last.
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

    fn is_late(&self) -> bool {
        false
    }

    fn asked(&self) -> u64 {
        self.asked
    }
}

/// Why a hop's shell does not answer; what `ip netns` says of a namespace that is not there is known.
fn unreachable(hop: &str, place: &Local, reason: String) -> CounterError {
    match &place.namespace {
        Some(namespace) if reason.contains("Cannot open network namespace") => {
            CounterError::NoNamespace { hop: hop.to_owned(), namespace: namespace.clone() }
        }
        _ => CounterError::Unreachable {
            hop: hop.to_owned(),
            reason: format!("{}: {reason}", described(place)),
        },
    }
}

/// The place in words.
fn described(place: &Local) -> String {
    match (&place.ssh, &place.namespace) {
        (None, None) => "this network namespace".to_owned(),
        (None, Some(namespace)) => format!("namespace {namespace}"),
        (Some(host), None) => host.clone(),
        (Some(host), Some(namespace)) => format!("namespace {namespace} of {host}"),
    }
}

/// Program and arguments of the shell there.
fn words(place: &Local) -> Vec<String> {
    let there = place.namespace.iter().flat_map(|name| ["ip", "netns", "exec", name]).chain(["sh"]);
    let there = there.map(str::to_owned);
    match &place.ssh {
        None => there.collect(),
        // Nobody is there to type a password. The other side's shell splits the words again; names have no blanks.
        Some(host) => ["ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "--", host]
            .map(str::to_owned)
            .into_iter()
            .chain([format!("{PATH}; exec {}", there.collect::<Vec<_>>().join(" "))])
            .collect(),
    }
}

/// What each source needs: a program, or a file.
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

/// Which sources are read, given what is there.
fn sources(hop: &HopConfig, place: &Local, there: &str) -> Result<Vec<LocalSource>, CounterError> {
    let there: Vec<&str> = there.lines().collect();
    let mut wanted = hop.sources.clone().unwrap_or_else(|| LocalSource::ALL.to_vec());
    wanted.push(LocalSource::Link);
    wanted.sort_unstable();
    wanted.dedup();
    let mut sources = Vec::new();
    for (source, needs) in NEEDS.into_iter().filter(|(source, _)| wanted.contains(source)) {
        let is_asked_for = source == LocalSource::Link || hop.sources.is_some();
        match there.contains(&needs) {
            true => sources.push(source),
            false if is_asked_for => {
                let (hop, place) = (hop.name.clone(), described(place));
                return Err(CounterError::NoSource { hop, source_name: source.name(), needs, place });
            }
            false => {}
        }
    }
    Ok(sources)
}

/// The sections of an answer.
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
        let place = |namespace: Option<&str>, ssh: Option<&str>| Local {
            namespace: namespace.map(str::to_owned),
            ssh: ssh.map(str::to_owned),
        };
        assert_eq!(words(&place(None, None)), ["sh"]);
        assert_eq!(words(&place(Some("r2"), None)), ["ip", "netns", "exec", "r2", "sh"]);
        let far = words(&place(Some("r2"), Some("admin@dut")));
        assert_eq!(far[far.len() - 2], "admin@dut");
        assert!(far[far.len() - 1].ends_with("; exec ip netns exec r2 sh"));
    }

    #[test]
    fn what_is_asked_for_must_be_there() {
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
            "hop r: source 'nft' needs nft, which this network namespace does not have"
        );
    }
}
