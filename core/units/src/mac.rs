//! Hardware addresses.

use std::fmt;
use std::str::FromStr;

/// A hardware address (IEEE 802), first byte first. Prints as `02:00:00:00:00:01`; reads `-` between the bytes too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// All stations.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// The address with this number; bits above 48 are ignored.
    pub const fn from_number(number: u64) -> Self {
        let [_, _, bytes @ ..] = number.to_be_bytes();
        Self(bytes)
    }

    /// The 48 bits as a number, first byte highest.
    pub const fn number(self) -> u64 {
        let [a, b, c, d, e, f] = self.0;
        u64::from_be_bytes([0, 0, a, b, c, d, e, f])
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// Why a text is not a hardware address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAMac;

impl fmt::Display for NotAMac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a hardware address such as 02:00:00:00:00:01")
    }
}

impl std::error::Error for NotAMac {}

impl FromStr for Mac {
    type Err = NotAMac;

    fn from_str(text: &str) -> Result<Self, NotAMac> {
        let separator = if text.contains('-') { '-' } else { ':' };
        let mut pairs = text.split(separator);
        let mut mac = [0; 6];
        for byte in &mut mac {
            let pair = pairs.next().ok_or(NotAMac)?;
            // `from_str_radix` would take a sign.
            if pair.len() != 2 || !pair.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return Err(NotAMac);
            }
            *byte = u8::from_str_radix(pair, 16).map_err(|_| NotAMac)?;
        }
        if pairs.next().is_some() { Err(NotAMac) } else { Ok(Self(mac)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_read() {
        let mac = Mac([0x02, 0xea, 0, 0x1f, 0xff, 1]);
        assert_eq!(mac.to_string(), "02:ea:00:1f:ff:01");
        assert_eq!(mac.to_string().parse(), Ok(mac));
        assert_eq!("02-EA-00-1F-FF-01".parse(), Ok(mac));
        assert_eq!(Mac::from_number(mac.number()), mac);
        assert_eq!(mac.number(), 0x02ea_001f_ff01);
    }

    #[test]
    fn everything_else_is_refused() {
        for text in [
            "",
            "02:00:00:00:00",
            "02:00:00:00:00:01:02",
            "2:0:0:0:0:1",
            "+2:00:00:00:00:01",
            "02:00-00:00:00:01",
        ] {
            assert_eq!(text.parse::<Mac>(), Err(NotAMac), "{text}");
        }
    }
}
