//! Errors of a profile made from options, in terms of these options: the user has not seen the profile.
//!
//! Not here: validation. Places and reasons come from [`profile`] and [`engine`].

use crate::args::Args;
use crate::{Exit, Failure};
use clap::CommandFactory;
use profile::ProfileError;

/// Suggestions in a profile's reasons, and the corresponding options.
const SUGGESTIONS: [(&str, &str); 6] = [
    (", here or by --rate", ""),
    ("is not set, and port 'tx' has no IPv4 address to take it from", "is not set: give --src or --ip"),
    ("is not set, and port 'tx' has no IPv6 address to take it from", "is not set: give --src or --ip"),
    ("is not set, and the stream has no 'to' to take it from", "is not set: give --dst"),
    ("give the port a gateway, or set ethernet.dst", "give --gateway or --dst-mac"),
    ("set 'allow_default_route: true'", "give --allow-default-route"),
];

/// Beginnings of places that come from options of other names.
const OPTIONS: [(&str, &str); 10] = [
    ("sessions[0].app.http.path", "URL"),
    ("sessions[0].request_count", "--requests"),
    ("sessions[0].app.http.headers", "--header"),
    ("sessions[0].app.http.body", "--data"),
    ("sessions[0].app.http.requests", "--per-connection"),
    ("sessions[0].client.addresses", "--source"),
    ("sessions[0].tls.verify", "--cacert"),
    ("sessions[0].response_timeout", "--timeout"),
    ("sessions[0].request_rate", "--rate"),
    ("sessions[0].concurrent", "--connections"),
];

/// All errors of the options of `command`.
pub(crate) fn bad_options(command: &str, errors: &[ProfileError]) -> Failure {
    let line = |error: &ProfileError| {
        let reason = spoken(&error.reason);
        option(command, &error.path).map_or(reason.clone(), |option| format!("{option}: {reason}"))
    };
    let lines: Vec<_> = errors.iter().map(line).collect();
    let is_of_machine = errors.iter().all(|error| error.is_of_machine);
    Failure { exit: if is_of_machine { Exit::Refused } else { Exit::BadInput }, text: lines.join("\n") }
}

/// A reason with the options that help in place of the profile's keys.
pub(crate) fn spoken(reason: &str) -> String {
    SUGGESTIONS.iter().fold(reason.to_owned(), |reason, (key, option)| reason.replace(key, option))
}

/// The option, or the argument, that a place of the profile comes from: `--rotate-size` for `ports.rx.capture.rotate_size`.
fn option(command: &str, path: &str) -> Option<String> {
    let args = Args::command();
    let command = args.find_subcommand(command)?;
    let has = |long: &str| command.get_arguments().any(|arg| arg.get_long() == Some(long));
    let knows = |named: &str| match named.strip_prefix("--") {
        Some(long) => has(long),
        None => command.get_positionals().any(|arg| arg.get_id() == named.to_lowercase().as_str()),
    };
    if let Some((_, named)) = OPTIONS.iter().find(|(start, named)| path.starts_with(start) && knows(named)) {
        return Some((*named).to_owned());
    }
    path.rsplit('.').find_map(|key| {
        let key = key.split('[').next().unwrap_or_default();
        let long = match (key, path.starts_with("ports.rx.") && has("to-ip")) {
            ("ip", true) => "to-ip".to_owned(),
            _ => key.replace('_', "-"),
        };
        let positional = || command.get_positionals().any(|arg| arg.get_id() == key);
        has(&long).then(|| format!("--{long}")).or_else(|| positional().then(|| key.to_uppercase()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_options() {
        for (command, path, named) in [
            ("send", "streams[0].rate", Some("--rate")),
            ("send", "streams[0].packet[1].ipv4.src", Some("--src")),
            ("send", "ports.tx.ip", Some("--ip")),
            ("send", "ports.rx.ip", Some("--to-ip")),
            ("send", "streams[0].packet[1]", None),
            ("capture", "ports.rx.capture.rotate_size", Some("--rotate-size")),
            ("capture", "ports.rx.ip", Some("--ip")),
            ("replay", "streams[0].replay.rewrite.ipv4.foo[0]", Some("--rewrite")),
            ("replay", "streams[0].replay.file", Some("FILE")),
            ("http", "load.duration", Some("--duration")),
            ("http", "sessions[0].app.http.headers.Foo bar", Some("--header")),
            ("http", "sessions[0].app.http.path", Some("URL")),
            ("http", "sessions[0].tls.verify.roots", Some("--cacert")),
            ("http", "sessions[0].client.addresses", Some("--source")),
            ("http", "ports.http.ip", Some("--ip")),
        ] {
            assert_eq!(option(command, path).as_deref(), named, "{command} {path}");
        }
    }
}
