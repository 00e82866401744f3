//! A network and those that follow it.

use super::GenerateError;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A network: address and prefix length, host bits zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefix {
    address: IpAddr,
    len: u8,
}

impl Prefix {
    /// The network of an address.
    ///
    /// # Errors
    ///
    /// If the length exceeds the address length, or host bits are set.
    pub fn new(address: IpAddr, len: u8) -> Result<Self, GenerateError> {
        let bad = |why| Err(GenerateError::BadPrefix { text: format!("{address}/{len}"), why });
        let prefix = Self { address, len };
        if len > prefix.bits() {
            return bad("prefix length too long");
        }
        if prefix.value() & (prefix.size() - 1) != 0 {
            return bad("host bits are set");
        }
        Ok(prefix)
    }

    /// The address itself, as a network of one.
    pub fn host(address: IpAddr) -> Self {
        Self { address, len: if address.is_ipv4() { 32 } else { 128 } }
    }

    /// First address.
    pub fn address(self) -> IpAddr {
        self.address
    }

    /// Length of the prefix in bits.
    pub fn prefix_len(self) -> u8 {
        self.len
    }

    /// Whether it is IPv6.
    pub fn is_ipv6(self) -> bool {
        self.address.is_ipv6()
    }

    /// Last address.
    pub fn last_address(self) -> IpAddr {
        self.at(self.value() | (self.size() - 1))
    }

    /// Mask of an IPv4 prefix; all ones for IPv6.
    pub fn netmask(self) -> Ipv4Addr {
        let host_bits = 32u32.saturating_sub(u32::from(self.len));
        Ipv4Addr::from(u32::MAX.checked_shl(host_bits).unwrap_or(0))
    }

    /// The inverted mask, as in IOS access lists.
    pub fn wildcard(self) -> Ipv4Addr {
        Ipv4Addr::from(!u32::from(self.netmask()))
    }

    /// The `n`-th network of the same length after this one.
    ///
    /// # Errors
    ///
    /// If that exceeds the address space.
    pub fn nth(self, n: u64) -> Result<Self, GenerateError> {
        let last = if self.is_ipv6() { u128::MAX } else { u128::from(u32::MAX) };
        let value = u128::from(n).checked_mul(self.size()).and_then(|by| self.value().checked_add(by));
        let value = value.filter(|&value| value <= last);
        let value = value.ok_or(GenerateError::TooMany { count: n.saturating_add(1), first: self })?;
        Ok(Self { address: self.at(value), len: self.len })
    }

    /// This network and the following ones, `count` in all.
    ///
    /// # Errors
    ///
    /// If that exceeds the address space.
    pub fn following(self, count: u64) -> Result<impl Iterator<Item = Self>, GenerateError> {
        self.nth(count.saturating_sub(1)).map_err(|_| GenerateError::TooMany { count, first: self })?;
        let (start, size) = (self.value(), self.size());
        Ok((0..count).map(move |n| Self { address: self.at(start + u128::from(n) * size), len: self.len }))
    }

    /// Whether the two overlap.
    pub fn overlaps(self, other: Self) -> bool {
        let last = |prefix: Self| prefix.value() | (prefix.size() - 1);
        self.is_ipv6() == other.is_ipv6() && self.value() <= last(other) && other.value() <= last(self)
    }

    fn bits(self) -> u8 {
        if self.is_ipv6() { 128 } else { 32 }
    }

    fn value(self) -> u128 {
        match self.address {
            IpAddr::V4(address) => u128::from(u32::from(address)),
            IpAddr::V6(address) => u128::from(address),
        }
    }

    /// Number of addresses; halved for ::/0, which no generator uses.
    fn size(self) -> u128 {
        1 << u32::from(self.bits() - self.len).min(127)
    }

    fn at(self, value: u128) -> IpAddr {
        match self.address {
            IpAddr::V4(_) => Ipv4Addr::from(u32::try_from(value).unwrap_or(u32::MAX)).into(),
            IpAddr::V6(_) => Ipv6Addr::from(value).into(),
        }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.len)
    }
}

impl FromStr for Prefix {
    type Err = GenerateError;

    fn from_str(text: &str) -> Result<Self, GenerateError> {
        let bad = |why| GenerateError::BadPrefix { text: text.to_owned(), why };
        let (address, len) = text.split_once('/').ok_or_else(|| bad("missing '/'"))?;
        let address: IpAddr = address.parse().map_err(|_| bad("invalid address"))?;
        Self::new(address, len.parse().map_err(|_| bad("invalid prefix length"))?)
    }
}
