//! Frames of any bytes to the table that selects their control plane: its result fits the frame.
//!
//! The first byte of an input chooses the protocols that pass; the rest is the frame.

use neighbour::{Host, PuntTable, PuntTo, vlan_tags};
use std::net::IpAddr;
use wire::control::{ControlFilter, ETHERTYPE_AT, control_protocols, control_rules, tags};

const VLANS: [&[u16]; 4] = [&[], &[7], &[7], &[7, 8]];

/// Checks one input; panics if something does not hold.
pub fn check(data: &[u8]) {
    let Some((which, frame)) = data.split_first() else { return };
    let names: Vec<&str> = control_protocols().chain(["any", "mac:01:80:c2:00:00:0e", "ip:4"]).collect();
    let rules = control_rules(names[usize::from(*which) % names.len()]).expect("a protocol");
    let filter = ControlFilter::new(&rules);
    let table = PuntTable::new(filter.clone(), &hosts());
    let Some(found) = table.find(frame) else {
        // Of a host's own frames none passes the other way that would not pass this one.
        let is_untagged = tags(frame).is_some_and(|(_, n)| n == 0);
        let is_ours = frame.get(..6).is_some_and(|to| to == hosts()[0].mac);
        assert!(!(is_untagged && is_ours && table.may_send(frame)));
        return;
    };
    let (ids, n) = tags(frame).expect("tags that could be read");
    assert_eq!(found.tag_bytes, 4 * n);
    let vlans: Vec<u16> = ids[..n].iter().copied().filter(|id| *id != 0).collect();
    let members: Vec<usize> = match found.to {
        PuntTo::Host(host) => {
            assert_eq!(hosts()[usize::from(host)].mac, frame[..6]);
            vec![usize::from(host)]
        }
        PuntTo::Group(group) => {
            assert_eq!(frame[0] & 1, 1, "not to a group");
            table.members(group).collect()
        }
    };
    assert!(!members.is_empty());
    assert!(members.iter().all(|host| VLANS[*host] == vlans), "another VLAN");
    let bare = [&frame[..ETHERTYPE_AT], &frame[ETHERTYPE_AT + found.tag_bytes..]].concat();
    assert!(table.may_send(&bare), "passes one way and not the other");
    // With more rules no frame passes less.
    let more = ControlFilter::new(&[rules, control_rules("bgp").expect("a protocol")].concat());
    assert!(filter.matches(&bare, ETHERTYPE_AT) && more.matches(&bare, ETHERTYPE_AT));
}

fn hosts() -> Vec<Host> {
    let host = |(last, vlans): (u8, &[u16])| {
        let ip = IpAddr::from([10, 0, 0, last]);
        Host {
            mac: [2, 0, 0, 0, 0, last],
            vlans: vlans.into(),
            addresses: vec![ip],
            networks: Vec::new(),
            answers_for: vec![ip..=ip],
        }
    };
    (1..).zip(VLANS).map(host).collect()
}

/// Frames of several protocols, tagged and not, to a host and to a group.
pub fn seeds() -> Vec<Vec<u8>> {
    let ospf = [&[8, 0, 0x45, 0, 0, 44, 0, 0, 0, 0, 1, 89][..], &[0; 34]].concat();
    let bgp = [&[8, 0, 0x46, 0, 0, 44, 0, 0, 0, 0, 1, 6][..], &[0; 14], &[0, 179, 4, 0], &[0; 16]].concat();
    let v6 = [&[0x86, 0xdd, 0x60, 0, 0, 0, 0, 16, 0, 1][..], &[0; 32], &[17, 0], &[0; 6], &[2, 35], &[0; 6]]
        .concat();
    let isis = [&[0, 20, 0xfe, 0xfe, 3][..], &[0; 40]].concat();
    let lldp = [&[0x88, 0xcc][..], &[0; 46]].concat();
    let mut seeds = Vec::new();
    for (which, inner) in [ospf, bgp, v6, isis, lldp].iter().enumerate() {
        for (to, vlans) in [
            ([2, 0, 0, 0, 0, 1], &[][..]),
            ([2, 0, 0, 0, 0, 4], &[7, 8]),
            ([1, 0x80, 0xc2, 0, 0, 0x0e], &[7]),
        ] {
            // 'any' is behind the protocols with a name.
            for rule in [17, which as u8 * 3] {
                let head = [&[rule][..], &to, &[2, 0, 0, 0, 0, 9]].concat();
                seeds.push([&head[..], &vlan_tags(&vlans.into()), inner].concat());
            }
        }
    }
    seeds
}
