//! Leases of a controller at the broker: taken, renewed, given back.
//!
//! Not here: which client of the controller has a port; the server's leases have that. Here a port has one controller.

use crate::access::FleetError;
use crate::bucket::{Bucket, Token};
use crate::controller::RemotePort;
use crate::order::{Holder, packed, unpacked};
use crate::{TTL, subjects};
use async_nats::Client;
use futures_util::{StreamExt, stream};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

/// Requests to the broker that are on their way at once.
const REQUESTS_MAX: usize = 64;

/// A lease at the broker.
#[derive(Debug, Clone)]
struct Lease {
    value: Holder,
    /// By which agents know it: from when it was taken.
    token: Token,
    /// As it was renewed last.
    last: Token,
    /// When that was requested.
    renewed: Instant,
}

#[derive(Debug)]
pub(crate) struct Leases {
    client: Client,
    bucket: Bucket,
    controller: String,
    held: BTreeMap<RemotePort, Lease>,
}

impl Leases {
    pub(crate) async fn open(client: Client, controller: String) -> Result<Self, FleetError> {
        let bucket = Bucket::open(&client, subjects::LEASES).await?;
        Ok(Self { client, bucket, controller, held: BTreeMap::new() })
    }

    /// Takes ports, unless another controller has one.
    pub(crate) async fn take(&mut self, ports: &[RemotePort], holder: &str) -> Result<(), String> {
        let value = Holder { controller: self.controller.clone(), holder: holder.to_owned() };
        let missing: Vec<&RemotePort> = ports.iter().filter(|port| self.token(port).is_none()).collect();
        let mut requests = Vec::new();
        for port in &missing {
            requests.push(created(&self.bucket, port, &value));
        }
        let taken = at_once(requests).await;
        let mut refused = None;
        for (port, (requested, token)) in missing.into_iter().zip(taken) {
            match token {
                Ok(Some(token)) => {
                    let lease = Lease { value: value.clone(), token, last: token, renewed: requested };
                    self.held.insert(port.clone(), lease);
                }
                Ok(None) => drop(refused.get_or_insert((port, None))),
                Err(reason) => drop(refused.get_or_insert((port, Some(reason)))),
            }
        }
        match refused {
            None => Ok(()),
            Some((_, Some(reason))) => Err(reason),
            Some((port, None)) => {
                let who = self.holder(port).await?.map(|known| known.holder);
                let who = who.as_deref().unwrap_or("somebody");
                Err(format!("port '{port}' is leased by '{who}' at another server"))
            }
        }
    }

    /// Holder of a port, here or at another controller.
    pub(crate) async fn holder(&self, port: &RemotePort) -> Result<Option<Holder>, String> {
        let known = self.bucket.get(&port.key()).await?;
        Ok(known.and_then(|bytes| unpacked::<Holder>(&bytes).ok()))
    }

    /// Holders of ports that have one.
    pub(crate) async fn holders(&self, ports: Vec<RemotePort>) -> Result<Vec<(RemotePort, Holder)>, String> {
        let mut requests = Vec::new();
        for port in &ports {
            requests.push(self.holder(port));
        }
        let found = at_once(requests).await;
        let held =
            ports.into_iter().zip(found).map(|(port, holder)| Ok(holder?.map(|holder| (port, holder))));
        held.filter_map(Result::transpose).collect()
    }

    /// The token of a lease that has not ended.
    pub(crate) fn token(&self, port: &RemotePort) -> Option<Token> {
        self.held.get(port).filter(|lease| lease.renewed.elapsed() < TTL).map(|lease| lease.token)
    }

    /// Renews those that are `wanted`, gives others back. One after another, leases of many agents would take longer than they last.
    pub(crate) async fn keep(&mut self, wanted: &BTreeSet<RemotePort>) {
        let (kept, others): (BTreeMap<_, _>, BTreeMap<_, _>) =
            std::mem::take(&mut self.held).into_iter().partition(|(port, _)| wanted.contains(port));
        let (mut removals, mut renewals) = (Vec::new(), Vec::new());
        for (port, lease) in &others {
            removals.push(removed(&self.bucket, port, lease));
        }
        for (port, lease) in &kept {
            renewals.push(renewed(&self.bucket, port, lease));
        }
        let renewals = at_once(renewals).await;
        at_once(removals).await;
        let mut lost = Vec::new();
        for ((port, lease), (requested, renewed)) in kept.iter().zip(renewals) {
            let (last, renewed) = match renewed {
                Ok(last) => (last, requested),
                Err(reason) => {
                    tracing::warn!(%port, "the lease is not renewed: {reason}");
                    lost.push((port.clone(), lease.clone()));
                    (lease.last, lease.renewed)
                }
            };
            self.held.insert(port.clone(), Lease { last, renewed, ..lease.clone() });
        }
        if !lost.is_empty() {
            self.take_again(&lost).await;
        }
    }

    /// Takes leases again that the broker has forgotten: with its memory, or because it was not reached in time.
    async fn take_again(&mut self, lost: &[(RemotePort, Lease)]) {
        if let Ok(bucket) = Bucket::open(&self.client, subjects::LEASES).await {
            self.bucket = bucket;
        }
        let mut requests = Vec::new();
        for (port, lease) in lost {
            requests.push(self.again(port, lease));
        }
        let taken = at_once(requests).await;
        for ((port, lease), again) in lost.iter().zip(taken) {
            if let Some((token, renewed)) = again {
                let value = lease.value.clone();
                self.held.insert(port.clone(), Lease { value, token, last: token, renewed });
            }
        }
    }

    /// The token of a lease that was taken again, and when that was requested.
    async fn again(&self, port: &RemotePort, lease: &Lease) -> Option<(Token, Instant)> {
        let (requested, created) = created(&self.bucket, port, &lease.value).await;
        let token = match created {
            Ok(Some(token)) => Some(token),
            // A renewal from before the connection was lost may have come late.
            Ok(None) => {
                let own = self.bucket.find(&port.key()).await.ok().flatten();
                let is_own = |(holder, _): &(Vec<u8>, Token)| {
                    unpacked::<Holder>(holder).is_ok_and(|holder| holder.controller == self.controller)
                };
                own.filter(is_own).map(|(_, token)| token)
            }
            Err(_) => None,
        };
        token.map(|token| (token, requested))
    }
}

/// Makes a lease, unless there is one; also when that was requested.
async fn created(
    bucket: &Bucket,
    port: &RemotePort,
    value: &Holder,
) -> (Instant, Result<Option<Token>, String>) {
    let requested = Instant::now();
    (requested, bucket.create(&port.key(), packed(value)).await)
}

/// Renews a lease; also when that was requested.
async fn renewed(bucket: &Bucket, port: &RemotePort, lease: &Lease) -> (Instant, Result<Token, String>) {
    let requested = Instant::now();
    (requested, bucket.renew(&port.key(), packed(&lease.value), lease.last).await)
}

/// Gives a lease back.
async fn removed(bucket: &Bucket, port: &RemotePort, lease: &Lease) {
    // It ends by itself, too.
    let _ = bucket.remove(&port.key(), lease.last).await;
}

/// The results of requests, in their order; several are on their way at once.
async fn at_once<T>(requests: Vec<impl Future<Output = T>>) -> Vec<T> {
    stream::iter(requests).buffered(REQUESTS_MAX).collect().await
}
