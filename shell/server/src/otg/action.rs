//! Actions: pings from the hosts on the ports, restarts of sessions.

use super::{Otg, OtgSession};
use crate::access::Caller;
use crate::runs::RunJob;
use api::NewPing;
use futures_util::future::join_all;
use otg::{Action, Errors, PingRequest, Pings, Translation};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::{Mutex, MutexGuard};

impl Otg {
    /// Carries out a `ControlAction`. It continues if its client disconnects, because the run it started must be ended.
    pub(super) async fn act(self: &Arc<Self>, request: Value, caller: &Caller) -> Result<Value, Errors> {
        let (otg, caller) = (self.clone(), caller.clone());
        let task = tokio::spawn(async move { otg.carry_out(&request, &caller).await });
        task.await.unwrap_or_else(|_| {
            Err(Errors::internal("internal error, please report it: the action's task panicked"))
        })
    }

    async fn carry_out(&self, request: &Value, caller: &Caller) -> Result<Value, Errors> {
        let own = self.session(caller);
        let session = own.lock().await;
        let translation = session.translation()?;
        match otg::action(request, &translation)? {
            Action::Pings(pings) => self.pings(&own, session, &translation, pings, caller).await,
            Action::Restart(restart) => {
                self.restart(&session, restart).await?;
                Ok(json!({"warnings": []}))
            }
        }
    }

    /// Sends pings together, in the current run or in one that starts and ends with them. The session is unlocked
    /// meanwhile.
    async fn pings(
        &self,
        own: &Mutex<OtgSession>,
        mut session: MutexGuard<'_, OtgSession>,
        translation: &Arc<Translation>,
        pings: Pings,
        caller: &Caller,
    ) -> Result<Value, Errors> {
        session.pinging += 1;
        let began = self.settle(&mut session, caller).await;
        let run = session.running();
        drop(session);
        let answered = match (began, run) {
            (Ok(()), Some(run)) => {
                let asked = pings.requests.iter().map(|ping| self.ping(ping, run.clone(), translation, own));
                Ok(join_all(asked).await)
            }
            (Err(errors), _) => Err(errors),
            (Ok(()), None) => Err(Errors::internal("no active run to ping from")),
        };
        let mut session = own.lock().await;
        if session.is_of(translation) {
            session.pinging -= 1;
            self.settle(&mut session, caller).await?;
        }
        answered.map(|outcomes| pings.response(&outcomes))
    }

    /// Sends one ping. If its run ends for another of the same configuration, it is sent there.
    async fn ping(
        &self,
        ping: &PingRequest,
        mut run: Arc<RunJob>,
        translation: &Arc<Translation>,
        own: &Mutex<OtgSession>,
    ) -> Result<(), String> {
        let new = NewPing {
            port: ping.port.clone(),
            to: ping.to.clone(),
            host: Some(ping.host.clone()),
            from: Some(ping.from.clone()),
            ..NewPing::default()
        };
        loop {
            let reason = match run.ping(&new).await {
                Ok(pinged) if pinged.answered => return Ok(()),
                Ok(pinged) => pinged.reason.unwrap_or_default(),
                Err(fault) => fault.problem().detail.clone(),
            };
            if !run.job.is_stopped() {
                return Err(reason);
            }
            let session = own.lock().await;
            match session.running().filter(|next| session.is_of(translation) && !Arc::ptr_eq(next, &run)) {
                Some(next) => run = next,
                None => return Err(reason),
            }
        }
    }
}
