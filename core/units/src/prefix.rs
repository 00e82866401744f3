//! Prefixes as a function of their place.

use std::net::IpAddr;

/// The address of the prefix of `prefix_len` bits that is `place` prefixes after `first`; `None` beyond the last
/// address there is.
pub fn nth_prefix(first: IpAddr, prefix_len: u8, place: u128) -> Option<IpAddr> {
    let (number, bits, limit) = match first {
        IpAddr::V4(ip) => (u128::from(u32::from(ip)), 32, u128::from(u32::MAX)),
        IpAddr::V6(ip) => (ip.into(), 128, u128::MAX),
    };
    let free = u32::from(u8::saturating_sub(bits, prefix_len));
    let far = if place == 0 { 0 } else { place.checked_mul(1u128.checked_shl(free)?)? };
    let address = number.checked_add(far).filter(|ip| *ip <= limit)?;
    Some(match first {
        IpAddr::V4(_) => IpAddr::V4((address as u32).into()),
        IpAddr::V6(_) => IpAddr::V6(address.into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_follow_each_other_until_addresses_end() {
        let nth =
            |first: &str, len, place| nth_prefix(first.parse().unwrap(), len, place).map(|ip| ip.to_string());
        assert_eq!(nth("16.0.0.0", 24, 257).as_deref(), Some("16.1.1.0"));
        assert_eq!(nth("255.255.255.0", 24, 1), None);
        assert_eq!(nth("2001:db8::", 48, 2).as_deref(), Some("2001:db8:2::"));
        assert_eq!((nth("0.0.0.0", 0, 0).as_deref(), nth("::", 0, 1)), (Some("0.0.0.0"), None));
    }
}
