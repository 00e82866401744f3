//! Messages: reading them within bounds, and writing them (RFC 4271 section 4).
//!
//! Invariant: for every message that [`next_message`] refuses it returns the [`Notification`] to send.

use crate::heard::{Prefix, RouteKey};
use crate::routes::Family;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

/// Bytes of a message's header.
pub const HEADER: usize = 19;
/// Bytes of the longest message.
pub(crate) const MESSAGE_MAX: usize = 4_096;
/// The AS number that stands for one of four bytes where there is room for two (RFC 6793 section 9).
pub(crate) const AS_TRANS: u16 = 23_456;

const OPEN: u8 = 1;
const UPDATE: u8 = 2;
const NOTIFICATION: u8 = 3;
const KEEPALIVE: u8 = 4;
const REFRESH: u8 = 5;

/// The only version.
const VERSION: u8 = 4;
/// The optional parameter that holds capabilities (RFC 5492).
const PARAMETER_CAPABILITIES: u8 = 2;
/// In the place of a first parameter's type: lengths have two bytes (RFC 9072 section 2).
const PARAMETERS_EXTENDED: u8 = 255;
const CAPABILITY_MULTIPROTOCOL: u8 = 1;
const CAPABILITY_REFRESH: u8 = 2;
const CAPABILITY_RESTART: u8 = 64;
const CAPABILITY_FOUR_BYTE_AS: u8 = 65;
const CAPABILITY_ADD_PATH: u8 = 69;
/// Flags of graceful restart: the sender has restarted; it forwards packets of a family all the while (RFC 4724 section 3).
const HAS_RESTARTED: u8 = 0x80;
/// The sender keeps routes after a NOTIFICATION too, but for a hard reset (RFC 8538 section 2).
const NOTIFIES: u8 = 0x40;
const FORWARDS: u8 = 0x80;
/// The longest restart time that has room, s.
pub const RESTART_TIME_MAX: u16 = 4_095;

pub(crate) const ATTRIBUTE_MP_REACH: u8 = 14;
pub(crate) const ATTRIBUTE_MP_UNREACH: u8 = 15;
/// A flag of an attribute: its length has two bytes.
pub(crate) const EXTENDED: u8 = 0x10;

/// Why a peer's message ends the session: the NOTIFICATION for it (RFC 4271 section 4.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Notification {
    /// Error code.
    pub code: u8,
    /// Error subcode; zero if there is none.
    pub subcode: u8,
}

impl Notification {
    pub(crate) const fn new(code: u8, subcode: u8) -> Self {
        Self { code, subcode }
    }

    pub(crate) const NOT_SYNCHRONIZED: Self = Self::new(1, 1);
    pub(crate) const BAD_LENGTH: Self = Self::new(1, 2);
    pub(crate) const BAD_TYPE: Self = Self::new(1, 3);
    pub(crate) const OPEN_MALFORMED: Self = Self::new(2, 0);
    pub(crate) const BAD_VERSION: Self = Self::new(2, 1);
    pub(crate) const BAD_PEER_AS: Self = Self::new(2, 2);
    pub(crate) const BAD_IDENTIFIER: Self = Self::new(2, 3);
    pub(crate) const UNSUPPORTED_PARAMETER: Self = Self::new(2, 4);
    pub(crate) const BAD_HOLD_TIME: Self = Self::new(2, 6);
    pub(crate) const ATTRIBUTES_MALFORMED: Self = Self::new(3, 1);
    pub(crate) const ATTRIBUTE_LENGTH: Self = Self::new(3, 5);
    pub(crate) const OPTIONAL_ATTRIBUTE: Self = Self::new(3, 9);
    pub(crate) const BAD_NETWORK: Self = Self::new(3, 10);
    pub(crate) const HOLD_EXPIRED: Self = Self::new(4, 0);
    pub(crate) const UNEXPECTED_IN_OPEN_SENT: Self = Self::new(5, 1);
    pub(crate) const UNEXPECTED_IN_OPEN_CONFIRM: Self = Self::new(5, 2);
    pub(crate) const UNEXPECTED_IN_ESTABLISHED: Self = Self::new(5, 3);
    pub(crate) const SHUTDOWN: Self = Self::new(6, 2);
    pub(crate) const COLLISION: Self = Self::new(6, 7);
    pub(crate) const HARD_RESET: Self = Self::new(6, 9);

    /// Data of the NOTIFICATION that refuses `message`: what is wrong in its header (RFC 4271 section 6.1), or the version
    /// to use (section 6.2).
    pub(crate) fn data(self, message: &[u8]) -> &[u8] {
        match self {
            Self::BAD_LENGTH => message.get(16..18),
            Self::BAD_TYPE => message.get(18..19),
            Self::BAD_VERSION => Some(&[0, VERSION][..]),
            _ => None,
        }
        .unwrap_or_default()
    }
}

impl fmt::Display for Notification {
    /// As the RFCs call it (RFC 4271 section 4.5, RFC 4486).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match (self.code, self.subcode) {
            (1, 1) => "Connection Not Synchronized",
            (1, 2) => "Bad Message Length",
            (1, 3) => "Bad Message Type",
            (1, _) => "Message Header Error",
            (2, 1) => "Unsupported Version Number",
            (2, 2) => "Bad Peer AS",
            (2, 3) => "Bad BGP Identifier",
            (2, 4) => "Unsupported Optional Parameter",
            (2, 6) => "Unacceptable Hold Time",
            (2, 7) => "Unsupported Capability",
            (2, _) => "OPEN Message Error",
            (3, 1) => "Malformed Attribute List",
            (3, 2) => "Unrecognized Well-known Attribute",
            (3, 3) => "Missing Well-known Attribute",
            (3, 4) => "Attribute Flags Error",
            (3, 5) => "Attribute Length Error",
            (3, 6) => "Invalid ORIGIN Attribute",
            (3, 8) => "Invalid NEXT_HOP Attribute",
            (3, 9) => "Optional Attribute Error",
            (3, 10) => "Invalid Network Field",
            (3, 11) => "Malformed AS_PATH",
            (3, _) => "UPDATE Message Error",
            (4, _) => "Hold Timer Expired",
            (5, _) => "Finite State Machine Error",
            (6, 1) => "Maximum Number of Prefixes Reached",
            (6, 2) => "Administrative Shutdown",
            (6, 3) => "Peer De-configured",
            (6, 4) => "Administrative Reset",
            (6, 5) => "Connection Rejected",
            (6, 6) => "Other Configuration Change",
            (6, 7) => "Connection Collision Resolution",
            (6, 8) => "Out of Resources",
            (6, 9) => "Hard Reset",
            (6, _) => "Cease",
            _ => return write!(f, "error {}/{}", self.code, self.subcode),
        };
        f.write_str(name)
    }
}

/// Why bytes are no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed(pub Notification);

/// Capabilities that a peer announces (RFC 5492).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Capabilities {
    /// IPv4 unicast routes (RFC 4760).
    pub ipv4: bool,
    /// IPv6 unicast routes (RFC 4760).
    pub ipv6: bool,
    /// Route refresh (RFC 2918).
    pub refresh: bool,
    /// AS numbers of four bytes (RFC 6793).
    pub four_byte_as: bool,
    /// Graceful restart.
    pub restart: Option<GracefulRestart>,
    /// Several paths for a prefix: IPv4, IPv6.
    pub add_path: [AddPath; 2],
}

/// Several paths for a prefix of a family, distinguished by identifiers (RFC 7911 section 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AddPath {
    /// Whether the speaker can take them.
    pub receive: bool,
    /// Whether it wants to send them.
    pub send: bool,
}

impl AddPath {
    /// `None` if the value is none of those there are.
    fn of(value: u8) -> Option<Self> {
        matches!(value, 1..=3).then_some(Self { receive: value & 1 != 0, send: value & 2 != 0 })
    }

    fn value(self) -> u8 {
        u8::from(self.receive) | u8::from(self.send) << 1
    }
}

/// Families whose prefixes have a path identifier before them: IPv4, IPv6 (RFC 7911 section 3).
pub type PathIds = [bool; 2];

/// Graceful restart capability (RFC 4724 section 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GracefulRestart {
    /// Whether the sender has restarted.
    pub has_restarted: bool,
    /// Maximum time for the sender to be back after a restart, s.
    pub time_s: u16,
    /// Whether the sender keeps routes after a NOTIFICATION too, and its peer is to do so, but for a hard reset (RFC 8538).
    pub notification: bool,
    /// Families whose routes its peer is to keep meanwhile: IPv4, IPv6. `true` if it forwards their packets all the while.
    pub families: [Option<bool>; 2],
}

impl Capabilities {
    /// Whether routes of a family can be exchanged.
    pub fn has(&self, family: Family) -> bool {
        match family {
            Family::Ipv4 => self.ipv4,
            Family::Ipv6 => self.ipv6,
        }
    }
}

/// An OPEN message (RFC 4271 section 4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Open {
    /// The sender's AS: of four bytes if it has that capability.
    pub asn: u32,
    /// Seconds; zero is no limit.
    pub hold_s: u16,
    /// BGP identifier.
    pub identifier: Ipv4Addr,
    /// The sender's capabilities. Without any capability of RFC 4760 that is IPv4 unicast.
    pub capabilities: Capabilities,
}

/// Content of an UPDATE message, counted (RFC 4271 section 4.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Update {
    /// IPv4 prefixes advertised.
    pub ipv4: u32,
    /// IPv6 prefixes advertised.
    pub ipv6: u32,
    /// Prefixes withdrawn, of both families.
    pub withdrawn: u32,
    /// The family of an End-of-RIB mark (RFC 4724 section 2).
    pub end_of_rib: Option<Family>,
}

/// A ROUTE-REFRESH message; `None` is of a family that is not known here (RFC 2918).
pub type Refresh = Option<Family>;

/// A message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message {
    /// OPEN.
    Open(Open),
    /// UPDATE.
    Update(Update),
    /// NOTIFICATION.
    Notification(Notification),
    /// KEEPALIVE.
    KeepAlive,
    /// ROUTE-REFRESH.
    Refresh(Refresh),
}

/// The header of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Bytes of the message with its header.
    pub len: usize,
    /// Its type.
    pub kind: u8,
}

impl Header {
    /// Reads a header; `None` if it is not all there (RFC 4271 sections 4.1 and 6.1).
    pub fn read(bytes: &[u8]) -> Option<Result<Self, Malformed>> {
        let header = bytes.get(..HEADER)?;
        let (len, kind) = (usize::from(u16::from_be_bytes([header[16], header[17]])), header[18]);
        let fits = match kind {
            OPEN => len >= HEADER + 10,
            UPDATE => len >= HEADER + 4,
            NOTIFICATION => len >= HEADER + 2,
            KEEPALIVE => len == HEADER,
            REFRESH => len == HEADER + 4,
            _ => true,
        };
        Some(if header[..16] != [0xff; 16] {
            Err(Malformed(Notification::NOT_SYNCHRONIZED))
        } else if !(HEADER..=MESSAGE_MAX).contains(&len) || !fits {
            Err(Malformed(Notification::BAD_LENGTH))
        } else if !(OPEN..=REFRESH).contains(&kind) {
            Err(Malformed(Notification::BAD_TYPE))
        } else {
            Ok(Self { len, kind })
        })
    }
}

/// The first message of `bytes`, and how many bytes it has; `None` if it is not all there.
pub fn next_message(bytes: &[u8], ids: PathIds) -> Option<Result<(Message, usize), Malformed>> {
    let header = match Header::read(bytes)? {
        Ok(header) => header,
        Err(why) => return Some(Err(why)),
    };
    let body = bytes.get(HEADER..header.len)?;
    let message = match header.kind {
        OPEN => read_open(body).map(Message::Open),
        UPDATE => read_update(body, ids).map(Message::Update),
        NOTIFICATION => Ok(Message::Notification(Notification::new(body[0], body[1]))),
        KEEPALIVE => Ok(Message::KeepAlive),
        _ => Ok(Message::Refresh(family(body[0], body[1], body[3]))),
    };
    Some(message.map(|message| (message, header.len)).map_err(Malformed))
}

/// The family of an address family identifier and a subsequent one (RFC 4760 section 6).
pub(crate) fn family(high: u8, low: u8, subsequent: u8) -> Refresh {
    match (high, low, subsequent) {
        (0, 1, 1) => Some(Family::Ipv4),
        (0, 2, 1) => Some(Family::Ipv6),
        _ => None,
    }
}

/// Takes a value with a length of one byte before it.
pub(crate) fn take_short<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (len, rest) = bytes.split_first()?;
    let (value, rest) = rest.split_at_checked(usize::from(*len))?;
    *bytes = rest;
    Some(value)
}

/// Takes a value with a length of two bytes before it.
pub(crate) fn take_long<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (len, rest) = bytes.split_first_chunk()?;
    let (value, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*len)))?;
    *bytes = rest;
    Some(value)
}

/// Reads what follows the header of an OPEN message, which has ten bytes or more (RFC 4271 section 6.2).
fn read_open(body: &[u8]) -> Result<Open, Notification> {
    if body[0] != VERSION {
        return Err(Notification::BAD_VERSION);
    }
    let mut open = Open {
        asn: u16::from_be_bytes([body[1], body[2]]).into(),
        hold_s: u16::from_be_bytes([body[3], body[4]]),
        identifier: Ipv4Addr::new(body[5], body[6], body[7], body[8]),
        capabilities: Capabilities::default(),
    };
    let mut rest = &body[9..];
    let mut take: for<'a> fn(&mut &'a [u8]) -> Option<&'a [u8]> = take_short;
    if let [len, PARAMETERS_EXTENDED, ..] = rest
        && *len != 0
    {
        (rest, take) = (&rest[2..], take_long);
    }
    let mut parameters = take(&mut rest).ok_or(Notification::OPEN_MALFORMED)?;
    if !rest.is_empty() {
        return Err(Notification::OPEN_MALFORMED);
    }
    let mut says_families = false;
    while let Some((kind, rest)) = parameters.split_first() {
        parameters = rest;
        let value = take(&mut parameters).ok_or(Notification::OPEN_MALFORMED)?;
        if *kind != PARAMETER_CAPABILITIES {
            return Err(Notification::UNSUPPORTED_PARAMETER);
        }
        says_families |= read_capabilities(value, &mut open)?;
    }
    open.capabilities.ipv4 |= !says_families;
    if matches!(open.hold_s, 1 | 2) {
        return Err(Notification::BAD_HOLD_TIME);
    }
    if open.identifier.is_unspecified() {
        return Err(Notification::BAD_IDENTIFIER);
    }
    // RFC 7607 section 2.
    if open.asn == 0 {
        return Err(Notification::BAD_PEER_AS);
    }
    Ok(open)
}

/// Reads the capabilities of a parameter (RFC 5492 section 4); returns whether a family of routes is among them.
fn read_capabilities(mut value: &[u8], open: &mut Open) -> Result<bool, Notification> {
    let mut says_families = false;
    while let Some((code, rest)) = value.split_first() {
        value = rest;
        match (*code, take_short(&mut value).ok_or(Notification::OPEN_MALFORMED)?) {
            (CAPABILITY_MULTIPROTOCOL, [high, low, _, subsequent]) => {
                says_families = true;
                let said = family(*high, *low, *subsequent);
                open.capabilities.ipv4 |= said == Some(Family::Ipv4);
                open.capabilities.ipv6 |= said == Some(Family::Ipv6);
            }
            (CAPABILITY_RESTART, said) => open.capabilities.restart = read_restart(said),
            (CAPABILITY_ADD_PATH, said) => read_add_path(said, &mut open.capabilities.add_path),
            (CAPABILITY_REFRESH, _) => open.capabilities.refresh = true,
            (CAPABILITY_FOUR_BYTE_AS, [a, b, c, d]) => {
                open.asn = u32::from_be_bytes([*a, *b, *c, *d]);
                open.capabilities.four_byte_as = true;
            }
            _ => {}
        }
    }
    Ok(says_families)
}

/// Reads the capability of graceful restart; `None` if it is malformed. Families that are not known here are left out.
fn read_restart(said: &[u8]) -> Option<GracefulRestart> {
    let ([first, second], families) = said.split_first_chunk()?;
    let mut restart = GracefulRestart {
        has_restarted: first & HAS_RESTARTED != 0,
        notification: first & NOTIFIES != 0,
        time_s: u16::from_be_bytes([*first, *second]) & RESTART_TIME_MAX,
        families: [None; 2],
    };
    let (families, []) = families.as_chunks::<4>() else { return None };
    for [high, low, subsequent, flags] in families {
        if let Some(family) = family(*high, *low, *subsequent) {
            restart.families[family as usize] = Some(flags & FORWARDS != 0);
        }
    }
    Some(restart)
}

/// Reads the ADD-PATH capability. A malformed one, or one with unknown values, counts as absent (RFC 7911 section 4).
fn read_add_path(said: &[u8], add_path: &mut [AddPath; 2]) {
    let (families, []) = said.as_chunks::<4>() else { return };
    for [high, low, subsequent, value] in families {
        if let (Some(family), Some(said)) = (family(*high, *low, *subsequent), AddPath::of(*value)) {
            add_path[family as usize] = said;
        }
    }
}

/// Takes a prefix, with the path identifier before it if there is one; the inner `None` if it can't be one.
pub(crate) fn take_route(bytes: &mut &[u8], family: Family, ids: PathIds) -> Option<Option<RouteKey>> {
    let mut path_id = None;
    if ids[family as usize] && !bytes.is_empty() {
        let Some((id, rest)) = bytes.split_first_chunk() else { return Some(None) };
        path_id = Some(u32::from_be_bytes(*id));
        *bytes = rest;
        if rest.is_empty() {
            return Some(None);
        }
    }
    Some(take_prefix(bytes, family)?.map(|prefix| RouteKey { prefix, path_id }))
}

/// Takes a prefix; the inner `None` if it can't be one. Bits after its length are zero.
pub(crate) fn take_prefix(bytes: &mut &[u8], family: Family) -> Option<Option<Prefix>> {
    let (bits, rest) = bytes.split_first()?;
    let Some((said, rest)) =
        rest.split_at_checked(usize::from(bits.div_ceil(8))).filter(|_| *bits <= family.bits())
    else {
        return Some(None);
    };
    *bytes = rest;
    let mut octets = [0; 16];
    octets[..said.len()].copy_from_slice(said);
    let spare = 128 - u32::from(*bits);
    let number = u128::from_be_bytes(octets);
    let number = if spare < 128 { number >> spare << spare } else { 0 };
    let address = match family {
        Family::Ipv4 => IpAddr::V4(Ipv4Addr::from((number >> 96) as u32)),
        Family::Ipv6 => IpAddr::V6(number.into()),
    };
    Some(Some((address, *bits)))
}

/// Number of prefixes in `bytes`; `None` if they are not prefixes.
fn prefixes(mut bytes: &[u8], family: Family, ids: PathIds) -> Option<u32> {
    let mut count = 0;
    while let Some(route) = take_route(&mut bytes, family, ids) {
        route?;
        count += 1;
    }
    Some(count)
}

/// Path attributes: types and values. Ends with the first that is malformed.
pub(crate) struct AttributeList<'a>(pub &'a [u8]);

impl<'a> Iterator for AttributeList<'a> {
    type Item = Result<(u8, &'a [u8]), Notification>;

    fn next(&mut self) -> Option<Self::Item> {
        let Self(rest) = self;
        let Some(([flags, kind], after)) = rest.split_first_chunk() else {
            // A byte that is too few for a type.
            return (!std::mem::take(rest).is_empty()).then_some(Err(Notification::ATTRIBUTES_MALFORMED));
        };
        *rest = after;
        let value = if flags & EXTENDED != 0 { take_long(rest) } else { take_short(rest) };
        Some(match value {
            Some(value) => Ok((*kind, value)),
            None => {
                *rest = &[];
                Err(Notification::ATTRIBUTE_LENGTH)
            }
        })
    }
}

/// Reads what follows the header of an UPDATE message (RFC 4271 section 6.3).
fn read_update(body: &[u8], ids: PathIds) -> Result<Update, Notification> {
    let mut rest = body;
    let withdrawn = take_long(&mut rest).ok_or(Notification::ATTRIBUTES_MALFORMED)?;
    let attributes = take_long(&mut rest).ok_or(Notification::ATTRIBUTES_MALFORMED)?;
    let mut update = Update {
        ipv4: prefixes(rest, Family::Ipv4, ids).ok_or(Notification::BAD_NETWORK)?,
        withdrawn: prefixes(withdrawn, Family::Ipv4, ids).ok_or(Notification::BAD_NETWORK)?,
        ..Update::default()
    };
    if withdrawn.is_empty() && attributes.is_empty() && rest.is_empty() {
        update.end_of_rib = Some(Family::Ipv4);
    }
    let is_bare = withdrawn.is_empty() && rest.is_empty();
    let mut is_first = true;
    let mut end_of_rib = update.end_of_rib;
    let mut list = AttributeList(attributes);
    let mut seen = [false; 2];
    while let Some(attribute) = list.next() {
        let (kind, value) = attribute?;
        if let ATTRIBUTE_MP_REACH | ATTRIBUTE_MP_UNREACH = kind
            && std::mem::replace(&mut seen[usize::from(kind - ATTRIBUTE_MP_REACH)], true)
        {
            // RFC 7606 section 3, g.
            return Err(Notification::ATTRIBUTES_MALFORMED);
        }
        match kind {
            ATTRIBUTE_MP_REACH => {
                // RFC 4760 section 7.
                let (family, count) = read_reach(value, ids).ok_or(Notification::OPTIONAL_ATTRIBUTE)?;
                match family {
                    Some(Family::Ipv4) => update.ipv4 += count,
                    Some(Family::Ipv6) => update.ipv6 += count,
                    None => {}
                }
            }
            ATTRIBUTE_MP_UNREACH => {
                let (head, networks) = value.split_first_chunk().ok_or(Notification::OPTIONAL_ATTRIBUTE)?;
                let [high, low, subsequent] = *head;
                if let Some(family) = family(high, low, subsequent) {
                    let count = prefixes(networks, family, ids).ok_or(Notification::OPTIONAL_ATTRIBUTE)?;
                    if count == 0 && is_bare && is_first && list.0.is_empty() {
                        end_of_rib = Some(family);
                    }
                    update.withdrawn += count;
                }
            }
            _ => {}
        }
        is_first = false;
    }
    Ok(Update { end_of_rib, ..update })
}

/// The family of an MP_REACH_NLRI attribute, if it is known here, and how many prefixes it has (RFC 4760 section 3).
fn read_reach(value: &[u8], ids: PathIds) -> Option<(Refresh, u32)> {
    let ([high, low, subsequent], mut rest) = value.split_first_chunk()?;
    let hop = take_short(&mut rest)?;
    let (_, networks) = rest.split_first()?;
    let Some(family) = family(*high, *low, *subsequent) else { return Some((None, 0)) };
    // RFC 7606 section 7.11; RFC 2545 section 3: a link-local address may follow; RFC 8950 section 3: IPv4 by way of IPv6.
    let fits = matches!((family, hop.len()), (_, 16 | 32) | (Family::Ipv4, 4));
    fits.then(|| prefixes(networks, family, ids)).flatten().map(|count| (Some(family), count))
}

/// Writes a message: `body` writes what follows the header.
pub(crate) fn put(out: &mut Vec<u8>, kind: u8, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend([0xff; 16]);
    out.extend([0, 0, kind]);
    body(out);
    let len = (out.len() - start) as u16;
    out[start + 16..start + 18].copy_from_slice(&len.to_be_bytes());
}

/// Writes an UPDATE message.
pub(crate) fn put_update(out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    put(out, UPDATE, body);
}

/// Writes a KEEPALIVE message.
pub(crate) fn put_keep_alive(out: &mut Vec<u8>) {
    put(out, KEEPALIVE, |_| ());
}

/// Writes a NOTIFICATION message.
pub(crate) fn put_notification(out: &mut Vec<u8>, what: Notification, data: &[u8]) {
    put(out, NOTIFICATION, |out| {
        out.extend([what.code, what.subcode]);
        out.extend(data);
    });
}

/// Writes a NOTIFICATION message that ends the session for good where any other lets the peer keep routes (RFC 8538 section 3.1).
pub(crate) fn put_hard_reset(out: &mut Vec<u8>, what: Notification) {
    let Notification { code, subcode } = Notification::HARD_RESET;
    put(out, NOTIFICATION, |out| out.extend([code, subcode, what.code, what.subcode]));
}

/// Writes an OPEN message.
pub(crate) fn put_open(out: &mut Vec<u8>, open: &Open) {
    let mut capabilities = Vec::new();
    let said = &open.capabilities;
    for (_, identifier) in [(said.ipv4, 1), (said.ipv6, 2)].into_iter().filter(|(has, _)| *has) {
        capabilities.extend([CAPABILITY_MULTIPROTOCOL, 4, 0, identifier, 0, 1]);
    }
    if said.refresh {
        capabilities.extend([CAPABILITY_REFRESH, 0]);
    }
    if let Some(restart) = &said.restart {
        let listed =
            Family::ALL.iter().zip(restart.families).filter_map(|(family, said)| Some((family, said?)));
        let [high, low] = restart.time_s.min(RESTART_TIME_MAX).to_be_bytes();
        let flag = |is_set, flag| if is_set { flag } else { 0 };
        let flags = flag(restart.has_restarted, HAS_RESTARTED) | flag(restart.notification, NOTIFIES);
        capabilities.extend([CAPABILITY_RESTART, 2 + 4 * listed.clone().count() as u8, high | flags, low]);
        for (family, forwards) in listed {
            capabilities.extend(family.identifiers());
            capabilities.push(if forwards { FORWARDS } else { 0 });
        }
    }
    let paths = Family::ALL.iter().zip(said.add_path).filter(|(_, said)| said.value() != 0);
    if paths.clone().count() > 0 {
        capabilities.extend([CAPABILITY_ADD_PATH, 4 * paths.clone().count() as u8]);
        for (family, said) in paths {
            capabilities.extend(family.identifiers());
            capabilities.push(said.value());
        }
    }
    if said.four_byte_as {
        capabilities.extend([CAPABILITY_FOUR_BYTE_AS, 4]);
        capabilities.extend(open.asn.to_be_bytes());
    }
    put(out, OPEN, |out| {
        out.push(VERSION);
        out.extend(u16::try_from(open.asn).unwrap_or(AS_TRANS).to_be_bytes());
        out.extend(open.hold_s.to_be_bytes());
        out.extend(open.identifier.octets());
        let len = capabilities.len() as u8;
        if len == 0 {
            out.push(0);
        } else {
            out.extend([len + 2, PARAMETER_CAPABILITIES, len]);
            out.extend(&capabilities);
        }
    });
}

/// Writes the bytes of an address.
pub(crate) fn put_ip(out: &mut Vec<u8>, ip: IpAddr) {
    match ip {
        IpAddr::V4(ip) => out.extend(ip.octets()),
        IpAddr::V6(ip) => out.extend(ip.octets()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(bytes: &[u8]) -> Result<Message, Notification> {
        let (message, len) =
            next_message(bytes, [false; 2]).expect("a whole message").map_err(|Malformed(why)| why)?;
        assert_eq!(len, bytes.len());
        Ok(message)
    }

    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        put(&mut out, kind, |out| out.extend(body));
        out
    }

    #[test]
    fn an_open_is_read_as_it_was_written() {
        for (asn, ipv4, ipv6) in [(65_001, true, false), (4_200_000_001, true, true), (7, false, true)] {
            let families = [ipv4.then_some(ipv6), ipv6.then_some(true)];
            let restart =
                GracefulRestart { has_restarted: ipv6, time_s: 4_095, notification: ipv4, families };
            let restart = Some(restart).filter(|_| asn != 65_001);
            let add_path = [AddPath { receive: ipv4, send: ipv6 }, AddPath { receive: ipv6, send: false }];
            let capabilities =
                Capabilities { ipv4, ipv6, refresh: true, four_byte_as: true, restart, add_path };
            let open = Open { asn, hold_s: 90, identifier: Ipv4Addr::new(10, 0, 0, 2), capabilities };
            let mut bytes = Vec::new();
            put_open(&mut bytes, &open);
            assert_eq!(one(&bytes), Ok(Message::Open(open)));
            assert_eq!(next_message(&bytes[..bytes.len() - 1], [false; 2]), None);
        }
    }

    /// RFC 4271 section 4.2, by hand: AS 100, 180 s, 1.2.3.4, no parameters.
    #[test]
    fn an_open_without_capabilities_is_for_ipv4() {
        let bytes = message(OPEN, &[4, 0, 100, 0, 180, 1, 2, 3, 4, 0]);
        let Ok(Message::Open(open)) = one(&bytes) else { panic!() };
        assert_eq!((open.asn, open.hold_s, open.identifier), (100, 180, Ipv4Addr::new(1, 2, 3, 4)));
        assert_eq!(open.capabilities, Capabilities { ipv4: true, ..Capabilities::default() });
    }

    /// RFC 4724 section 3, by hand: restarted, 120 s, IPv6 unicast that is forwarded, IPv4 multicast.
    #[test]
    fn graceful_restart_is_read_within_its_bounds() {
        let said = [0x80, 120, 0, 2, 1, 0x80, 0, 1, 2, 0x80];
        let restart = GracefulRestart {
            has_restarted: true,
            time_s: 120,
            notification: false,
            families: [None, Some(true)],
        };
        assert_eq!(read_restart(&said), Some(restart));
        assert_eq!(
            (read_restart(&said[..9]), read_restart(&said[..1]), read_restart(&[])),
            (None, None, None)
        );
        let helper = GracefulRestart { time_s: 4_095, notification: true, ..GracefulRestart::default() };
        assert_eq!(read_restart(&[0x7f, 0xff]), Some(helper));
    }

    /// RFC 7911 section 4, by hand: IPv4 unicast both ways; IPv6 unicast with a value there is not; cut off.
    #[test]
    fn several_paths_are_read_within_their_bounds() {
        let read = |said: &[u8]| {
            let mut found = [AddPath::default(); 2];
            read_add_path(said, &mut found);
            found
        };
        let both = AddPath { receive: true, send: true };
        assert_eq!(read(&[0, 1, 1, 3, 0, 2, 1, 4]), [both, AddPath::default()]);
        assert_eq!(read(&[0, 1, 1, 3, 0, 2, 1]), [AddPath::default(); 2]);
        // Two /24 with identifiers 1 and 2, and then without a prefix behind an identifier.
        let body = [0, 0, 0, 0, 0, 0, 0, 1, 24, 16, 0, 0, 0, 0, 0, 2, 24, 16, 0, 0];
        let read = |body: &[u8]| next_message(&message(UPDATE, body), [true, false]);
        let Some(Ok((Message::Update(update), _))) = read(&body) else { panic!() };
        assert_eq!(update, Update { ipv4: 2, ..Update::default() });
        for cut in [12 + 2, 12 + 4] {
            assert_eq!(read(&body[..cut]), Some(Err(Malformed(Notification::BAD_NETWORK))), "{cut}");
        }
    }

    #[test]
    fn a_bad_open_is_told_why() {
        let good = [4, 0, 100, 0, 180, 1, 2, 3, 4, 0];
        let with = |at: usize, byte: u8| {
            let mut body = good;
            body[at] = byte;
            one(&message(OPEN, &body)).unwrap_err()
        };
        assert_eq!(with(0, 3), Notification::BAD_VERSION);
        assert_eq!(with(4, 2), Notification::BAD_HOLD_TIME);
        assert_eq!(with(9, 1), Notification::OPEN_MALFORMED);
        let nobody = message(OPEN, &[4, 0, 100, 0, 180, 0, 0, 0, 0, 0]);
        assert_eq!(one(&nobody), Err(Notification::BAD_IDENTIFIER));
        let cut = message(OPEN, &[4, 0, 100, 0, 180, 1, 2, 3, 4, 4, 2, 2, 65, 4]);
        assert_eq!(one(&cut), Err(Notification::OPEN_MALFORMED));
        let unknown = message(OPEN, &[4, 0, 100, 0, 180, 1, 2, 3, 4, 6, 1, 1, 0, 2, 1, 0]);
        assert_eq!(one(&unknown), Err(Notification::UNSUPPORTED_PARAMETER));
        let as_0 = [4, 0, 100, 0, 180, 1, 2, 3, 4, 8, 2, 6, 65, 4, 0, 0, 0, 0];
        assert_eq!(one(&message(OPEN, &as_0)), Err(Notification::BAD_PEER_AS));
    }

    #[test]
    fn unknown_capabilities_are_passed_over() {
        // In two parameters: one that no one knows, route refresh, and AS numbers of a wrong length.
        let parameters = [2, 5, 250, 1, 9, 2, 0, 2, 5, 65, 3, 0, 0, 1];
        let bytes = message(OPEN, &[&[4, 0, 100, 0, 180, 1, 2, 3, 4, 14][..], &parameters].concat());
        let Ok(Message::Open(open)) = one(&bytes) else { panic!() };
        let expected = Capabilities { ipv4: true, refresh: true, ..Capabilities::default() };
        assert_eq!((open.capabilities, open.asn), (expected, 100));
    }

    /// RFC 9072 section 2, by hand: 300 bytes of capabilities that no one knows, and route refresh.
    #[test]
    fn parameters_may_have_long_lengths() {
        let unknown = [&[250, 150][..], &[7; 150]].concat();
        let capabilities = [&unknown[..], &unknown, &[2, 0]].concat();
        let len = capabilities.len() as u16;
        let parameter = [&[2][..], &len.to_be_bytes(), &capabilities].concat();
        let fixed = [4, 0, 100, 0, 180, 1, 2, 3, 4];
        let with = |head: [u8; 2], len: usize| {
            one(&message(OPEN, &[&fixed[..], &head, &(len as u16).to_be_bytes(), &parameter].concat()))
        };
        for head in [[255, 255], [1, 255]] {
            let Ok(Message::Open(open)) = with(head, parameter.len()) else { panic!("{head:?}") };
            assert!(open.capabilities.refresh);
        }
        assert_eq!(with([255, 255], parameter.len() - 1), Err(Notification::OPEN_MALFORMED));
    }

    #[test]
    fn a_notification_has_the_data_of_the_rfc() {
        let data = |bytes: &[u8]| one(bytes).unwrap_err().data(bytes).to_vec();
        assert_eq!(data(&message(OPEN, &[3, 0, 100, 0, 180, 1, 2, 3, 4, 0])), [0, 4]);
        assert_eq!(data(&message(KEEPALIVE, &[1])), [0, 20]);
        assert_eq!(data(&message(9, &[])), [9]);
        assert!(data(&message(OPEN, &[4, 0, 100, 0, 2, 1, 2, 3, 4, 0])).is_empty());
        let mut bytes = Vec::new();
        put_notification(&mut bytes, Notification::BAD_TYPE, &[9]);
        assert_eq!(
            (&bytes[16..], one(&bytes)),
            (&[0, 22, 3, 1, 3, 9][..], Ok(Message::Notification(Notification::BAD_TYPE)))
        );
    }

    #[test]
    fn bad_headers_are_told_why() {
        let mut bytes = message(KEEPALIVE, &[]);
        bytes[3] = 0;
        assert_eq!(one(&bytes), Err(Notification::NOT_SYNCHRONIZED));
        assert_eq!(one(&message(KEEPALIVE, &[1])), Err(Notification::BAD_LENGTH));
        assert_eq!(one(&message(9, &[])), Err(Notification::BAD_TYPE));
        assert_eq!(one(&message(UPDATE, &[0; 4_078])), Err(Notification::BAD_LENGTH));
    }

    #[test]
    fn updates_are_counted() {
        let withdrawn_only = message(UPDATE, &[0, 6, 24, 10, 0, 1, 8, 11, 0, 0]);
        assert_eq!(one(&withdrawn_only), Ok(Message::Update(Update { withdrawn: 2, ..Update::default() })));
        let end = Update { end_of_rib: Some(Family::Ipv4), ..Update::default() };
        assert_eq!(one(&message(UPDATE, &[0, 0, 0, 0])), Ok(Message::Update(end)));
        let end = message(UPDATE, &[0, 0, 0, 6, 0x80, ATTRIBUTE_MP_UNREACH, 3, 0, 2, 1]);
        let said = Update { end_of_rib: Some(Family::Ipv6), ..Update::default() };
        assert_eq!(one(&end), Ok(Message::Update(said)));
        // ORIGIN, and a /48 by way of 2001:db8::1.
        let mut reach = vec![0x40, 1, 1, 0, 0x80, ATTRIBUTE_MP_REACH, 5 + 16 + 7, 0, 2, 1, 16];
        reach.extend("2001:db8::1".parse::<std::net::Ipv6Addr>().unwrap().octets());
        reach.extend([0, 48, 0x20, 1, 0xd, 0xb8, 0, 1]);
        let body = [&[0, 0, 0, reach.len() as u8], &reach[..]].concat();
        assert_eq!(
            one(&message(UPDATE, &body)),
            Ok(Message::Update(Update { ipv6: 1, ..Update::default() }))
        );
    }

    #[test]
    fn bad_updates_are_told_why() {
        assert_eq!(one(&message(UPDATE, &[0, 9, 0, 0])), Err(Notification::ATTRIBUTES_MALFORMED));
        assert_eq!(one(&message(UPDATE, &[0, 0, 0, 0, 33, 1, 2, 3, 4, 5])), Err(Notification::BAD_NETWORK));
        assert_eq!(one(&message(UPDATE, &[0, 0, 0, 3, 0x40, 1, 9])), Err(Notification::ATTRIBUTE_LENGTH));
        assert_eq!(one(&message(UPDATE, &[0, 0, 0, 1, 0x40])), Err(Notification::ATTRIBUTES_MALFORMED));
    }

    #[test]
    fn bad_routes_of_other_families_are_told_why() {
        let update = |attributes: &[&[u8]]| {
            let attributes = attributes.concat();
            one(&message(UPDATE, &[&[0, 0, 0, attributes.len() as u8][..], &attributes].concat()))
        };
        let reach = |family: u8, hop: usize, networks: &[u8]| {
            let value = [&[0, family, 1, hop as u8][..], &vec![1; hop], &[0], networks].concat();
            [&[0x80, ATTRIBUTE_MP_REACH, value.len() as u8][..], &value].concat()
        };
        for (family, hop, fits) in [
            (2, 16, true),
            (2, 32, true),
            (2, 4, false),
            (2, 0, false),
            (1, 4, true),
            (1, 16, true),
            (1, 5, false),
        ] {
            let expected = if fits { None } else { Some(Notification::OPTIONAL_ATTRIBUTE) };
            assert_eq!(update(&[&reach(family, hop, &[8, 9])]).err(), expected, "{family} {hop}");
        }
        assert_eq!(
            update(&[&reach(9, 5, &[8, 9])]),
            Ok(Message::Update(Update::default())),
            "of a family not known"
        );
        assert_eq!(update(&[&reach(2, 16, &[129, 0])]), Err(Notification::OPTIONAL_ATTRIBUTE));
        let unreach = |value: &[u8]| [&[0x80, ATTRIBUTE_MP_UNREACH, value.len() as u8][..], value].concat();
        assert_eq!(update(&[&unreach(&[0, 2])]), Err(Notification::OPTIONAL_ATTRIBUTE));
        assert_eq!(update(&[&unreach(&[0, 2, 1, 64, 1])]), Err(Notification::OPTIONAL_ATTRIBUTE));
        // RFC 7606 section 3, g: each of them once, and other attributes as often as they come.
        let one_route = reach(2, 16, &[8, 9]);
        assert_eq!(update(&[&one_route, &one_route]), Err(Notification::ATTRIBUTES_MALFORMED));
        let none = unreach(&[0, 2, 1, 8, 9]);
        assert_eq!(update(&[&none, &none]), Err(Notification::ATTRIBUTES_MALFORMED));
        let origin = [0x40, 1, 1, 0];
        let said = Update { ipv6: 1, withdrawn: 1, ..Update::default() };
        assert_eq!(update(&[&origin, &origin, &none, &one_route]), Ok(Message::Update(said)));
    }
}
