//! QUIC: options of both ends.

use crate::document::app::AppDoc;
use crate::document::http::MigrateByDoc;
use crate::document::options::QuicDoc;
use crate::document::session::SessionDoc;
use crate::resolve::Resolver;
use session::plan::{Migrate, QuicOptions, QuicPlan};
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
        if !entry.is_quic() {
            let reason = "these sessions do not go over QUIC; set 'transport: quic', or remove it. HTTP/3 has these options in 'http'";
            self.reading.fail(path, reason);
            return QuicOptions::default();
        }
        self.check_quic_program(&path, doc, entry);
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
        if doc.early_data == Some(true) && is_program {
            let reason = "a program's messages may not be repeated, as early data may be; remove it";
            self.reading.fail(format!("{path}.early_data"), reason);
        }
    }

    /// How clients use QUIC; `path` is that of the options.
    pub(super) fn quic_client(&mut self, path: &str, doc: &QuicDoc, entry: &SessionDoc) -> QuicPlan {
        let early = doc.early_data.unwrap_or(false);
        let resumes =
            entry.tls.as_ref().and_then(|tls| tls.resolved()).is_some_and(|tls| tls.resumption.is_some());
        let has_clients = entry.client.as_ref().is_some_and(|client| client.port.is_some());
        if early && !resumes && has_clients {
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
        QuicPlan { migrate, early_data: early, key_update: doc.key_update, datagrams }
    }
}
