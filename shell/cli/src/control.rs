//! `--control`: changing a run by lines on standard input.
//!
//! | line | meaning |
//! |---|---|
//! | `rate 2Mpps` | every stream sends at this rate |
//! | `rate NAME 2Mpps` | one stream does, or all copies of it |
//! | `scale 50%`, `scale NAME 50%` | at this share of what the profile says; above 100% as well |
//! | `pause`, `pause NAME` | nothing is sent until `resume` |
//! | `resume`, `resume NAME` | as the profile says |
//! | `stop` | the run ends early, with its result |

use engine::{Change, Speed};
use std::io::BufRead;
use std::sync::mpsc::{Receiver, channel};
use units::Load;

/// What a line asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Change rates.
    Change(Change),
    /// End the run.
    Stop,
}

/// Wishes from standard input, as they come. What is not understood is said on standard error.
pub(crate) fn listen() -> Receiver<Wish> {
    let (wishes, inbox) = channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let line = match line {
                Ok(line) => line,
                Err(error) => return eprintln!("eagre: standard input: {error}; no more changes are taken"),
            };
            match parse(&line) {
                Ok(Some(wish)) => {
                    if wishes.send(wish).is_err() {
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

fn parse(line: &str) -> Result<Option<Wish>, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let change = |stream: Option<&str>, speed| {
        Ok(Some(Wish::Change(Change { stream: stream.map(str::to_owned), speed })))
    };
    match &words[..] {
        [] => Ok(None),
        ["stop"] => Ok(Some(Wish::Stop)),
        ["pause", name @ ..] if name.len() <= 1 => change(name.first().copied(), Speed::Share(0)),
        ["resume", name @ ..] if name.len() <= 1 => change(name.first().copied(), Speed::Share(1_000_000)),
        ["rate", name @ .., rate] if name.len() <= 1 => {
            change(name.first().copied(), Speed::Rate(load(rate)?))
        }
        ["scale", name @ .., share] if name.len() <= 1 => {
            change(name.first().copied(), Speed::Share(ppm(share)?))
        }
        _ => Err(format!(
            "'{line}' is not rate [NAME] RATE, scale [NAME] SHARE, pause [NAME], resume [NAME] or stop"
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
        .ok_or(format!("'{text}' is not a share such as 50% or 120%"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_wish() {
        let change = |stream: Option<&str>, speed| {
            Ok(Some(Wish::Change(Change { stream: stream.map(str::to_owned), speed })))
        };
        assert_eq!(parse("rate 2Mpps"), change(None, Speed::Rate("2Mpps".parse().unwrap())));
        assert_eq!(parse(" rate web 40% "), change(Some("web"), Speed::Rate(Load::LinkShare(400_000))));
        assert_eq!(parse("scale web 250%"), change(Some("web"), Speed::Share(2_500_000)));
        assert_eq!(parse("pause"), change(None, Speed::Share(0)));
        assert_eq!(parse("resume web"), change(Some("web"), Speed::Share(1_000_000)));
        assert_eq!((parse("stop"), parse("")), (Ok(Some(Wish::Stop)), Ok(None)));
        for bad in ["rate", "rate fast", "scale 50", "scale -1%", "pause a b", "go"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
