//! Encryption of sessions: TLS and QUIC.

use crate::error::EngineError;
use crate::key_logs::KeyLogs;
use profile::Plan;
use session::GroupKey;
use session::plan::{AppPlan, EarlyData, SessionPlan, Side, SidePlan, TlsPlan};
use session::secure::Layer;
use std::sync::Arc;
use tls::{KeyLog, Sides};

/// Name of HTTP/3 in ALPN.
const HTTP3: &str = "h3";

/// The encryption of an entry: of what goes over TCP, and of what goes over QUIC.
pub(super) struct Encryption {
    tls: Option<Sides>,
    quic: Option<quic::Sides>,
}

impl Encryption {
    /// That of `plan`, which has `tls`. `is_steady`: handshakes have the same lengths each time. Secrets go to a file of
    /// `key_logs`, if the plan names one: each once, from clients if they are played here.
    pub(super) fn new(
        plan: &SessionPlan,
        tls: &Arc<TlsPlan>,
        is_steady: bool,
        key_logs: &KeyLogs,
    ) -> Result<Self, String> {
        let take = tls.key_log.as_ref().map(|path| key_logs.open(path)).transpose()?;
        let log = take.map(|take| KeyLog::new(move |line| take(line)));
        let by_clients = plan.client.is_some();
        let any = |is_quic| (0..plan.mix.members.len()).any(|member| plan.is_quic_of(member) == is_quic);
        let tcp = || match log.clone() {
            Some(log) => Sides::new(tls.clone()).logged(log, by_clients),
            None => Sides::new(tls.clone()),
        };
        let quic = || {
            let sides = quic::Sides::new(&over_quic(plan, tls));
            match log.clone() {
                Some(log) => sides.logged(log, by_clients),
                None => sides,
            }
        };
        Ok(Self {
            tls: any(false).then(|| if is_steady { tcp().steady() } else { tcp() }),
            quic: any(true).then(|| if is_steady { quic().steady() } else { quic() }),
        })
    }

    /// The layer of a group of the plan's, whose side is `own`, of a worker, with the seed of both.
    pub(super) fn layer(
        &self,
        plan: &SessionPlan,
        own: &SidePlan,
        key: GroupKey,
        worker: u8,
        seed: u64,
    ) -> Result<Layer, String> {
        let quic = self.quic.as_ref().filter(|_| plan.is_quic_of(key.member));
        let made = match (&self.tls, quic, key.side) {
            (Some(sides), None, Side::Client) => sides.client().map(Layer::Tls),
            (Some(sides), None, Side::Server) => sides.server().map(Layer::Tls),
            (None, None, _) => unreachable!("an entry with encryption has that of each of its applications"),
            (_, Some(sides), which) => {
                let (retry, early_data) = match (&plan.mix.members[key.member].app, which) {
                    (AppPlan::Http(http), Side::Client) => (false, http.quic.early_data),
                    (AppPlan::Http(http), Side::Server) => {
                        (http.server.retry, http.server.early_data != EarlyData::Off)
                    }
                    (_, Side::Client) => (false, plan.quic.client.early_data),
                    (_, Side::Server) => (plan.quic.retry, plan.quic.early_data),
                };
                let settings = quic::Settings {
                    mtu: own.mtu,
                    is_v6: plan.servers.addresses.first().is_some_and(|range| range.first.is_ipv6()),
                    idle_timeout: own.udp.idle_timeout,
                    ecn: own.udp.ecn,
                    seed,
                    retry,
                    early_data,
                    datagrams: plan.quic.client.datagrams,
                    worker,
                };
                match which {
                    Side::Client => sides.client(settings),
                    Side::Server => sides.server(settings),
                }
                .map(Layer::Quic)
            }
        };
        made.map_err(|error| error.to_string())
    }
}

/// TLS within QUIC; where HTTP/3 is an alternative, the settings are written for what goes over TCP.
fn over_quic(plan: &SessionPlan, tls: &Arc<TlsPlan>) -> Arc<TlsPlan> {
    if plan.is_quic() {
        return tls.clone();
    }
    Arc::new(TlsPlan { tls12: false, alpn: vec![HTTP3.to_owned()], ..(**tls).clone() })
}

/// Makes the encryption of each entry of sessions that has some, as its run would, and drops it.
///
/// # Errors
/// A certificate, a key or a root of a file can't be used.
pub fn check_encryption(plan: &Plan) -> Result<(), EngineError> {
    for session in plan.sessions.iter().map(|entry| &entry.session) {
        let Some(tls) = &session.tls else { continue };
        let sides = Sides::new(tls.clone());
        let client = session.client.as_ref().map_or(Ok(()), |_| sides.client().map(drop));
        let made = client.and_then(|()| session.server.as_ref().map_or(Ok(()), |_| sides.server().map(drop)));
        made.map_err(|error| EngineError::Sessions {
            name: session.name.clone(),
            reason: error.to_string(),
        })?;
    }
    Ok(())
}
