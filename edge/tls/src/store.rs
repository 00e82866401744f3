//! A client's store for resuming sessions.
//!
//! The library's own store keeps 8 tickets for a server. With a thousand flows opening together it would run dry, and
//! fewer sessions than requested would be resumed. This one keeps as many as the plan requires.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;

/// Sessions by the server's name. One worker's own: its lock is never waited for.
pub(crate) struct Sessions(Mutex<Servers>);

struct Servers {
    by_name: HashMap<ServerName<'static>, Server>,
    /// Names in the order in which they came.
    oldest: VecDeque<ServerName<'static>>,
    /// Tickets of all servers.
    tickets: usize,
    /// Most tickets, and most servers.
    limit: usize,
}

#[derive(Default)]
struct Server {
    hint: Option<NamedGroup>,
    tls12: Option<Tls12ClientSessionValue>,
    /// Each is used once (RFC 8446 appendix C.4), the newest first.
    tickets: VecDeque<Tls13ClientSessionValue>,
}

impl Servers {
    fn entry(&mut self, name: ServerName<'static>) -> &mut Server {
        if !self.by_name.contains_key(&name) {
            if self.by_name.len() >= self.limit {
                self.forget_oldest();
            }
            self.oldest.push_back(name.clone());
        }
        self.by_name.entry(name).or_default()
    }

    fn forget_oldest(&mut self) {
        if let Some(server) = self.oldest.pop_front().and_then(|name| self.by_name.remove(&name)) {
            self.tickets -= server.tickets.len();
        }
    }

    fn keep(&mut self, name: ServerName<'static>, ticket: Tls13ClientSessionValue) {
        if self.tickets >= self.limit {
            let own = self.by_name.get_mut(&name).and_then(|server| server.tickets.pop_front());
            match own {
                Some(_) => self.tickets -= 1,
                None => self.forget_oldest(),
            }
        }
        // What was forgotten may have had no ticket.
        if self.tickets < self.limit {
            self.entry(name).tickets.push_back(ticket);
            self.tickets += 1;
        }
    }

    fn take(&mut self, name: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        let ticket = self.by_name.get_mut(name)?.tickets.pop_back()?;
        self.tickets -= 1;
        Some(ticket)
    }
}

impl Sessions {
    /// For this number of sessions.
    pub(crate) fn new(limit: usize) -> Self {
        Self(Mutex::new(Servers { by_name: HashMap::new(), oldest: VecDeque::new(), tickets: 0, limit }))
    }

    fn servers(&self) -> MutexGuard<'_, Servers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientSessionStore for Sessions {
    fn set_kx_hint(&self, name: ServerName<'static>, group: NamedGroup) {
        self.servers().entry(name).hint = Some(group);
    }

    fn kx_hint(&self, name: &ServerName<'_>) -> Option<NamedGroup> {
        self.servers().by_name.get(name).and_then(|server| server.hint)
    }

    fn set_tls12_session(&self, name: ServerName<'static>, value: Tls12ClientSessionValue) {
        self.servers().entry(name).tls12 = Some(value);
    }

    fn tls12_session(&self, name: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.servers().by_name.get(name).and_then(|server| server.tls12.clone())
    }

    fn remove_tls12_session(&self, name: &ServerName<'static>) {
        if let Some(server) = self.servers().by_name.get_mut(name) {
            server.tls12 = None;
        }
    }

    fn insert_tls13_ticket(&self, name: ServerName<'static>, value: Tls13ClientSessionValue) {
        self.servers().keep(name, value);
    }

    fn take_tls13_ticket(&self, name: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.servers().take(name)
    }
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").finish_non_exhaustive()
    }
}
