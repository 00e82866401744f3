//! `--control`: commands for a running trial, one per line on standard input.
//!
//! | line | meaning |
//! |---|---|
//! | `rate 2Mpps` | every stream sends at this rate |
//! | `rate NAME 2Mpps` | one stream, with all its copies, sends at this rate |
//! | `scale 50%`, `scale NAME 50%` | send at this share of the profile's rate; can exceed 100% |
//! | `pause`, `pause NAME` | stop sending until `resume` |
//! | `resume`, `resume NAME` | send at the profile's rate |
//! | `stop` | end the run early and write the result |

use engine::{Change, Speed};
use std::io::BufRead;
use std::sync::mpsc::{Receiver, channel};
use units::Load;

/// One command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ControlCommand {
    /// Change rates.
    Change(Change),
    /// End the run.
    Stop,
}

/// Reads commands from standard input; reports unknown ones on standard error.
pub(crate) fn listen() -> Receiver<ControlCommand> {
    let (commands, inbox) = channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let line = match line {
                Ok(line) => line,
                Err(error) => return eprintln!("eagre: standard input: {error}; no more commands are read"),
            };
            match parse(&line) {
                Ok(Some(command)) => {
                    if commands.send(command).is_err() {
                        return;
                    }
                }
                Ok(None) => {}
                Err(reason) => eprintln!("eagre: {reason}"),
            }
        }
    });
    inbox
}

fn parse(line: &str) -> Result<Option<ControlCommand>, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let change = |stream: Option<&str>, speed| {
        Ok(Some(ControlCommand::Change(Change { stream: stream.map(str::to_owned), speed })))
    };
    match &words[..] {
        [] => Ok(None),
        ["stop"] => Ok(Some(ControlCommand::Stop)),
        ["pause", name @ ..] if name.len() <= 1 => change(name.first().copied(), Speed::Share(0)),
        ["resume", name @ ..] if name.len() <= 1 => change(name.first().copied(), Speed::Share(1_000_000)),
        ["rate", name @ .., rate] if name.len() <= 1 => {
            change(name.first().copied(), Speed::Rate(load(rate)?))
        }
        ["scale", name @ .., share] if name.len() <= 1 => {
            change(name.first().copied(), Speed::Share(ppm(share)?))
        }
        _ => Err(format!(
            "unknown command '{line}': use rate [NAME] RATE, scale [NAME] SHARE, pause [NAME], resume [NAME] or stop"
        )),
    }
}

fn load(text: &str) -> Result<Load, String> {
    text.parse().map_err(|error: units::QuantityError| error.to_string())
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
            Ok(Some(ControlCommand::Change(Change { stream: stream.map(str::to_owned), speed })))
        };
        assert_eq!(parse("rate 2Mpps"), change(None, Speed::Rate("2Mpps".parse().unwrap())));
        assert_eq!(parse(" rate web 40% "), change(Some("web"), Speed::Rate(Load::LinkShare(400_000))));
        assert_eq!(parse("scale web 250%"), change(Some("web"), Speed::Share(2_500_000)));
        assert_eq!(parse("pause"), change(None, Speed::Share(0)));
        assert_eq!(parse("resume web"), change(Some("web"), Speed::Share(1_000_000)));
        assert_eq!((parse("stop"), parse("")), (Ok(Some(ControlCommand::Stop)), Ok(None)));
        for bad in ["rate", "rate fast", "scale 50", "scale -1%", "pause a b", "go"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
