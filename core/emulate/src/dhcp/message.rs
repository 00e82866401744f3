//! DHCP messages as bytes (RFC 2131 section 2, RFC 2132).
//!
//! Invariant: options are read within their field's bounds; an unknown option is passed over.

use std::net::Ipv4Addr;

/// Ports of servers and clients (RFC 2131 section 4.1).
pub(super) const SERVER_PORT: u16 = 67;
pub(crate) const CLIENT_PORT: u16 = 68;

/// Type of a message (RFC 2132 section 9.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the RFC")]
pub enum MessageType {
    Discover,
    Offer,
    Request,
    Decline,
    Ack,
    Nak,
    Release,
}

const TYPES: [(u8, MessageType); 7] = [
    (1, MessageType::Discover),
    (2, MessageType::Offer),
    (3, MessageType::Request),
    (4, MessageType::Decline),
    (5, MessageType::Ack),
    (6, MessageType::Nak),
    (7, MessageType::Release),
];

/// Numbers of options.
pub(super) mod option {
    pub(crate) const MASK: u8 = 1;
    pub(crate) const ROUTER: u8 = 3;
    pub(crate) const HOST_NAME: u8 = 12;
    pub(crate) const REQUESTED: u8 = 50;
    pub(crate) const LEASE_TIME: u8 = 51;
    pub(crate) const OVERLOAD: u8 = 52;
    pub(crate) const TYPE: u8 = 53;
    pub(crate) const SERVER: u8 = 54;
    pub(crate) const PARAMETERS: u8 = 55;
    pub(crate) const MAX_SIZE: u8 = 57;
    pub(crate) const T1: u8 = 58;
    pub(crate) const T2: u8 = 59;
    pub(crate) const VENDOR_CLASS: u8 = 60;
    pub(crate) const CLIENT_ID: u8 = 61;
    pub(crate) const RELAY: u8 = 82;
    pub(crate) const END: u8 = 255;
}

const BOOT_REQUEST: u8 = 1;
const BOOT_REPLY: u8 = 2;
const ETHERNET: u8 = 1;
const COOKIE: [u8; 4] = [99, 130, 83, 99];
/// Where fields are.
const XID: usize = 4;
const YIADDR: usize = 16;
const CHADDR: usize = 28;
const SNAME: std::ops::Range<usize> = 44..108;
const FILE: std::ops::Range<usize> = 108..236;
const OPTIONS: usize = 240;
/// Messages that relays of BOOTP accept have these bytes at least (RFC 1542 section 2.1).
const LEAST: usize = 300;

/// A message of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply {
    /// Of the exchange.
    pub xid: u32,
    /// Hardware address of the client.
    pub client: [u8; 6],
    /// Type.
    pub kind: MessageType,
    /// The client's address.
    pub address: Ipv4Addr,
    /// The server's identifier.
    pub server: Option<Ipv4Addr>,
    /// Seconds of the lease.
    pub lease_s: Option<u32>,
    /// Seconds until the client renews.
    pub t1_s: Option<u32>,
    /// Seconds until it rebinds with any server.
    pub t2_s: Option<u32>,
    /// Length of the prefix of its network.
    pub prefix_len: Option<u8>,
    /// The first router.
    pub router: Option<Ipv4Addr>,
}

fn v4(bytes: &[u8]) -> Option<Ipv4Addr> {
    Some(Ipv4Addr::from(*bytes.first_chunk::<4>()?))
}

fn seconds(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.first_chunk::<4>()?))
}

impl Reply {
    /// Whether a client can have the address: a host's, not one of a network, of all hosts of one, or of the server or the router
    /// (RFC 1122 section 3.2.1.3).
    pub(super) fn is_usable(&self) -> bool {
        let ip = self.address;
        let first = ip.octets()[0];
        // Of this network, of the host itself, of groups, and reserved.
        if first == 0 || first == 127 || first >= 224 {
            return false;
        }
        let host = self.prefix_len.and_then(|len| u32::MAX.checked_shr(len.into())).unwrap_or(0);
        let number = ip.to_bits() & host;
        // A network of two addresses has no other (RFC 3021).
        let is_of_network = host > 1 && (number == 0 || number == host);
        !is_of_network && self.server != Some(ip) && self.router != Some(ip)
    }

    /// The message of a server in a datagram; `None` if it is none, or for no client on Ethernet.
    pub fn read(payload: &[u8]) -> Option<Self> {
        let fixed: &[u8; OPTIONS] = payload.first_chunk()?;
        if fixed[..3] != [BOOT_REPLY, ETHERNET, 6] || fixed[OPTIONS - 4..] != COOKIE {
            return None;
        }
        let mut said = Said::default();
        said.read(&payload[OPTIONS..]);
        // RFC 2131 section 4.1: options may go on in 'file', then in 'sname'.
        let overload = said.overload;
        if overload & 1 != 0 {
            said.read(&fixed[FILE]);
        }
        if overload & 2 != 0 {
            said.read(&fixed[SNAME]);
        }
        Some(Self {
            xid: u32::from_be_bytes(*fixed[XID..].first_chunk()?),
            client: *fixed[CHADDR..].first_chunk()?,
            kind: said.kind?,
            address: v4(&fixed[YIADDR..])?,
            server: said.server,
            lease_s: said.lease_s,
            t1_s: said.t1_s,
            t2_s: said.t2_s,
            prefix_len: said.prefix_len,
            router: said.router,
        })
    }
}

/// Options of a message.
#[derive(Default)]
struct Said {
    kind: Option<MessageType>,
    overload: u8,
    server: Option<Ipv4Addr>,
    lease_s: Option<u32>,
    t1_s: Option<u32>,
    t2_s: Option<u32>,
    prefix_len: Option<u8>,
    router: Option<Ipv4Addr>,
}

impl Said {
    fn read(&mut self, mut options: &[u8]) {
        while let Some((&number, rest)) = options.split_first() {
            match number {
                0 => options = rest,
                option::END => return,
                _ => {
                    let Some((&len, rest)) = rest.split_first() else { return };
                    let Some((value, rest)) = rest.split_at_checked(len.into()) else { return };
                    self.take(number, value);
                    options = rest;
                }
            }
        }
    }

    fn take(&mut self, number: u8, value: &[u8]) {
        match number {
            option::TYPE => {
                let kind = |number: &u8| TYPES.iter().find(|(of, _)| of == number).map(|(_, kind)| *kind);
                self.kind = value.first().and_then(kind);
            }
            option::OVERLOAD => self.overload = value.first().copied().unwrap_or(0),
            option::SERVER => self.server = v4(value),
            option::LEASE_TIME => self.lease_s = seconds(value),
            option::T1 => self.t1_s = seconds(value),
            option::T2 => self.t2_s = seconds(value),
            option::MASK => self.prefix_len = seconds(value).map(|mask| mask.leading_ones() as u8),
            option::ROUTER => self.router = v4(value),
            _ => {}
        }
    }
}

/// A client's message under construction.
#[derive(Debug)]
pub(super) struct Draft {
    bytes: Vec<u8>,
    /// Information of an access node.
    relay: Vec<u8>,
}

impl Draft {
    /// `secs`: since the client began.
    pub(super) fn new(kind: MessageType, client: [u8; 6], xid: u32, secs: u16) -> Self {
        let mut bytes = vec![0; OPTIONS];
        bytes[..3].copy_from_slice(&[BOOT_REQUEST, ETHERNET, 6]);
        bytes[XID..XID + 4].copy_from_slice(&xid.to_be_bytes());
        bytes[8..10].copy_from_slice(&secs.to_be_bytes());
        bytes[CHADDR..CHADDR + 6].copy_from_slice(&client);
        bytes[OPTIONS - 4..].copy_from_slice(&COOKIE);
        let number = TYPES.iter().find(|(_, of)| *of == kind).map_or(0, |(number, _)| *number);
        let mut draft = Self { bytes, relay: Vec::new() };
        draft.option(option::TYPE, &[number]);
        draft
    }

    /// Asks the server to reply to all: the client takes no frame for an address it does not have yet.
    pub(super) fn broadcast(&mut self) {
        self.bytes[10] |= 0x80;
    }

    /// The address the client has.
    pub(super) fn address(&mut self, ip: Ipv4Addr) {
        self.bytes[12..16].copy_from_slice(&ip.octets());
    }

    /// At most 255 bytes of value.
    pub(super) fn option(&mut self, number: u8, value: &[u8]) {
        let value = &value[..value.len().min(255)];
        self.bytes.extend([number, value.len() as u8]);
        self.bytes.extend(value);
    }

    /// Adds what an access node adds, if that is anything: it comes last (RFC 3046 section 2.1).
    pub(super) fn relayed(&mut self, information: Vec<u8>) {
        self.relay = information;
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        if !self.relay.is_empty() {
            let relay = std::mem::take(&mut self.relay);
            self.option(option::RELAY, &relay);
        }
        self.bytes.push(option::END);
        self.bytes.resize(self.bytes.len().max(LEAST), 0);
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A draft as a server sees it: it has the same form both ways.
    fn reply(kind: MessageType, options: &[(u8, &[u8])]) -> Vec<u8> {
        let mut draft = Draft::new(kind, [2, 0, 0, 0, 0, 9], 77, 0);
        draft.bytes[0] = BOOT_REPLY;
        draft.bytes[YIADDR..YIADDR + 4].copy_from_slice(&[10, 0, 0, 9]);
        options.iter().for_each(|(number, value)| draft.option(*number, value));
        draft.finish()
    }

    #[test]
    fn options_are_read() {
        let bytes = reply(
            MessageType::Ack,
            &[
                (option::MASK, &[255, 255, 240, 0]),
                (250, &[1, 2, 3]),
                (option::ROUTER, &[10, 0, 0, 1, 10, 0, 0, 2]),
                (option::SERVER, &[10, 0, 0, 3]),
                (option::LEASE_TIME, &[0, 0, 2, 0]),
                (option::T1, &[0, 0, 1, 0]),
                (option::T2, &[0, 0, 1]),
            ],
        );
        let read = Reply::read(&bytes).unwrap();
        assert_eq!((read.xid, read.client, read.kind), (77, [2, 0, 0, 0, 0, 9], MessageType::Ack));
        assert_eq!((read.address, read.server), (Ipv4Addr::new(10, 0, 0, 9), v4(&[10, 0, 0, 3])));
        assert_eq!((read.lease_s, read.t1_s, read.t2_s), (Some(512), Some(256), None));
        assert_eq!((read.prefix_len, read.router), (Some(20), v4(&[10, 0, 0, 1])));
    }

    #[test]
    fn options_go_on_in_other_fields() {
        let mut bytes = reply(MessageType::Offer, &[(option::OVERLOAD, &[3])]);
        bytes[FILE][..6].copy_from_slice(&[option::SERVER, 4, 10, 0, 0, 3]);
        bytes[SNAME][..7].copy_from_slice(&[0, option::ROUTER, 4, 10, 0, 0, 1]);
        let read = Reply::read(&bytes).unwrap();
        assert_eq!((read.server, read.router), (v4(&[10, 0, 0, 3]), v4(&[10, 0, 0, 1])));
    }

    #[test]
    fn what_is_cut_off_is_nothing() {
        let bytes = reply(MessageType::Ack, &[(option::SERVER, &[10, 0, 0, 3])]);
        for len in 0..bytes.len() {
            let read = Reply::read(&bytes[..len]);
            assert_eq!(read.is_some(), len >= OPTIONS + 3, "{len}");
            assert!(read.is_none_or(|read| read.server.is_some() == (len >= OPTIONS + 9)));
        }
        let mut request = bytes.clone();
        request[0] = BOOT_REQUEST;
        assert_eq!(Reply::read(&request), None);
    }
}
