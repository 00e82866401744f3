//! Leases of ports.
//!
//! Time comes in as an argument. Not here: stopping runs whose lease has ended; the service does that.

use crate::access::Caller;
use crate::fault::Fault;
use crate::port_key::PortKey;
use fleet::RemotePort;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant, SystemTime};

/// Reserved ports.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) ports: Vec<PortKey>,
    /// Name of the holder, for display.
    pub(crate) holder: String,
    /// Name of the caller that took it.
    pub(crate) owner: String,
    pub(crate) begun: SystemTime,
    pub(crate) expires: Instant,
    pub(crate) ttl: Duration,
    /// Whether it was made for a run and ends with it.
    pub(crate) of_run: bool,
    /// Given back or run out, while what was started with it still ends.
    pub(crate) ended: bool,
    /// Runs and campaigns that have its ports open, or are about to.
    pub(crate) users: u32,
}

/// All reserved ports by the lease's secret name.
#[derive(Debug, Default)]
pub(crate) struct Leases {
    entries: BTreeMap<String, Entry>,
}

/// A request for ports.
pub(crate) struct Wanted<'a> {
    pub(crate) ports: Vec<PortKey>,
    pub(crate) holder: String,
    pub(crate) caller: &'a Caller,
    pub(crate) ttl: Duration,
    pub(crate) of_run: bool,
}

impl Leases {
    /// Reserves ports, all or none.
    pub(crate) fn take(&mut self, id: &str, wanted: Wanted<'_>, now: Instant) -> Result<(), Fault> {
        for port in &wanted.ports {
            if let Some(entry) = self.of_port(port) {
                return Err(taken(port, entry, now));
            }
        }
        let entry = Entry {
            ports: wanted.ports,
            holder: wanted.holder,
            owner: wanted.caller.name.clone(),
            begun: SystemTime::now(),
            expires: now + wanted.ttl,
            ttl: wanted.ttl,
            of_run: wanted.of_run,
            ended: false,
            users: 0,
        };
        self.entries.insert(id.to_owned(), entry);
        Ok(())
    }

    /// The lease that has a port.
    pub(crate) fn of_port(&self, port: &PortKey) -> Option<&Entry> {
        self.entries.values().find(|entry| entry.has(port))
    }

    /// A lease by its secret name, unless it has ended.
    pub(crate) fn get(&self, id: &str) -> Result<&Entry, Fault> {
        self.entries.get(id).filter(|entry| !entry.ended).ok_or_else(no_such_lease)
    }

    /// Refuses ports that are not in a lease.
    pub(crate) fn covers(&self, id: &str, ports: &[PortKey]) -> Result<(), Fault> {
        let entry = self.get(id)?;
        let Some(port) = ports.iter().find(|port| !port.is_within(&entry.ports)) else { return Ok(()) };
        Err(Fault::conflict(format!(
            "the lease covers {}, not '{}'",
            labels(&entry.ports).join(", "),
            port.label()
        )))
    }

    /// Gives a lease more time from `now` on.
    pub(crate) fn renew(&mut self, id: &str, ttl: Option<Duration>, now: Instant) -> Result<(), Fault> {
        self.get(id)?;
        if let Some(entry) = self.entries.get_mut(id) {
            entry.ttl = ttl.unwrap_or(entry.ttl);
            entry.expires = now + entry.ttl;
        }
        Ok(())
    }

    /// Begins the end of a lease.
    pub(crate) fn end(&mut self, id: &str) {
        if let Some(entry) = self.entries.get_mut(id) {
            entry.ended = true;
        }
    }

    /// Gives the ports of an agent back, which is lost; the lease of the others continues.
    pub(crate) fn leave(&mut self, id: &str, agent: &str) {
        if let Some(entry) = self.entries.get_mut(id) {
            entry.ports.retain(|port| port.remote().is_none_or(|port| port.agent != agent));
        }
    }

    /// Somebody is about to use its ports.
    pub(crate) fn hold(&mut self, id: &str) {
        if let Some(entry) = self.entries.get_mut(id) {
            entry.users += 1;
        }
    }

    /// Somebody uses its ports no more. A lease made for a run ends with it; one that has ended is forgotten now.
    pub(crate) fn let_go(&mut self, id: &str) {
        if let Some(entry) = self.entries.get_mut(id) {
            entry.users = entry.users.saturating_sub(1);
            entry.ended |= entry.of_run;
        }
        self.forget_unused();
    }

    /// Removes expired leases whose ports are unused.
    pub(crate) fn forget_unused(&mut self) {
        self.entries.retain(|_, entry| !entry.ended || entry.users > 0);
    }

    /// Leases whose time is over.
    pub(crate) fn expired(&self, now: Instant) -> Vec<String> {
        let over = self.entries.iter().filter(|(_, entry)| entry.ended || entry.expires <= now);
        over.map(|(id, _)| id.clone()).collect()
    }

    /// Ports of agents that are reserved.
    pub(crate) fn remote(&self) -> BTreeSet<RemotePort> {
        self.entries
            .values()
            .flat_map(|entry| &entry.ports)
            .filter_map(|port| port.remote().cloned())
            .collect()
    }

    /// Forgets a lease that could not be taken everywhere.
    pub(crate) fn remove(&mut self, id: &str) {
        self.entries.remove(id);
    }

    /// All leases as `caller` may see them.
    pub(crate) fn list(&self, caller: &Caller, now: Instant) -> Vec<api::Lease> {
        let shown = self.entries.iter();
        shown
            .map(|(id, entry)| {
                let id = (!entry.of_run && caller.may_end(&entry.owner)).then(|| id.clone());
                document(id, entry, now)
            })
            .collect()
    }

    /// One lease, for callers that know its id.
    pub(crate) fn document(&self, id: &str, now: Instant) -> Result<api::Lease, Fault> {
        Ok(document(Some(id.to_owned()), self.get(id)?, now))
    }
}

impl Entry {
    fn has(&self, port: &PortKey) -> bool {
        self.ports.iter().any(|own| own.overlaps(port))
    }
}

/// Display names of ports, sorted.
pub(crate) fn labels(ports: &[PortKey]) -> Vec<String> {
    let mut labels: Vec<String> = ports.iter().map(PortKey::label).collect();
    labels.sort();
    labels.dedup();
    labels
}

fn no_such_lease() -> Fault {
    Fault::not_found("no such lease; it may have expired")
}

fn taken(port: &PortKey, entry: &Entry, now: Instant) -> Fault {
    let port = port.label();
    let left = entry.expires.saturating_duration_since(now).as_secs_f64();
    Fault::conflict(if entry.ended {
        format!("port '{port}' is being released by '{}'; try again in a moment", entry.holder)
    } else if entry.of_run {
        format!("port '{port}' is in use by a run of '{}'", entry.holder)
    } else {
        format!("port '{port}' is leased by '{}' for another {left:.0} s, unless renewed", entry.holder)
    })
}

/// Remaining time of a lease.
pub(crate) fn of_port(entry: &Entry, now: Instant) -> api::PortLease {
    let left = entry.expires.saturating_duration_since(now);
    api::PortLease { holder: entry.holder.clone(), expires: instant(left), seconds_left: left.as_secs_f64() }
}

fn document(id: Option<String>, entry: &Entry, now: Instant) -> api::Lease {
    let left = entry.expires.saturating_duration_since(now);
    api::Lease {
        id,
        ports: labels(&entry.ports),
        holder: entry.holder.clone(),
        begun: humantime::format_rfc3339_millis(entry.begun).to_string(),
        expires: instant(left),
        ttl_s: entry.ttl.as_secs_f64(),
        seconds_left: left.as_secs_f64(),
    }
}

/// The time of day in `left`.
fn instant(left: Duration) -> String {
    humantime::format_rfc3339_millis(SystemTime::now() + left).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::Role;

    fn caller(name: &str, role: Role) -> Caller {
        Caller { name: name.to_owned(), role, from: "127.0.0.1:1".parse().unwrap() }
    }

    fn id(port: &str) -> PortKey {
        PortKey::Here(dpdk::PortId::resolve(port).unwrap())
    }

    fn take(leases: &mut Leases, lease: &str, ports: &[&str], who: &str, now: Instant) -> Result<(), Fault> {
        let caller = caller(who, Role::Run);
        let ports = ports.iter().map(|port| id(port)).collect();
        let ttl = Duration::from_secs(10);
        let wanted = Wanted { ports, holder: who.to_owned(), caller: &caller, ttl, of_run: false };
        leases.take(lease, wanted, now)
    }

    #[test]
    fn one_gets_it_the_other_is_told_who_has_it() {
        let (mut leases, now) = (Leases::default(), Instant::now());
        take(&mut leases, "1", &["a", "b"], "ann", now).unwrap();
        let refused = take(&mut leases, "2", &["c", "b"], "bob", now).unwrap_err();
        assert_eq!(refused.status(), 409);
        assert_eq!(refused.problem().detail, "port 'b' is leased by 'ann' for another 10 s, unless renewed");
        // All or none.
        assert!(leases.of_port(&id("c")).is_none());
        take(&mut leases, "3", &["c"], "bob", now).unwrap();
    }

    #[test]
    fn another_name_is_no_other_port() {
        let (mut leases, now) = (Leases::default(), Instant::now());
        take(&mut leases, "1", &["03:00.0", "memif:/run/x.sock", "afxdp:a"], "ann", now).unwrap();
        for port in
            ["0000:03:00.0", "memif:/run//x.sock,server", "vhost:/run/./x.sock", "afpacket:a", "tap:a"]
        {
            assert_eq!(take(&mut leases, "2", &[port], "bob", now).unwrap_err().status(), 409, "{port}");
            leases.covers("1", &[id(port)]).unwrap();
        }
        let refused = leases.covers("1", &[id("b")]).unwrap_err();
        assert_eq!(refused.problem().detail, "the lease covers 0000:03:00.0, a, memif:/run/x.sock, not 'b'");
    }

    #[test]
    fn a_lease_ends_unless_it_is_renewed() {
        let (mut leases, now) = (Leases::default(), Instant::now());
        take(&mut leases, "1", &["a"], "ann", now).unwrap();
        let later = |s| now + Duration::from_secs(s);
        assert!(leases.expired(later(9)).is_empty());
        leases.renew("1", None, later(9)).unwrap();
        assert!(leases.expired(later(18)).is_empty());
        assert_eq!(leases.expired(later(19)), ["1"]);
        leases.hold("1");
        leases.end("1");
        leases.forget_unused();
        assert_eq!(leases.renew("1", None, later(19)).unwrap_err().status(), 404);
        // Its ports stay taken until what ran on them has ended.
        assert!(take(&mut leases, "2", &["a"], "bob", later(19)).is_err());
        leases.let_go("1");
        assert!(take(&mut leases, "2", &["a"], "bob", later(19)).is_ok());
    }

    #[test]
    fn ports_of_a_lost_agent_are_free() {
        let (mut leases, now) = (Leases::default(), Instant::now());
        let remote =
            |agent: &str| PortKey::Remote(RemotePort { agent: agent.to_owned(), port: "veth0".to_owned() });
        let who = caller("ann", Role::Run);
        let mut take = |lease: &str, agents: &[&str]| {
            let ports = agents.iter().map(|agent| remote(agent)).collect();
            let ttl = Duration::from_secs(10);
            let wanted = Wanted { ports, holder: "ann".to_owned(), caller: &who, ttl, of_run: true };
            leases.take(lease, wanted, now).map(|()| leases.remote().len())
        };
        assert_eq!(take("1", &["a1", "a2"]).unwrap(), 2);
        assert!(take("2", &["a2"]).is_err());
        leases.leave("1", "a2");
        assert_eq!(leases.remote().len(), 1);
        let ports = vec![remote("a2")];
        let ttl = Duration::from_secs(10);
        let wanted = Wanted { ports, holder: "bob".to_owned(), caller: &who, ttl, of_run: true };
        leases.take("3", wanted, now).unwrap();
        assert!(leases.of_port(&remote("a1")).is_some_and(|entry| entry.holder == "ann"));
    }

    #[test]
    fn its_name_is_shown_to_its_owner_only() {
        let (mut leases, now) = (Leases::default(), Instant::now());
        take(&mut leases, "secret", &["a"], "ann", now).unwrap();
        let seen = |who, role| leases.list(&caller(who, role), now)[0].id.clone();
        assert_eq!(seen("ann", Role::Run).as_deref(), Some("secret"));
        assert_eq!(seen("root", Role::Admin).as_deref(), Some("secret"));
        assert_eq!(seen("bob", Role::Run), None);
    }
}
