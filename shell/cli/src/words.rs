//! Values of options as people type them: a number without a unit where only one unit makes sense, and an address without its host.
//!
//! Not here: profiles, whose quantities carry their units.

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command};
use profile::document::{Bytes, Speedup};
use std::ffi::OsStr;
use std::net::{Ipv4Addr, SocketAddr};
use std::str::FromStr;
use units::{FrameLen, Nanos, QuantityError};

/// A name with shell completion. An unknown name is rejected by its user, with its own message.
#[derive(Clone)]
pub(crate) struct Named(pub(crate) fn() -> Vec<&'static str>);

impl TypedValueParser for Named {
    type Value = String;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.0)().into_iter().map(PossibleValue::new)))
    }
}

/// `30s`, `250us`; `2` is two seconds.
pub(crate) fn time(text: &str) -> Result<Nanos, QuantityError> {
    with_unit(text, "s")
}

/// Shortest time from one row of figures to the next.
const INTERVAL_LEAST: Nanos = Nanos::from_millis(10);

/// Time from one row of figures to the next, as [`time`].
pub(crate) fn interval(text: &str) -> Result<Nanos, String> {
    let interval = time(text).map_err(|error| error.to_string())?;
    if interval < INTERVAL_LEAST {
        return Err(format!("{interval} is too short: intervals have {INTERVAL_LEAST} at least"));
    }
    Ok(interval)
}

/// `64B`; `64` are bytes, too.
pub(crate) fn frame_len(text: &str) -> Result<FrameLen, QuantityError> {
    with_unit(text, "B")
}

/// `100MB`; `4096` are bytes.
pub(crate) fn bytes(text: &str) -> Result<Bytes, <Bytes as FromStr>::Err> {
    with_unit(text, "B")
}

/// `2x`; `2` is the same.
pub(crate) fn factor(text: &str) -> Result<Speedup, <Speedup as FromStr>::Err> {
    with_unit(text, "x")
}

/// `64,512B,imix` with a unit after each number.
pub(crate) fn lengths(text: &str) -> String {
    let all: Vec<_> = text.split(',').map(|one| completed(one.trim(), "B")).collect();
    all.join(",")
}

/// `127.0.0.1:8443`, `[::1]:8443`, or the port alone: `8443`, `:8443`, `localhost:8443` are of the loopback address.
pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix("localhost").unwrap_or(text);
    let port = port.strip_prefix(':').unwrap_or(port).parse::<u16>();
    match (text.parse(), port) {
        (Ok(address), _) => Ok(address),
        (_, Ok(port)) => Ok((Ipv4Addr::LOCALHOST, port).into()),
        _ => {
            Err("expected an address with a port, such as 127.0.0.1:8443 or [::1]:8443, or a port".to_owned())
        }
    }
}

fn with_unit<T: FromStr>(text: &str, unit: &str) -> Result<T, T::Err> {
    completed(text, unit).parse()
}

/// A number gets the unit.
fn completed(text: &str, unit: &str) -> String {
    let is_number =
        text.bytes().all(|b| b.is_ascii_digit() || b == b'.') && text.bytes().any(|b| b.is_ascii_digit());
    format!("{text}{}", if is_number { unit } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_get_the_unit() {
        assert_eq!(
            (time("2"), time("1.5"), time("20ms")),
            (Ok(Nanos(2_000_000_000)), Ok(Nanos(1_500_000_000)), Ok(Nanos(20_000_000)))
        );
        assert_eq!(lengths("64, 512B,imix"), "64B,512B,imix");
        assert_eq!(
            (frame_len("64"), factor("10").is_ok(), bytes("4096").is_ok()),
            (frame_len("64B"), true, true)
        );
        for text in ["", ".", "x", "-1", "2 s x"] {
            assert!(time(text).is_err(), "{text}");
        }
    }

    #[test]
    fn intervals_have_a_least_length() {
        assert_eq!((interval("10ms"), interval("2")), (Ok(INTERVAL_LEAST), Ok(Nanos::from_secs(2))));
        for text in ["0", "0s", "1us", "9.9ms"] {
            assert!(interval(text).unwrap_err().ends_with("intervals have 10ms at least"), "{text}");
        }
    }

    #[test]
    fn an_address_may_be_a_port() {
        let local = |port| Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        for text in ["8443", ":8443", "localhost:8443", "127.0.0.1:8443"] {
            assert_eq!(address(text), local(8443), "{text}");
        }
        assert!(address("[::1]:1").is_ok() && address("0.0.0.0:1").is_ok());
        for text in ["", ":", "host", "host:1", "70000", "127.0.0.1"] {
            assert!(address(text).is_err(), "{text}");
        }
    }
}
