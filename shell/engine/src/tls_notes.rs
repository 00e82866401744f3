//! Notes on the encryption of sessions that a reader of the figures has to know.

use crate::trust::Evidence;
use session::plan::TlsVerify;

impl Evidence<'_> {
    /// Clients that do less than real ones, then secrets written to files.
    pub(crate) fn tls_notes(&self) -> Vec<String> {
        let entries = self.trial.plan.sessions.iter().map(|entry| &entry.session);
        let careless = entries.filter(|entry| {
            let verify = entry.tls.as_ref().map(|tls| &tls.client.verify);
            entry.client.is_some() && verify == Some(&TlsVerify::Nothing)
        });
        let note = |name: &String| {
            format!(
                "sessions {name}: 'verify: nothing': clients read no certificates and verify no signatures, so a handshake is \
                 less work for them than for any real client"
            )
        };
        careless.map(|entry| note(&entry.name)).chain(self.trial.key_logs.notes()).collect()
    }
}
