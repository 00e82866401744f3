//! Any text as a quantity or as the value of a header's field: what is understood prints as a text that means the same.

use std::fmt::{Debug, Display};
use std::str::FromStr;
use units::{BitRate, FrameLen, Layer, Load, Nanos, Pps, QuantityError};
use wire::protocols::ALL;

const SEEDS: &[&str] = &[
    "30s",
    "250us",
    "1.5ms",
    "80 ns",
    "2min",
    "1m",
    "1h",
    "3\u{b5}s",
    "0s",
    "10Mpps",
    "500kpps",
    "0.5pps",
    "1Gpps",
    "1_000pps",
    "2.5Gbps",
    "2.5Gbps-L1",
    "10Tbps-L2",
    "800kbps",
    "40%",
    "0.0001%",
    "100%",
    "max",
    "64B",
    "1518B",
    "9KB",
    "9.6kB",
    "16384B",
    "17",
    "0x11",
    "4_294_967_295",
    "02:00:00:00:00:01",
    "02-00-00-00-00-ff",
    "10.0.0.1",
    "2001:2::1",
    "18446744073.709551615s",
    "18446744073.709551615Gbps",
];

/// The texts in [`SEEDS`].
pub fn seeds() -> Vec<Vec<u8>> {
    SEEDS.iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// The fastest link there may be: what comes below is a rate packets can be sent at.
const LINK_BPS: u64 = 10_000_000_000_000;

/// Checks one input; panics if something does not hold.
pub fn check(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        same::<Nanos>(text);
        same::<FrameLen>(text);
        let (pps, bps, load) = (same::<Pps>(text), same::<BitRate>(text), same::<Load>(text));
        if let Some(pps) = pps {
            assert_eq!(load, Some(Load::Packets(pps)));
        }
        if let Some(bps) = bps {
            assert_eq!(load, Some(Load::Bits(bps)));
        }
        if let Some(load) = load {
            check_packets(load);
        }
        check_fields(text);
    }
}

/// Value of `text`, if valid, after its printed form was found to have the same value.
fn same<T>(text: &str) -> Option<T>
where
    T: FromStr<Err = QuantityError> + Display + Debug + PartialEq,
{
    match text.parse::<T>() {
        Ok(value) => {
            let printed = value.to_string();
            assert_eq!(printed.parse::<T>().as_ref(), Ok(&value), "'{text}' is printed as '{printed}'");
            Some(value)
        }
        Err(error) => {
            assert_eq!(error.to_string(), format!("'{text}' is not {}", error.expected()));
            None
        }
    }
}

/// Packet rates are as computed with real numbers, or the highest there is.
fn check_packets(load: Load) {
    for length in [FrameLen::MIN, FrameLen::MAX] {
        let bits = |layer| if layer == Layer::L1 { length.l1_bits() } else { length.l2_bits() };
        let expected = match load {
            Load::Packets(pps) => pps.as_f64(),
            Load::Bits(rate) => rate.bps as f64 / bits(rate.layer) as f64,
            Load::LinkShare(ppm) => LINK_BPS as f64 * f64::from(ppm) / 1e6 / bits(Layer::L1) as f64,
            Load::Max => return assert_eq!(load.packets(length, LINK_BPS), None),
        };
        let expected = expected.min(Pps::from_micro(u64::MAX).as_f64());
        let pps = load.packets(length, LINK_BPS).expect("a rate").as_f64();
        assert!((pps - expected).abs() <= 2e-6 + expected * 1e-9, "{load} is {pps} pps, not {expected}");
    }
}

/// The same for the texts of header fields.
fn check_fields(text: &str) {
    for protocol in ALL {
        for field in protocol.fields {
            if let Ok(value) = field.parse(text) {
                assert!(value <= field.max(), "{}.{}: {value}", protocol.name, field.name);
                assert_eq!(field.parse(&field.print(value)), Ok(value), "{}.{}", protocol.name, field.name);
            }
        }
    }
}
