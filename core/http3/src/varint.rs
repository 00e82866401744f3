//! Integers of variable length (RFC 9000 section 16).

/// Reads an integer; returns it and its bytes. None if it is cut short.
#[inline]
pub fn read(data: &[u8]) -> Option<(u64, usize)> {
    let first = *data.first()?;
    let len = 1 << (first >> 6);
    let rest = data.get(1..len)?;
    let value = rest.iter().fold(u64::from(first & 0x3f), |value, byte| value << 8 | u64::from(*byte));
    Some((value, len))
}

/// Writes an integer below 2^62; of a larger one the upper bits are lost.
#[inline]
pub fn write(value: u64, out: &mut Vec<u8>) {
    match value {
        0..0x40 => out.push(value as u8),
        0x40..0x4000 => out.extend_from_slice(&(value as u16 | 0x4000).to_be_bytes()),
        0x4000..0x4000_0000 => out.extend_from_slice(&(value as u32 | 0x8000_0000).to_be_bytes()),
        _ => out.extend_from_slice(&(value & ((1 << 62) - 1) | 0xc000_0000_0000_0000).to_be_bytes()),
    }
}
