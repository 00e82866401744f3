//! Which receive queue of a script a frame belongs to: filters and hashes that network cards have, in software.
//!
//! Invariant: the first rule that matches decides; without one, the hash over addresses and ports, or queue 0.

/// A filter of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Frames with this EtherType.
    EtherType(u16),
    /// UDP packets whose payload begins with this PTP message type and version (IEEE 1588 section 13.3).
    UdpPtp { kind: u8, version: u8 },
    /// All UDP packets.
    Udp,
    /// Addresses, ports and protocol under masks.
    FiveTuple { want: Tuple, mask: Tuple },
}

/// Identity of an IPv4 flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Tuple {
    pub(crate) src: u32,
    pub(crate) dst: u32,
    pub(crate) src_port: u16,
    pub(crate) dst_port: u16,
    pub(crate) protocol: u8,
}

impl Tuple {
    fn masked(self, mask: Self) -> Self {
        Self {
            src: self.src & mask.src,
            dst: self.dst & mask.dst,
            src_port: self.src_port & mask.src_port,
            dst_port: self.dst_port & mask.dst_port,
            protocol: self.protocol & mask.protocol,
        }
    }
}

/// Where frames of a device go.
#[derive(Debug, Clone, Default)]
pub(crate) struct Steering {
    /// With the queue's number; a negative one drops.
    pub(crate) rules: Vec<(Rule, i32)>,
    pub(crate) rss_queues: u32,
    pub(crate) rss_base: u32,
}

/// Rules of one device at most.
const RULES_MAX: usize = 256;

impl Steering {
    /// Adds a rule; one with the same condition is replaced. False if there are too many.
    pub(crate) fn add(&mut self, rule: Rule, queue: i32) -> bool {
        if let Some(old) = self.rules.iter_mut().find(|(old, _)| *old == rule) {
            old.1 = queue;
            return true;
        }
        let fits = self.rules.len() < RULES_MAX;
        if fits {
            self.rules.push((rule, queue));
        }
        fits
    }

    /// The queue of a frame, negative if it is to be dropped, and its hash.
    pub(crate) fn queue_of(&self, frame: &[u8]) -> (i32, u32) {
        if self.rules.is_empty() && self.rss_queues < 2 {
            return (0, 0);
        }
        let view = View::of(frame);
        let matching = self.rules.iter().find(|(rule, _)| view.matches(rule));
        let hash = if self.rss_queues > 1 { view.hash() } else { 0 };
        let queue = match matching {
            Some((_, queue)) => *queue,
            None if self.rss_queues > 1 => (self.rss_base + hash % self.rss_queues).cast_signed(),
            None => 0,
        };
        (queue, hash)
    }
}

/// Fields used by rules.
struct View<'f> {
    ether_type: u16,
    tuple: Option<Tuple>,
    payload: &'f [u8],
}

impl<'f> View<'f> {
    fn of(frame: &'f [u8]) -> Self {
        let word = |at: usize| frame.get(at..at + 2).map_or(0, |b| u16::from_be_bytes([b[0], b[1]]));
        let ether_type = word(12);
        let mut view = View { ether_type, tuple: None, payload: &[] };
        let l4 = match (ether_type, frame.get(14)) {
            (0x0800, Some(first)) => 14 + usize::from(first & 15) * 4,
            (0x86dd, _) => 54,
            _ => return view,
        };
        let Some(header) = frame.get(14..l4).filter(|header| header.len() >= 20) else { return view };
        let long =
            |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let (src, dst, protocol) = if ether_type == 0x0800 {
            (long(12), long(16), header[9])
        } else {
            let fold = |from: usize| (from..from + 16).step_by(4).fold(0, |all, at| all ^ long(at));
            (fold(8), fold(24), header[6])
        };
        // Fragments but the first have no ports.
        let has_ports = matches!(protocol, 6 | 17 | 132) && (ether_type != 0x0800 || word(20) & 0x1fff == 0);
        let (src_port, dst_port) = if has_ports { (word(l4), word(l4 + 2)) } else { (0, 0) };
        view.tuple = Some(Tuple { src, dst, src_port, dst_port, protocol });
        if has_ports && protocol == 17 {
            view.payload = frame.get(l4 + 8..).unwrap_or_default();
        }
        view
    }

    fn is_udp(&self) -> bool {
        self.tuple.is_some_and(|tuple| tuple.protocol == 17)
    }

    fn matches(&self, rule: &Rule) -> bool {
        match *rule {
            Rule::EtherType(wanted) => self.ether_type == wanted,
            Rule::Udp => self.is_udp(),
            Rule::UdpPtp { kind, version } => {
                self.is_udp()
                    && self.payload.get(..2).is_some_and(|start| start[0] == kind && start[1] == version)
            }
            Rule::FiveTuple { want, mask } => {
                self.ether_type == 0x0800
                    && self.tuple.is_some_and(|tuple| tuple.masked(mask) == want.masked(mask))
            }
        }
    }

    /// A hash over addresses and ports (murmur's finalizer); not Toeplitz', which scripts cannot see.
    fn hash(&self) -> u32 {
        let Some(tuple) = self.tuple else { return 0 };
        let ports = u64::from(tuple.src_port) << 16 | u64::from(tuple.dst_port);
        let mut all =
            (u64::from(tuple.src) << 32 | u64::from(tuple.dst)) ^ ports.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        all ^= all >> 33;
        all = all.wrapping_mul(0xff51_afd7_ed55_8ccd);
        all ^= all >> 33;
        all as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn udp(src_port: u16, dst_port: u16, payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![0; 42];
        frame[12..14].copy_from_slice(&[8, 0]);
        frame[14] = 0x45;
        frame[23] = 17;
        frame[26..34].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        frame[34..36].copy_from_slice(&src_port.to_be_bytes());
        frame[36..38].copy_from_slice(&dst_port.to_be_bytes());
        frame.extend_from_slice(payload);
        frame
    }

    #[test]
    fn the_first_rule_that_matches_decides() {
        let mut steering = Steering::default();
        assert!(steering.add(Rule::EtherType(0x0806), 2));
        assert!(steering.add(Rule::UdpPtp { kind: 0, version: 2 }, 1));
        let want = Tuple { dst_port: 53, ..Tuple::default() };
        let mask = Tuple { dst_port: 0xffff, ..Tuple::default() };
        assert!(steering.add(Rule::FiveTuple { want, mask }, -1));
        assert_eq!(steering.queue_of(&udp(1, 2, &[0, 2])).0, 1);
        assert_eq!(steering.queue_of(&udp(1, 53, &[0, 2])).0, 1);
        assert_eq!(steering.queue_of(&udp(1, 53, &[])).0, -1);
        assert_eq!(steering.queue_of(&udp(1, 2, &[0, 1])).0, 0);
        let mut arp = vec![0; 60];
        arp[12..14].copy_from_slice(&[8, 6]);
        assert_eq!(steering.queue_of(&arp).0, 2);
    }

    #[test]
    fn flows_spread_and_stay_together() {
        let steering = Steering { rss_queues: 4, rss_base: 1, ..Steering::default() };
        let mut seen = [0; 5];
        for port in 0..1000 {
            let queue = steering.queue_of(&udp(port, 9, &[])).0;
            assert_eq!(steering.queue_of(&udp(port, 9, &[1, 2, 3])).0, queue);
            seen[queue as usize] += 1;
        }
        assert_eq!(seen[0], 0);
        assert!(seen[1..].iter().all(|&n| n > 150), "{seen:?}");
    }

    #[test]
    fn any_bytes_are_taken() {
        let mut steering = Steering { rss_queues: 3, ..Steering::default() };
        steering.add(Rule::UdpPtp { kind: 0, version: 2 }, 1);
        let whole = udp(1, 2, &[0, 2]);
        for len in 0..whole.len() {
            for first in 0..=255 {
                let mut frame = whole[..len].to_vec();
                if let Some(byte) = frame.get_mut(14) {
                    *byte = first;
                }
                steering.queue_of(&frame);
            }
        }
    }
}
