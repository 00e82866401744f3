//! Where a plan comes from: a profile's text, what overrides it, and what the server has decided beside. An agent resolves it again: a
//! seed, a profile and a version give the same plan, and no plan needs a form on the wire.
//!
//! Invariant: an agent runs what the server has checked. Files that a profile names are read twice, and compared.

use crate::message::LoadMessage;
use profile::{Overrides, Plan};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hash::Hasher;
use std::path::{Path, PathBuf};
use units::Nanos;

/// Reads a file that a profile names, from the server's folder for them.
pub type ReadFile<'a> = &'a dyn Fn(&Path, &str) -> Result<Vec<u8>, String>;

/// Where a plan comes from.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Source {
    /// The profile.
    text: String,
    /// The folder of files that it names.
    folder: PathBuf,
    files: Vec<Seal>,
    /// Files themselves, for an agent on another machine.
    contents: BTreeMap<String, Vec<u8>>,
    rate: Option<LoadMessage>,
    default_rate: Option<LoadMessage>,
    duration_ns: Option<u64>,
    seed: Option<u64>,
    default_seed: u64,
    first_mark: u16,
    /// Decisions about ports, in their order.
    ports: Vec<PortDecision>,
    warnings: Vec<String>,
}

/// Decision about a port.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct PortDecision {
    /// Its device, as admitted and leased.
    device: String,
    rate_max: Option<LoadMessage>,
    /// Where its capture is written.
    capture: Option<String>,
}

/// Digest of a file, to notice changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Seal {
    name: String,
    bytes: u64,
    hash: u64,
}

impl Seal {
    fn of(name: &str, bytes: &[u8]) -> Self {
        let mut hasher = std::hash::DefaultHasher::new();
        hasher.write(bytes);
        Self { name: name.to_owned(), bytes: bytes.len() as u64, hash: hasher.finish() }
    }
}

/// Files that a profile named when it was resolved.
#[derive(Debug, Default)]
pub struct Seals(RefCell<Vec<Seal>>);

impl Seals {
    /// Remembers a file.
    pub fn note(&self, name: &str, bytes: &[u8]) {
        self.0.borrow_mut().push(Seal::of(name, bytes));
    }
}

impl Source {
    /// The source of `plan`, which was resolved from `text` and has been changed since in what concerns ports and warnings.
    pub fn new(text: &str, overrides: &Overrides, plan: &Plan, folder: &Path, files: Seals) -> Self {
        let port = |port: &profile::plan::PortPlan| PortDecision {
            device: port.device.clone(),
            rate_max: port.rate_max.map(Into::into),
            capture: port.capture.as_ref().map(|capture| capture.file.clone()),
        };
        Self {
            text: text.to_owned(),
            folder: folder.to_owned(),
            files: files.0.into_inner(),
            contents: BTreeMap::new(),
            rate: overrides.rate.map(Into::into),
            default_rate: overrides.default_rate.map(Into::into),
            duration_ns: overrides.duration.map(|duration| duration.0),
            seed: overrides.seed,
            default_seed: overrides.default_seed,
            first_mark: overrides.first_mark,
            ports: plan.ports.iter().map(port).collect(),
            warnings: plan.warnings.clone(),
        }
    }

    /// The same with the files that the profile names, for an agent on another machine.
    ///
    /// # Errors
    /// A file can't be read.
    pub fn with_files(mut self, read: ReadFile<'_>) -> Result<Self, String> {
        for seal in &self.files {
            self.contents.insert(seal.name.clone(), read(&self.folder, &seal.name)?);
        }
        Ok(self)
    }

    /// The plan.
    ///
    /// # Errors
    /// It can't be resolved any more: a file has changed.
    pub(crate) fn plan(&self, read: ReadFile<'_>) -> Result<Plan, String> {
        let overrides = Overrides {
            rate: self.rate.map(Into::into),
            default_rate: self.default_rate.map(Into::into),
            duration: self.duration_ns.map(Nanos),
            seed: self.seed,
            default_seed: self.default_seed,
            first_mark: self.first_mark,
            ..Overrides::default()
        };
        let files = |name: &str| {
            let bytes = match self.contents.get(name) {
                Some(sent) => sent.clone(),
                None => read(&self.folder, name)?,
            };
            if self.files.contains(&Seal::of(name, &bytes)) {
                Ok(bytes)
            } else {
                Err(format!("'{name}' has changed since it was checked; try again"))
            }
        };
        let resolved = profile::load_with(&self.text, &overrides, &files);
        let mut plan = resolved.map_err(|errors| {
            errors.first().map_or_else(|| "the profile has errors".to_owned(), ToString::to_string)
        })?;
        if plan.ports.len() != self.ports.len() {
            return Err(
                "internal error, please report it: the profile resolves to other ports now".to_owned()
            );
        }
        for (port, decision) in plan.ports.iter_mut().zip(&self.ports) {
            port.device.clone_from(&decision.device);
            port.rate_max = decision.rate_max.map(Into::into);
            if let (Some(capture), Some(file)) = (&mut port.capture, &decision.capture) {
                capture.file.clone_from(file);
            }
        }
        plan.warnings.clone_from(&self.warnings);
        Ok(plan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use profile::plan::PortPlan;

    const TEXT: &str = "ports: {a: {device: 'ring:a', capture: {file: x.pcapng}}, b: {device: 'ring:b'}}
load: {duration: 1s}
streams:
  - {name: s, from: a, to: b, size: 100B, packet: [ethernet: {dst: '02:00:00:00:00:01'}]}
";

    fn unread(_: &Path, name: &str) -> Result<Vec<u8>, String> {
        Err(name.to_owned())
    }

    #[test]
    fn a_plan_is_resolved_again_with_what_was_decided() {
        let overrides = Overrides {
            default_rate: Some("1.5kpps".parse().unwrap()),
            duration: Some(Nanos(12_345_678)),
            default_seed: 7,
            ..Overrides::default()
        };
        let mut plan = profile::load_with(TEXT, &overrides, &|_| Err(String::new())).unwrap();
        plan.ports[0].device = "ring:other".to_owned();
        plan.ports[1].rate_max = Some("3Mbps-L1".parse().unwrap());
        plan.ports[0].capture.as_mut().unwrap().file = "/runs/7/port-0.pcapng".to_owned();
        plan.warnings.push("slow".to_owned());
        let source = Source::new(TEXT, &overrides, &plan, Path::new("/"), Seals::default());
        let again = source.plan(&unread).unwrap();
        let decided = |port: &PortPlan| {
            (port.device.clone(), port.rate_max, port.capture.as_ref().map(|capture| capture.file.clone()))
        };
        assert!(again.ports.iter().map(decided).eq(plan.ports.iter().map(decided)));
        assert_eq!((again.seed, again.duration, &again.warnings), (7, Nanos(12_345_678), &plan.warnings));
        assert_eq!(format!("{again:?}"), format!("{plan:?}"), "and in nothing else is it another");
    }

    #[test]
    fn a_file_that_has_changed_is_not_run() {
        let seals = Seals::default();
        seals.note("a.pcap", b"tide");
        assert_eq!(*seals.0.borrow(), [Seal::of("a.pcap", b"tide")]);
        assert!(!seals.0.borrow().contains(&Seal::of("a.pcap", b"tidE")));
        assert!(!seals.0.borrow().contains(&Seal::of("b.pcap", b"tide")));
    }
}
