//! A test: what both ends do, checked.

use crate::{Number, Parameters};
use units::Nanos;

/// Most streams in one direction, as in iperf3.
pub const MOST_STREAMS: u32 = 128;
/// Longest write, as in iperf3.
const LONGEST_BLOCK: u32 = 1 << 20;
/// Longest UDP packet: what an IPv4 packet has room for.
const LONGEST_DATAGRAM: u32 = 65_507;
/// Shortest UDP packet: sequence number and time.
const SHORTEST_DATAGRAM: u32 = 16;
const LONGEST_S: u64 = 86_400;
const LONGEST_OMISSION_S: u64 = 600;

/// Over which protocol data go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

/// Direction of the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The client.
    Up,
    /// The server.
    Down,
    /// Both, on separate streams.
    Both,
}

/// End of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// Time, after what does not count.
    Time(Nanos),
    /// Octets of all streams.
    Bytes(u64),
    /// Blocks of all streams.
    Blocks(u64),
}

/// Role of an end on a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It sends.
    Sender,
    /// It receives.
    Receiver,
}

/// A test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Test {
    /// Over which protocol.
    pub transport: Transport,
    /// Direction.
    pub direction: Direction,
    /// Streams in each direction.
    pub parallel: u32,
    /// Octets of a write, or of a UDP packet.
    pub block: u32,
    /// End of the test.
    pub until: Until,
    /// Time at the beginning that does not count.
    pub omit: Nanos,
    /// Bits per second of each stream.
    pub rate: Option<u64>,
    /// Blocks that are sent at once.
    pub burst: u32,
    /// Bits per second of each stream that the kernel paces.
    pub kernel_rate: Option<u64>,
    /// Size of the sockets' buffers.
    pub window: Option<u32>,
    /// Largest segment.
    pub mss: Option<u32>,
    /// Without Nagle's delay.
    pub nodelay: bool,
    /// Type of service.
    pub tos: u8,
    /// Congestion control of TCP.
    pub congestion: Option<String>,
    /// UDP packets are counted with 64 bits.
    pub wide_counters: bool,
    /// UDP packets must not be fragmented.
    pub dont_fragment: bool,
    /// A word of the user's for the report.
    pub title: Option<String>,
    /// Another one.
    pub extra_data: Option<String>,
    /// The client wants the server's output.
    pub wants_server_output: bool,
}

impl Test {
    /// Role of each stream at the client's end, in the order in which the client opens them.
    pub fn roles(&self) -> Vec<Role> {
        let of = |role| std::iter::repeat_n(role, self.parallel as usize);
        match self.direction {
            Direction::Up => of(Role::Sender).collect(),
            Direction::Down => of(Role::Receiver).collect(),
            Direction::Both => of(Role::Sender).chain(of(Role::Receiver)).collect(),
        }
    }

    /// Number of the stream that is opened as the one with this index.
    pub fn id(index: usize) -> u64 {
        index as u64 + if index == 0 { 1 } else { 2 }
    }

    /// Parameters for a server.
    pub fn parameters(&self) -> Parameters {
        let (time, num, blocks) = match self.until {
            Until::Time(time) => (time.0 / 1_000_000_000, 0, 0),
            Until::Bytes(bytes) => (0, bytes, 0),
            Until::Blocks(blocks) => (0, 0, blocks),
        };
        Parameters {
            tcp: self.transport == Transport::Tcp,
            udp: self.transport == Transport::Udp,
            sctp: false,
            omit: Number::from(self.omit.0 / 1_000_000_000),
            time: time.into(),
            num: num.into(),
            blockcount: blocks.into(),
            mss: u64::from(self.mss.unwrap_or(0)).into(),
            nodelay: self.nodelay,
            parallel: u64::from(self.parallel).into(),
            reverse: self.direction == Direction::Down,
            bidirectional: self.direction == Direction::Both,
            window: u64::from(self.window.unwrap_or(0)).into(),
            len: u64::from(self.block).into(),
            bandwidth: self.rate.unwrap_or(0).into(),
            fqrate: self.kernel_rate.unwrap_or(0).into(),
            pacing_timer: Number(1000),
            burst: u64::from(if self.burst > 1 { self.burst } else { 0 }).into(),
            tos: u64::from(self.tos).into(),
            title: self.title.clone(),
            extra_data: self.extra_data.clone(),
            congestion: self.congestion.clone(),
            get_server_output: Number(self.wants_server_output.into()),
            udp_counters_64bit: Number((self.wide_counters && self.transport == Transport::Udp).into()),
            dont_fragment: Number(self.dont_fragment.into()),
            client_version: Some("3.12".to_owned()),
        }
    }

    /// Test for a client's request.
    ///
    /// # Errors
    /// The unsupported parameter, and the reason.
    pub fn asked(asked: &Parameters) -> Result<Self, String> {
        let within = |name: &str, number: Number, least: u64, most: u64| match number.known() {
            Some(value) if (least..=most).contains(&value) => Ok(value),
            _ => Err(format!("{name}: {} is not between {least} and {most}", number.0)),
        };
        let optional = |name: &str, number: Number, most: u64| match number.0 {
            0 => Ok(None),
            _ => within(name, number, 1, most).map(Some),
        };
        let transport = match (asked.udp, asked.sctp) {
            (_, true) => return Err("sctp: only TCP and UDP are supported here".to_owned()),
            (true, _) => Transport::Udp,
            (false, _) => Transport::Tcp,
        };
        let direction = match (asked.bidirectional, asked.reverse) {
            (true, _) => Direction::Both,
            (false, true) => Direction::Down,
            (false, false) => Direction::Up,
        };
        let block = match transport {
            Transport::Tcp => within("len", asked.len, 1, LONGEST_BLOCK.into())?,
            Transport::Udp => within("len", asked.len, SHORTEST_DATAGRAM.into(), LONGEST_DATAGRAM.into())?,
        };
        let until = match (asked.num.count(), asked.blockcount.count()) {
            (0, 0) => Until::Time(Nanos(within("time", asked.time, 0, LONGEST_S)? * 1_000_000_000)),
            (0, blocks) => Until::Blocks(blocks),
            (bytes, _) => Until::Bytes(bytes),
        };
        let congestion = asked.congestion.clone().filter(|name| !name.is_empty());
        if congestion
            .as_ref()
            .is_some_and(|name| !name.bytes().all(|c| c.is_ascii_alphanumeric() || b"_-".contains(&c)))
        {
            return Err("congestion: letters, digits, '_' and '-' make a name".to_owned());
        }
        Ok(Self {
            transport,
            direction,
            parallel: within("parallel", asked.parallel, 1, MOST_STREAMS.into())? as u32,
            block: block as u32,
            until,
            omit: Nanos(within("omit", asked.omit, 0, LONGEST_OMISSION_S)? * 1_000_000_000),
            rate: optional("bandwidth", asked.bandwidth, i64::MAX as u64)?,
            burst: optional("burst", asked.burst, 1000)?.unwrap_or(1) as u32,
            kernel_rate: optional("fqrate", asked.fqrate, i64::MAX as u64)?,
            window: optional("window", asked.window, 512 << 20)?.map(|window| window as u32),
            mss: optional("MSS", asked.mss, 65_535)?.map(|mss| mss as u32),
            nodelay: asked.nodelay,
            tos: within("TOS", asked.tos, 0, 255)? as u8,
            congestion,
            wide_counters: asked.udp_counters_64bit.count() != 0,
            dont_fragment: asked.dont_fragment.count() != 0,
            title: asked.title.clone(),
            extra_data: asked.extra_data.clone(),
            wants_server_output: asked.get_server_output.count() != 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(text: &str) -> Parameters {
        serde_json::from_str(text).unwrap()
    }

    const PLAIN: &str = r#"{"tcp":true,"omit":0,"time":10,"num":0,"blockcount":0,"parallel":1,"len":131072,"pacing_timer":1000}"#;

    #[test]
    fn what_a_client_of_3_12_asks_is_understood() {
        let text = r#"{"udp":true,"omit":1,"time":0,"num":0,"blockcount":100,"parallel":2,"reverse":true,"len":1200,"bandwidth":2e+06,
            "pacing_timer":1000,"burst":10,"TOS":16,"title":"x","extra_data":"y","get_server_output":1,"udp_counters_64bit":1,"client_version":"3.12"}"#;
        let test = Test::asked(&parameters(text)).unwrap();
        assert_eq!(
            (test.transport, test.direction, test.until),
            (Transport::Udp, Direction::Down, Until::Blocks(100))
        );
        assert_eq!((test.rate, test.burst, test.tos, test.block), (Some(2_000_000), 10, 16, 1200));
        assert!(test.wide_counters && test.wants_server_output && !test.dont_fragment);
        assert_eq!(test.roles(), [Role::Receiver; 2]);
        assert_eq!((0..4).map(Test::id).collect::<Vec<_>>(), [1, 3, 4, 5]);
    }

    #[test]
    fn what_is_told_is_understood_alike() {
        let test = Test::asked(&parameters(PLAIN)).unwrap();
        let all = Test {
            direction: Direction::Both,
            parallel: 3,
            rate: Some(5_000_000),
            kernel_rate: Some(7),
            window: Some(1 << 20),
            mss: Some(1200),
            nodelay: true,
            tos: 184,
            congestion: Some("cubic".to_owned()),
            burst: 4,
            omit: Nanos(2_000_000_000),
            ..test.clone()
        };
        for test in [test, all] {
            let text = serde_json::to_string(&test.parameters()).unwrap();
            assert_eq!(Test::asked(&parameters(&text)).unwrap(), test);
        }
    }

    #[test]
    fn what_cannot_be_done_is_named() {
        for (from, to, word) in [
            (r#""parallel":1"#, r#""parallel":129"#, "parallel"),
            (r#""parallel":1"#, r#""parallel":0"#, "parallel"),
            (r#""len":131072"#, r#""len":1048577"#, "len"),
            (r#""len":131072"#, r#""len":-1"#, "len"),
            (r#""time":10"#, r#""time":86401"#, "time"),
            (r#""omit":0"#, r#""omit":601"#, "omit"),
            (r#""tcp":true"#, r#""sctp":true"#, "sctp"),
            (r#""tcp":true,"omit":0"#, r#""udp":true,"omit":0"#, "len"),
            (r#""len":131072"#, r#""len":131072,"congestion":"a b""#, "congestion"),
        ] {
            let text = PLAIN.replace(from, to);
            assert_ne!(text, PLAIN);
            assert!(Test::asked(&parameters(&text)).unwrap_err().starts_with(word), "{text}");
        }
    }
}
