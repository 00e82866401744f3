//! STAMP of sessions, as written.

use crate::document::content::TimesDoc;
use crate::document::quantity::{Bytes, Duration, Hex};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// STAMP (RFC 8762): a session is a series of test packets from one address and port, which a reflector at the server sends back with its
/// times. Emulated servers are reflectors, for packets of TWAMP Light (RFC 5357, appendix I) of 41 bytes or more, too.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Stamp")]
pub struct StampDoc {
    /// Number of test packets in a session. Default: 10.
    pub packets: Option<TimesDoc>,
    /// Interval between the test packets of a session, at most 10s. Default: 100ms; with 'request_rate' of the entry as its turns come.
    pub interval: Option<Duration>,
    /// UDP payload of a test packet: 44B, or from 48B on with Extra Padding (RFC 8972); with a key 112B, or from 116B on. Default: the
    /// shortest.
    pub size: Option<Bytes>,
    /// Mode of the reflector, emulated or external.
    #[serde(default)]
    pub reflector: StampReflectorDoc,
    /// Format of this side's timestamps. The other side's is read as it comes.
    #[serde(default)]
    pub timestamps: StampTimestampsDoc,
    /// Time after which a test packet without a reply counts as lost, at most 10s. Default: 1s.
    pub wait: Option<Duration>,
    /// Key of authenticated mode (RFC 8762 section 4.4) that both ends share, 16 to 64 bytes.
    pub key: Option<Hex>,
    /// In place of 'key': file with the key, 32 to 128 hexadecimal digits, relative to the profile.
    #[schemars(length(min = 1))]
    pub key_file: Option<String>,
}

/// Mode of a reflector.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum StampReflectorDoc {
    /// A reply has the number of its packet.
    #[default]
    Stateless,
    /// Replies of each session are numbered, which shows in which direction packets are lost.
    Stateful,
}

/// Format of timestamps.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum StampTimestampsDoc {
    /// NTP version 4.
    #[default]
    Ntp,
    /// PTPv2, truncated; with the time of UTC.
    Ptp,
}
