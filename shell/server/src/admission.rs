//! Which ports clients may use, and which ports they mean.
//!
//! Not here: rates (`limits`) and who has a port at present (`leases`). Those, and what is opened, know a port only by the
//! id that was admitted here.
//!
//! Invariants:
//! - The loopback interface and those by which this server is reached are refused, whatever an operator allows: what is
//!   captured there has other clients' tokens in it.
//! - What names files of this machine (`pcap:`) or arguments of a driver (`vdev:`) is refused unless the operator allows
//!   that very kind; a socket is made in a folder of the server's own unless the operator allows another place.

use crate::fault::Fault;
use crate::port_key::PortKey;
use dpdk::PortId;
use engine::EngineError;
use fleet::Fleet;
use profile::Plan;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Kinds that must be allowed by their own name.
const GUARDED: [&str; 2] = ["pcap:", "vdev:"];

/// Admission of ports.
#[derive(Debug)]
pub(crate) struct Admission {
    /// Names or devices, with `*` for any characters; empty: all that are not guarded.
    allow: Vec<String>,
    /// Addresses this server listens at.
    listens: Vec<IpAddr>,
    /// Where sockets are made.
    sockets: PathBuf,
    /// Agents on other machines.
    fleet: Option<Arc<Fleet>>,
}

impl Admission {
    /// Makes the folder for sockets.
    pub(crate) fn new(
        allow: &[String],
        listens: Vec<IpAddr>,
        state: &Path,
        fleet: Option<Arc<Fleet>>,
    ) -> std::io::Result<Self> {
        let sockets = state.join("sockets");
        std::fs::create_dir_all(&sockets)?;
        Ok(Self { allow: allow.to_vec(), listens, sockets: sockets.canonicalize()?, fleet })
    }

    /// The port that `device` means, here or at an agent, if clients may use it.
    pub(crate) fn admit_any(&self, device: &str) -> Result<PortKey, Fault> {
        let Some(fleet) = self.fleet.as_ref().filter(|_| fleet::split(device).is_some()) else {
            return self.admit(device).map(PortKey::Here);
        };
        let port = fleet.find(device).map_err(Fault::not_found)?;
        let name = port.to_string();
        if !self.allow.is_empty() && !self.allow.iter().any(|pattern| matches(pattern, &name)) {
            return Err(not_allowed(device));
        }
        Ok(PortKey::Remote(port))
    }

    /// The port of this machine that `device` means, if clients may use it.
    pub(crate) fn admit(&self, device: &str) -> Result<PortId, Fault> {
        let id = self.resolve(device)?;
        self.refuse_own(&id)?;
        if !self.allows(&id) {
            return Err(not_allowed(device));
        }
        self.refuse_elsewhere(&id)?;
        Ok(id)
    }

    /// The port that `device` means.
    pub(crate) fn resolve(&self, device: &str) -> Result<PortId, Fault> {
        PortId::resolve_in(device, Some(&self.sockets)).map_err(|error| EngineError::from(error).into())
    }

    /// Whether `device` is a port that clients may use.
    pub(crate) fn admits(&self, device: &str) -> bool {
        self.admit_any(device).is_ok()
    }

    /// The ports of a plan, which from now on names them as they were admitted.
    pub(crate) fn admit_all(&self, plan: &mut Plan) -> Result<Vec<PortKey>, Fault> {
        refuse_namespaces(plan)?;
        let admit = |port: &mut profile::plan::PortPlan| {
            let id =
                self.admit_any(&port.device).map_err(|fault| at(&format!("ports.{}", port.name), fault))?;
            if let PortKey::Here(id) = &id {
                port.device = id.device();
            }
            Ok(id)
        };
        plan.ports.iter_mut().map(admit).collect()
    }

    /// Whether the operator's list has the port.
    fn allows(&self, id: &PortId) -> bool {
        let [label, plain, device] = [id.label(), id.plain(), id.device()];
        let guarded = GUARDED.iter().find(|kind| plain.starts_with(**kind));
        if self.allow.is_empty() {
            return guarded.is_none();
        }
        let says = |pattern: &&String| {
            guarded.is_none_or(|kind| pattern.starts_with(kind))
                && [&label, &plain, &device].iter().any(|text| matches(pattern, text))
        };
        self.allow.iter().any(|pattern| says(&pattern))
    }

    /// Refuses what this server and other programs of this machine are reached by.
    fn refuse_own(&self, id: &PortId) -> Result<(), Fault> {
        if id.interfaces().is_empty() {
            return Ok(());
        }
        if let Some(loopback) = id.interfaces().iter().find(|interface| interface.loopback) {
            return Err(Fault::forbidden(format!(
                "port '{}': {} is this machine's loopback interface, which clients of a server can't use",
                id.text(),
                loopback.name
            )));
        }
        let reached = os::default_route::reached_by(&self.listens).map_err(|error| {
            Fault::machine(format!(
                "port '{}': cannot determine whether this server is reached through it: {error}",
                id.text()
            ))
        })?;
        let own = id.interfaces().iter().find(|i| i.index.is_some_and(|index| reached.contains(&index)));
        own.map_or(Ok(()), |own| {
            Err(Fault::forbidden(format!(
                "port '{}': clients reach this server by {}, and can't use it as a port; listen at an address of another \
                 interface, or take the addresses off this one",
                id.text(),
                own.name
            )))
        })
    }

    /// Refuses to make a socket outside of the folder for them.
    fn refuse_elsewhere(&self, id: &PortId) -> Result<(), Fault> {
        let Some(socket) = id.kind().listens_at() else { return Ok(()) };
        let plain = id.plain();
        let scheme = plain.split_inclusive(':').next().unwrap_or_default();
        let may = |pattern: &String| pattern.starts_with(scheme) && matches(pattern, &plain);
        if Path::new(socket).parent() == Some(&*self.sockets) || self.allow.iter().any(may) {
            return Ok(());
        }
        Err(Fault::forbidden(format!(
            "port '{}': sockets are made in {}; name one without a folder, or have the operator allow this place: \
             --allow '{plain}'",
            id.text(),
            self.sockets.display()
        )))
    }
}

/// Refuses programs, and namespaces of others: what clients may reach are ports.
fn refuse_namespaces(plan: &Plan) -> Result<(), Fault> {
    if !plan.protocols.is_empty() {
        return Err(Fault::forbidden("protocols: a server starts no programs for its clients".to_owned()));
    }
    if let Some(name) = plan.key_log_entry() {
        return Err(Fault::forbidden(format!(
            "sessions '{name}': tls.key_log: a server writes no secrets to files for its clients; leave it out"
        )));
    }
    let names =
        |port: &&profile::plan::PortPlan| port.punt.as_ref().is_some_and(|punt| punt.namespace.is_some());
    plan.ports.iter().find(names).map_or(Ok(()), |port| {
        Err(Fault::forbidden(format!(
            "ports.{}.punt.namespace: clients of a server can't use its machine's network namespaces; leave it out for one of \
             the port's own",
            port.name
        )))
    })
}

fn not_allowed(device: &str) -> Fault {
    Fault::forbidden(format!(
        "port '{device}' is not allowed on this server; its operator can allow it with --allow"
    ))
}

/// The fault with its place in front.
fn at(place: &str, fault: Fault) -> Fault {
    Fault::new(fault.status(), format!("{place}: {}", fault.problem().detail))
}

/// Whether a text matches a pattern, in which `*` stands for any characters.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.len() >= last.len() && rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admission(allow: &[&str]) -> Admission {
        let allow = allow.iter().map(|text| (*text).to_owned()).collect();
        let listens = vec!["127.0.0.1".parse().unwrap()];
        Admission { allow, listens, sockets: PathBuf::from("/no/such/state/sockets"), fleet: None }
    }

    #[test]
    fn patterns() {
        for (pattern, text, is) in [
            ("veth0", "veth0", true),
            ("veth0", "veth01", false),
            ("veth*", "veth01", true),
            ("*", "", true),
            ("a*b*c", "axxbyyc", true),
            ("a*b*c", "axxbyy", false),
            ("a*a", "a", false),
        ] {
            assert_eq!(matches(pattern, text), is, "{pattern} {text}");
        }
    }

    #[test]
    fn what_names_files_or_arguments_is_allowed_by_its_kind() {
        let nothing_said = admission(&[]);
        assert!(nothing_said.admits("ring:a") && !nothing_said.admits("pcap:in.pcap,out.pcap"));
        assert!(!nothing_said.admits("vdev:net_ring0"));
        let said = admission(&["veth*", "pcap:*"]);
        assert!(said.admits("afxdp:veth3") && said.admits("pcap:a,b") && !said.admits("ring:a"));
        let all = admission(&["*"]);
        assert!(all.admits("veth3") && !all.admits("pcap:a,b") && !all.admits("vdev:net_ring0"));
        assert!(admission(&["vdev:net_ring*"]).admits("vdev:net_ring0"));
    }

    #[test]
    fn loopback_is_refused_by_any_name() {
        let all = admission(&["*", "vdev:*", "lo"]);
        for device in ["lo", "afxdp:lo", "tap:lo", "vdev:net_af_packet0,iface=lo", "vdev:net_pcap0,iface=lo"]
        {
            let fault = all.admit(device).unwrap_err();
            assert!(fault.status() == 403 && fault.problem().detail.contains("loopback"), "{device}");
        }
    }

    #[test]
    fn sockets_are_made_where_the_operator_says() {
        let nothing_said = admission(&[]);
        for device in ["memif:x.sock,server", "vhost:x.sock", "virtio:x.sock,server=1", "memif:/tmp/x.sock"] {
            nothing_said.admit(device).unwrap();
        }
        assert_eq!(
            nothing_said.admit("memif:x.sock").unwrap().label(),
            "memif:/no/such/state/sockets/x.sock"
        );
        for device in ["memif:/tmp/x.sock,server", "vhost:/tmp/x.sock", "virtio:/tmp/x.sock,server=1"] {
            let fault = nothing_said.admit(device).unwrap_err();
            assert!(fault.problem().detail.contains("/no/such/state/sockets"), "{}", fault.problem().detail);
            assert!(admission(&["*"]).admit(device).is_err(), "{device}");
        }
        admission(&["memif:/tmp/*"]).admit("memif:/tmp/x.sock,server").unwrap();
        assert!(admission(&["memif:/tmp/*"]).admit("vhost:/tmp/x.sock").is_err());
    }
}
