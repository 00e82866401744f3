//! QUIC: options of both ends.

use super::tls::{dns_by_get, dns_version, websocket_version};
use crate::document::app::AppDoc;
use crate::document::http::MigrateByDoc;
use crate::document::options::QuicDoc;
use crate::document::session::SessionDoc;
use crate::resolve::Resolver;
use session::plan::{HttpVersion, Migrate, QuicOptions, QuicPlan};
use units::Nanos;

/// Whether an application over QUIC is a program, or has one in its mix.
pub(super) fn has_program(app: &AppDoc) -> bool {
    match app {
        AppDoc::Word(_) => false,
        AppDoc::Full(keys) => {
            let own = keys.raw.is_some() || keys.program.is_some();
            own || keys.mix.iter().flatten().any(|member| has_program(&member.app))
        }
    }
}

/// Shortest time between two changes of a client's port.
const MIGRATE_MIN: Nanos = Nanos::from_millis(1);

impl Resolver<'_> {
    /// How an entry with `transport: quic` uses it.
    pub(super) fn quic_options(&mut self, path: &str, entry: &SessionDoc) -> QuicOptions {
        let Some(doc) = &entry.quic else { return QuicOptions::default() };
        let path = format!("{path}.quic");
        let is_websocket = websocket_version(&entry.app) == HttpVersion::Three;
        let is_https = entry.is_https() && dns_version(&entry.app) == Some(HttpVersion::Three);
        if !entry.is_quic() && !is_websocket && !is_https {
            let reason = "these sessions do not go over QUIC; set 'transport: quic', or remove it. HTTP/3 has these options in 'http'";
            self.reading.fail(path, reason);
            return QuicOptions::default();
        }
        self.check_quic_program(&path, doc, entry);
        let waits = if is_websocket {
            Some("a WebSocket begins once the handshake is done; remove it")
        } else if is_https && !dns_by_get(&entry.app) && entry.has_clients() {
            Some("requests by POST are not sent as early data, which may be repeated; set 'method: GET'")
        } else {
            None
        };
        if let Some(reason) = waits.filter(|_| doc.early_data == Some(true)) {
            self.reading.fail(format!("{path}.early_data"), reason);
        }
        QuicOptions {
            client: self.quic_client(&path, doc, entry),
            retry: doc.retry.unwrap_or(false),
            early_data: doc.early_data.unwrap_or(false),
        }
    }

    /// Checks options that programs alone have, or have not.
    fn check_quic_program(&mut self, path: &str, doc: &QuicDoc, entry: &SessionDoc) {
        let is_program = has_program(&entry.app);
        if doc.datagrams.is_some() && !is_program {
            let reason = "DATAGRAM frames are for 'raw' and 'program'; remove it";
            self.reading.fail(format!("{path}.datagrams"), reason);
        }
        for (key, is_there) in
            [("streams", doc.streams.is_some()), ("unidirectional", doc.unidirectional.is_some())]
        {
            let reason = match (is_there, is_program, doc.datagrams) {
                (true, false, _) => "is for 'raw' and 'program'; remove it",
                (true, true, Some(true)) => {
                    "has no effect on messages in DATAGRAM frames; remove one of them"
                }
                _ => continue,
            };
            self.reading.fail(format!("{path}.{key}"), reason);
        }
        if doc.early_data == Some(true) && doc.datagrams == Some(true) {
            let reason =
                "DATAGRAM frames are not sent as early data, which the server may reject; remove one of them";
            self.reading.fail(format!("{path}.early_data"), reason);
        }
        let most = u16::try_from(session::quic::UNIDIRECTIONAL).unwrap_or(u16::MAX);
        if doc.unidirectional == Some(true) && doc.streams.is_some_and(|streams| streams > most) {
            let reason = format!("an end takes {most} unidirectional streams at a time; set {most} or less");
            self.reading.fail(format!("{path}.streams"), reason);
        }
    }

    /// How clients use QUIC; `path` is that of the options.
    pub(super) fn quic_client(&mut self, path: &str, doc: &QuicDoc, entry: &SessionDoc) -> QuicPlan {
        let early = doc.early_data.unwrap_or(false);
        let resumes =
            entry.tls.as_ref().and_then(|tls| tls.resolved()).is_some_and(|tls| tls.resumption.is_some());
        if early && !resumes && entry.has_clients() {
            let reason = "only a resumed session has keys for early data; set 'resumption' in 'tls'";
            self.reading.fail(format!("{path}.early_data"), reason);
        }
        let migrate = doc.migrate.as_ref().map(|migrate| {
            let every = migrate.every.0;
            if every < MIGRATE_MIN {
                self.reading.fail(format!("{path}.migrate.every"), "must be at least 1ms");
            }
            Migrate { every, knows: migrate.by == MigrateByDoc::Client }
        });
        if doc.key_update == Some(0) {
            self.reading.fail(format!("{path}.key_update"), "must be at least 1; remove it for none");
        }
        let datagrams = doc.datagrams.unwrap_or(false);
        let (streams, unidirectional) = (doc.streams.unwrap_or(1), doc.unidirectional.unwrap_or(false));
        QuicPlan {
            migrate,
            early_data: early,
            key_update: doc.key_update,
            datagrams,
            streams,
            unidirectional,
        }
    }
}
