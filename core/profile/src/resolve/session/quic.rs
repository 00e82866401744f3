//! QUIC: options of both ends.

use crate::document::http::MigrateByDoc;
use crate::document::options::QuicDoc;
use crate::document::session::SessionDoc;
use crate::resolve::Resolver;
use session::plan::{Migrate, QuicOptions, QuicPlan};
use units::Nanos;

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
        QuicOptions {
            client: self.quic_client(&path, doc, entry),
            retry: doc.retry.unwrap_or(false),
            early_data: doc.early_data.unwrap_or(false),
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
        QuicPlan { migrate, early_data: early, key_update: doc.key_update }
    }
}
