//! `eagre serve`: options and configuration file of the server.

use crate::nats::NatsArgs;
use crate::results::default_store;
use crate::run::bad_profile;
use crate::text;
use crate::{Exit, Failure, log, words};
use clap::Args as ClapArgs;
use profile::document::{self, Rate, Socket};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use server::{Limits, Options, ServeError, TlsOptions, Token};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use units::{Load, Nanos};

/// Default listen address.
const LISTEN: &str = "127.0.0.1:8443";

/// Default lease of an idle Open Traffic Generator client.
const OTG_LEASE: Nanos = Nanos::from_secs(900);

#[derive(Clone, ClapArgs)]
pub(crate) struct ServeArgs {
    /// Address to listen on [default: 127.0.0.1:8443]; other than loopback requires --tokens
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = words::address)]
    pub listen: Option<SocketAddr>,
    /// Tokens file: a YAML list of {name, role, token}; roles are watch, run and admin
    #[arg(long, value_name = "FILE")]
    pub tokens: Option<PathBuf>,
    /// Additional host name for a server without tokens, such as through a proxy or a tunnel; its own address and
    /// localhost are always allowed
    #[arg(long, value_name = "NAME")]
    pub allow_host: Vec<String>,
    /// TLS certificate chain (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_certificate: Option<PathBuf>,
    /// TLS private key (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    pub tls_key: Option<PathBuf>,
    /// Use TLS with a generated self-signed certificate; prints its fingerprint
    #[arg(long, conflicts_with = "tls_certificate")]
    pub tls: bool,
    /// Ports that clients can use, with '*' as wildcard: 'veth*' [default: all but pcap: and vdev:]
    #[arg(long, value_name = "PORT")]
    pub allow: Vec<String>,
    /// Maximum rate of a port: 1Mpps, 10Gbps
    #[arg(long, value_name = "RATE")]
    pub max_rate: Option<Load>,
    /// Let admins run Lua scripts over HTTP, confined, with a deadline
    #[arg(long)]
    pub allow_scripts: bool,
    /// Worker cores shared by all runs [default: all but one]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub worker_cores: Vec<usize>,
    /// Idle time after which an Open Traffic Generator client's ports are released [default: 15m]
    #[arg(long, value_name = "TIME", value_parser = words::time)]
    pub otg_lease: Option<Nanos>,
    /// Device of a port's location in Open Traffic Generator configurations: localhost:5555=veth0
    #[arg(long, value_name = "LOCATION=DEVICE", value_parser = location)]
    pub otg_location: Vec<(String, String)>,
    /// Also serve Open Traffic Generator over gRPC at this address: 127.0.0.1:40051
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = words::address)]
    pub grpc: Option<SocketAddr>,
    #[command(flatten)]
    pub(crate) nats: NatsArgs,
    /// Results store [default: results.db under $XDG_DATA_HOME/eagre or ~/.local/share/eagre]
    #[arg(long, value_name = "FILE")]
    pub store: Option<PathBuf>,
    /// Directory for captures, stored profiles, certificate and audit log [default: 'serve' next to the store]
    #[arg(long, value_name = "DIR")]
    pub state: Option<PathBuf>,
    /// Log level on standard error: error, warn, info, debug, trace, or by module: 'warn,server=debug'
    #[arg(long, value_name = "LEVEL")]
    pub log: Option<String>,
    /// Log format
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) log_format: Option<log::Format>,
    /// Send traces to an OpenTelemetry collector (OTLP/HTTP): http://127.0.0.1:4318
    #[arg(long, value_name = "URL")]
    pub otlp: Option<String>,
    /// YAML file with these options by their long names; the command line takes precedence
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// The options file.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct Config {
    listen: Option<Socket>,
    tokens: Option<PathBuf>,
    allow_host: Vec<String>,
    tls_certificate: Option<PathBuf>,
    tls_key: Option<PathBuf>,
    tls: bool,
    allow: Vec<String>,
    max_rate: Option<Rate>,
    allow_scripts: bool,
    worker_cores: Vec<usize>,
    otg_lease: Option<document::Duration>,
    otg_location: BTreeMap<String, String>,
    grpc: Option<Socket>,
    nats: Option<String>,
    creds: Option<PathBuf>,
    nkey: Option<PathBuf>,
    tls_ca: Option<PathBuf>,
    join: Option<PathBuf>,
    store: Option<PathBuf>,
    state: Option<PathBuf>,
    log: Option<String>,
    log_format: Option<log::Format>,
    otlp: Option<String>,
}

/// An entry of a token file.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-secret" = true))]
struct TokenEntry {
    /// Name of the user.
    name: String,
    /// Rights it grants.
    role: RoleWord,
    /// The token, at least 16 characters.
    #[schemars(extend("x-secret" = true))]
    token: String,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum RoleWord {
    /// Read everything.
    Watch,
    /// Also lease ports and send traffic.
    Run,
    /// Also stop other users' runs.
    Admin,
}

/// A file of tokens.
#[derive(Deserialize, Serialize, JsonSchema)]
#[schemars(extend("x-secret" = true))]
struct TokenEntries(Vec<TokenEntry>);

/// `eagre serve`.
pub(crate) fn serve(args: &ServeArgs) -> Result<Exit, Failure> {
    // Before there are other threads.
    os::memory::use_few_areas();
    let config = configuration(args)?;
    let format = args.log_format.or(config.log_format).unwrap_or(log::Format::Text);
    let (filter, collector) =
        (args.log.as_ref().or(config.log.as_ref()), args.otlp.as_ref().or(config.otlp.as_ref()));
    let _delivery = log::begin(filter.map(String::as_str), format, collector.map(String::as_str))?;
    let options = options(args, config)?;
    let cap = options.limits.rate;
    let served = server::serve(&options, |served| {
        println!("eagre: serving at {}", served.url);
        if let Some(grpc) = served.grpc {
            println!("eagre: Open Traffic Generator over gRPC at {grpc}, unencrypted");
        }
        if let Some(fingerprint) = &served.fingerprint {
            println!("eagre: certificate SHA-256 {fingerprint}");
        }
        if let Some(certificate) = &served.certificate {
            println!("eagre: certificate in {}", certificate.display());
        }
        if let Some(cap) = cap {
            println!("eagre: maximum rate of a port: {cap}");
        }
        if options.tokens.is_empty() {
            println!("eagre: no tokens: you and root have full access, other users none");
        }
    });
    match served {
        Ok(()) => Ok(Exit::Done),
        Err(error @ (ServeError::Unguarded(_) | ServeError::Tls(_))) => {
            Err(Failure::bad_input(error.to_string()))
        }
        Err(error) => Err(Failure::refused(error.to_string())),
    }
}

/// `localhost:5555=veth0`.
fn location(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((location, device)) if !location.is_empty() && !device.is_empty() => {
            Ok((location.to_owned(), device.to_owned()))
        }
        _ => Err("expected LOCATION=DEVICE, such as localhost:5555=veth0".to_owned()),
    }
}

fn wrong(path: &Path, error: impl std::fmt::Display) -> Failure {
    Failure::bad_input(format!("{}: {error}", path.display()))
}

/// Reads the options file, if there is one.
fn configuration(args: &ServeArgs) -> Result<Config, Failure> {
    let Some(path) = &args.config else { return Ok(Config::default()) };
    let text = text::read(path).map_err(|e| wrong(path, e))?;
    profile::read_document(&text).map_err(|errors| bad_profile(&path.display().to_string(), &errors))
}

fn options(args: &ServeArgs, config: Config) -> Result<Options, Failure> {
    let beside = |path: PathBuf| match args.config.as_deref().and_then(Path::parent) {
        Some(folder) => folder.join(path),
        None => path,
    };
    let given = |arg: &Option<PathBuf>, file: Option<PathBuf>| arg.clone().or(file.map(&beside));
    let rate = args.max_rate.or(config.max_rate.map(|rate| rate.0));
    let otg_lease = args.otg_lease.or(config.otg_lease.map(|time| time.0)).unwrap_or(OTG_LEASE);
    let otg_lease = Duration::from_nanos(otg_lease.0);
    if !(1.0..=86_400.0).contains(&otg_lease.as_secs_f64()) {
        return Err(Failure::bad_input("otg-lease: must be between 1s and 24h"));
    }
    if matches!(rate, Some(Load::Max | Load::LinkShare(_))) {
        return Err(Failure::bad_input(
            "max-rate: must be a packet rate or a bit rate, such as 1Mpps or 10Gbps",
        ));
    }
    let tls =
        match (given(&args.tls_certificate, config.tls_certificate), given(&args.tls_key, config.tls_key)) {
            (Some(certificate), Some(key)) => Some(TlsOptions::Files { certificate, key }),
            (None, None) => (args.tls || config.tls).then_some(TlsOptions::SelfSigned),
            _ => return Err(Failure::bad_input("tls-certificate and tls-key must be given together")),
        };
    let nats = NatsArgs {
        nats: args.nats.nats.clone().or(config.nats),
        creds: given(&args.nats.creds, config.creds),
        nkey: given(&args.nats.nkey, config.nkey),
        tls_ca: given(&args.nats.tls_ca, config.tls_ca),
        join: given(&args.nats.join, config.join),
    };
    let store = given(&args.store, config.store).unwrap_or_else(default_store);
    let state = given(&args.state, config.state).unwrap_or_else(|| store.with_file_name("serve"));
    let tokens = given(&args.tokens, config.tokens).map(|path| tokens(&path)).transpose()?;
    let listen = args.listen.or(config.listen.map(|listen| listen.0));
    let listen = listen.map_or_else(|| LISTEN.parse(), Ok);
    Ok(Options {
        listen: listen.map_err(|error| Failure::bad_input(format!("listen: {error}")))?,
        tokens: tokens.unwrap_or_default(),
        hosts: if args.allow_host.is_empty() { config.allow_host } else { args.allow_host.clone() },
        tls,
        limits: Limits {
            ports: if args.allow.is_empty() { config.allow } else { args.allow.clone() },
            rate,
            scripts: args.allow_scripts || config.allow_scripts,
        },
        cores: if args.worker_cores.is_empty() { config.worker_cores } else { args.worker_cores.clone() },
        otg_lease,
        otg_locations: if args.otg_location.is_empty() {
            config.otg_location
        } else {
            args.otg_location.iter().cloned().collect()
        },
        grpc: args.grpc.or(config.grpc.map(|grpc| grpc.0)),
        nats: nats.access()?,
        store,
        state,
        docs: docs(),
    })
}

/// Folder of the documentation's pages: its place in packages and archives relative to the program, or the output of
/// `make docs`.
fn docs() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let prefix = program.parent()?.parent()?;
    ["share/eagre/docs", "site"]
        .map(|folder| prefix.join(folder))
        .into_iter()
        .find(|folder| folder.join("index.html").is_file())
}

/// Tokens of a file. Errors never quote them.
fn tokens(path: &Path) -> Result<Vec<Token>, Failure> {
    let text = text::read(path).map_err(|e| wrong(path, e))?;
    let entries: TokenEntries =
        profile::read_document(&text).map_err(|errors| bad_profile(&path.display().to_string(), &errors))?;
    let entries = serde_json::to_value(entries).map_err(|e| wrong(path, e))?;
    Token::list(entries).map_err(|e| wrong(path, e))
}
