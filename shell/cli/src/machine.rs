//! `ports` and `doctor`: the machine's ports, and settings that distort measurements.

use crate::output::print_json;
use crate::table::table;
use crate::{Exit, Failure};
use os::doctor::fix::{Done as Outcome, Recorded, Settings};
use os::doctor::{self, Nic};
use os::link::LinkFacts;
use serde::Serialize;

/// `eagre ports`.
pub(crate) fn ports(as_json: bool) -> Result<Exit, Failure> {
    let links =
        os::link::list().map_err(|e| Failure::refused(format!("cannot list network interfaces: {e}")))?;
    let routes = os::default_route::interfaces().unwrap_or_default();
    let cards = os::doctor::network_cards();
    if as_json {
        let document = PortsDocument {
            interfaces: links.iter().map(|link| InterfaceDocument::new(link, &routes)).collect(),
            pci: cards.iter().map(CardDocument::new).collect(),
            dpdk: dpdk::try_open().ok(),
        };
        return print_json(&document);
    }
    let rows = links.iter().filter(|l| !l.loopback).map(|l| link_row(l, &routes));
    println!("kernel interfaces (afpacket:NAME, afxdp:NAME or xdp:NAME)");
    print!("{}", table(&["name", "state", "mtu", "speed", "driver", "note"], rows.collect()));
    println!("\nnetwork cards (by PCI address)");
    let rows = cards.iter().map(|card| {
        let state = match (card.is_bypass(), &card.netdev) {
            (true, _) => "ready".to_owned(),
            (false, Some(netdev)) => format!("bound to kernel interface {netdev}"),
            (false, None) => "bound to a kernel driver".to_owned(),
        };
        vec![card.address.clone(), card.driver.clone().unwrap_or_else(|| "-".to_owned()), state]
    });
    print!("{}", table(&["address", "driver", "state"], rows.collect()));
    println!("\nalways available: ring:a and ring:b (in-process pair), null");
    match dpdk::try_open() {
        Ok(version) => {
            println!(
                "with {version}: memif:SOCKET[,server], tap:NAME, vhost:SOCKET, virtio:SOCKET, pcap:IN,OUT,"
            );
            println!("vdev:ANYTHING");
        }
        Err(reason) => {
            println!(
                "not available: memif:, tap:, vhost:, virtio:, pcap:, vdev: and network cards by PCI address,"
            );
            println!("which need DPDK: {reason}");
        }
    }
    Ok(Exit::Done)
}

fn speed(link: &LinkFacts) -> String {
    link.speed_bps.map_or_else(|| "-".to_owned(), |bps| units::quantity(bps as f64, "bps"))
}

fn link_row(link: &LinkFacts, routes: &[String]) -> Vec<String> {
    let mut notes = Vec::new();
    if routes.contains(&link.name) {
        notes.push("default route: needs allow_default_route".to_owned());
    }
    if let Some(process) = os::interface_lock::holder(link.index) {
        notes.push(format!("in use by Eagre, process {process}"));
    }
    vec![
        link.name.clone(),
        if link.up { "up" } else { "down" }.to_owned(),
        link.mtu.to_string(),
        speed(link),
        link.driver.clone().or_else(|| link.kind.clone()).unwrap_or_else(|| "-".to_owned()),
        notes.join("; "),
    ]
}

/// Output of `ports --json`.
#[derive(Serialize)]
struct PortsDocument<'a> {
    interfaces: Vec<InterfaceDocument<'a>>,
    pci: Vec<CardDocument<'a>>,
    /// Version of DPDK, if it can be used.
    dpdk: Option<String>,
}

#[derive(Serialize)]
struct InterfaceDocument<'a> {
    name: &'a str,
    up: bool,
    mtu: u32,
    speed_bps: Option<u64>,
    driver: Option<&'a str>,
    kind: Option<&'a str>,
    numa_node: Option<u32>,
    default_route: bool,
    /// The process of Eagre that has it.
    used_by: Option<u32>,
}

impl<'a> InterfaceDocument<'a> {
    fn new(link: &'a LinkFacts, routes: &[String]) -> Self {
        Self {
            name: &link.name,
            up: link.up,
            mtu: link.mtu,
            speed_bps: link.speed_bps,
            driver: link.driver.as_deref(),
            kind: link.kind.as_deref(),
            numa_node: link.numa_node,
            default_route: routes.contains(&link.name),
            used_by: os::interface_lock::holder(link.index),
        }
    }
}

#[derive(Serialize)]
struct CardDocument<'a> {
    device: &'a str,
    driver: Option<&'a str>,
    interface: Option<&'a str>,
    ready: bool,
}

impl<'a> CardDocument<'a> {
    fn new(card: &'a Nic) -> Self {
        Self {
            device: &card.address,
            driver: card.driver.as_deref(),
            interface: card.netdev.as_deref(),
            ready: card.is_bypass(),
        }
    }
}

/// `eagre doctor`.
pub(crate) fn doctor(as_json: bool) -> Result<Exit, Failure> {
    if as_json {
        println!("{:#}", campaign::findings());
    } else {
        print!("{}", os::doctor::render(&os::doctor::examine(&dpdk::abis())));
    }
    Ok(Exit::Done)
}

/// `eagre doctor --fix`.
pub(crate) fn fix(dry_run: bool) -> Result<Exit, Failure> {
    let changes = Settings::plan();
    if changes.is_empty() {
        println!("nothing to change; 'eagre doctor' shows what takes more than a setting");
        return Ok(Exit::Done);
    }
    print!("{}", doctor::fix::render(&changes));
    if dry_run {
        println!("\n{} settings would change; 'eagre doctor --fix' changes them", changes.len());
        return Ok(Exit::Done);
    }
    let done = Settings::default().apply(&changes).map_err(no_record)?;
    let refused: Vec<String> = changes
        .iter()
        .zip(&done)
        .filter_map(|(change, done)| match done {
            Outcome::Refused(reason) => Some(format!("{}: {reason}", change.path.display())),
            _ => None,
        })
        .collect();
    println!(
        "\n{} of {} settings changed; 'eagre doctor --undo' sets them back",
        done.len() - refused.len(),
        done.len()
    );
    if refused.is_empty() { Ok(Exit::Done) } else { Err(Failure::refused(refused.join("\n"))) }
}

/// `eagre doctor --undo`.
pub(crate) fn undo(dry_run: bool) -> Result<Exit, Failure> {
    if dry_run {
        for Recorded { path, old, new } in Settings::default().recorded().map_err(no_record)?.iter().rev() {
            println!("{new} -> {old}   {}", path.display());
        }
        return Ok(Exit::Done);
    }
    let done = Settings::default().undo().map_err(no_record)?;
    if done.is_empty() {
        println!("nothing to undo");
    }
    let mut refused = Vec::new();
    for (Recorded { path, old, .. }, outcome) in done {
        match outcome {
            Outcome::Set => println!("{old}   {}", path.display()),
            Outcome::ChangedSince(now) => {
                println!("{now}   {}: changed since by others; it stays so", path.display())
            }
            Outcome::Refused(reason) => refused.push(format!("{}: {reason}", path.display())),
        }
    }
    if refused.is_empty() { Ok(Exit::Done) } else { Err(Failure::refused(refused.join("\n"))) }
}

fn no_record(error: std::io::Error) -> Failure {
    Failure::refused(format!("{}: {error}", doctor::fix::RECORD))
}
