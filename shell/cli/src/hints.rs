//! Hints for a command line with an option that the command does not have: the option that is meant, or the commands
//! that have it.
//!
//! Not here: misspelt options, which clap recognises itself.

use crate::args::Args;
use crate::examples;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory, Error, FromArgMatches};
use std::ffi::OsString;

/// Options of other tools, and ours.
const ALSO_CALLED: [(&str, &str); 19] = [
    ("cpu", "cores"),
    ("cpus", "cores"),
    ("threads", "cores"),
    ("workers", "cores"),
    ("time", "duration"),
    ("seconds", "duration"),
    ("runtime", "duration"),
    ("bandwidth", "rate"),
    ("bitrate", "rate"),
    ("pps", "rate"),
    ("mbps", "rate"),
    ("gbps", "rate"),
    ("length", "size"),
    ("len", "size"),
    ("frame-size", "sizes"),
    ("interface", "port"),
    ("iface", "port"),
    ("output", "json"),
    ("config", "set"),
];
/// Commands that are named.
const NAMED_MAX: usize = 4;

/// The command line, or the end of the process with what is wrong with it.
pub(crate) fn parsed(words: &[OsString]) -> Args {
    let matches = examples::added(Args::command()).try_get_matches_from(words);
    let args = matches.and_then(|matches| Args::from_arg_matches(&matches));
    args.unwrap_or_else(|error| helped(error, words).exit())
}

/// An error with a better tip, if it is about an option that is not known.
fn helped(mut error: Error, words: &[OsString]) -> Error {
    let is_similar = error.get(ContextKind::SuggestedArg).is_some();
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else { return error };
    if error.kind() != ErrorKind::UnknownArgument || is_similar || !given.starts_with('-') {
        return error;
    }
    let tip = tip(given.split('=').next().unwrap_or(given), words);
    // clap's own tip takes the option for a value.
    error.remove(ContextKind::Suggested);
    if let Some(tip) = tip {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
    }
    error
}

fn tip(given: &str, words: &[OsString]) -> Option<String> {
    let root = Args::command();
    let long = given.trim_start_matches('-');
    if let Some((_, ours)) =
        ALSO_CALLED.iter().find(|(theirs, ours)| *theirs == long && has(used(&root, words), ours))
    {
        return Some(format!("'--{ours}' does that here"));
    }
    let mut found = Vec::new();
    collect(&root, "eagre", long, &mut found);
    let names: Vec<_> = found.iter().take(NAMED_MAX).map(|name| format!("'{name}'")).collect();
    (!names.is_empty()).then(|| format!("'--{long}' is an option of {}", names.join(", ")))
}

/// The command that the words name.
fn used<'a>(root: &'a Command, words: &[OsString]) -> &'a Command {
    let mut command = root;
    for word in words.iter().skip(1) {
        let Some(below) = command.find_subcommand(word) else { break };
        command = below;
    }
    command
}

fn has(command: &Command, long: &str) -> bool {
    command.get_arguments().any(|arg| arg.get_long() == Some(long))
}

fn collect(command: &Command, path: &str, long: &str, found: &mut Vec<String>) {
    for below in command.get_subcommands() {
        let path = format!("{path} {}", below.get_name());
        if has(below, long) {
            found.push(path.clone());
        }
        collect(below, &path, long, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn said(line: &str) -> String {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let error = Args::try_parse_from(&words).err().expect("it is wrong");
        helped(error, &words).to_string()
    }

    #[test]
    fn options_of_the_other_role_are_refused() {
        for line in [
            "eagre capacity --one-off 10.0.0.1",
            "eagre capacity --max-tests 4 10.0.0.1",
            "eagre iperf3 --client 10.0.0.1 --max-time 5s",
            "eagre responsiveness --max-connections 7 10.0.0.1",
            "eagre responsiveness --cert c.pem --key k.pem 10.0.0.1",
            "eagre agent --join line --nkey seed",
            "eagre agent --join line --tls-ca ca.pem",
        ] {
            assert!(said(line).contains("cannot be used with"), "{line}: {}", said(line));
        }
    }

    #[test]
    fn the_option_that_is_meant_is_named() {
        for (line, tip) in [
            ("eagre run p.yaml --sizes 64", "tip: '--sizes' is an option of 'eagre bench'"),
            ("eagre run p.yaml --cpu=2", "tip: '--cores' does that here"),
            ("eagre send --port null --pps 5", "tip: '--rate' does that here"),
            ("eagre lab up own --dut-comand x", "tip: a similar argument exists: '--dut-command'"),
        ] {
            assert!(said(line).contains(tip), "{}", said(line));
            assert!(!said(line).contains("as a value"), "{}", said(line));
        }
        assert!(!said("eagre run p.yaml --never-heard-of").contains("tip:"));
    }
}
