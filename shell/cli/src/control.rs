//! `--control`: commands for a running trial, one per line on standard input.
//!
//! | line | meaning |
//! |---|---|
//! | `rate 2Mpps` | every stream sends at this rate |
//! | `rate NAME 2Mpps` | one stream, with all its copies, sends at this rate |
//! | `rate 500/s`, `rate NAME 500/s` | every entry of sessions, or one, opens at this rate |
//! | `scale 50%`, `scale NAME 50%` | send, open sessions and send their requests at this share of the profile's rate; can exceed 100% |
//! | `pause`, `pause NAME` | stop sending and opening until `resume` |
//! | `resume`, `resume NAME` | resume the profile's rate |
//! | `withdraw`, `withdraw NAME …` | withdraw routes that hosts advertise: all, or the named ones; `peer=NAME` and `port=NAME` select their owner |
//! | `advertise`, `advertise NAME …` | advertise them, regardless of their times |
//! | `down`, `down PEER …` | end sessions and adjacencies of routing protocols, and let virtual routers leave: all, or those with peers and routers by name or host address; `port=NAME` selects the port |
//! | `up`, `up PEER …` | let them come up again |
//! | `restart`, `restart PEER …` | end sessions as speakers do that restart; they come up again by themselves, with `delay=30s` after that time |
//! | `priority N`, `priority N ROUTER …` | set the priority of virtual routers: all, or those with this name or address; `port=NAME` selects the port |
//! | `renew`, `release` | DHCP clients renew or release their leases, PPPoE clients start or end their sessions; `port=NAME` selects the port |
//! | `enable`, `disable` | enable or disable LLDP agents and LACP of LAG members; `port=NAME` selects the port |
//! | `ping PORT ADDRESS` | ping from a host or client behind a port, and print the outcome; `host=NAME`, `from=ADDRESS`, `attempts=3` and `timeout=1s` |
//! | `clear` | set counters to zero: snapshots and the result count from then on |
//! | `stop` | end the run early and write the result |

use engine::{Command, Control, PingCommand, RateCommand, Reply, Speed};
use result::{NewProtocolChange, ProtocolAction};
use std::io::BufRead;
use std::net::IpAddr;
use units::{Nanos, quantity};

/// Sends commands from standard input in sequence; reports unknown and refused ones on standard error.
pub(crate) fn listen(control: Control) {
    std::thread::spawn(move || {
        // A line that is no text is an unknown command; those after it may be good.
        for line in std::io::stdin().lock().split(b'\n') {
            let line = match line {
                Ok(line) => line,
                Err(error) => return eprintln!("eagre: standard input: {error}; no more commands are read"),
            };
            let outcome = match parse(&String::from_utf8_lossy(&line)) {
                // Traffic and later commands do not wait for a reply.
                Ok(Some(command @ Command::Ping(_))) => {
                    let reply = control.request(command);
                    let wait = move || match reply.wait() {
                        Ok(reply) => told(reply),
                        Err(error) => eprintln!("eagre: {error}"),
                    };
                    if let Err(error) = std::thread::Builder::new().spawn(wait) {
                        eprintln!("eagre: the reply to a ping can't be waited for: {error}");
                    }
                    continue;
                }
                Ok(Some(command)) => {
                    control.request(command).wait().map(told).map_err(|error| error.to_string())
                }
                Ok(None) => continue,
                Err(reason) => Err(reason),
            };
            if let Err(reason) = outcome {
                eprintln!("eagre: {reason}");
            }
        }
    });
}

/// Prints the outcome of a ping, and of a change of protocols that changed nothing.
fn told(reply: Reply) {
    match reply {
        Reply::Changed(0) => eprintln!("eagre: that changed nothing"),
        Reply::Ping(ping) => {
            let outcome = match &ping.round_trip {
                Ok(time) => quantity(time.0 as f64, "ns"),
                Err(reason) => reason.clone(),
            };
            eprintln!("eagre: ping from {} through {}: {outcome}", ping.from, ping.via);
        }
        Reply::Done | Reply::Changed(_) | Reply::Protocols(_) => {}
    }
}

/// A ping: `west 10.0.0.1 host=pppoe[3] attempts=5 timeout=200ms`.
fn ping(words: &[&str]) -> Result<Option<Command>, String> {
    let [port, to, options @ ..] = words else {
        return Err("ping needs a port and an address: ping PORT ADDRESS".to_owned());
    };
    let ip = |text: &str| text.parse::<IpAddr>().map_err(|_| format!("'{text}' is not an IP address"));
    let (port, to) = ((*port).to_owned(), ip(to)?);
    let mut ping =
        PingCommand { port, host: None, from: None, to, attempts: 3, timeout: Nanos::from_secs(1) };
    for option in options {
        match option.split_once('=') {
            Some(("host", name)) => ping.host = Some(name.to_owned()),
            Some(("from", from)) => ping.from = Some(ip(from)?),
            Some(("attempts", number)) => {
                let number = number.parse().ok().filter(|number| (1..=100).contains(number));
                ping.attempts = number.ok_or_else(|| format!("{option}: expected 1 to 100"))?;
            }
            Some(("timeout", time)) => {
                let time: Result<profile::document::Duration, _> = time.parse();
                let time = time.map_err(|error| format!("{option}: {error}"))?.0;
                let bounds = Nanos::from_millis(10)..=Nanos::from_secs(60);
                ping.timeout = Some(time)
                    .filter(|time| bounds.contains(time))
                    .ok_or_else(|| format!("{option}: expected 10ms to 60s"))?;
            }
            _ => {
                return Err(format!(
                    "'{option}' is not understood here; use host=, from=, attempts= or timeout="
                ));
            }
        }
    }
    if ping.from.is_some_and(|from| from.is_ipv4() != to.is_ipv4()) {
        return Err("from= and the address pinged are of different IP versions".to_owned());
    }
    Ok(Some(Command::Ping(ping)))
}

/// A command about protocols of hosts.
fn protocol(action: ProtocolAction, words: &[&str]) -> Result<Option<Command>, String> {
    let mut command = NewProtocolChange { action, ..NewProtocolChange::default() };
    use ProtocolAction::{Advertise, Down, Priority, Restart, Up, Withdraw};
    for word in words {
        match (word.split_once('='), action) {
            (Some(("port", name)), _) => command.port = Some(name.to_owned()),
            (Some(("delay", time)), Restart) => command.delay_s = Some(delay(time)?.as_secs_f64()),
            (None, Priority) if command.priority.is_none() => {
                command.priority =
                    Some(word.parse().map_err(|_| format!("'{word}' is not a priority from 1 to 254"))?);
            }
            (Some(("peer", name)), Advertise | Withdraw) => {
                command.peers.push(name.to_owned());
            }
            (None, Advertise | Withdraw) => {
                command.routes.push((*word).to_owned());
            }
            (None, Up | Down | Restart | Priority) => command.peers.push((*word).to_owned()),
            _ => return Err(format!("'{word}' is not understood here; use port=NAME")),
        }
    }
    Ok(Some(Command::Protocol(command.into())))
}

fn parse(line: &str) -> Result<Option<Command>, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let change = |stream: Option<&str>, speed| {
        Ok(Some(Command::SetRate(RateCommand { stream: stream.map(str::to_owned), speed, at: None })))
    };
    let named = |name: &str| ProtocolAction::ALL.into_iter().find(|action| action.name() == name);
    if let Some((name, rest)) = words.split_first()
        && let Some(action) = named(name)
    {
        return protocol(action, rest);
    }
    match &words[..] {
        [] => Ok(None),

        ["ping", rest @ ..] => ping(rest),
        ["clear"] => Ok(Some(Command::Clear)),
        ["stop"] => Ok(Some(Command::Stop)),
        ["pause", name @ ..] if name.len() <= 1 => change(name.first().copied(), Speed::Share(0)),
        ["resume", name @ ..] if name.len() <= 1 => change(name.first().copied(), Speed::Share(1_000_000)),
        ["rate", name @ .., rate] if name.len() <= 1 => change(name.first().copied(), rate.parse()?),
        ["scale", name @ .., share] if name.len() <= 1 => {
            change(name.first().copied(), Speed::Share(ppm(share)?))
        }
        _ => Err(format!(
            "unknown command '{line}': use rate [NAME] RATE, scale [NAME] SHARE, pause [NAME], resume [NAME], \
             withdraw or advertise [port=NAME] [peer=NAME] [ROUTES], down, up or restart [port=NAME] [PEER], restart [delay=TIME], priority [port=NAME] N [ROUTER], renew, release, enable or disable [port=NAME], ping PORT ADDRESS, clear, or stop"
        )),
    }
}

/// `30s`, an hour at most.
fn delay(text: &str) -> Result<Nanos, String> {
    let time: Result<profile::document::Duration, _> = text.parse();
    let time = time.map_err(|error| format!("delay={text}: {error}"))?.0;
    if time > Nanos::from_secs(3_600) {
        Err(format!("delay={text}: must be 3600s at most"))
    } else {
        Ok(time)
    }
}

/// `250%` in millionths.
fn ppm(text: &str) -> Result<u32, String> {
    let share = text.strip_suffix('%').and_then(|number| number.parse::<f64>().ok());
    let share = share.filter(|share| (0.0..=400_000.0).contains(share));
    share
        .map(|share| (share * 1e4).round() as u32)
        .ok_or(format!("'{text}' is not a percentage such as 50% or 120%"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_command() {
        let change = |stream: Option<&str>, speed| {
            Ok(Some(Command::SetRate(RateCommand { stream: stream.map(str::to_owned), speed, at: None })))
        };
        assert_eq!(parse("rate web 500/s"), change(Some("web"), Speed::Open(units::Pps::new(500))));
        assert_eq!(parse("rate 2Mpps"), change(None, Speed::Rate("2Mpps".parse().unwrap())));
        assert_eq!(
            parse(" rate web 40% "),
            change(Some("web"), Speed::Rate(units::Load::LinkShare(400_000)))
        );
        assert_eq!(parse("scale web 250%"), change(Some("web"), Speed::Share(2_500_000)));
        assert_eq!(parse("pause"), change(None, Speed::Share(0)));
        assert_eq!(parse("resume web"), change(Some("web"), Speed::Share(1_000_000)));
        let change = |action, port: Option<&str>, peers: &[&str], routes: &[&str]| {
            let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
            let (peers, routes) = (owned(peers), owned(routes));
            Ok(Some(Command::Protocol(
                NewProtocolChange {
                    action,
                    port: port.map(str::to_owned),
                    peers,
                    routes,
                    ..NewProtocolChange::default()
                }
                .into(),
            )))
        };
        let Ok(Some(Command::Protocol(restart))) = parse("restart delay=90s edge") else { panic!("refused") };
        assert_eq!(
            (restart.change.delay_s, &restart.change.peers[..]),
            (Some(90.0), &["edge".to_owned()][..])
        );
        assert!(parse("restart delay=2h").is_err_and(|why| why.contains("3600s at most")));
        assert!(parse("down delay=2s").is_err_and(|why| why.contains("not understood")));
        assert_eq!(parse("withdraw"), change(ProtocolAction::Withdraw, None, &[], &[]));
        let some = change(ProtocolAction::Advertise, Some("west"), &["edge"], &["a", "b"]);
        assert_eq!(parse("advertise port=west peer=edge a b"), some);
        assert_eq!(
            parse("down edge 10.0.0.2"),
            change(ProtocolAction::Down, None, &["edge", "10.0.0.2"], &[])
        );
        assert_eq!(parse("restart edge"), change(ProtocolAction::Restart, None, &["edge"], &[]));
        assert_eq!(parse("release port=west"), change(ProtocolAction::Release, Some("west"), &[], &[]));
        let Ok(Some(Command::Protocol(set))) = parse("priority 50 edge") else { panic!("refused") };
        assert_eq!((set.change.priority, &set.change.peers[..]), (Some(50), &["edge".to_owned()][..]));
        assert!(parse("priority high").is_err_and(|why| why.contains("from 1 to 254")));
        assert!(parse("renew west").is_err() && parse("up peer=edge").is_err());
        let Ok(Some(Command::Ping(one))) = parse("ping west 10.0.0.1 host=pppoe[3] attempts=5 timeout=20ms")
        else {
            panic!("refused")
        };
        assert_eq!((one.port.as_str(), one.host.as_deref(), one.attempts), ("west", Some("pppoe[3]"), 5));
        assert_eq!(
            (one.to, one.from, one.timeout),
            ("10.0.0.1".parse().unwrap(), None, Nanos::from_millis(20))
        );
        for (bad, part) in [
            ("ping west", "PORT ADDRESS"),
            ("ping west host", "not an IP address"),
            ("ping west ::1 from=10.0.0.1", "different IP versions"),
            ("ping west ::1 attempts=0", "1 to 100"),
            ("ping west ::1 timeout=2m", "10ms to 60s"),
            ("ping west ::1 soon", "not understood"),
        ] {
            assert!(parse(bad).is_err_and(|why| why.contains(part)), "{bad}");
        }
        assert_eq!(parse("clear"), Ok(Some(Command::Clear)));
        assert_eq!((parse("stop"), parse("")), (Ok(Some(Command::Stop)), Ok(None)));
        for bad in ["rate", "rate fast", "scale 50", "scale -1%", "pause a b", "clear west", "go"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
