//! ASTF: TRex's stateful profiles, as sessions.
//!
//! Not here: what TRex's own TCP stack would put on the wire. Flows, contents, sizes, rates and pairs of addresses are the same;
//! segments and acknowledgements are Eagre's.

mod convert;
mod settings;
mod steps;

pub(crate) use convert::{CLIENT_PORTS, convert};

use serde::Deserialize;
use std::collections::BTreeMap;

/// A stateful profile, as TRex's JSON files have it; programs may also be captures.
#[derive(Debug, Clone, Deserialize)]
pub struct Profile {
    /// Data sent by programs, by number.
    #[serde(default)]
    pub buf_list: Vec<Buffer>,
    /// Ranges of addresses, by number.
    #[serde(default)]
    pub ip_gen_dist_list: Vec<Range>,
    /// Programs, by number.
    #[serde(default)]
    pub program_list: Vec<Program>,
    /// Sessions.
    pub templates: Vec<Template>,
    /// Names of groups of templates; a template refers to them from 1 on.
    #[serde(default)]
    pub tg_names: Vec<String>,
    /// Settings of all clients.
    #[serde(default)]
    pub c_glob_info: Settings,
    /// Settings of all servers.
    #[serde(default)]
    pub s_glob_info: Settings,
}

/// Settings by section and name.
pub type Settings = BTreeMap<String, BTreeMap<String, Setting>>;

/// A setting's value.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Setting {
    /// A number.
    Number(i64),
    /// A text, such as an address.
    Text(String),
}

/// Data, in base64.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Buffer {
    /// As it is.
    Whole(String),
    /// Filled up to a size.
    Filled {
        /// Its beginning.
        base: String,
        /// Bytes in all.
        size: u64,
        /// Filling repeated after it.
        #[serde(default)]
        fill: String,
    },
}

/// A range of addresses.
#[derive(Debug, Clone, Deserialize)]
pub struct Range {
    /// First address.
    pub ip_start: std::net::Ipv4Addr,
    /// Last address.
    pub ip_end: std::net::Ipv4Addr,
    /// `seq` or `rand`.
    pub distribution: String,
}

/// Program of one end of a session.
#[derive(Debug, Clone, Deserialize)]
pub struct Program {
    /// Whether it runs over TCP.
    #[serde(default = "yes")]
    pub stream: bool,
    /// Steps.
    #[serde(default)]
    pub commands: Vec<Command>,
    /// A capture file whose first conversation is played instead.
    #[serde(default)]
    pub capture: Option<String>,
    /// The server's delay before each of its responses.
    #[serde(default)]
    pub s_delay: Option<Command>,
    /// Longest IP packet of datagrams.
    #[serde(default)]
    pub udp_mtu: Option<u32>,
}

fn yes() -> bool {
    true
}

/// A step.
#[derive(Debug, Clone, Deserialize)]
pub struct Command {
    /// Command.
    pub name: String,
    /// Data to send.
    #[serde(default)]
    pub buf_index: Option<usize>,
    /// Bytes to wait for.
    #[serde(default)]
    pub min_bytes: Option<u64>,
    /// Datagrams to wait for.
    #[serde(default)]
    pub min_pkts: Option<u64>,
    /// Time to wait, µs.
    #[serde(default)]
    pub usec: Option<f64>,
    /// Shortest time to wait, µs.
    #[serde(default)]
    pub min_usec: Option<f64>,
    /// Longest time to wait, µs.
    #[serde(default)]
    pub max_usec: Option<f64>,
    /// Milliseconds.
    #[serde(default)]
    pub msec: Option<u64>,
    /// A variable.
    #[serde(default)]
    pub id: Option<u32>,
    /// A value.
    #[serde(default)]
    pub val: Option<i64>,
    /// Position of the next step, relative to this one.
    #[serde(default)]
    pub offset: Option<i64>,
    /// Comparison of a jump: `lt`, `le`, `gt`, `ge`, `eq`, `ne`.
    #[serde(default)]
    pub op: Option<String>,
    /// Seconds.
    #[serde(default)]
    pub duration: Option<f64>,
}

/// Clients and servers that belong together.
#[derive(Debug, Clone, Deserialize)]
pub struct Template {
    /// Clients.
    pub client_template: Client,
    /// Servers.
    pub server_template: Server,
    /// Its group, from 1 on.
    #[serde(default)]
    pub tg_id: Option<usize>,
}

/// Clients of a template.
#[derive(Debug, Clone, Deserialize)]
pub struct Client {
    /// Their program.
    pub program_index: usize,
    /// The servers' port.
    pub port: u16,
    /// Sessions per second.
    #[serde(default = "one")]
    pub cps: f64,
    /// Addresses.
    pub ip_gen: Addresses,
    /// Sessions in all.
    #[serde(default)]
    pub limit: Option<u64>,
    /// Whether `limit` is how many sessions are kept open.
    #[serde(default)]
    pub cont: Option<bool>,
    /// Settings of these clients.
    #[serde(default)]
    pub glob_info: Settings,
}

fn one() -> f64 {
    1.0
}

/// Addresses of both ends.
#[derive(Debug, Clone, Deserialize)]
pub struct Addresses {
    /// Of clients.
    pub dist_client: Reference,
    /// Of servers.
    pub dist_server: Reference,
}

/// A range by its number.
#[derive(Debug, Clone, Deserialize)]
pub struct Reference {
    /// The number.
    pub index: usize,
}

/// Servers of a template.
#[derive(Debug, Clone, Deserialize)]
pub struct Server {
    /// Their program.
    pub program_index: usize,
    /// Ports and addresses.
    #[serde(default)]
    pub assoc: Vec<Rule>,
    /// Settings of these servers.
    #[serde(default)]
    pub glob_info: Settings,
}

/// A port of servers.
#[derive(Debug, Clone, Deserialize)]
pub struct Rule {
    /// The port.
    pub port: u16,
    /// First address, if not all.
    #[serde(default)]
    pub ip_start: Option<std::net::Ipv4Addr>,
    /// Last address.
    #[serde(default)]
    pub ip_end: Option<std::net::Ipv4Addr>,
}
