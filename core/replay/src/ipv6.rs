//! Captured IPv4 packets as IPv6.
//!
//! Invariant: a checksum of TCP or UDP that was right is right afterwards, one that was wrong stays wrong.

use crate::frame::link_len;
use crate::{Frames, ReplayError};
use wire::checksum;

/// EtherTypes.
const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];
/// Header lengths, bytes.
const IPV4_LEN: usize = 20;
const IPV6_LEN: usize = 40;
/// The prefix of addresses that stand for IPv4's (RFC 6052 section 2.1): 64:ff9b::/96.
const PREFIX: [u8; 12] = [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0];

/// Protocols, and where in their header the checksum is.
const SUMS: [(u8, usize); 2] = [(TCP, 16), (UDP, 6)];
const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;

impl Frames {
    /// Makes IPv4 packets IPv6: addresses get the prefix 64:ff9b::/96, type of service and time to live stay. Other packets stay as
    /// they are. Returns how many packets are different.
    ///
    /// # Errors
    /// A packet that has no counterpart: a fragment, one with options, ICMP.
    pub fn make_ipv6(&mut self) -> Result<u64, ReplayError> {
        let mut changed = 0;
        for (index, frame) in self.all.iter_mut().enumerate() {
            let made = converted(&frame.bytes).map_err(|reason| ReplayError::Template {
                reason: format!("packet {}: {reason}", index + 1),
            })?;
            let Some(made) = made else { continue };
            let grown = made.len() as i64 - frame.bytes.len() as i64;
            frame.resize(made, grown);
            changed += 1;
        }
        Ok(changed)
    }
}

/// The frame with an IPv6 header, without padding; `None` if it has no IPv4 header.
fn converted(frame: &[u8]) -> Result<Option<Vec<u8>>, &'static str> {
    let begin = link_len(frame);
    let kind = frame.get(begin.saturating_sub(2)..begin);
    let Some(ip) = frame.get(begin..begin + IPV4_LEN).filter(|_| kind == Some(&IPV4)) else {
        return Ok(None);
    };
    let length = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
    if ip[0] != 0x45 || length < IPV4_LEN {
        return Err("it has IPv4 options, which IPv6 has not");
    }
    if u16::from_be_bytes([ip[6], ip[7]]) & 0x3fff != 0 {
        return Err("it is an IPv4 fragment; only whole packets become IPv6");
    }
    if ip[9] == ICMP {
        return Err("it is ICMP, which IPv6 has not");
    }
    let end = frame.len().min(begin + length);
    let mut made = Vec::with_capacity(end + IPV6_LEN - IPV4_LEN);
    made.extend_from_slice(&frame[..begin - 2]);
    made.extend(IPV6);
    made.extend([0x60 | ip[1] >> 4, ip[1] << 4, 0, 0]);
    made.extend(((length - IPV4_LEN) as u16).to_be_bytes());
    made.extend([ip[9], ip[8]]);
    for address in [&ip[12..16], &ip[16..20]] {
        made.extend(PREFIX);
        made.extend_from_slice(address);
    }
    made.extend_from_slice(&frame[begin + IPV4_LEN..end]);
    let sum = SUMS.iter().find(|(protocol, _)| *protocol == ip[9]).map(|(_, at)| begin + IPV6_LEN + at);
    if let Some(field) = sum.and_then(|at| made.get_mut(at..at + 2)).filter(|field| **field != [0, 0]) {
        // RFC 1624 equation 3; the pseudo-header grows by both prefixes.
        let before = u16::from_be_bytes([field[0], field[1]]);
        let after = match checksum::finish(u64::from(!before) + 2 * checksum::sum(&PREFIX, 0)) {
            // RFC 8200 section 8.1: a checksum of UDP that comes to zero is all ones.
            0 if ip[9] == UDP => 0xffff,
            after => after,
        };
        field.copy_from_slice(&after.to_be_bytes());
    }
    Ok(Some(made))
}

#[cfg(test)]
mod tests {
    use crate::testing::*;
    use crate::{CaptureOptions, Frames};
    use wire::{PacketSpec, checksums, read};

    fn made(frame: Vec<u8>) -> Result<(Vec<u8>, u64), String> {
        let mut frames = Frames::new(&capture([frame]), &CaptureOptions::default()).unwrap();
        let changed = frames.make_ipv6().map_err(|error| error.to_string())?;
        Ok((frames.all[0].bytes.clone(), changed))
    }

    fn packet(protocol: &str, tags: usize) -> Vec<u8> {
        let mut headers = vec![header("ethernet", &[])];
        headers.extend((0..tags).map(|_| header("vlan", &[])));
        headers
            .push(header("ipv4", &[("src", "10.0.0.1"), ("dst", "10.9.8.7"), ("ttl", "33"), ("ecn", "2")]));
        headers.push(header(protocol, &[("src", "5"), ("dst", "6")]));
        PacketSpec { headers, payload: b"payload".to_vec(), ..PacketSpec::default() }
            .build_unpadded()
            .unwrap()
            .bytes
    }

    #[test]
    fn packets_become_ipv6_with_right_sums() {
        for (protocol, tags) in [("udp", 0), ("tcp", 0), ("udp", 1), ("tcp", 2)] {
            let before = packet(protocol, tags);
            // Padding does not become payload.
            let (after, changed) = made([&before[..], &[0; 9]].concat()).unwrap();
            assert_eq!((after.len(), changed), (before.len() + 20, 1), "{protocol}");
            let headers = read(&after).0;
            let ip = headers.iter().find(|header| header.protocol.name == "ipv6").unwrap();
            let values = ["hop_limit", "ecn"].map(|name| ip.value(name).unwrap());
            assert_eq!(values, [33, 2]);
            assert_eq!(ip.value("src").unwrap(), 0x0064_ff9b << 96 | 0x0a00_0001);
            let mut again = after.clone();
            checksums(&again.clone()).iter().for_each(|sum| sum.write(&mut again));
            assert_eq!(again, after, "{protocol}");
            assert_eq!(&after[after.len() - 7..], b"payload");
        }
    }

    #[test]
    fn what_has_no_counterpart_is_refused_and_what_is_no_ipv4_stays() {
        let mut fragment = packet("udp", 0);
        fragment[20] = 0x20;
        let icmp = frame(vec![header("ethernet", &[]), header("ipv4", &[]), header("icmp", &[])]);
        let mut options = packet("udp", 0);
        options[14] = 0x46;
        for (frame, reason) in [(fragment, "an IPv4 fragment"), (icmp, "ICMP"), (options, "options")] {
            let error = made(frame).unwrap_err();
            assert!(error.starts_with("packet 1: ") && error.contains(reason), "{error}");
        }
        let arp = frame(vec![header("ethernet", &[]), header("arp", &[])]);
        assert_eq!(made(arp.clone()).unwrap(), (arp, 0));
        let mut zero = packet("udp", 0);
        zero[40..42].fill(0);
        assert_eq!(made(zero).unwrap().0[60..62], [0, 0]);
    }
}
