//! Packets of UDP tests: when they were sent, in seconds and microseconds, and a sequence number from 1, big-endian.

use units::Nanos;

/// First datagram of a client, so that the server learns its port; iperf3 writes it in its processor's byte order.
pub const HELLO: u32 = 0x3637_3839;
/// Reply of the server.
pub const WELCOME: u32 = 0x3938_3736;

/// Octets before the payload.
pub const fn header(wide: bool) -> usize {
    if wide { 16 } else { 12 }
}

/// Writes the header of the packet with this number.
///
/// # Panics
/// `packet` is shorter than [`header`].
pub fn write(packet: &mut [u8], number: u64, sent: Nanos, wide: bool) {
    packet[..4].copy_from_slice(&((sent.0 / 1_000_000_000) as u32).to_be_bytes());
    packet[4..8].copy_from_slice(&((sent.0 % 1_000_000_000 / 1_000) as u32).to_be_bytes());
    if wide {
        packet[8..16].copy_from_slice(&number.to_be_bytes());
    } else {
        packet[8..12].copy_from_slice(&(number as u32).to_be_bytes());
    }
}

/// Number and time of sending of a packet; `None` if it is too short to have them. Without `wide`, the number's low 32 bits.
pub fn read(packet: &[u8], wide: bool) -> Option<(u64, Nanos)> {
    let (seconds, rest) = packet.split_first_chunk()?;
    let (micros, rest) = rest.split_first_chunk()?;
    let number = if wide {
        u64::from_be_bytes(*rest.first_chunk()?)
    } else {
        u32::from_be_bytes(*rest.first_chunk()?).into()
    };
    let micros = u64::from(u32::from_be_bytes(*seconds)) * 1_000_000 + u64::from(u32::from_be_bytes(*micros));
    Some((number, Nanos(micros * 1_000)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_big_endian() {
        let mut packet = [0xee; 20];
        write(&mut packet, 0x1_0000_0007, Nanos(3_000_005_999), false);
        assert_eq!(packet, [0, 0, 0, 3, 0, 0, 0, 5, 0, 0, 0, 7, 238, 238, 238, 238, 238, 238, 238, 238]);
        assert_eq!(read(&packet, false), Some((7, Nanos(3_000_005_000))));
        write(&mut packet, 0x1_0000_0007, Nanos(3_000_005_999), true);
        assert_eq!(read(&packet, true), Some((0x1_0000_0007, Nanos(3_000_005_000))));
        assert_eq!(read(&packet[..15], true), None);
        assert_eq!(read(&[], false), None);
    }
}
