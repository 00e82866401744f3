//! Packets of sender and reflector (RFC 8762 sections 4.2.1 and 4.3.1), all numbers in network byte order.

use crate::time::ErrorEstimate;

/// Octets of a packet without extensions, of either side.
pub const BASE: usize = 44;
/// Octets of the shortest packet of a TWAMP Light sender (RFC 5357 section 4.1.2), which has no field behind the error estimate.
pub const SHORTEST_REQUEST: usize = 14;
/// Octets of the shortest reply: TWAMP Light reflectors leave out the fields behind the copy of the sender's error estimate.
pub(crate) const SHORTEST_REPLY: usize = 38;

/// Fields of a sender's packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Number of the packet in its session, from 0.
    pub number: u32,
    /// Time of departure, T1, as it is on the wire.
    pub sent: u64,
    /// The sender's clock.
    pub error: ErrorEstimate,
    /// Identifier of the session (RFC 8972 section 3); 0 is none.
    pub ssid: u16,
}

impl Request {
    /// Reads one; `None` if it is too short. The SSID is in what TWAMP Light has as padding.
    pub fn read(packet: &[u8]) -> Option<Self> {
        if packet.len() < SHORTEST_REQUEST {
            return None;
        }
        Some(Self {
            number: u32_at(packet, 0),
            sent: u64_at(packet, 4),
            error: ErrorEstimate::read(u16_at(packet, 12)),
            ssid: u16_at(packet, 14),
        })
    }

    /// Writes the fields into the first [`BASE`] octets.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn write(&self, packet: &mut [u8]) {
        packet[..BASE].fill(0);
        put(packet, 0, &self.number.to_be_bytes());
        put(packet, 4, &self.sent.to_be_bytes());
        put(packet, 12, &self.error.write().to_be_bytes());
        put(packet, 14, &self.ssid.to_be_bytes());
    }
}

/// Fields of a reflector's packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply {
    /// The reflector's number in stateful mode, the sender's in stateless mode.
    pub number: u32,
    /// Time of departure, T3, as it is on the wire.
    pub sent: u64,
    /// The reflector's clock.
    pub error: ErrorEstimate,
    /// Copy of the request's.
    pub ssid: u16,
    /// Time of the request's arrival, T2, as it is on the wire.
    pub came: u64,
    /// The request.
    pub request: Request,
    /// TTL, or hop limit, with which the request came. TWAMP Light reflectors may leave it out.
    pub hops: Option<u8>,
}

impl Reply {
    /// Reads one; `None` if it is too short.
    pub fn read(packet: &[u8]) -> Option<Self> {
        if packet.len() < SHORTEST_REPLY {
            return None;
        }
        let ssid = u16_at(packet, 14);
        Some(Self {
            number: u32_at(packet, 0),
            sent: u64_at(packet, 4),
            error: ErrorEstimate::read(u16_at(packet, 12)),
            ssid,
            came: u64_at(packet, 16),
            request: Request {
                number: u32_at(packet, 24),
                sent: u64_at(packet, 28),
                error: ErrorEstimate::read(u16_at(packet, 36)),
                ssid,
            },
            hops: packet.get(40).copied(),
        })
    }

    /// Writes the fields into the first [`BASE`] octets, or as many as there are.
    pub fn write(&self, packet: &mut [u8]) {
        let mut base = [0; BASE];
        put(&mut base, 0, &self.number.to_be_bytes());
        put(&mut base, 4, &self.sent.to_be_bytes());
        put(&mut base, 12, &self.error.write().to_be_bytes());
        put(&mut base, 14, &self.ssid.to_be_bytes());
        put(&mut base, 16, &self.came.to_be_bytes());
        put(&mut base, 24, &self.request.number.to_be_bytes());
        put(&mut base, 28, &self.request.sent.to_be_bytes());
        put(&mut base, 36, &self.request.error.write().to_be_bytes());
        base[40] = self.hops.unwrap_or(0);
        let length = packet.len().min(BASE);
        packet[..length].copy_from_slice(&base[..length]);
    }

    /// Writes T3 alone, which is known last.
    pub fn write_sent(packet: &mut [u8], sent: u64) {
        put(packet, 4, &sent.to_be_bytes());
    }
}

fn put(packet: &mut [u8], at: usize, bytes: &[u8]) {
    packet[at..at + bytes.len()].copy_from_slice(bytes);
}

/// The octets at a place; zeros behind the end, as for padding that a TWAMP Light sender left out.
fn octets<const N: usize>(packet: &[u8], at: usize) -> [u8; N] {
    packet.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
}

fn u16_at(packet: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(octets(packet, at))
}

fn u32_at(packet: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(octets(packet, at))
}

pub(crate) fn u64_at(packet: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(octets(packet, at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Format;

    #[test]
    fn fields_are_where_the_rfc_has_them() {
        let request = Request {
            number: 0x0102_0304,
            sent: 0x1112_1314_1516_1718,
            error: ErrorEstimate::of(None, Format::Ptp),
            ssid: 0x2122,
        };
        let mut packet = [0xff; BASE];
        request.write(&mut packet);
        assert_eq!(&packet[..16], b"\x01\x02\x03\x04\x11\x12\x13\x14\x15\x16\x17\x18\x7f\xff\x21\x22");
        assert_eq!(packet[16..], [0; 28]);
        assert_eq!(Request::read(&packet), Some(request));
        assert_eq!(Request::read(&packet[..13]), None);
        assert_eq!(Request::read(&packet[..14]), Some(Request { ssid: 0, ..request }));
        let reply = Reply {
            number: 7,
            sent: 0x3132_3334_3536_3738,
            error: ErrorEstimate::read(0x8001),
            ssid: 0x2122,
            came: 0x4142_4344_4546_4748,
            request,
            hops: Some(63),
        };
        let mut packet = [0xff; 48];
        reply.write(&mut packet);
        assert_eq!(packet[..16], *b"\0\0\0\x0712345678\x80\x01\x21\x22");
        assert_eq!(packet[16..40], *b"ABCDEFGH\x01\x02\x03\x04\x11\x12\x13\x14\x15\x16\x17\x18\x7f\xff\0\0");
        assert_eq!(packet[40..], *b"\x3f\0\0\0\xff\xff\xff\xff");
        assert_eq!(Reply::read(&packet), Some(reply));
        assert_eq!(Reply::read(&packet[..38]), Some(Reply { hops: None, ..reply }));
        assert_eq!(Reply::read(&packet[..37]), None);
    }
}
