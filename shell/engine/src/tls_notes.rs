//! Notes on the encryption of sessions that a reader of the figures has to know.

use crate::trust::Evidence;
use session::plan::{TlsClient, TlsVerify};

impl Evidence<'_> {
    /// Clients that do less than real ones, then secrets written to files.
    pub(crate) fn tls_notes(&self) -> Vec<String> {
        let entries = self.trial.plan.sessions.iter().map(|entry| &entry.session);
        let played = entries.filter(|entry| entry.client.is_some());
        let ways = played.flat_map(|entry| {
            let client = entry.tls.as_ref().map(|tls| &tls.client);
            client.into_iter().flat_map(spared).map(|way| {
                format!(
                    "sessions {}: {way}, so a handshake is less work for them than for any real client",
                    entry.name
                )
            })
        });
        ways.chain(self.trial.key_logs.notes()).collect()
    }
}

/// Work of handshakes that clients leave out.
fn spared(client: &TlsClient) -> impl Iterator<Item = String> {
    let unverified = client.verify == TlsVerify::Nothing;
    let verify = unverified
        .then(|| "'verify: nothing': clients read no certificates and verify no signatures".to_owned());
    let reuse = client.key_share_reuse;
    let share = reuse.map(|times| {
        format!("'key_share: {{reuse: {times}}}': clients use each key share for {times} handshakes")
    });
    verify.into_iter().chain(share)
}
