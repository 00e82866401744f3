//! `eagre init`: writes a commented profile to start from.
//!
//! Not here: the profiles; they are examples, which tests check and run.

use crate::{Exit, Failure, words};
use clap::Args as ClapArgs;
use server::{KINDS, Kind};
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Name of the schema in the folder of a profile.
const SCHEMA: &str = "eagre.schema.json";

#[derive(ClapArgs)]
pub(crate) struct InitArgs {
    /// Kind of device or test; without one, lists the kinds
    #[arg(value_parser = words::Named(names), hide_possible_values = true)]
    kind: Option<String>,
    /// File to write; '-' writes to standard output [default: KIND.yaml]
    file: Option<PathBuf>,
    /// Device of the first port of the profile, then of the second one, and so on
    #[arg(long, value_name = "DEVICE")]
    port: Vec<String>,
    /// Also write the profile's JSON Schema into the same folder, with which editors complete keys and mark errors
    #[arg(long)]
    schema: bool,
}

fn names() -> Vec<&'static str> {
    KINDS.iter().map(|kind| kind.name).collect()
}

pub(crate) fn init(args: &InitArgs) -> Result<Exit, Failure> {
    let Some(name) = &args.kind else {
        KINDS.iter().for_each(|kind| println!("  {:<12} {}", kind.name, kind.about));
        println!("\nWrite one with 'eagre init KIND'.");
        return Ok(Exit::Done);
    };
    let kind = KINDS.iter().find(|kind| kind.name == name);
    let kind = kind.ok_or_else(|| Failure::bad_input(spelling::unknown("kind", name, &names())))?;
    let text = with_devices(kind.text, &args.port).map_err(|there| {
        Failure::bad_input(format!(
            "--port: {} devices given; the profile has ports for {there}",
            args.port.len()
        ))
    })?;
    let file = args.file.clone().unwrap_or_else(|| PathBuf::from(format!("{name}.yaml")));
    if file == Path::new("-") {
        if args.schema {
            return Err(Failure::bad_input("--schema: needs a file to be beside"));
        }
        print!("{text}");
        return Ok(Exit::Done);
    }
    let shown = file.display().to_string();
    if args.schema {
        write_new(&file, &format!("# yaml-language-server: $schema={SCHEMA}\n{text}"))?;
        let schema = file.with_file_name(SCHEMA);
        os::draft::replace(&schema, profile::SCHEMA_TEXT)
            .map_err(|error| Failure::bad_input(format!("{}: {error}", schema.display())))?;
    } else {
        write_new(&file, &text)?;
    }
    println!("{shown}: {}", kind.about);
    println!("Set its devices and addresses ('eagre ports' lists devices), then:");
    println!("  eagre check {shown}\n  {}", next(kind, &shown));
    Ok(Exit::Done)
}

/// Next command to type once devices and addresses are right.
fn next(kind: &Kind, file: &str) -> String {
    match kind.method {
        Some(method) => format!("eagre bench {method} {file}"),
        None => format!("eagre run {file}"),
    }
}

/// Writes a file that is not there yet.
fn write_new(file: &Path, text: &str) -> Result<(), Failure> {
    let refused = |error: std::io::Error| Failure::refused(format!("{}: {error}", file.display()));
    let mut made =
        OpenOptions::new().write(true).create_new(true).open(file).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => Failure::bad_input(format!(
                "{}: is there already, and stays as it is; name another file",
                file.display()
            )),
            _ => refused(error),
        })?;
    made.write_all(text.as_bytes()).map_err(|error| {
        // A part of a profile is none, and would be in the way of the next one.
        let _ = std::fs::remove_file(file);
        refused(error)
    })
}

/// The profile with other devices, in the order of its ports; the number of ports if there are fewer.
fn with_devices(text: &str, devices: &[String]) -> Result<String, usize> {
    const KEY: &str = "device: ";
    let mut parts = text.split(KEY);
    let mut made = parts.next().unwrap_or_default().to_owned();
    let mut devices = devices.iter();
    let mut there = 0;
    for part in parts {
        there += 1;
        made += KEY;
        let end = match part.strip_prefix('"') {
            Some(quoted) => quoted.find('"').map_or(part.len(), |end| end + 2),
            None => part.find([',', '}', '\n']).unwrap_or(part.len()),
        };
        match devices.next() {
            // A string of JSON is one of YAML, too.
            Some(device) => {
                made += &serde_json::to_string(device).unwrap_or_default();
                made += &part[end..];
            }
            None => made += part,
        }
    }
    if devices.next().is_some() { Err(there) } else { Ok(made) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_replaced_in_order() {
        let text = "ports:\n  a: {device: veth0, ip: 10.0.0.1/24}\n  b:\n    device: \"ring:b\"\n  c: {device: veth2}\n";
        let given = ["xdp:eth1".to_owned(), "odd\"name".to_owned()];
        let made = with_devices(text, &given).expect("as many ports");
        assert_eq!(
            made,
            "ports:\n  a: {device: \"xdp:eth1\", ip: 10.0.0.1/24}\n  b:\n    device: \"odd\\\"name\"\n  c: {device: veth2}\n"
        );
        assert_eq!(with_devices(text, &[]).expect("none"), text);
        assert_eq!(with_devices("ports: {}", &given), Err(0));
    }
}
