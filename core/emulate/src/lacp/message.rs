//! LACPDUs and marker PDUs (clauses 6.4.2.3 and 6.5.3.3).
//!
//! Invariant: what is written is read back as it was.

use crate::frame::{Link, Mac, pair};
use wire::Vlans;
use wire::control::ETHERTYPE_AT;

/// Type and destination of frames of slow protocols (IEEE 802.3 annex 57A).
pub(super) const ETHERTYPE: u16 = 0x8809;
pub(super) const GROUP: Mac = [0x01, 0x80, 0xc2, 0, 0, 0x02];
/// Bytes of a LACPDU or a marker PDU, from its subtype on.
pub(super) const PDU: usize = 110;
/// Subtypes of slow protocols.
pub(super) const SUBTYPE_LACP: u8 = 1;
pub(super) const SUBTYPE_MARKER: u8 = 2;
const VERSION: u8 = 1;
/// Types and lengths of TLVs, and where they begin.
const ACTOR: (u8, u8, usize) = (1, 20, 2);
const PARTNER: (u8, u8, usize) = (2, 20, 22);
const COLLECTOR: (u8, u8, usize) = (3, 16, 42);
const MARKER_LEN: u8 = 16;
const MARKER: u8 = 1;
const MARKER_RESPONSE: u8 = 2;

impl Link<'_> {
    /// A frame of a slow protocol, of the port with the hardware address `from`.
    pub(super) fn slow(from: Mac, message: &[u8]) -> Vec<u8> {
        Link { from, to: GROUP, vlans: &Vlans::NONE }.direct(ETHERTYPE, message)
    }
}

/// Whether a frame is of a slow protocol: a look at its type alone. Such frames are for ports, not for hosts.
pub fn is_slow(frame: &[u8]) -> bool {
    pair(frame, ETHERTYPE_AT) == Some(ETHERTYPE)
}

/// State of one end of a link, a bit for each property (clause 6.4.2.3.2).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LacpState(pub u8);

impl LacpState {
    /// It sends LACPDUs whatever its partner does.
    pub const ACTIVITY: Self = Self(1);
    /// It wants LACPDUs at the fast rate.
    pub const TIMEOUT: Self = Self(1 << 1);
    /// It can be one of several links.
    pub const AGGREGATION: Self = Self(1 << 2);
    /// It is attached to the right aggregator.
    pub const SYNCHRONIZATION: Self = Self(1 << 3);
    /// It takes in frames.
    pub const COLLECTING: Self = Self(1 << 4);
    /// It sends frames.
    pub const DISTRIBUTING: Self = Self(1 << 5);
    /// Its information about its partner is the default.
    pub const DEFAULTED: Self = Self(1 << 6);
    /// Its partner has fallen silent.
    pub const EXPIRED: Self = Self(1 << 7);

    const NAMES: [&'static str; 8] = [
        "activity",
        "timeout",
        "aggregation",
        "synchronization",
        "collecting",
        "distributing",
        "defaulted",
        "expired",
    ];

    /// Whether all bits of `other` are set.
    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The same with the bits of `other` set or not.
    #[must_use]
    pub fn with(self, other: Self, on: bool) -> Self {
        Self(if on { self.0 | other.0 } else { self.0 & !other.0 })
    }

    /// Names of the bits that are set.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let is_set = move |(bit, _): &(usize, &'static str)| self.0 >> bit & 1 != 0;
        Self::NAMES.into_iter().enumerate().filter(is_set).map(|(_, name)| name)
    }
}

/// One end of a link: identity and state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LacpEnd {
    /// Priority of the system; a lower one goes first.
    pub system_priority: u16,
    /// The system.
    pub system: Mac,
    /// Links of one system with one key may be one lag.
    pub key: u16,
    /// Priority of the port in the system.
    pub port_priority: u16,
    /// Number of the port in the system.
    pub port: u16,
    /// State.
    pub state: LacpState,
}

impl LacpEnd {
    /// Whether it is the same port, of the same system, with the same key, and likewise aggregatable (clause 6.4.9, `choose_Matched`).
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let who = |end: &Self| Self { state: LacpState(end.state.0 & LacpState::AGGREGATION.0), ..*end };
        who(self) == who(other)
    }

    fn write(&self, out: &mut Vec<u8>, (kind, len, at): (u8, u8, usize)) {
        out.extend([kind, len]);
        out.extend(self.system_priority.to_be_bytes());
        out.extend(self.system);
        out.extend(self.key.to_be_bytes());
        out.extend(self.port_priority.to_be_bytes());
        out.extend(self.port.to_be_bytes());
        out.push(self.state.0);
        out.resize(at + usize::from(len), 0);
    }

    fn read(message: &[u8], (kind, len, at): (u8, u8, usize)) -> Option<Self> {
        let tlv: &[u8; 17] = message.get(at..)?.first_chunk()?;
        let [k, l, sp0, sp1, system @ .., k0, k1, pp0, pp1, p0, p1, state] = *tlv;
        (k == kind && l == len).then_some(Self {
            system_priority: u16::from_be_bytes([sp0, sp1]),
            system,
            key: u16::from_be_bytes([k0, k1]),
            port_priority: u16::from_be_bytes([pp0, pp1]),
            port: u16::from_be_bytes([p0, p1]),
            state: LacpState(state),
        })
    }
}

/// A LACPDU of version 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LacpPdu {
    /// The sender.
    pub actor: LacpEnd,
    /// The sender's information about its partner.
    pub partner: LacpEnd,
}

impl LacpPdu {
    /// Its bytes from the subtype on. Collectors here hand on at once: their delay is 0.
    pub fn write(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(PDU);
        out.extend([SUBTYPE_LACP, VERSION]);
        self.actor.write(&mut out, ACTOR);
        self.partner.write(&mut out, PARTNER);
        out.extend([COLLECTOR.0, COLLECTOR.1]);
        out.resize(PDU, 0);
        out
    }

    /// The LACPDU in these bytes; `None` if it is short, or a TLV is not where version 1 has it. A later version is read like
    /// version 1 (clause 6.4.2.3.2).
    pub fn read(message: &[u8]) -> Option<Self> {
        let is_collector = message.get(COLLECTOR.2..)?.starts_with(&[COLLECTOR.0, COLLECTOR.1]);
        let is_lacp = message.len() >= PDU && message[0] == SUBTYPE_LACP && message[1] >= VERSION;
        if !is_lacp || !is_collector {
            return None;
        }
        Some(Self { actor: LacpEnd::read(message, ACTOR)?, partner: LacpEnd::read(message, PARTNER)? })
    }
}

/// Purpose of a marker PDU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Marker {
    /// A marker, whose response has these bytes.
    Asks(Vec<u8>),
    /// A marker response.
    Answers,
}

impl Marker {
    /// The marker PDU in these bytes; `None` if it is malformed.
    pub(super) fn read(message: &[u8]) -> Option<Self> {
        let pdu = message.get(..PDU)?;
        match *pdu {
            [SUBTYPE_MARKER, VERSION..=u8::MAX, MARKER, MARKER_LEN, ..] => {
                // Clause 6.5.4.2: the same with another type.
                let mut answer = pdu.to_vec();
                answer[2] = MARKER_RESPONSE;
                Some(Self::Asks(answer))
            }
            [SUBTYPE_MARKER, VERSION..=u8::MAX, MARKER_RESPONSE, MARKER_LEN, ..] => Some(Self::Answers),
            _ => None,
        }
    }
}
