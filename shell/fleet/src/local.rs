//! A NATS server on this machine for a fleet: keys, certificates, permissions and configuration made for it, started, stopped.
//!
//! Not here: the meaning of subjects (`subjects`). The server is a separate program, which is not part of Eagre.
//!
//! Invariants: a key of an agent is good for that agent's subjects only; files with secrets are their owner's alone; the
//! configuration follows from the other files, so members are added and removed by adding and removing theirs.

use crate::access::FleetError;
use crate::join::Join;
use crate::subjects;
use agent::JOIN_VARIABLE;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io::Read;
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The server's program, as packages name it.
const PROGRAM: &str = "nats-server";
/// Folders with it that may not be on an ordinary user's PATH.
const PLACES: [&str; 3] = ["/usr/sbin", "/usr/local/bin", "/usr/local/sbin"];
/// Line of its log once it accepts connections.
const READY: &str = "Server is ready";
/// Time for the server to start or to end.
const START_TIME: Duration = Duration::from_secs(10);
const POLL_EVERY: Duration = Duration::from_millis(20);
/// Name of the controllers' user.
const CONTROLLER: &str = "controller";
/// Name of the authority, which its certificates have.
const AUTHORITY: &str = "Eagre fleet";
/// Size of the server's log after which it begins another one, bytes.
const LOG_MAX: u64 = 16 << 20;

/// How other machines reach the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Reach {
    /// Where it listens.
    listen: SocketAddr,
    /// Names and addresses of this machine; lines have the first.
    addresses: Vec<String>,
}

/// The folder of a NATS server and what is in it.
#[derive(Debug, Clone)]
pub struct LocalBroker {
    folder: PathBuf,
    program: Option<PathBuf>,
}

/// A running server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BrokerFacts {
    /// Its URL, as other machines have it.
    pub url: String,
    /// Its version.
    pub version: String,
    /// Its process.
    pub process: u32,
}

fn refused(reason: impl Into<String>) -> FleetError {
    FleetError::Refused(reason.into())
}

fn failed(path: &Path, error: impl std::fmt::Display) -> FleetError {
    refused(format!("{}: {error}", path.display()))
}

impl LocalBroker {
    /// With its files in `folder`. `program`: the server's, if it is not on the PATH.
    ///
    /// # Errors
    /// The folder's name can't be in the server's configuration.
    pub fn new(folder: &Path, program: Option<&Path>) -> Result<Self, FleetError> {
        let folder = std::path::absolute(folder).map_err(|error| failed(folder, error))?;
        let is_plain = folder.to_str().is_some_and(|path| !path.contains(['\'', '\n']));
        if !is_plain {
            let reason =
                format!("{}: nats-server reads no path with quotes; give another --state", folder.display());
            return Err(FleetError::BadInput(reason));
        }
        Ok(Self { folder, program: program.map(Path::to_owned) })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// File with the credentials of controllers.
    pub fn controller_file(&self) -> PathBuf {
        self.path("controller.env")
    }

    /// File with the credentials of an agent.
    pub fn agent_file(&self, name: &str) -> PathBuf {
        self.path("agents").join(format!("{name}.env"))
    }

    /// File to which the server writes refusals and errors.
    pub fn log_file(&self) -> PathBuf {
        self.path("nats.log")
    }

    /// Whether keys and certificates have been made.
    ///
    /// # Errors
    /// They have, and the file with the broker's address can't be read.
    pub fn is_made(&self) -> Result<bool, FleetError> {
        let is_made = self.controller_file().is_file();
        if is_made {
            self.reach()?;
        }
        Ok(is_made)
    }

    /// Makes keys, certificates and the configuration, or as much as is missing. `listen` and `addresses`: as before if not
    /// given; at first, all of this machine's addresses, and the one that its default route has.
    ///
    /// # Errors
    /// A file can't be written, or no address is known.
    pub fn prepare(&self, listen: Option<SocketAddr>, addresses: &[String]) -> Result<(), FleetError> {
        let mut private = fs::DirBuilder::new();
        private.recursive(true).mode(0o700);
        for folder in [self.folder.clone(), self.path("agents"), self.path("store")] {
            private.create(&folder).map_err(|error| failed(&folder, error))?;
        }
        let known = self.reach().ok();
        let listen =
            listen.or(known.as_ref().map(|known| known.listen)).unwrap_or(([0, 0, 0, 0], 4222).into());
        let addresses = match (addresses, known) {
            ([], Some(known)) if known.listen == listen => known.addresses,
            ([], _) => vec![own_address(listen.ip())?],
            (given, _) => given.to_vec(),
        };
        let reach = Reach { listen, addresses };
        let is_new = self.reach().ok().as_ref() != Some(&reach) || !self.path("server.pem").is_file();
        if is_new {
            if self.process().is_some() {
                return Err(refused("the server runs at another address; stop it first: eagre fleet down"));
            }
            self.certify(&reach)?;
            let text = serde_json::to_string_pretty(&reach).unwrap_or_default();
            self.write("fleet.json", 0o600, &text)?;
        }
        if !self.controller_file().is_file() {
            self.enrol(CONTROLLER, &self.controller_file())?;
        }
        self.configure()
    }

    /// Makes the authority, if there is none, and a certificate of the server.
    fn certify(&self, reach: &Reach) -> Result<(), FleetError> {
        let made = |error: rcgen::Error| refused(format!("cannot make a certificate: {error}"));
        let mut authority = CertificateParams::new(Vec::new()).map_err(made)?;
        authority.distinguished_name.push(DnType::CommonName, AUTHORITY);
        authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = self.path("ca.key");
        let pair = match fs::read_to_string(&key) {
            Ok(text) if self.path("ca.pem").is_file() => {
                KeyPair::from_pem(&text).map_err(|error| failed(&key, error))?
            }
            _ => {
                let pair = KeyPair::generate().map_err(made)?;
                let certificate = authority.self_signed(&pair).map_err(made)?;
                self.write("ca.key", 0o600, &pair.serialize_pem())?;
                self.write("ca.pem", 0o644, &certificate.pem())?;
                pair
            }
        };
        let issuer = Issuer::new(authority, pair);
        let mut names = reach.addresses.clone();
        names.extend(["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()]);
        let mut server = CertificateParams::new(names).map_err(made)?;
        server.distinguished_name.push(DnType::CommonName, "nats-server");
        server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        server.use_authority_key_identifier_extension = true;
        let pair = KeyPair::generate().map_err(made)?;
        let certificate = server.signed_by(&pair, &issuer).map_err(made)?;
        self.write("server.key", 0o600, &pair.serialize_pem())?;
        self.write("server.pem", 0o644, &certificate.pem())
    }

    /// Makes a member's key, and writes its credentials.
    fn enrol(&self, name: &str, file: &Path) -> Result<(), FleetError> {
        let seed = nkeys::KeyPair::new_user().seed();
        let seed = seed.map_err(|error| refused(format!("cannot make a key: {error}")))?;
        let authority = self.path("ca.pem");
        let certificate =
            CertificateDer::from_pem_file(&authority).map_err(|error| failed(&authority, error))?;
        let join = Join {
            name: name.to_owned(),
            seed,
            address: self.reach()?.address(),
            authority: certificate.to_vec(),
        };
        write(file, 0o600, &format!("{JOIN_VARIABLE}={}\n", join.line()))
    }

    /// Credentials of agents; makes those that are missing. A running server knows them at once.
    ///
    /// # Errors
    /// A name is none of an agent's, or a file can't be written.
    pub fn add(&self, names: &[impl AsRef<str>]) -> Result<Vec<Join>, FleetError> {
        let names = || names.iter().map(AsRef::as_ref);
        if let Some(name) = names().find(|name| !subjects::is_name(name) || *name == CONTROLLER) {
            return Err(FleetError::BadInput(format!(
                "name: '{name}': expected at most 32 letters, digits, '-' or '_', and not '{CONTROLLER}'"
            )));
        }
        for name in names() {
            let file = self.agent_file(name);
            if !file.is_file() {
                self.enrol(name, &file)?;
            }
        }
        self.configure()?;
        let mut done = BTreeSet::new();
        names().filter(|name| done.insert(*name)).map(|name| self.join(&self.agent_file(name))).collect()
    }

    /// Withdraws credentials of agents. A running server ends their connections.
    ///
    /// # Errors
    /// There is no such agent, or a file can't be removed.
    pub fn remove(&self, names: &[impl AsRef<str>]) -> Result<(), FleetError> {
        let known = self.agents()?;
        let names = || names.iter().map(AsRef::as_ref);
        if let Some(name) = names().find(|name| !known.iter().any(|known| known == name)) {
            return Err(FleetError::BadInput(format!("no agent '{name}'; there are {}", known.join(", "))));
        }
        for name in names() {
            let file = self.agent_file(name);
            fs::remove_file(&file).map_err(|error| failed(&file, error))?;
        }
        self.configure()
    }

    /// Names of agents with credentials.
    ///
    /// # Errors
    /// The folder can't be read.
    pub fn agents(&self) -> Result<Vec<String>, FleetError> {
        let folder = self.path("agents");
        let entries = fs::read_dir(&folder).map_err(|error| failed(&folder, error))?;
        let name = |entry: fs::DirEntry| Some(entry.file_name().to_str()?.strip_suffix(".env")?.to_owned());
        let mut names: Vec<String> =
            entries.flatten().filter_map(name).filter(|name| subjects::is_name(name)).collect();
        names.sort_unstable();
        Ok(names)
    }

    /// The member with a public key.
    pub(crate) fn member_with(&self, key: &str) -> Option<String> {
        let has_key = |file: PathBuf| self.join(&file).is_ok_and(|join| join.public_key() == key);
        if has_key(self.controller_file()) {
            return Some(CONTROLLER.to_owned());
        }
        self.agents().ok()?.into_iter().find(|name| has_key(self.agent_file(name)))
    }

    /// Credentials in a file, with the server's address of today.
    fn join(&self, file: &Path) -> Result<Join, FleetError> {
        let text = fs::read_to_string(file).map_err(|error| failed(file, error))?;
        let join = Join::read(&text).map_err(|reason| failed(file, reason))?;
        let now = Join { address: self.reach()?.address(), ..join.clone() };
        if now != join {
            write(file, 0o600, &format!("{JOIN_VARIABLE}={}\n", now.line()))?;
        }
        Ok(now)
    }

    fn reach(&self) -> Result<Reach, FleetError> {
        let file = self.path("fleet.json");
        let text = fs::read_to_string(&file).map_err(|error| failed(&file, error))?;
        serde_json::from_str(&text).map_err(|error| failed(&file, error))
    }

    /// Writes the configuration, and lets a running server read it.
    fn configure(&self) -> Result<(), FleetError> {
        let controller = self.join(&self.controller_file())?;
        let mut users =
            format!("  {{nkey: {}, {}}}\n", controller.public_key(), permissions(&controlling(), ""));
        for name in self.agents()? {
            let join = self.join(&self.agent_file(&name))?;
            let _ = writeln!(users, "  # {name}");
            let _ = writeln!(
                users,
                "  {{nkey: {}, {}}}",
                join.public_key(),
                permissions(&lending(&name), ", allow_responses: true")
            );
        }
        let reach = self.reach()?;
        let quoted = |name: &str| format!("'{}'", self.path(name).display());
        let text = format!(
            "# Made by 'eagre fleet': changes in this file are lost.\n\
             server_name: eagre\nlisten: '{}'\npid_file: {}\nlog_file: {}\nlogfile_size_limit: {LOG_MAX}\ndebug: true\n\
             jetstream: {{store_dir: {}}}\ntls: {{cert_file: {}, key_file: {}}}\n\
             authorization: {{users: [\n{users}]}}\n",
            reach.listen,
            quoted("nats.pid"),
            quoted("nats.log"),
            quoted("store"),
            quoted("server.pem"),
            quoted("server.key"),
        );
        let file = self.path("nats.conf");
        if fs::read_to_string(&file).is_ok_and(|known| known == text) {
            return Ok(());
        }
        self.write("nats.conf", 0o600, &text)?;
        match self.process() {
            Some(process) => self.signal("reload", process),
            None => Ok(()),
        }
    }

    fn write(&self, name: &str, mode: u32, text: &str) -> Result<(), FleetError> {
        write(&self.path(name), mode, text)
    }

    /// The server's program.
    ///
    /// # Errors
    /// It is not installed: with the command that installs it.
    pub fn program(&self) -> Result<PathBuf, FleetError> {
        if let Some(given) = &self.program {
            return if given.is_file() {
                Ok(given.clone())
            } else {
                Err(FleetError::BadInput(format!("{}: no such program", given.display())))
            };
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&path).chain(PLACES.map(PathBuf::from));
        folders.map(|folder| folder.join(PROGRAM)).find(|program| program.is_file()).ok_or_else(|| {
            refused(
                "nats-server is not installed; install it: apt install nats-server (Debian, Ubuntu), or name its program with \
                 --nats-server FILE",
            )
        })
    }

    /// Version of the server's program.
    ///
    /// # Errors
    /// It is not installed, or does not start.
    pub fn version(&self) -> Result<String, FleetError> {
        let program = self.program()?;
        let shown =
            Command::new(&program).arg("--version").output().map_err(|error| failed(&program, error))?;
        let text = String::from_utf8_lossy(&shown.stdout).trim().to_owned();
        let version = text
            .rsplit(['v', ' '])
            .next()
            .filter(|version| version.starts_with(|c: char| c.is_ascii_digit()));
        version.map(str::to_owned).ok_or_else(|| failed(&program, format!("is no nats-server: '{text}'")))
    }

    /// The process of the running server.
    pub fn process(&self) -> Option<u32> {
        let process: u32 = fs::read_to_string(self.path("nats.pid")).ok()?.trim().parse().ok()?;
        // Another process may have the number by now.
        let command = fs::read(format!("/proc/{process}/cmdline")).ok()?;
        let conf = self.path("nats.conf");
        let conf = conf.to_str()?.as_bytes();
        command.split(|byte| *byte == 0).any(|word| word == conf).then_some(process)
    }

    /// The running server.
    ///
    /// # Errors
    /// There is none.
    pub fn facts(&self) -> Result<BrokerFacts, FleetError> {
        let process =
            self.process().ok_or_else(|| refused("nats-server does not run; start it: eagre fleet up"))?;
        let url = format!("tls://{}", self.reach()?.address());
        Ok(BrokerFacts { url, version: self.version()?, process })
    }

    fn command(&self) -> Result<Command, FleetError> {
        let mut command = Command::new(self.program()?);
        // It has this process's niceness. All leases depend on it.
        os::cpu::keep_in_time();
        command.arg("-c").arg(self.path("nats.conf")).stdin(Stdio::null());
        Ok(command)
    }

    /// Starts the server, which outlives this process; returns once it accepts connections. Does nothing if it runs.
    ///
    /// # Errors
    /// It is not installed, or ends at once: with its reason.
    pub fn start(&self) -> Result<(), FleetError> {
        if self.process().is_some() {
            return Ok(());
        }
        let log = self.log_file();
        let out = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&log)
            .map_err(|error| failed(&log, error))?;
        let before = out.metadata().map_or(0, |facts| facts.len());
        let err = out.try_clone().map_err(|error| failed(&log, error))?;
        // Ctrl-C in a terminal is not for it.
        let mut command = self.command()?;
        command.stdout(Stdio::from(out)).stderr(Stdio::from(err)).process_group(0);
        let mut child = command.spawn().map_err(|error| failed(&log, error))?;
        let listen = self.reach()?.listen;
        let began = Instant::now();
        // Another server on the port answers, too, while this one is about to find it taken.
        while !(self.process() == Some(child.id()) && said(&log, before).contains(READY) && answers(listen)) {
            if let Some(reason) = ended(&mut child, &log, before) {
                return Err(refused(reason));
            }
            if began.elapsed() > START_TIME {
                let _ = child.kill();
                let _ = child.wait();
                return Err(refused(format!(
                    "nats-server did not start within {START_TIME:?}; its log: {}",
                    log.display()
                )));
            }
            std::thread::sleep(POLL_EVERY);
        }
        Ok(())
    }

    /// Becomes the server.
    ///
    /// # Errors
    /// It is not installed, or runs already.
    pub fn become_server(&self) -> FleetError {
        if let Some(process) = self.process() {
            return refused(format!("nats-server runs already: process {process}"));
        }
        match self.command() {
            Ok(mut command) => failed(&self.path("nats.conf"), command.exec()),
            Err(error) => error,
        }
    }

    /// Stops the server; whether one ran.
    ///
    /// # Errors
    /// It does not end.
    pub fn stop(&self) -> Result<bool, FleetError> {
        let Some(process) = self.process() else { return Ok(false) };
        self.signal("stop", process)?;
        let began = Instant::now();
        while self.process().is_some() {
            if began.elapsed() > START_TIME {
                return Err(refused(format!(
                    "nats-server, process {process}, has not ended within {START_TIME:?}"
                )));
            }
            std::thread::sleep(POLL_EVERY);
        }
        Ok(true)
    }

    /// Sends a signal, by the server's program: `reload` or `stop`.
    fn signal(&self, signal: &str, process: u32) -> Result<(), FleetError> {
        let mut command = Command::new(self.program()?);
        let done = command.arg("--signal").arg(format!("{signal}={process}")).output();
        let done = done.map_err(|error| refused(format!("nats-server --signal: {error}")))?;
        let reason = String::from_utf8_lossy(&done.stderr).trim().to_owned();
        if done.status.success() {
            Ok(())
        } else {
            Err(refused(format!("nats-server --signal {signal}: {reason}")))
        }
    }
}

impl Reach {
    /// Host and port, as URLs have them.
    fn address(&self) -> String {
        let host = self.addresses.first().map_or("localhost", String::as_str);
        let port = self.listen.port();
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }
}

fn write(path: &Path, mode: u32, text: &str) -> Result<(), FleetError> {
    os::draft::replace_with_mode(path, mode, text).map_err(|error| failed(path, error))
}

/// Subjects that a controller publishes to and subscribes.
fn controlling() -> (Vec<String>, Vec<String>) {
    let stream = |name: &str| {
        let bucket = format!("KV_{name}");
        [format!("$JS.API.STREAM.INFO.{bucket}"), format!("$JS.API.STREAM.CREATE.{bucket}")]
    };
    let mut publish = vec![
        "eagre.a.>".to_owned(),
        subjects::ROLL_CALL.to_owned(),
        format!("$KV.{}.>", subjects::LEASES),
        "$JS.API.DIRECT.GET.>".to_owned(),
        "$JS.API.STREAM.MSG.GET.>".to_owned(),
    ];
    publish.extend(stream(subjects::LEASES));
    (publish, vec![subjects::renewals(), "eagre.c.>".to_owned(), "_INBOX.>".to_owned()])
}

/// Subjects of an agent.
fn lending(name: &str) -> (Vec<String>, Vec<String>) {
    let mut publish = vec![format!("$KV.{}.{name}", subjects::AGENTS), format!("eagre.c.{name}.>")];
    for bucket in [subjects::AGENTS, subjects::LEASES] {
        publish.extend([
            format!("$JS.API.STREAM.INFO.KV_{bucket}"),
            format!("$JS.API.STREAM.CREATE.KV_{bucket}"),
        ]);
    }
    publish.extend([format!("$JS.API.DIRECT.GET.KV_{}.$KV.{}.{name}", subjects::AGENTS, subjects::AGENTS)]);
    publish.extend([format!("$JS.API.DIRECT.GET.KV_{}.$KV.{}.{name}.>", subjects::LEASES, subjects::LEASES)]);
    let subscribe = vec![
        format!("eagre.a.{name}.>"),
        subjects::ROLL_CALL.to_owned(),
        format!("{}.>", subjects::inbox(name)),
    ];
    (publish, subscribe)
}

/// Permissions, as the server's configuration has them.
fn permissions((publish, subscribe): &(Vec<String>, Vec<String>), more: &str) -> String {
    let list = |subjects: &[String]| {
        subjects.iter().map(|subject| format!("'{subject}'")).collect::<Vec<_>>().join(", ")
    };
    format!("permissions: {{publish: [{}], subscribe: [{}]{more}}}", list(publish), list(subscribe))
}

/// The address by which others reach this machine.
fn own_address(listen: IpAddr) -> Result<String, FleetError> {
    if !listen.is_unspecified() {
        return Ok(listen.to_string());
    }
    // Sends nothing: the kernel chooses the route and its address.
    let routed = |own: &str, far: &str| {
        let socket = UdpSocket::bind(own).ok()?;
        socket.connect(far).ok()?;
        Some(socket.local_addr().ok()?.ip())
    };
    let found = routed("0.0.0.0:0", "192.0.2.1:9").or_else(|| routed("[::]:0", "[2001:db8::1]:9"));
    found.map(|address| address.to_string()).ok_or_else(|| {
        refused("this machine has no default route; give the address by which other machines reach it with --address")
    })
}

/// Whether a NATS server accepts connections.
fn answers(listen: SocketAddr) -> bool {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::from([127, 0, 0, 1]),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1]),
        ip => ip,
    };
    let Ok(mut stream) =
        TcpStream::connect_timeout(&SocketAddr::new(ip, listen.port()), Duration::from_secs(1))
    else {
        return false;
    };
    let _ = stream.set_read_timeout(Some(Duration::from_secs(1)));
    let mut begin = [0; 4];
    stream.read_exact(&mut begin).is_ok() && &begin == b"INFO"
}

/// The log from this length on.
fn said(log: &Path, before: u64) -> String {
    let text = fs::read(log).unwrap_or_default();
    String::from_utf8_lossy(text.get(usize::try_from(before).unwrap_or(0)..).unwrap_or_default()).into_owned()
}

/// Why the server has ended, if it has.
fn ended(child: &mut Child, log: &Path, before: u64) -> Option<String> {
    let status = child.try_wait().ok()??;
    let text = said(log, before);
    let is_grave =
        |line: &&str| line.contains("[FTL]") || line.contains("[ERR]") || line.starts_with("nats-server:");
    let reason = text.lines().rev().find(is_grave).or(text.lines().last()).unwrap_or("it gave no reason");
    let reason = reason.split_once("[FTL] ").map_or(reason, |(_, reason)| reason);
    let remedy = match reason.contains("address already in use") {
        true => {
            "; its package starts one without keys: stop that with 'systemctl disable --now nats-server', or choose --listen"
        }
        false => "",
    };
    Some(format!("nats-server has ended ({status}): {reason}{remedy}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agents_key_is_good_for_its_own_subjects() {
        let (publish, subscribe) = lending("a1");
        let own = |subject: &&String| {
            subject.contains(".a1")
                || subject.starts_with("$JS.API.STREAM")
                || *subject == subjects::ROLL_CALL
        };
        assert!(publish.iter().chain(&subscribe).all(|subject| own(&subject)), "{publish:?} {subscribe:?}");
        assert!(
            !publish.iter().any(|subject| subject.starts_with("eagre.a.")
                || subject.contains(".>") && !subject.contains("a1.>"))
        );
    }

    #[test]
    fn members_are_made_once_and_removed() {
        let folder = std::env::temp_dir().join(format!("eagre-fleet-{}", std::process::id()));
        let broker = LocalBroker::new(&folder, None).unwrap();
        assert!(!broker.is_made().unwrap() && broker.process().is_none());
        broker.prepare(Some("127.0.0.1:14222".parse().unwrap()), &[]).unwrap();
        let [one, two] = broker.add(&["a1", "a2"]).unwrap().try_into().unwrap();
        assert_eq!(broker.add(&["a1"]).unwrap(), std::slice::from_ref(&one));
        assert_ne!(two.public_key(), one.public_key());
        assert_eq!(one.url(), "tls://127.0.0.1:14222");
        // A later address: the same keys and authority.
        broker.prepare(None, &["nats.example".to_owned()]).unwrap();
        let [moved] = broker.add(&["a1"]).unwrap().try_into().unwrap();
        assert_eq!(
            (moved.url().as_str(), moved.authority == one.authority),
            ("tls://nats.example:14222", true)
        );
        let conf = fs::read_to_string(folder.join("nats.conf")).unwrap();
        assert!(conf.contains(&one.public_key()) && !conf.contains(&one.seed));
        broker.remove(&["a1"]).unwrap();
        assert!(!fs::read_to_string(folder.join("nats.conf")).unwrap().contains(&one.public_key()));
        assert!(broker.remove(&["a1"]).unwrap_err().to_string().contains("there are a2"));
        for name in ["controller", "a/b", ""] {
            assert!(broker.add(&[name]).is_err(), "{name}");
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
