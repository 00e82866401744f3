//! MAC control: pause and priority-based flow control. Source: IEEE 802.3 annex 31B; IEEE 802.1Q clause 36 and IEEE 802.3
//! annex 31D.

use crate::catalogue::{Protocol, hex, in_order, number};

/// The group that no bridge forwards.
const TO_THE_PEER: &[(&str, &str, u128)] = &[("ethernet", "dst", 0x0180_c200_0001)];

/// Pause.
pub static PAUSE: Protocol = Protocol {
    name: "pause",
    title: "MAC control: pause",
    source: "IEEE 802.3 annex 31B",
    len: 4,
    fields: &in_order([
        hex("opcode", 16, "1").default(1),
        number("quanta", 16, "Pause time, in units of 512 bit times").default(65535),
    ]),
    follows: &[("ethernet", 0x8808)],
    recognise: Some(("opcode", &[1])),
    needs: TO_THE_PEER,
    ..Protocol::PLAIN
};

/// Priority-based flow control.
pub static PFC: Protocol = Protocol {
    name: "pfc",
    title: "MAC control: priority-based flow control",
    source: "IEEE 802.1Q clause 36",
    len: 20,
    fields: &in_order([
        hex("opcode", 16, "0x101").default(0x0101),
        hex("classes", 16, "Which priorities to pause: bit 0 is priority 0").default(0xff),
        number("quanta0", 16, "Pause time of priority 0, in units of 512 bit times").default(65535),
        number("quanta1", 16, "Pause time of priority 1").default(65535),
        number("quanta2", 16, "Pause time of priority 2").default(65535),
        number("quanta3", 16, "Pause time of priority 3").default(65535),
        number("quanta4", 16, "Pause time of priority 4").default(65535),
        number("quanta5", 16, "Pause time of priority 5").default(65535),
        number("quanta6", 16, "Pause time of priority 6").default(65535),
        number("quanta7", 16, "Pause time of priority 7").default(65535),
    ]),
    follows: &[("ethernet", 0x8808)],
    recognise: Some(("opcode", &[0x0101])),
    needs: TO_THE_PEER,
    ..Protocol::PLAIN
};
