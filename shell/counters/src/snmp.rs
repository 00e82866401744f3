//! An SNMP agent as a hop: IF-MIB (RFC 2863), the IP group and its successor (RFC 4293), CPU load of HOST-RESOURCES-MIB
//! (RFC 2790) and UCD-SNMP-MIB, by version 2c or 3.
//!
//! Not here: the protocol, which is a library's; the age of readings, which the poller handles.

use crate::config::{AuthProtocol, Cipher, Snmp, Version};
use crate::hop::{Depth, Reader};
use crate::reading::{Counter, Interface, Reading, Source, Ticks};
use crate::{CounterError, HopConfig};
use snmp2::{Oid, SyncSession, Value, v3};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Timeout of a request, and number of attempts.
const TIMEOUT: Duration = Duration::from_secs(1);
const ATTEMPTS: u32 = 3;
/// A failure within this time is a refusal by the host.
const REFUSAL: Duration = Duration::from_millis(500);
/// SnmpValues per request, so that the response fits a packet of 1,500 bytes.
const VARIABLES_MAX: usize = 20;
/// Maximum rows of a table to read.
const ROWS_MAX: usize = 20_000;

const SYS_UPTIME: &[u64] = &[1, 3, 6, 1, 2, 1, 1, 3, 0];
const IF_TABLE: &[u64] = &[1, 3, 6, 1, 2, 1, 2, 2, 1];
const IF_X_TABLE: &[u64] = &[1, 3, 6, 1, 2, 1, 31, 1, 1, 1];
const IF_DESCR: u64 = 2;
const IF_NAME: u64 = 1;
const IF_HC_IN_UCAST: u64 = 7;
const IF_HIGH_SPEED: u64 = 15;
/// Drops and errors of ifTable.
const IF_DROPS: [(u64, &str); 4] =
    [(13, "ifInDiscards"), (14, "ifInErrors"), (19, "ifOutDiscards"), (20, "ifOutErrors")];
const IP: &[u64] = &[1, 3, 6, 1, 2, 1, 4];
/// Drops of the IP group, which ipSystemStatsTable supersedes.
const IP_DROPS: [(u64, &str); 5] = [
    (4, "ipInHdrErrors (bad header or TTL expired)"),
    (5, "ipInAddrErrors (bad address or forwarding disabled)"),
    (8, "ipInDiscards (no buffer space)"),
    (11, "ipOutDiscards (no buffer space)"),
    (12, "ipOutNoRoutes (no route)"),
];
const IP_FORWARDED: u64 = 6;
const IP_STATS: &[u64] = &[1, 3, 6, 1, 2, 1, 4, 31, 1, 1];
/// Drops of ipSystemStatsTable.
const IP_STATS_DROPS: [(u64, &str); 6] = [
    (7, "InHdrErrors (bad header or TTL expired)"),
    (8, "InNoRoutes (no route)"),
    (9, "InAddrErrors (bad address or forwarding disabled)"),
    (17, "InDiscards (no buffer space)"),
    (22, "OutNoRoutes (no route)"),
    (25, "OutDiscards (no buffer space)"),
];
const IP_VERSIONS: [(u64, &str); 2] = [(1, "ipv4"), (2, "ipv6")];
const UCD: &[u64] = &[1, 3, 6, 1, 4, 1, 2021, 11];
/// ssCpuRawUser, Nice, System, Interrupt, SoftIRQ, Steal; of Idle and Wait.
const CPU_BUSY: [u64; 6] = [50, 51, 52, 56, CPU_SOFTIRQ, 64];
const CPU_SOFTIRQ: u64 = 61;
const CPU_IDLE: [u64; 2] = [53, 54];
const HR_PROCESSOR_LOAD: &[u64] = &[1, 3, 6, 1, 2, 1, 25, 3, 3, 1, 2];

/// SnmpValues read from an agent.
type SnmpValues = BTreeMap<Vec<u64>, SnmpValue>;

#[derive(Debug, Clone, PartialEq)]
enum SnmpValue {
    Counter(Counter),
    Ticks(u32),
    Number(i64),
    Text(String),
}

/// An agent and the hop's interfaces.
pub(crate) struct Agent {
    config: Snmp,
    session: Option<Box<SyncSession>>,
    inside: (String, u64),
    outside: (String, u64),
    /// Whether it has 64-bit counters.
    is_wide: bool,
    /// Values of light and full readings that the agent has.
    light: Vec<Vec<u64>>,
    full: Vec<Vec<u64>>,
    requests_sent: u64,
}

impl Agent {
    /// Opens the hop: checks that its agent responds and has both interfaces.
    pub(crate) fn open(hop: &HopConfig, config: &Snmp) -> Result<Self, CounterError> {
        let mut agent = Self {
            config: config.clone(),
            session: None,
            inside: (hop.inside.clone(), 0),
            outside: (hop.outside.clone(), 0),
            is_wide: true,
            light: Vec::new(),
            full: Vec::new(),
            requests_sent: 0,
        };
        let failed = |reason| CounterError::Unreachable { hop: hop.name.clone(), reason };
        let mut names = agent.names(&under(IF_X_TABLE, &[IF_NAME])).map_err(failed)?;
        let mut known: Vec<String> = names.keys().cloned().collect();
        if [&hop.inside, &hop.outside].into_iter().any(|name| !names.contains_key(name)) {
            for (name, index) in agent.names(&under(IF_TABLE, &[IF_DESCR])).map_err(failed)? {
                if !names.values().any(|other| *other == index) {
                    known.push(name.clone());
                }
                names.entry(name).or_insert(index);
            }
        }
        for interface in [&mut agent.inside, &mut agent.outside] {
            interface.1 = *names.get(&interface.0).ok_or_else(|| CounterError::NoInterface {
                hop: hop.name.clone(),
                location: format!("{}:{}", config.host, config.port),
                interface: interface.0.clone(),
                known: known.clone(),
            })?;
        }
        agent.choose().map_err(failed)?;
        Ok(agent)
    }

    /// Determines which variables the agent has.
    fn choose(&mut self) -> Result<(), String> {
        let probe = under(IF_X_TABLE, &[IF_HC_IN_UCAST, self.inside.1]);
        self.is_wide = self.get(std::slice::from_ref(&probe))?.contains_key(&probe);
        self.light = self.light_variables();
        self.full = [self.light.clone(), full_variables()].concat();
        let full = self.full.clone();
        let present = self.get(&full)?;
        self.light.retain(|variable| present.contains_key(variable));
        self.full.retain(|variable| present.contains_key(variable));
        if self.interface(&present, self.inside.1).is_none() {
            return Err(format!(
                "{}: no packet counters for interface {} (IF-MIB)",
                self.config.host, self.inside.0
            ));
        }
        Ok(())
    }

    fn light_variables(&self) -> Vec<Vec<u64>> {
        let mut variables = vec![SYS_UPTIME.to_vec()];
        for index in [self.inside.1, self.outside.1] {
            let (base, columns) = self.columns();
            variables.extend(columns.concat().into_iter().map(|column| under(base, &[column, index])));
            variables.extend(IF_DROPS.map(|(column, _)| under(IF_TABLE, &[column, index])));
        }
        variables.extend(CPU_BUSY.into_iter().chain(CPU_IDLE).map(|column| under(UCD, &[column, 0])));
        variables.sort_unstable();
        variables.dedup();
        variables
    }

    /// The table of packet counters; its columns of bytes in, packets in, bytes out, packets out.
    fn columns(&self) -> (&'static [u64], [&'static [u64]; 4]) {
        match self.is_wide {
            true => (IF_X_TABLE, [&[6], &[7, 8, 9], &[10], &[11, 12, 13]]),
            false => (IF_TABLE, [&[10], &[11, 12], &[16], &[17, 18]]),
        }
    }

    fn interface(&self, values: &SnmpValues, index: u64) -> Option<Interface> {
        let (base, columns) = self.columns();
        // Only unicast counters are mandatory.
        let sum = |columns: &[u64]| {
            let mut counters = columns.iter().map(|column| counter(values, &under(base, &[*column, index])));
            let first = counters.next().flatten()?;
            Some(counters.flatten().fold(first, Counter::plus))
        };
        let [rx_bytes, rx_packets, tx_bytes, tx_packets] = columns.map(sum);
        Some(Interface {
            rx_packets: rx_packets?,
            tx_packets: tx_packets?,
            rx_bytes: rx_bytes?,
            tx_bytes: tx_bytes?,
        })
    }

    /// Interface indexes by name, from a column of names.
    fn names(&mut self, column: &[u64]) -> Result<BTreeMap<String, u64>, String> {
        let rows = self.walk(column)?;
        let named = rows.into_iter().filter_map(|(variable, answer)| match answer {
            SnmpValue::Text(name) => Some((name, *variable.last()?)),
            _ => None,
        });
        Ok(named.collect())
    }

    /// All variables below one.
    fn walk(&mut self, base: &[u64]) -> Result<SnmpValues, String> {
        let mut rows = SnmpValues::new();
        let mut from = base.to_vec();
        while rows.len() < ROWS_MAX {
            let page = self.request(|session| {
                let from = oid(&from)?;
                let answer = session.getbulk(&[&from], 0, VARIABLES_MAX as u32)?;
                Ok(answer.varbinds.map(|(name, value)| (numbers(&name), owned(&value))).collect::<Vec<_>>())
            })?;
            let before = rows.len();
            let below = page.into_iter().take_while(|(name, _)| name.starts_with(base));
            rows.extend(below.filter_map(|(name, value)| Some((name, value?))));
            // Terminates even if an agent's variables do not ascend.
            match rows.last_key_value() {
                Some((last, _)) if rows.len() > before => from.clone_from(last),
                _ => break,
            }
        }
        Ok(rows)
    }

    /// Gets these variables; absent ones are left out.
    fn get(&mut self, variables: &[Vec<u64>]) -> Result<SnmpValues, String> {
        let mut values = SnmpValues::new();
        for some in variables.chunks(VARIABLES_MAX) {
            let (too_big, found) = self.request(|session| {
                let oids = some.iter().map(|variable| oid(variable)).collect::<Result<Vec<_>, _>>()?;
                let answer = session.get_many(&oids.iter().collect::<Vec<_>>())?;
                let found = answer.varbinds.map(|(name, value)| (numbers(&name), owned(&value)));
                Ok((answer.error_status == snmp2::snmp::ERRSTATUS_TOOBIG, found.collect::<Vec<_>>()))
            })?;
            if too_big && some.len() > 1 {
                let (left, right) = some.split_at(some.len() / 2);
                values.extend(self.get(left)?);
                values.extend(self.get(right)?);
            } else {
                values.extend(found.into_iter().filter_map(|(name, value)| Some((name, value?))));
            }
        }
        Ok(values)
    }

    /// Sends a request, with retries in a new session each, which ignores late responses to old requests.
    fn request<T>(&mut self, ask: impl Fn(&mut SyncSession) -> Result<T, snmp2::Error>) -> Result<T, String> {
        let mut reason = String::new();
        for _ in 0..ATTEMPTS {
            let begun = Instant::now();
            let mut session = match self.session.take().map_or_else(|| session(&self.config), Ok) {
                Ok(session) => session,
                Err(SessionError::Permanent(why)) => return Err(why),
                Err(SessionError::Failed(error)) => {
                    reason = self.reason(&error, begun.elapsed());
                    continue;
                }
            };
            self.requests_sent += 1;
            let mut answer = ask(&mut session);
            // The agent has sent its time and expects the request again (RFC 3414 section 4).
            if answer.as_ref().is_err_and(|error| *error == snmp2::Error::AuthUpdated) {
                answer = ask(&mut session);
            }
            match answer {
                Ok(answer) => {
                    self.session = Some(session);
                    return Ok(answer);
                }
                Err(error) => reason = self.reason(&error, begun.elapsed()),
            }
        }
        Err(reason)
    }

    /// The error as a message.
    fn reason(&self, error: &snmp2::Error, after: Duration) -> String {
        let Snmp { host, port, .. } = &self.config;
        let who = match (self.config.version(), &self.config.user) {
            (Version::V3, Some(user)) => format!("user '{user}'"),
            _ => "community".to_owned(),
        };
        match error {
            snmp2::Error::Receive | snmp2::Error::Send if after < REFUSAL => {
                format!("{host}:{port} refused the connection: no SNMP agent is listening")
            }
            snmp2::Error::Receive => format!(
                "no SNMP response from {host}:{port}: no agent is running, or it does not accept the {who}"
            ),
            snmp2::Error::AuthFailure(kind) => format!(
                "{host}:{port} does not accept {who}: check the name, passwords and protocols ({kind})"
            ),
            error => format!("{host}:{port}: SNMP error: {error}"),
        }
    }

    fn reading(&mut self, values: &SnmpValues, depth: Depth) -> Result<Reading, String> {
        let uptime_cs = match values.get(SYS_UPTIME) {
            Some(SnmpValue::Ticks(ticks)) => Some(*ticks),
            _ => None,
        };
        let mut reading = Reading {
            uptime_cs,
            inside: self.interface(values, self.inside.1),
            outside: self.interface(values, self.outside.1),
            ticks: ticks(values),
            ..Reading::default()
        };
        for (name, index) in [&self.inside, &self.outside] {
            for (column, label) in IF_DROPS {
                if let Some(counter) = counter(values, &under(IF_TABLE, &[column, *index])) {
                    reading.drops.insert((Source::Link, format!("{label} of {name}")), counter);
                }
            }
        }
        if depth == Depth::Full {
            ip(values, &mut reading);
            self.speeds(&mut reading)?;
            if reading.ticks.is_none() {
                reading.load = load(&self.walk(HR_PROCESSOR_LOAD)?);
            }
        }
        Ok(reading)
    }

    fn speeds(&mut self, reading: &mut Reading) -> Result<(), String> {
        let ends = [self.inside.clone(), self.outside.clone()];
        let variables = [ends[0].1, ends[1].1].map(|index| under(IF_X_TABLE, &[IF_HIGH_SPEED, index]));
        let values = self.get(&variables)?;
        for ((name, _), variable) in ends.iter().zip(&variables) {
            let speed = counter(&values, variable).map(Counter::value).filter(|speed| *speed > 0);
            speed.into_iter().for_each(|speed| {
                reading.gauges.insert(format!("speed of {name}, Mbit/s"), speed);
            });
        }
        Ok(())
    }
}

impl Reader for Agent {
    fn read(&mut self, depth: Depth) -> Result<Reading, String> {
        let variables = if depth == Depth::Full { self.full.clone() } else { self.light.clone() };
        let values = self.get(&variables)?;
        self.reading(&values, depth)
    }

    fn is_cached(&self) -> bool {
        true
    }

    fn requests_sent(&self) -> u64 {
        self.requests_sent
    }
}

fn full_variables() -> Vec<Vec<u64>> {
    let mut variables: Vec<Vec<u64>> = Vec::new();
    variables.extend(IP_DROPS.map(|(column, _)| under(IP, &[column, 0])));
    variables.push(under(IP, &[IP_FORWARDED, 0]));
    for (version, _) in IP_VERSIONS {
        variables.extend(IP_STATS_DROPS.map(|(column, _)| under(IP_STATS, &[column, version])));
    }
    variables
}

/// Drops of the IP stack. The older group is skipped if the newer table exists, as both count the same.
fn ip(values: &SnmpValues, reading: &mut Reading) {
    for (version, word) in IP_VERSIONS {
        for (column, label) in IP_STATS_DROPS {
            if let Some(counter) = counter(values, &under(IP_STATS, &[column, version])) {
                reading.drops.insert((Source::Ip, format!("ipSystemStats{label}, {word}")), counter);
            }
        }
    }
    let has_table = reading.drops.keys().any(|(source, _)| *source == Source::Ip);
    for (column, label) in IP_DROPS.into_iter().filter(|_| !has_table) {
        if let Some(counter) = counter(values, &under(IP, &[column, 0])) {
            reading.drops.insert((Source::Ip, label.to_owned()), counter);
        }
    }
    if let Some(counter) = counter(values, &under(IP, &[IP_FORWARDED, 0])) {
        reading.others.insert("ipForwDatagrams".to_owned(), counter);
    }
}

fn ticks(values: &SnmpValues) -> Option<Ticks> {
    let of = |column: u64| counter(values, &under(UCD, &[column, 0]));
    let sum = |columns: &[u64]| columns.iter().filter_map(|column| of(*column)).reduce(Counter::plus);
    let idle = of(CPU_IDLE[0]).and_then(|_| sum(&CPU_IDLE))?;
    let busy = sum(&CPU_BUSY)?;
    // Net-SNMP reports 0 until its first measurement, some seconds after its start.
    let has_looked = busy.value() > 0 || idle.value() > 0;
    let softirq = of(CPU_SOFTIRQ).unwrap_or(Counter::narrow(0));
    has_looked.then_some(Ticks { busy, idle, softirq })
}

/// The mean load of all CPUs, 0 to 1.
fn load(rows: &SnmpValues) -> Option<f64> {
    let loads: Vec<f64> = rows
        .values()
        .filter_map(
            |answer| if let SnmpValue::Number(percent) = answer { Some(*percent as f64) } else { None },
        )
        .collect();
    (!loads.is_empty()).then(|| loads.iter().sum::<f64>() / loads.len() as f64 / 100.0)
}

fn counter(values: &SnmpValues, variable: &[u64]) -> Option<Counter> {
    match values.get(variable)? {
        SnmpValue::Counter(counter) => Some(*counter),
        _ => None,
    }
}

fn under(base: &[u64], more: &[u64]) -> Vec<u64> {
    [base, more].concat()
}

fn oid(numbers: &[u64]) -> Result<Oid<'static>, snmp2::Error> {
    Oid::from(numbers).map_err(|_| snmp2::Error::AsnParse)
}

fn numbers(oid: &Oid<'_>) -> Vec<u64> {
    oid.iter().map(Iterator::collect).unwrap_or_default()
}

fn owned(value: &Value<'_>) -> Option<SnmpValue> {
    match value {
        Value::Counter32(value) | Value::Unsigned32(value) => {
            Some(SnmpValue::Counter(Counter::narrow(*value)))
        }
        Value::Counter64(value) => Some(SnmpValue::Counter(Counter::wide(*value))),
        Value::Timeticks(ticks) => Some(SnmpValue::Ticks(*ticks)),
        Value::Integer(number) => Some(SnmpValue::Number(*number)),
        Value::OctetString(bytes) => Some(SnmpValue::Text(String::from_utf8_lossy(bytes).into_owned())),
        _ => None,
    }
}

/// An error of opening a session.
enum SessionError {
    /// Permanent: a retry is pointless.
    Permanent(String),
    /// The agent did not respond, or with an error.
    Failed(snmp2::Error),
}

fn session(config: &Snmp) -> Result<Box<SyncSession>, SessionError> {
    let to = (config.host.as_str(), config.port);
    let never =
        |error: std::io::Error| SessionError::Permanent(format!("{}:{}: {error}", config.host, config.port));
    if config.version() == Version::V2c {
        let community = config.community.as_ref().map_or(&b"public"[..], |word| word.bytes());
        return SyncSession::new_v2c(to, community, Some(TIMEOUT), 1).map(Box::new).map_err(never);
    }
    let mut session =
        SyncSession::new_v3(to, Some(TIMEOUT), 1, security(config)).map(Box::new).map_err(never)?;
    session.init().map_err(SessionError::Failed)?;
    Ok(session)
}

fn security(config: &Snmp) -> v3::Security {
    let user = config.user.as_deref().unwrap_or_default().as_bytes();
    let Some(auth) = &config.auth else {
        return v3::Security::new(user, b"").with_auth(v3::Auth::NoAuthNoPriv);
    };
    let level = match &config.privacy {
        None => v3::Auth::AuthNoPriv,
        Some(privacy) => v3::Auth::AuthPriv {
            cipher: cipher(privacy.protocol),
            privacy_password: privacy.password.bytes().to_vec(),
        },
    };
    v3::Security::new(user, auth.password.bytes())
        .with_auth_protocol(hash(auth.protocol))
        .with_auth(level)
        // Extends keys beyond the hash length like Net-SNMP.
        .with_key_extension_method(v3::KeyExtension::Blumenthal)
}

fn hash(protocol: AuthProtocol) -> v3::AuthProtocol {
    match protocol {
        AuthProtocol::Md5 => v3::AuthProtocol::Md5,
        AuthProtocol::Sha1 => v3::AuthProtocol::Sha1,
        AuthProtocol::Sha224 => v3::AuthProtocol::Sha224,
        AuthProtocol::Sha256 => v3::AuthProtocol::Sha256,
        AuthProtocol::Sha384 => v3::AuthProtocol::Sha384,
        AuthProtocol::Sha512 => v3::AuthProtocol::Sha512,
    }
}

fn cipher(protocol: Cipher) -> v3::Cipher {
    match protocol {
        Cipher::Des => v3::Cipher::Des,
        Cipher::Aes128 => v3::Cipher::Aes128,
        Cipher::Aes192 => v3::Cipher::Aes192,
        Cipher::Aes256 => v3::Cipher::Aes256,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newer_table_supersedes_the_older_group() {
        let one = |variable: Vec<u64>| (variable, SnmpValue::Counter(Counter::narrow(7)));
        let old = one(under(IP, &[12, 0]));
        let new = one(under(IP_STATS, &[8, 1]));
        let names = |values: SnmpValues| {
            let mut reading = Reading::default();
            ip(&values, &mut reading);
            reading.drops.into_keys().map(|(_, name)| name).collect::<Vec<_>>()
        };
        assert_eq!(names(SnmpValues::from([old.clone()])), ["ipOutNoRoutes (no route)"]);
        assert_eq!(names(SnmpValues::from([old, new])), ["ipSystemStatsInNoRoutes (no route), ipv4"]);
    }

    #[test]
    fn processors_are_read() {
        let one =
            |column: u64, ticks: u32| (under(UCD, &[column, 0]), SnmpValue::Counter(Counter::narrow(ticks)));
        let found =
            ticks(&SnmpValues::from([one(50, 5), one(52, 6), one(53, 80), one(54, 1), one(61, 2)])).unwrap();
        assert_eq!((found.busy.value(), found.idle.value(), found.softirq.value()), (13, 81, 2));
        assert_eq!(ticks(&SnmpValues::new()), None);
        assert_eq!(ticks(&SnmpValues::from([one(50, 0), one(53, 0)])), None);
        let rows = SnmpValues::from([(vec![1], SnmpValue::Number(20)), (vec![2], SnmpValue::Number(40))]);
        assert_eq!((load(&rows), load(&SnmpValues::new())), (Some(0.3), None));
    }
}
