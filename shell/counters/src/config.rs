//! The path document, as types with a schema. Not here: reading the file.

use crate::CounterError;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeSet;
use std::fmt;
use units::Nanos;

/// A path: its hops and polling times.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathConfig {
    /// The devices, in the order of forward packets.
    pub hops: Vec<HopConfig>,
    /// Time between samples while traffic runs; default 1 s.
    #[serde(default = "one_second", deserialize_with = "duration")]
    #[schemars(schema_with = "duration_schema")]
    pub interval: Nanos,
    /// Maximum age of SNMP agents' cached values; default 4 s. With an SNMP hop, a poller waits this long before and after
    /// the traffic.
    #[serde(default = "four_seconds", deserialize_with = "duration")]
    #[schemars(schema_with = "duration_schema")]
    pub refresh: Nanos,
}

/// A device and the source of its counters.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HopConfig {
    /// Name in reports.
    pub name: String,
    /// Ingress interface.
    #[serde(rename = "in")]
    pub inside: String,
    /// Egress interface; can be the same.
    #[serde(rename = "out")]
    pub outside: String,
    /// Its SNMP agent.
    #[serde(default)]
    pub snmp: Option<Snmp>,
    /// Its Linux host.
    #[serde(default)]
    pub local: Option<Local>,
    /// Sources to read of a Linux host; default: all available.
    #[serde(default)]
    pub sources: Option<Vec<LocalSource>>,
}

/// An SNMP agent. Community for version 2c (RFC 3416); user and optional authentication and privacy for version 3
/// (RFC 3414, RFC 3826, RFC 7860).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Snmp {
    /// Host name or address.
    pub host: String,
    /// UDP port.
    #[serde(default = "snmp_port")]
    pub port: u16,
    /// Protocol version; default 3 with a user, else 2c.
    #[serde(default)]
    #[schemars(schema_with = "version_schema")]
    pub version: Option<Version>,
    /// Community of version 2c; default `public`.
    #[serde(default)]
    pub community: Option<Secret>,
    /// User of version 3.
    #[serde(default)]
    pub user: Option<String>,
    /// Authentication of version 3.
    #[serde(default)]
    pub auth: Option<Authentication>,
    /// Encryption of version 3.
    #[serde(default)]
    pub privacy: Option<Privacy>,
}

/// SNMP versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// Community based, with 64-bit counters.
    V2c,
    /// With users.
    V3,
}

/// Authentication of SNMP version 3.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Authentication {
    /// The hash.
    #[schemars(schema_with = "hash_schema")]
    pub protocol: AuthProtocol,
    /// At least 8 characters (RFC 3414 section 11.2).
    pub password: Secret,
}

/// Authentication hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names are self-explanatory")]
pub enum AuthProtocol {
    Md5,
    #[serde(alias = "sha")]
    Sha1,
    Sha224,
    Sha256,
    Sha384,
    Sha512,
}

/// Encryption of SNMP version 3.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Privacy {
    /// The cipher.
    #[schemars(schema_with = "cipher_schema")]
    pub protocol: Cipher,
    /// At least 8 characters.
    pub password: Secret,
}

/// Ciphers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names are self-explanatory")]
pub enum Cipher {
    Des,
    #[serde(alias = "aes")]
    Aes128,
    Aes192,
    Aes256,
}

/// A Linux host: this one unless `ssh` is set; the default network namespace unless `namespace` is set.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Local {
    /// A named network namespace (`ip netns`).
    #[serde(default)]
    pub namespace: Option<String>,
    /// ssh destination; must allow login without a password.
    #[serde(default)]
    pub ssh: Option<String>,
}

/// Counter sources of a Linux host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LocalSource {
    /// `ip -s -s link`: packets, errors and drops of the two interfaces. Always read.
    Link,
    /// `ethtool -S`: driver counters.
    Ethtool,
    /// `nft list ruleset`: named counters, and drop or reject rules with counters.
    Nft,
    /// `conntrack -S` and the table's fill level.
    Conntrack,
    /// `tc -s qdisc`: queue drops.
    Qdisc,
    /// `/proc/net/snmp`, `netstat` and `snmp6`: discards, missing routes.
    Ip,
    /// `/proc/net/softnet_stat`: drops of the machine's backlog queues.
    Softnet,
    /// `/proc/stat`: CPU load of the machine.
    Cpu,
}

impl LocalSource {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Link,
        Self::Ethtool,
        Self::Nft,
        Self::Conntrack,
        Self::Qdisc,
        Self::Ip,
        Self::Softnet,
        Self::Cpu,
    ];

    /// Its name in the document.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::Ethtool => "ethtool",
            Self::Nft => "nft",
            Self::Conntrack => "conntrack",
            Self::Qdisc => "qdisc",
            Self::Ip => "ip",
            Self::Softnet => "softnet",
            Self::Cpu => "cpu",
        }
    }
}

/// A secret: `Debug` does not show it.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// The secret's bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl JsonSchema for Secret {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Secret".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "x-secret": true})
    }
}

impl From<&str> for Secret {
    fn from(word: &str) -> Self {
        Self(word.to_owned())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

fn duration_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "format": "duration"})
}

fn version_schema(_: &mut SchemaGenerator) -> Schema {
    let words = ["2c", "v2c", "2", "3", "v3"];
    json_schema!({"type": ["string", "integer"], "enum": words, "minimum": 2, "maximum": 3, "x-noun": "version"})
}

fn hash_schema(_: &mut SchemaGenerator) -> Schema {
    let words = ["md5", "sha", "sha1", "sha224", "sha256", "sha384", "sha512"];
    json_schema!({"type": "string", "enum": words, "x-noun": "hash"})
}

fn cipher_schema(_: &mut SchemaGenerator) -> Schema {
    let words = ["des", "aes", "aes128", "aes192", "aes256"];
    json_schema!({"type": "string", "enum": words, "x-noun": "cipher"})
}

fn one_second() -> Nanos {
    Nanos::from_secs(1)
}

fn four_seconds() -> Nanos {
    Nanos::from_secs(4)
}

fn snmp_port() -> u16 {
    161
}

fn duration<'de, D: Deserializer<'de>>(from: D) -> Result<Nanos, D::Error> {
    String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Words;
        impl serde::de::Visitor<'_> for Words {
            type Value = Version;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("2c or 3")
            }

            fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<Version, E> {
                match word {
                    "2c" | "v2c" | "2" => Ok(Version::V2c),
                    "3" | "v3" => Ok(Version::V3),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(word), &self)),
                }
            }

            // YAML reads a plain 3 as a number.
            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Version, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Version, E> {
                self.visit_str(&number.to_string())
            }
        }
        from.deserialize_any(Words)
    }
}

/// Allowed sample interval: shorter would load the device, longer would show nothing.
const INTERVAL: std::ops::RangeInclusive<Nanos> = Nanos::from_millis(50)..=Nanos::from_secs(3600);
/// Maximum refresh time.
const REFRESH_MAX: Nanos = Nanos::from_secs(120);
/// Minimum password length (RFC 3414 section 11.2).
const PASSWORD_MIN: usize = 8;

impl PathConfig {
    /// Checks the document, before contacting any device.
    ///
    /// # Errors
    /// [`CounterError::Config`]: the first error.
    pub fn check(&self) -> Result<(), CounterError> {
        let bad = |location: &str, reason: String| {
            Err(CounterError::Config { location: location.to_owned(), reason })
        };
        if self.hops.is_empty() {
            return bad("hops", "must contain at least one hop".to_owned());
        }
        if !INTERVAL.contains(&self.interval) {
            return bad("interval", format!("{} is not between 50ms and 1h", self.interval));
        }
        if self.refresh > REFRESH_MAX {
            return bad("refresh", format!("{} is more than {REFRESH_MAX}", self.refresh));
        }
        let mut names = BTreeSet::new();
        for (number, hop) in self.hops.iter().enumerate() {
            let location = format!("hops[{number}] ({})", hop.name);
            if !names.insert(&hop.name) {
                return bad(&location, "duplicate hop name".to_owned());
            }
            if let Err(reason) = hop.check() {
                return bad(&location, reason);
            }
        }
        Ok(())
    }
}

impl HopConfig {
    fn check(&self) -> Result<(), String> {
        if self.name.trim().is_empty() {
            return Err("missing name".to_owned());
        }
        for (key, interface) in [("in", &self.inside), ("out", &self.outside)] {
            if interface.is_empty() || interface.contains(['\n', '\0']) {
                return Err(format!("{key}: '{interface}' is not an interface name"));
            }
        }
        match (&self.snmp, &self.local) {
            (Some(snmp), None) if self.sources.is_none() => snmp.check(),
            (Some(_), None) => Err("sources: only valid with 'local'".to_owned()),
            (None, Some(local)) => local.check().and_then(|()| self.check_linux()),
            (Some(_), Some(_)) => Err("has both 'snmp' and 'local': use two hops".to_owned()),
            (None, None) => {
                Err("needs 'snmp' or 'local'; use 'local: {}' for this network namespace".to_owned())
            }
        }
    }

    fn check_linux(&self) -> Result<(), String> {
        // The kernel's rule for names; also excludes options and shell syntax.
        let odd = |c: char| c.is_whitespace() || c == '\'' || c == '/';
        let is_odd = |name: &&String| name.len() > 15 || name.starts_with('-') || name.contains(odd);
        match [&self.inside, &self.outside].into_iter().find(is_odd) {
            Some(name) => Err(format!("'{name}' is not a Linux interface name")),
            None => Ok(()),
        }
    }
}

impl Local {
    fn check(&self) -> Result<(), String> {
        for (key, word) in [("namespace", &self.namespace), ("ssh", &self.ssh)] {
            let Some(word) = word else { continue };
            let is_odd = word.is_empty() || word.starts_with('-') || word.contains(['\'', '\n', '\0', ' ']);
            // An ssh destination can be an ssh:// URL.
            if is_odd || (key == "namespace" && word.contains('/')) {
                return Err(format!("local.{key}: '{word}' is not a valid name"));
            }
        }
        Ok(())
    }
}

impl Snmp {
    /// The effective version.
    pub(crate) fn version(&self) -> Version {
        self.version.unwrap_or(if self.user.is_some() { Version::V3 } else { Version::V2c })
    }

    fn check(&self) -> Result<(), String> {
        let has_user = self.user.is_some() || self.auth.is_some() || self.privacy.is_some();
        match self.version() {
            Version::V2c if has_user => Err("snmp: version 2c has no users: set 'version: 3'".to_owned()),
            Version::V3 if self.community.is_some() => {
                Err("snmp: version 3 has no community: set 'user'".to_owned())
            }
            Version::V3 if self.user.as_deref().is_none_or(str::is_empty) => {
                Err("snmp: version 3 needs a 'user'".to_owned())
            }
            Version::V3 => self.check_passwords(),
            Version::V2c => Ok(()),
        }
    }

    fn check_passwords(&self) -> Result<(), String> {
        if self.privacy.is_some() && self.auth.is_none() {
            return Err("snmp: 'privacy' needs 'auth' (RFC 3414 section 1.4.3)".to_owned());
        }
        let passwords = [
            ("auth", self.auth.as_ref().map(|auth| &auth.password)),
            ("privacy", self.privacy.as_ref().map(|privacy| &privacy.password)),
        ];
        for (key, password) in passwords {
            if password.is_some_and(|password| password.bytes().len() < PASSWORD_MIN) {
                return Err(format!("snmp.{key}: the password must have at least {PASSWORD_MIN} characters"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn config(hop: Value) -> Result<PathConfig, String> {
        let config: PathConfig =
            serde_json::from_value(json!({"hops": [hop]})).map_err(|error| error.to_string())?;
        config.check().map_err(|error| error.to_string()).map(|()| config)
    }

    #[test]
    fn a_path_has_defaults() {
        let path = config(json!({"name": "r", "in": "a", "out": "b", "local": {}})).unwrap();
        assert_eq!((path.interval, path.refresh), (Nanos::from_secs(1), Nanos::from_secs(4)));
        let path =
            config(json!({"name": "r", "in": "a", "out": "b", "snmp": {"host": "h", "user": "u"}})).unwrap();
        let snmp = path.hops[0].snmp.as_ref().unwrap();
        assert!(config(json!({"name": "r", "in": "ge-0/0/0", "out": "b", "snmp": {"host": "h"}})).is_ok());
        assert_eq!((snmp.port, snmp.version()), (161, Version::V3));
    }

    #[test]
    fn versions_are_numbers_or_words() {
        for (word, version) in
            [(json!("2c"), Version::V2c), (json!(3), Version::V3), (json!("3"), Version::V3)]
        {
            assert_eq!(serde_json::from_value::<Version>(word).unwrap(), version);
        }
        assert!(serde_json::from_value::<Version>(json!(1)).is_err());
    }

    #[test]
    fn mistakes_are_named() {
        let password = json!({"protocol": "sha256", "password": "short"});
        let cases = [
            (json!({"name": "r", "in": "a", "out": "b"}), "hops[0] (r): needs 'snmp' or 'local'"),
            (
                json!({"name": "r", "in": "a", "out": "b", "local": {}, "snmp": {"host": "h"}}),
                "has both 'snmp' and 'local'",
            ),
            (json!({"name": "r", "in": "-a", "out": "b", "local": {}}), "'-a' is not a Linux interface name"),
            (json!({"name": "r", "in": "a", "out": "b'; x", "local": {}}), "not a Linux interface name"),
            (json!({"name": "r", "in": "a", "out": "b", "local": {"namespace": "../x"}}), "local.namespace"),
            (
                json!({"name": "r", "in": "a", "out": "b", "snmp": {"host": "h"}, "sources": ["cpu"]}),
                "only valid with 'local'",
            ),
            (
                json!({"name": "r", "in": "a", "out": "b", "snmp": {"host": "h", "user": "u", "auth": password}}),
                "snmp.auth: the password must have at least 8 characters",
            ),
            (
                json!({"name": "r", "in": "a", "out": "b", "snmp": {"host": "h", "version": 3}}),
                "version 3 needs a 'user'",
            ),
            (
                json!({"name": "r", "in": "a", "out": "b", "snmp": {"host": "h", "version": "2c", "user": "u"}}),
                "version 2c has no users",
            ),
            (json!({"name": "r", "in": "a", "out": "b", "lokal": {}}), "unknown field `lokal`"),
        ];
        for (hop, expected) in cases {
            let said = config(hop.clone()).unwrap_err();
            assert!(said.contains(expected), "{hop}: {said}");
        }
    }

    #[test]
    fn hops_have_different_names_and_times_have_bounds() {
        let hop = json!({"name": "r", "in": "a", "out": "b", "local": {}});
        let check = |document: Value| {
            serde_json::from_value::<PathConfig>(document).unwrap().check().unwrap_err().to_string()
        };
        assert!(check(json!({"hops": [hop, hop]})).contains("hops[1] (r): duplicate hop name"));
        assert!(check(json!({"hops": []})).contains("at least one hop"));
        assert!(check(json!({"hops": [hop], "interval": "1ms"})).contains("interval: 1ms is not"));
        assert!(check(json!({"hops": [hop], "refresh": "1h"})).contains("refresh"));
    }

    #[test]
    fn passwords_are_not_shown() {
        let snmp = json!({"host": "h", "community": "hidden"});
        let path = config(json!({"name": "r", "in": "a", "out": "b", "snmp": snmp})).unwrap();
        assert!(!format!("{path:?}").contains("hidden"));
    }
}
