//! Leases of a controller at the broker: taken, renewed, given back.
//!
//! Not here: which client of the controller has a port; the server's leases have that. Here a port has one controller.

use crate::access::FleetError;
use crate::bucket::{Bucket, Token};
use crate::controller::RemotePort;
use crate::order::{Holder, packed, unpacked};
use crate::{TTL, subjects};
use async_nats::Client;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

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

    /// Takes a port, unless another controller has it.
    pub(crate) async fn take(&mut self, port: &RemotePort, holder: &str) -> Result<(), String> {
        if self.token(port).is_some() {
            return Ok(());
        }
        let value = Holder { controller: self.controller.clone(), holder: holder.to_owned() };
        let requested = Instant::now();
        let Some(token) = self.bucket.create(&port.key(), packed(&value)).await? else {
            let known = self.bucket.get(&port.key()).await?;
            let who = known.and_then(|bytes| unpacked::<Holder>(&bytes).ok()).map(|known| known.holder);
            return Err(format!(
                "port '{port}' is leased by '{}' at another server",
                who.as_deref().unwrap_or("somebody")
            ));
        };
        self.held.insert(port.clone(), Lease { value, token, last: token, renewed: requested });
        Ok(())
    }

    /// The token of a lease that has not ended.
    pub(crate) fn token(&self, port: &RemotePort) -> Option<Token> {
        self.held.get(port).filter(|lease| lease.renewed.elapsed() < TTL).map(|lease| lease.token)
    }

    /// Renews those that are `wanted`, gives others back.
    pub(crate) async fn keep(&mut self, wanted: &BTreeSet<RemotePort>) {
        let ports: Vec<RemotePort> = self.held.keys().cloned().collect();
        for port in ports {
            if !wanted.contains(&port) {
                if let Some(lease) = self.held.remove(&port) {
                    let _ = self.bucket.remove(&port.key(), lease.last).await;
                }
                continue;
            }
            let Some(lease) = self.held.get(&port).cloned() else { continue };
            let requested = Instant::now();
            match self.bucket.renew(&port.key(), packed(&lease.value), lease.last).await {
                Ok(last) => drop(self.held.insert(port, Lease { last, renewed: requested, ..lease })),
                Err(reason) => {
                    tracing::warn!(%port, "the lease is not renewed: {reason}");
                    self.take_again(port, &lease).await;
                }
            }
        }
    }

    /// Takes a lease again that the broker has forgotten: with its memory, or because it was not reached in time.
    async fn take_again(&mut self, port: RemotePort, lease: &Lease) {
        if let Ok(bucket) = Bucket::open(&self.client, subjects::LEASES).await {
            self.bucket = bucket;
        }
        let requested = Instant::now();
        let taken = match self.bucket.create(&port.key(), packed(&lease.value)).await {
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
        if let Some(token) = taken {
            let again = Lease { value: lease.value.clone(), token, last: token, renewed: requested };
            self.held.insert(port, again);
        }
    }
}
