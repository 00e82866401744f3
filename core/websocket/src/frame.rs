//! Headers of frames, masks, the payload of Close. Source: RFC 6455 section 5.

use crate::code;
use crate::reader::Violation;

/// Bytes of the longest header.
pub const HEADER_MAX: usize = 14;
/// Most bytes of a control frame's payload (RFC 6455 section 5.5).
pub const CONTROL_MAX: usize = 125;

const FIN: u8 = 0x80;
const RESERVED: u8 = 0x70;
/// The reserved bit of the first frame of a compressed message (RFC 7692 section 6).
const COMPRESSED: u8 = 0x40;
const MASKED: u8 = 0x80;
const LEN_16: u8 = 126;
const LEN_64: u8 = 127;

/// Type of a frame (RFC 6455 section 5.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Opcode {
    /// More of the message that was begun.
    Continuation = 0,
    /// A message of text, or its first fragment.
    Text = 1,
    /// A message of bytes, or its first fragment.
    Binary = 2,
    /// The sender sends nothing more.
    Close = 8,
    /// Asks for a Pong.
    Ping = 9,
    /// Response to a Ping, or an unsolicited sign of life.
    Pong = 10,
}

impl Opcode {
    fn read(bits: u8) -> Option<Self> {
        Some(match bits {
            0 => Self::Continuation,
            1 => Self::Text,
            2 => Self::Binary,
            8 => Self::Close,
            9 => Self::Ping,
            10 => Self::Pong,
            _ => return None,
        })
    }

    /// Whether it is of a control frame, which may come between the fragments of a message.
    pub fn is_control(self) -> bool {
        self as u8 & 8 != 0
    }
}

/// A frame's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Whether it is the last fragment of its message.
    pub fin: bool,
    /// Whether it begins a compressed message.
    pub compressed: bool,
    /// Type of the frame.
    pub opcode: Opcode,
    /// The key its payload is masked with; servers have none.
    pub mask: Option<[u8; 4]>,
    /// Bytes of the payload, below 2^63.
    pub len: u64,
}

impl Header {
    /// Reads a header: it and its bytes; `None` if it is not whole. With `compression` messages may be compressed.
    ///
    /// # Errors
    /// If it breaks a rule of RFC 6455 section 5.2 or 5.5, or of RFC 7692 section 6.1, as soon as the bytes show it.
    pub fn read(data: &[u8], compression: bool) -> Result<Option<(Self, usize)>, Violation> {
        let Some(first) = data.first() else { return Ok(None) };
        if first & RESERVED & !if compression { COMPRESSED } else { 0 } != 0 {
            return Err(Violation::ReservedBits);
        }
        let opcode = Opcode::read(first & 0x0f).ok_or(Violation::UnknownOpcode)?;
        let compressed = first & COMPRESSED != 0;
        if compressed && !matches!(opcode, Opcode::Text | Opcode::Binary) {
            return Err(Violation::ReservedBits);
        }
        let fin = first & FIN != 0;
        if opcode.is_control() && !fin {
            return Err(Violation::FragmentedControl);
        }
        let Some(second) = data.get(1) else { return Ok(None) };
        let short = second & !MASKED;
        if opcode.is_control() && short > CONTROL_MAX as u8 {
            return Err(Violation::LongControl);
        }
        let rest = &data[2..];
        let (len, used) = match short {
            LEN_16 => {
                let Some(bytes) = rest.first_chunk::<2>() else { return Ok(None) };
                (u64::from(u16::from_be_bytes(*bytes)), 4)
            }
            LEN_64 => {
                let Some(bytes) = rest.first_chunk::<8>() else { return Ok(None) };
                (u64::from_be_bytes(*bytes), 10)
            }
            short => (u64::from(short), 2),
        };
        if used != Self::before_mask(len) {
            return Err(Violation::LongLength);
        }
        if len >> 63 != 0 {
            return Err(Violation::LengthTooLarge);
        }
        if second & MASKED == 0 {
            return Ok(Some((Self { fin, compressed, opcode, mask: None, len }, used)));
        }
        let Some(key) = data[used..].first_chunk::<4>() else { return Ok(None) };
        Ok(Some((Self { fin, compressed, opcode, mask: Some(*key), len }, used + 4)))
    }

    /// Bytes of a header without its mask, for a payload of `len` bytes.
    fn before_mask(len: u64) -> usize {
        match len {
            0..=125 => 2,
            126..=0xffff => 4,
            _ => 10,
        }
    }

    /// Bytes of the header of a payload of `len` bytes.
    pub fn size(len: u64, masked: bool) -> usize {
        Self::before_mask(len) + if masked { 4 } else { 0 }
    }

    /// Writes it in its shortest form; returns how many bytes that are.
    pub fn write(&self, out: &mut [u8; HEADER_MAX]) -> usize {
        out[0] =
            if self.fin { FIN } else { 0 } | if self.compressed { COMPRESSED } else { 0 } | self.opcode as u8;
        let used = Self::before_mask(self.len);
        out[1] = match used {
            2 => self.len as u8,
            4 => LEN_16,
            _ => LEN_64,
        };
        match used {
            4 => out[2..4].copy_from_slice(&(self.len as u16).to_be_bytes()),
            10 => out[2..10].copy_from_slice(&self.len.to_be_bytes()),
            _ => {}
        }
        let Some(key) = self.mask else { return used };
        out[1] |= MASKED;
        out[used..used + 4].copy_from_slice(&key);
        used + 4
    }
}

/// The mask of a payload from some place in it on (RFC 6455 section 5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mask(u32);

impl Mask {
    /// The mask of a key from byte `offset` of the payload on.
    pub fn new(key: [u8; 4], offset: u64) -> Self {
        Self(u32::from_le_bytes(key).rotate_right((offset % 4) as u32 * 8))
    }

    /// Masks bytes, or takes the mask off: both are the same.
    pub fn apply(self, data: &mut [u8]) {
        let wide = u64::from(self.0) | u64::from(self.0) << 32;
        let (chunks, rest) = data.as_chunks_mut::<8>();
        for chunk in chunks {
            *chunk = (u64::from_le_bytes(*chunk) ^ wide).to_le_bytes();
        }
        for (byte, key) in rest.iter_mut().zip(wide.to_le_bytes()) {
            *byte ^= key;
        }
    }
}

/// Writes the payload of Close: the code and why; returns how many bytes that are. [`code::NONE`] has no payload.
pub fn write_close(code: u16, why: &str, out: &mut [u8; CONTROL_MAX]) -> usize {
    if code == code::NONE {
        return 0;
    }
    out[..2].copy_from_slice(&code.to_be_bytes());
    let mut end = why.len().min(CONTROL_MAX - 2);
    while !why.is_char_boundary(end) {
        end -= 1;
    }
    out[2..2 + end].copy_from_slice(&why.as_bytes()[..end]);
    2 + end
}

/// The code in the payload of Close; [`code::NONE`] if there is none (RFC 6455 sections 5.5.1 and 7.4).
///
/// # Errors
/// If it is half a code, one that must not be sent, or its reason is not UTF-8.
pub fn close_code(payload: &[u8]) -> Result<u16, Violation> {
    let Some((bytes, why)) = payload.split_first_chunk::<2>() else {
        return if payload.is_empty() { Ok(code::NONE) } else { Err(Violation::HalfCloseCode) };
    };
    let code = u16::from_be_bytes(*bytes);
    // Those of RFC 6455, of IANA's registry since (1012 to 1014), of libraries, and private ones.
    if !matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999) {
        return Err(Violation::CloseCode);
    }
    if std::str::from_utf8(why).is_err() {
        return Err(Violation::NotUtf8);
    }
    Ok(code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(header: Header) -> Vec<u8> {
        let mut out = [0; HEADER_MAX];
        let len = header.write(&mut out);
        out[..len].to_vec()
    }

    /// Examples of RFC 6455 section 5.7.
    #[test]
    fn headers_of_the_rfc() {
        let header = |fin, opcode, mask, len| Header { fin, compressed: false, opcode, mask, len };
        let key = [0x37, 0xfa, 0x21, 0x3d];
        for (bytes, expected) in [
            (&[0x81, 0x05][..], header(true, Opcode::Text, None, 5)),
            (&[0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d], header(true, Opcode::Text, Some(key), 5)),
            (&[0x01, 0x03], header(false, Opcode::Text, None, 3)),
            (&[0x80, 0x02], header(true, Opcode::Continuation, None, 2)),
            (&[0x89, 0x05], header(true, Opcode::Ping, None, 5)),
            (&[0x8a, 0x85, 0x37, 0xfa, 0x21, 0x3d], header(true, Opcode::Pong, Some(key), 5)),
            (&[0x82, 0x7e, 0x01, 0x00], header(true, Opcode::Binary, None, 256)),
            (&[0x82, 0x7f, 0, 0, 0, 0, 0, 1, 0, 0], header(true, Opcode::Binary, None, 65_536)),
        ] {
            assert_eq!(Header::read(bytes, true), Ok(Some((expected, bytes.len()))));
            assert_eq!(written(expected), bytes);
            for len in 0..bytes.len() {
                assert_eq!(Header::read(&bytes[..len], true), Ok(None), "{len} bytes of {bytes:?}");
            }
        }
        let mut payload = [0x7f, 0x9f, 0x4d, 0x51, 0x58];
        Mask::new(key, 0).apply(&mut payload);
        assert_eq!(&payload, b"Hello");
    }

    #[test]
    fn what_breaks_a_rule_is_no_header() {
        for (bytes, wrong) in [
            (&[0xc1][..], Violation::ReservedBits),
            (&[0x91], Violation::ReservedBits),
            (&[0x83], Violation::UnknownOpcode),
            (&[0x8b], Violation::UnknownOpcode),
            (&[0x09], Violation::FragmentedControl),
            (&[0x89, 0x7e], Violation::LongControl),
            (&[0x82, 0x7e, 0, 125], Violation::LongLength),
            (&[0x82, 0x7f, 0, 0, 0, 0, 0, 0, 0xff, 0xff], Violation::LongLength),
            (&[0x82, 0x7f, 0x80, 0, 0, 0, 0, 0, 0, 0], Violation::LengthTooLarge),
        ] {
            assert_eq!(Header::read(bytes, false), Err(wrong), "{bytes:?}");
        }
        // RFC 7692 section 6.1: of the three bits one has a meaning, and only in a message's first frame.
        for bytes in [&[0xa1][..], &[0x91], &[0xc0], &[0xc9], &[0xe1]] {
            assert_eq!(Header::read(bytes, true), Err(Violation::ReservedBits), "{bytes:?}");
        }
    }

    #[test]
    fn close_has_a_code_and_a_reason() {
        let mut out = [0; CONTROL_MAX];
        let len = write_close(1002, &"ü".repeat(70), &mut out);
        assert_eq!((len, close_code(&out[..len])), (2 + 122, Ok(1002)));
        assert_eq!((write_close(code::NONE, "why", &mut out), close_code(&[])), (0, Ok(code::NONE)));
        assert_eq!(close_code(&[3]), Err(Violation::HalfCloseCode));
        for wrong in [0u16, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65_535] {
            assert_eq!(close_code(&wrong.to_be_bytes()), Err(Violation::CloseCode), "{wrong}");
        }
        assert_eq!(close_code(&[3, 0xe8, 0xff]), Err(Violation::NotUtf8));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(fin: bool, compressed: bool, opcode in 0u8..16, mask: Option<[u8; 4]>, len in 0u64..1 << 63, small: bool, behind: Vec<u8>) {
            let Some(opcode) = Opcode::read(opcode) else { return Ok(()) };
            let control = opcode.is_control();
            let len = if control { len % 126 } else if small { len % 70_000 } else { len };
            let compressed = compressed && matches!(opcode, Opcode::Text | Opcode::Binary);
            let header = Header { fin: fin || control, compressed, opcode, mask, len };
            let bytes = written(header);
            prop_assert_eq!(bytes.len(), Header::size(len, mask.is_some()));
            let all = [&bytes[..], &behind].concat();
            prop_assert_eq!(Header::read(&all, true), Ok(Some((header, bytes.len()))));
        }

        #[test]
        fn any_cut_of_a_payload_is_masked_alike(key: [u8; 4], data: Vec<u8>, cut: usize) {
            let cut = cut % (data.len() + 1);
            let mut whole = data.clone();
            Mask::new(key, 0).apply(&mut whole);
            for (at, byte) in data.iter().enumerate() {
                prop_assert_eq!(whole[at], byte ^ key[at % 4]);
            }
            let mut pieces = data;
            Mask::new(key, 0).apply(&mut pieces[..cut]);
            Mask::new(key, cut as u64).apply(&mut pieces[cut..]);
            prop_assert_eq!(pieces, whole);
        }
    }
}
