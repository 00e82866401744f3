//! DHCPv6 messages as bytes (RFC 8415 sections 8 and 21).
//!
//! Invariant: options are read within the option they are in; an unknown option is passed over.

use crate::frame::{Link, Mac, group_mac, link_local};
use std::net::Ipv6Addr;
use wire::Vlans;

/// Ports of servers and clients, and the destination of clients' messages (RFC 8415 section 7).
const SERVER_PORT: u16 = 547;
pub(crate) const CLIENT_PORT: u16 = 546;
const ALL_SERVERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 1, 2);

impl Link<'_> {
    /// A message of the client with the hardware address `from`, to all servers.
    pub(super) fn dhcp6(from: Mac, vlans: &Vlans, message: &[u8]) -> Vec<u8> {
        let link = Link { from, to: group_mac(ALL_SERVERS), vlans };
        link.udp6((link_local(from), CLIENT_PORT), (ALL_SERVERS, SERVER_PORT), message)
    }
}

/// Type of a message (RFC 8415 section 7.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the RFC")]
pub enum MessageType6 {
    Solicit = 1,
    Advertise = 2,
    Request = 3,
    Renew = 5,
    Rebind = 6,
    Reply = 7,
    Release = 8,
    Decline = 9,
}

/// Numbers of options.
pub(super) mod option {
    pub(crate) const CLIENT_ID: u16 = 1;
    pub(crate) const SERVER_ID: u16 = 2;
    pub(crate) const IA_NA: u16 = 3;
    pub(crate) const IA_ADDRESS: u16 = 5;
    pub(crate) const OPTION_REQUEST: u16 = 6;
    pub(crate) const PREFERENCE: u16 = 7;
    pub(crate) const ELAPSED: u16 = 8;
    pub(crate) const STATUS: u16 = 13;
    pub(crate) const RAPID_COMMIT: u16 = 14;
    pub(crate) const IA_PD: u16 = 25;
    pub(crate) const IA_PREFIX: u16 = 26;
    pub(crate) const SOL_MAX_RT: u16 = 82;
}

/// Status codes (RFC 8415 section 21.13).
pub(super) mod status {
    pub(crate) const SUCCESS: u16 = 0;
    pub(crate) const NO_BINDING: u16 = 3;
    pub(crate) const UNSPECIFIED: u16 = 1;
}

/// Each client has one of each kind.
pub(super) const IAID: u32 = 1;
/// A DUID of a hardware address (RFC 8415 section 11.4) of an Ethernet.
const DUID_LL: [u8; 4] = [0, 3, 0, 1];
/// The longest DUID (RFC 8415 section 11.1).
const DUID_MAX: usize = 130;

/// An address or a prefix, and how long it may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) ip: Ipv6Addr,
    /// 128 for an address.
    pub(super) len: u8,
    pub(super) preferred_s: u32,
    pub(super) valid_s: u32,
}

/// An identity association of the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Association {
    pub(super) t1_s: u32,
    pub(super) t2_s: u32,
    pub(super) status: u16,
    pub(super) values: Vec<Value>,
}

/// A message of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message6<'f> {
    /// Of the exchange.
    pub xid: u32,
    /// ADVERTISE or REPLY.
    pub kind: MessageType6,
    /// Hardware address in the client's DUID.
    pub client: Mac,
    /// The server's DUID.
    pub server: &'f [u8],
    /// Preference of the server.
    pub preference: u8,
    pub(super) is_rapid: bool,
    pub(super) status: u16,
    pub(super) address: Option<Association>,
    pub(super) prefix: Option<Association>,
    /// Longest time between two SOLICIT messages, s (RFC 8415 section 21.24).
    pub(super) solicit_max_s: Option<u32>,
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn ip(bytes: &[u8], at: usize) -> Option<Ipv6Addr> {
    Some(Ipv6Addr::from(*bytes.get(at..)?.first_chunk::<16>()?))
}

/// Calls `each` with the number and the value of each option; `None` if one is cut off.
fn options<'f>(mut rest: &'f [u8], mut each: impl FnMut(u16, &'f [u8])) -> Option<()> {
    while !rest.is_empty() {
        let (number, len) = (half(rest, 0)?, half(rest, 2)?);
        let (value, behind) = rest[4..].split_at_checked(len.into())?;
        each(number, value);
        rest = behind;
    }
    Some(())
}

impl<'f> Message6<'f> {
    /// The message of a server in a datagram; `None` if it is none, is cut off, or is for no client with a DUID of a hardware
    /// address.
    pub fn read(payload: &'f [u8]) -> Option<Self> {
        let head = word(payload, 0)?;
        let kind = match head >> 24 {
            2 => MessageType6::Advertise,
            7 => MessageType6::Reply,
            _ => return None,
        };
        let (mut client, mut server) = (None, None);
        let mut message = Self {
            xid: head & 0x00ff_ffff,
            kind,
            client: [0; 6],
            server: &[],
            preference: 0,
            is_rapid: false,
            status: status::SUCCESS,
            address: None,
            prefix: None,
            solicit_max_s: None,
        };
        options(&payload[4..], |number, value| match number {
            option::CLIENT_ID => client = value.strip_prefix(&DUID_LL).and_then(|mac| mac.try_into().ok()),
            option::SERVER_ID => server = Some(value).filter(|duid| (3..=DUID_MAX).contains(&duid.len())),
            option::PREFERENCE => message.preference = value.first().copied().unwrap_or(0),
            option::STATUS => message.status = half(value, 0).unwrap_or(status::UNSPECIFIED),
            option::RAPID_COMMIT => message.is_rapid = true,
            option::SOL_MAX_RT => message.solicit_max_s = word(value, 0),
            option::IA_NA => take(&mut message.address, value, option::IA_ADDRESS),
            option::IA_PD => take(&mut message.prefix, value, option::IA_PREFIX),
            _ => {}
        })?;
        (message.client, message.server) = (client?, server?);
        Some(message)
    }
}

/// Takes the client's association, the first one there is.
fn take(place: &mut Option<Association>, value: &[u8], of: u16) {
    if place.is_none() {
        *place = Association::read(value, of);
    }
}

impl Association {
    /// One of the client; `None` if it is cut off, or its times are out of order (RFC 8415 section 21.4).
    fn read(bytes: &[u8], of: u16) -> Option<Self> {
        let (iaid, t1_s, t2_s) = (word(bytes, 0)?, word(bytes, 4)?, word(bytes, 8)?);
        let mut association = Self { t1_s, t2_s, status: status::SUCCESS, values: Vec::new() };
        options(&bytes[12..], |number, value| match number {
            option::STATUS => association.status = half(value, 0).unwrap_or(status::UNSPECIFIED),
            number if number == of => association.values.extend(Value::read(value, of)),
            _ => {}
        })?;
        (iaid == IAID && (t1_s <= t2_s || t2_s == 0)).then_some(association)
    }

    /// The address to use: `own` if it is there and valid, or the first that is.
    pub(super) fn usable(&self, own: Ipv6Addr) -> Option<Value> {
        let mut valid = self.values.iter().filter(|value| value.valid_s > 0).copied();
        let first = valid.clone().next();
        valid.find(|value| value.ip == own).or(first)
    }
}

impl Value {
    /// An address or prefix; `None` if it would be preferred for longer than it is valid (RFC 8415 section 21.6).
    fn read(bytes: &[u8], of: u16) -> Option<Self> {
        let (ip, len, preferred_s, valid_s) = if of == option::IA_ADDRESS {
            (ip(bytes, 0)?, 128, word(bytes, 16)?, word(bytes, 20)?)
        } else {
            (ip(bytes, 9)?, *bytes.get(8)?, word(bytes, 0)?, word(bytes, 4)?)
        };
        let host = u128::MAX.checked_shr(len.into()).unwrap_or(0);
        let ip = if of == option::IA_ADDRESS { ip } else { Ipv6Addr::from(u128::from(ip) & !host) };
        let fits =
            preferred_s <= valid_s && (1..=128).contains(&len) && !ip.is_unspecified() && !ip.is_multicast();
        fits.then_some(Self { ip, len, preferred_s, valid_s })
    }
}

/// A client's message under construction.
#[derive(Debug)]
pub(super) struct Draft(Vec<u8>);

impl Draft {
    /// `elapsed`: hundredths of seconds since the exchange began.
    pub(super) fn new(kind: MessageType6, client: Mac, xid: u32, elapsed: u16) -> Self {
        let mut draft = Self((u32::from(kind as u8) << 24 | xid & 0x00ff_ffff).to_be_bytes().to_vec());
        draft.option(option::CLIENT_ID, &[&DUID_LL[..], &client].concat());
        draft.option(option::ELAPSED, &elapsed.to_be_bytes());
        draft
    }

    pub(super) fn option(&mut self, number: u16, value: &[u8]) {
        self.0.extend(number.to_be_bytes());
        self.0.extend((value.len() as u16).to_be_bytes());
        self.0.extend(value);
    }

    /// An association for an address, and the address if there is one.
    pub(super) fn address(&mut self, ip: Option<Ipv6Addr>) {
        let mut value = [IAID, 0, 0].map(u32::to_be_bytes).concat();
        if let Some(ip) = ip {
            value.extend(option::IA_ADDRESS.to_be_bytes());
            value.extend([0, 24]);
            value.extend(ip.octets());
            value.extend([0; 8]);
        }
        self.option(option::IA_NA, &value);
    }

    /// An association for a prefix: unspecified, but for its length, if there is none yet.
    pub(super) fn prefix(&mut self, prefix: Ipv6Addr, len: u8) {
        let mut value = [IAID, 0, 0].map(u32::to_be_bytes).concat();
        value.extend(option::IA_PREFIX.to_be_bytes());
        value.extend([0, 25]);
        value.extend([0; 8]);
        value.push(len);
        value.extend(prefix.octets());
        self.option(option::IA_PD, &value);
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ADVERTISE made of a draft: it has the same form both ways.
    fn advertise(edit: impl FnOnce(&mut Draft)) -> Vec<u8> {
        let mut draft = Draft::new(MessageType6::Advertise, [2, 0, 0, 0, 0, 9], 0x0012_3456, 0);
        draft.option(option::SERVER_ID, &[0, 3, 0, 1, 2, 0, 0, 0, 0, 1]);
        edit(&mut draft);
        draft.finish()
    }

    fn association(t1: u32, t2: u32, of: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = [IAID, t1, t2].map(u32::to_be_bytes).concat();
        bytes.extend(of.to_be_bytes());
        bytes.extend((value.len() as u16).to_be_bytes());
        bytes.extend(value);
        bytes
    }

    #[test]
    fn options_are_read() {
        let address: Ipv6Addr = "2001:db8::9".parse().unwrap();
        let value = [&address.octets()[..], &60u32.to_be_bytes(), &90u32.to_be_bytes()].concat();
        let prefix: Ipv6Addr = "2001:db8:7:ff::".parse().unwrap();
        let part = [&50u32.to_be_bytes()[..], &80u32.to_be_bytes(), &[56], &prefix.octets()].concat();
        let bytes = advertise(|draft| {
            draft.option(option::PREFERENCE, &[7]);
            draft.option(999, &[1, 2, 3]);
            draft.option(option::IA_NA, &association(30, 48, option::IA_ADDRESS, &value));
            draft.option(option::IA_PD, &association(0, 0, option::IA_PREFIX, &part));
            draft.option(option::SOL_MAX_RT, &120u32.to_be_bytes());
        });
        let read = Message6::read(&bytes).unwrap();
        assert_eq!(
            (read.xid, read.kind, read.client),
            (0x12_3456, MessageType6::Advertise, [2, 0, 0, 0, 0, 9])
        );
        assert_eq!((read.preference, read.server.len(), read.solicit_max_s), (7, 10, Some(120)));
        let found = read.address.unwrap();
        let value = Value { ip: address, len: 128, preferred_s: 60, valid_s: 90 };
        assert_eq!((found.t1_s, found.t2_s, found.usable(address)), (30, 48, Some(value)));
        let found = read.prefix.unwrap().usable(Ipv6Addr::UNSPECIFIED).unwrap();
        assert_eq!(
            (found.ip, found.len),
            ("2001:db8:7::".parse().unwrap(), 56),
            "without what is behind its length"
        );
        for len in 0..bytes.len() {
            if let Some(cut) = Message6::read(&bytes[..len]) {
                assert!(cut.solicit_max_s.is_none(), "{len}");
            }
        }
    }

    #[test]
    fn times_out_of_order_are_no_association() {
        let ia = |t1, t2, preferred: u32, valid: u32| {
            let value = [&[0x20; 16][..], &preferred.to_be_bytes(), &valid.to_be_bytes()].concat();
            let bytes = advertise(|draft| {
                draft.option(option::IA_NA, &association(t1, t2, option::IA_ADDRESS, &value))
            });
            Message6::read(&bytes).unwrap().address.map(|ia| ia.values.len())
        };
        assert_eq!((ia(30, 48, 60, 90), ia(48, 30, 60, 90), ia(48, 0, 60, 90)), (Some(1), None, Some(1)));
        assert_eq!(ia(0, 0, 91, 90), Some(0), "preferred for longer than valid");
    }
}
