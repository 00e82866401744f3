//! Results exchanged by the two ends, in JSON.

use crate::Number;
use serde::{Deserialize, Serialize};

/// The results of one end.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Results {
    /// Use of a processor, percent.
    pub cpu_util_total: f64,
    /// In programs.
    pub cpu_util_user: f64,
    /// In the kernel.
    pub cpu_util_system: f64,
    /// 1 if a sender knows how many segments it sent again; -1 of a receiver.
    pub sender_has_retransmits: Number,
    /// Congestion control of TCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion_used: Option<String>,
    /// Output of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_output_text: Option<String>,
    /// One of each stream.
    pub streams: Vec<StreamResult>,
}

/// One end's results of a stream.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StreamResult {
    /// 1, 3, 4, 5 and so on, in the order in which streams were opened: there is no 2.
    pub id: Number,
    /// Octets sent or received, without those that do not count.
    pub bytes: Number,
    /// Segments sent again; -1 of a receiver.
    pub retransmits: Number,
    /// Of UDP packets, seconds (RFC 3550 section 6.4.1).
    pub jitter: f64,
    /// Packets lost, those that do not count among them.
    pub errors: Number,
    /// Of these, those that do not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub omitted_errors: Option<Number>,
    /// Packets sent; of a receiver the highest number it saw. Those that do not count are among them.
    pub packets: Number,
    /// Of these, those that do not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub omitted_packets: Option<Number>,
    /// When the stream began, seconds after the test.
    pub start_time: f64,
    /// When it ended.
    pub end_time: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_a_receiver_are_read() {
        let text = r#"{"cpu_util_total":0.5,"cpu_util_user":0.1,"cpu_util_system":0.4,"sender_has_retransmits":1.8446744073709552e+19,
            "congestion_used":"reno","unheard_of":[1,{}],"streams":[{"id":1,"bytes":1259280,"retransmits":1.8446744073709552e+19,
            "jitter":2.5e-05,"errors":0,"packets":209,"start_time":0,"end_time":1.001032}]}"#;
        let results: Results = serde_json::from_str(text).unwrap();
        assert_eq!(results.sender_has_retransmits, Number::UNKNOWN);
        let stream = &results.streams[0];
        assert_eq!(
            (stream.bytes.count(), stream.retransmits.known(), stream.packets.count()),
            (1_259_280, None, 209)
        );
        assert_eq!((stream.jitter, stream.end_time), (2.5e-5, 1.001_032));
    }
}
