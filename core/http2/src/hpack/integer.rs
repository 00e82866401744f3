//! Integers with a prefix (RFC 7541 section 5.1).

/// Reads an integer whose first byte has `bits` bits of it; returns it and its bytes. None if it is cut short or 2^28 or
/// more, which no field and no table is.
#[inline]
pub fn read(data: &[u8], bits: u32) -> Option<(u32, usize)> {
    let most = (1u32 << bits) - 1;
    let first = u32::from(*data.first()?) & most;
    if first < most {
        return Some((first, 1));
    }
    let mut value = 0u32;
    for (index, byte) in data[1..].iter().take(4).enumerate() {
        value |= u32::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            let value = value.checked_add(most).filter(|value| *value < 1 << 28)?;
            return Some((value, index + 2));
        }
    }
    None
}

/// Writes an integer after the upper bits `first` of its first byte.
#[inline]
pub fn write(value: u32, bits: u32, first: u8, out: &mut Vec<u8>) {
    let most = (1u32 << bits) - 1;
    if value < most {
        return out.push(first | value as u8);
    }
    out.push(first | most as u8);
    let mut rest = value - most;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}
