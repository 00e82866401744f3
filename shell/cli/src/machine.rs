//! `ports` and `doctor`: the machine's ports, and settings that distort measurements.

use crate::summary::table;
use crate::{Exit, Failure};
use os::link::LinkFacts;
use serde_json::json;

/// `eagre ports`.
pub(crate) fn ports(as_json: bool) -> Result<Exit, Failure> {
    let links =
        os::link::list().map_err(|e| Failure::refused(format!("cannot list network interfaces: {e}")))?;
    let routes = os::link::default_route_interfaces().unwrap_or_default();
    let cards = os::doctor::network_cards();
    if as_json {
        let links = links.iter().map(|l| link_json(l, &routes));
        let pci = cards.iter().map(|card| {
            json!({"device": card.address, "driver": card.driver, "interface": card.netdev, "ready": card.is_bypass()})
        });
        let all = json!({"interfaces": links.collect::<Vec<_>>(), "pci": pci.collect::<Vec<_>>()});
        println!("{all:#}");
        return Ok(Exit::Done);
    }
    let rows = links.iter().filter(|l| !l.loopback).map(|l| link_row(l, &routes));
    println!("kernel interfaces (afpacket:NAME or afxdp:NAME)");
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
    println!(
        "\nalways available: ring:a and ring:b (in-process pair), null, memif:SOCKET[,server], tap:NAME, vhost:SOCKET,"
    );
    println!("virtio:SOCKET, pcap:IN,OUT, vdev:ANYTHING");
    Ok(Exit::Done)
}

fn speed(link: &LinkFacts) -> String {
    link.speed_bps.map_or_else(|| "-".to_owned(), |bps| crate::summary::si(bps as f64) + "bps")
}

fn link_row(link: &LinkFacts, routes: &[String]) -> Vec<String> {
    let note = if routes.contains(&link.name) { "default route: needs allow_default_route" } else { "" };
    vec![
        link.name.clone(),
        if link.up { "up" } else { "down" }.to_owned(),
        link.mtu.to_string(),
        speed(link),
        link.driver.clone().or_else(|| link.kind.clone()).unwrap_or_else(|| "-".to_owned()),
        note.to_owned(),
    ]
}

fn link_json(link: &LinkFacts, routes: &[String]) -> serde_json::Value {
    json!({
        "name": link.name, "up": link.up, "mtu": link.mtu, "speed_bps": link.speed_bps, "driver": link.driver,
        "kind": link.kind, "numa_node": link.numa_node, "default_route": routes.contains(&link.name),
    })
}

/// `eagre doctor`.
pub(crate) fn doctor(as_json: bool) -> Result<Exit, Failure> {
    if as_json {
        println!("{:#}", campaign::findings());
    } else {
        print!("{}", os::doctor::render(&os::doctor::examine()));
    }
    Ok(Exit::Done)
}
