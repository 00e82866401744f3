//! States exchanged by the two ends on the control connection, an octet each.

/// A message of one octet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i8)]
pub enum State {
    /// Server: the streams are there.
    Start = 1,
    /// Server: now data.
    Running = 2,
    /// Client: no more data.
    End = 4,
    /// Server: send your parameters.
    ExchangeParameters = 9,
    /// Server: open your streams.
    CreateStreams = 10,
    /// Server: I stop.
    ServerTerminates = 11,
    /// Client: I stop.
    ClientTerminates = 12,
    /// Server: send your results, and have mine.
    ExchangeResults = 13,
    /// Server: show them.
    DisplayResults = 14,
    /// Client: I have shown them.
    Done = 16,
    /// Server: another test runs.
    AccessDenied = -1,
    /// Server: it failed; two numbers of four octets follow, iperf3's own and the kernel's.
    ServerError = -2,
}

impl State {
    const ALL: [Self; 12] = [
        Self::Start,
        Self::Running,
        Self::End,
        Self::ExchangeParameters,
        Self::CreateStreams,
        Self::ServerTerminates,
        Self::ClientTerminates,
        Self::ExchangeResults,
        Self::DisplayResults,
        Self::Done,
        Self::AccessDenied,
        Self::ServerError,
    ];

    /// Meaning of an octet.
    pub fn from_octet(octet: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.octet() == octet)
    }

    /// As an octet.
    pub fn octet(self) -> u8 {
        (self as i8).cast_unsigned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octets_are_those_of_iperf3() {
        assert_eq!(State::from_octet(255), Some(State::AccessDenied));
        assert_eq!(State::from_octet(254), Some(State::ServerError));
        assert_eq!((0..=255).filter_map(State::from_octet).count(), State::ALL.len());
        assert!((0..=255).filter_map(|o| State::from_octet(o).map(|s| (o, s))).all(|(o, s)| s.octet() == o));
    }
}
