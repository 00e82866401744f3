//! Examples of use, as `--help` and the manual pages have them.
//!
//! Invariant: each is a command line that the program takes.

use clap::Command;

/// Commands, and what is typed for what.
const EXAMPLES: [(&str, &[(&str, &str)]); 25] = [
    (
        "demo",
        &[(
            "Two seconds over a link within the program, with a report",
            "eagre demo --for 2 --report demo.html",
        )],
    ),
    (
        "run",
        &[
            ("A profile for ten seconds, at another rate", "eagre run router.yaml --for 10 --rate 40%"),
            (
                "In a script: the result on standard output, verdicts for CI",
                "eagre run web.yaml --json - --junit verdicts.xml",
            ),
        ],
    ),
    (
        "send",
        &[
            (
                "UDP to a neighbour",
                "eagre send --port veth0 --ip 10.0.0.2/24 --dst 10.0.0.1 --rate 100kpps --for 10",
            ),
            (
                "Out of one port into another one, and what is lost",
                "eagre send --port veth0 --to veth1 --ip 10.0.0.2/24 --to-ip 10.0.0.3/24 --rate 1Gbps --size 1518",
            ),
            (
                "Print the equivalent profile, to continue from there",
                "eagre send --port veth0 --dst 10.0.0.9 --rate 1kpps --print",
            ),
        ],
    ),
    (
        "http",
        &[
            (
                "A web server for ten seconds, by 20 connections",
                "eagre http http://10.0.0.1:8080/ -c 20 -z 10",
            ),
            (
                "A thousand requests a second, and a bound for their times",
                "eagre http https://10.0.0.1/ -k -r 1000 --max-p99 20ms",
            ),
        ],
    ),
    (
        "capacity",
        &[
            ("A server, for any number of clients", "eagre capacity --server"),
            ("Capacity of the path from it and to it", "eagre capacity 10.0.0.1"),
            (
                "Fail if less than 100 Mbit/s come from it",
                "eagre capacity 10.0.0.1 --down --at-least 100Mbps",
            ),
        ],
    ),
    (
        "path-delay",
        &[
            ("A reflector that shows where packets are lost", "eagre path-delay --reflect --stateful"),
            ("Delay and loss of the path to it and back, for ten seconds", "eagre path-delay 10.0.0.1"),
            (
                "Fail if a packet is lost, or the round trip takes longer than 5 ms",
                "eagre path-delay 10.0.0.1 -t 60 -i 20ms --max-loss 0% --max-p99 5ms",
            ),
        ],
    ),
    (
        "iperf3",
        &[
            ("A server, for any number of clients", "eagre iperf3 -s"),
            ("Four streams to it for ten seconds, and four from it", "eagre iperf3 -c 10.0.0.1 -P 4 --bidir"),
            (
                "100 Mbit/s over UDP from the server, the report as JSON",
                "eagre iperf3 -c 10.0.0.1 -u -b 100M -R -J",
            ),
        ],
    ),
    (
        "replay",
        &[
            (
                "Ten times as fast as captured, three times",
                "eagre replay capture.pcap --port veth0 --speed 10 --loops 3",
            ),
            (
                "Both sides of its conversations, through a firewall",
                "eagre replay capture.pcap --port veth0 --to veth1 --split",
            ),
        ],
    ),
    (
        "capture",
        &[("DNS for a minute", "eagre capture --port veth0 --filter udp --file dns.pcapng --for 60")],
    ),
    (
        "receive",
        &[
            ("Count what comes", "eagre receive --port veth1 --ip 10.0.1.2/24 --for 30"),
            (
                "Measure what another machine sends by the same profile",
                "eagre receive --port veth1 --profile router.yaml --seed 7",
            ),
        ],
    ),
    (
        "sim",
        &[(
            "Through a model router, and what was sent as a capture",
            "eagre sim router.yaml --dut router:capacity=1Mpps,buffer=512 --pcap sent.pcapng",
        )],
    ),
    ("check", &[("All errors of a profile", "eagre check router.yaml")]),
    (
        "init",
        &[
            ("List the kinds of profiles", "eagre init"),
            (
                "For a router between two interfaces, with a schema for the editor",
                "eagre init router --port eth1 --port eth2 --schema",
            ),
        ],
    ),
    (
        "bench",
        &[
            (
                "RFC 2544 in minutes, with a report",
                "eagre bench rfc2544 router.yaml --quick --report rfc2544.html",
            ),
            ("Estimate of the duration", "eagre bench mlrsearch router.yaml --sizes 64,1518 --estimate"),
            ("Maximum connections per second", "eagre bench sessions web.yaml --quick"),
        ],
    ),
    (
        "versus",
        &[
            ("Two builds of a device", "eagre versus router.yaml --before-a ./use-old --before-b ./use-new"),
            (
                "A router of this machine, without and with 1,024 rules",
                "eagre versus --lab kernel-router kernel-router:rules=1024",
            ),
        ],
    ),
    (
        "ci",
        &[(
            "Compare the figures with the last good run's",
            "eagre ci router.yaml web.yaml --baseline baseline.json --junit verdicts.xml",
        )],
    ),
    (
        "lab",
        &[
            (
                "A router of this machine, its short test, and all of it gone again",
                "eagre lab run kernel-router",
            ),
            ("A web server that stays up; prints what to type", "eagre lab up nginx"),
        ],
    ),
    (
        "agent",
        &[
            (
                "Lend two ports to the controllers at a NATS server",
                "eagre agent --nats nats://10.77.0.1:4222 --name a1 --ports veth0,veth1",
            ),
            (
                "The same, encrypted and with a key",
                "eagre agent --nats tls://10.77.0.1:4222 --tls-ca ca.pem --nkey a1.nk --name a1 --ports veth0",
            ),
        ],
    ),
    (
        "serve",
        &[
            ("For this machine alone", "eagre serve"),
            ("With ports of agents on other machines", "eagre serve --nats nats://10.77.0.1:4222"),
            (
                "For others, with tokens and encrypted",
                "eagre serve --listen 0.0.0.0:8443 --tokens tokens.yaml --tls",
            ),
        ],
    ),
    (
        "path",
        &[(
            "Counters of the devices along a path, for a minute",
            "eagre path path.yaml --for 60 --json path.json",
        )],
    ),
    (
        "doctor",
        &[("Show the changes without making them, and how to undo them", "eagre doctor --fix --dry-run")],
    ),
    ("top", &[("Another machine's server, once", "eagre top https://tester:8443 --once")]),
    (
        "explain",
        &[
            ("The last result in the store, in sentences", "eagre explain"),
            ("That of a file", "eagre explain result.json"),
        ],
    ),
    (
        "results",
        &[
            ("The newest result as a page", "eagre results report latest"),
            ("Compare two of them", "eagre results compare router-old router-new"),
        ],
    ),
    (
        "script",
        &[(
            "Two ports, and the script's own arguments",
            "eagre script flood.lua --ports veth0,veth1 --for 10 -- 64",
        )],
    ),
];

/// The commands with their examples after the options of `--help`.
pub(crate) fn added(root: Command) -> Command {
    EXAMPLES.iter().fold(root, |root, (name, _)| {
        root.mut_subcommand(name, |command| {
            let before = command.get_after_long_help().map(|text| format!("{text}\n\n")).unwrap_or_default();
            command.after_long_help(format!("{before}{}", text(name)))
        })
    })
}

fn of(command: &str) -> &'static [(&'static str, &'static str)] {
    EXAMPLES.iter().find(|(name, _)| *name == command).map_or(&[], |(_, examples)| examples)
}

fn text(command: &str) -> String {
    let lines: Vec<_> = of(command).iter().map(|(about, line)| format!("  {about}:\n    {line}")).collect();
    format!("Examples:\n{}", lines.join("\n"))
}

/// The section of a manual page; nothing for a command without examples.
pub(crate) fn section(command: &str) -> String {
    let roff = |text: &str| text.replace('\\', "\\\\").replace('-', "\\-");
    let paragraph = |(about, line): &(&str, &str)| {
        format!(".PP\n{}:\n.PP\n.RS 4\n.EX\n{}\n.EE\n.RE\n", roff(about), roff(line))
    };
    match of(command) {
        [] => String::new(),
        examples => format!(".SH EXAMPLES\n{}", examples.iter().map(paragraph).collect::<String>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Args;
    use clap::{CommandFactory, Parser};

    #[test]
    fn the_program_takes_them() {
        for (command, examples) in EXAMPLES {
            for (_, line) in examples {
                let words: Vec<&str> = line.split(' ').collect();
                assert_eq!(words[..2], ["eagre", command]);
                if let Err(error) = Args::try_parse_from(&words) {
                    panic!("{line}: {error}");
                }
            }
        }
    }

    #[test]
    fn help_has_them() {
        let mut root = added(Args::command());
        let versus = root.find_subcommand_mut("versus").expect("a command").render_long_help().to_string();
        assert!(
            versus.contains("Exit codes: 0 no difference")
                && versus.contains("\nExamples:\n  Two builds of a device:\n")
        );
    }
}
