//! A bucket of keys that end unless they are renewed.
//!
//! Not here: watching keys end. NATS 2.9 sends no message when a key ends, so each end of a lease measures the time itself.
//!
//! Invariant: a bucket is in memory, and one server's: when that ends, so do all keys, and what depends on them stops.

use crate::access::{FleetError, causes};
use crate::{REPLY_TIME, TTL};
use async_nats::Client;
use async_nats::jetstream::kv::Store;
use async_nats::jetstream::stream::{Config, DiscardPolicy, StorageType};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tokio::time::timeout;

/// A point in the life of a bucket. Those of a bucket that was made later are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Token {
    /// When the bucket was made, ns since 1970.
    era: u64,
    /// Revision of the key in it.
    revision: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct Bucket {
    store: Store,
    era: u64,
}

impl Bucket {
    /// Opens a bucket, or makes it. The client library makes none on NATS 2.9, where it is a stream of these properties.
    pub(crate) async fn open(client: &Client, name: &str) -> Result<Self, FleetError> {
        let mut broker = async_nats::jetstream::new(client.clone());
        broker.set_timeout(REPLY_TIME);
        let config = Config {
            name: format!("KV_{name}"),
            subjects: vec![format!("$KV.{name}.>")],
            max_messages_per_subject: 1,
            max_age: TTL,
            storage: StorageType::Memory,
            num_replicas: 1,
            allow_rollup: true,
            deny_delete: true,
            allow_direct: true,
            discard: DiscardPolicy::New,
            ..Config::default()
        };
        let failed = |error: &dyn std::error::Error| {
            FleetError::Refused(format!(
                "nats: no bucket '{name}': {}; nats-server needs JetStream (-js), and this user its permissions",
                causes(error)
            ))
        };
        let stream = broker.get_or_create_stream(config).await.map_err(|error| failed(&error))?;
        let age = stream.cached_info().config.max_age;
        if age != TTL {
            return Err(FleetError::Refused(format!(
                "nats: keys of the bucket '{name}' end after {age:?}, not {TTL:?}: another version of Eagre made it; end its \
                 programs and delete the stream KV_{name}"
            )));
        }
        let era = u64::try_from(stream.cached_info().created.unix_timestamp_nanos()).unwrap_or(0);
        let store = broker.get_key_value(name).await.map_err(|error| failed(&error))?;
        Ok(Self { store, era })
    }

    /// Makes a key, unless it is there.
    pub(crate) async fn create(&self, key: &str, value: Vec<u8>) -> Result<Option<Token>, String> {
        let created = self.store.create(key, value.into());
        match in_time(created).await? {
            Ok(revision) => Ok(Some(self.token(revision))),
            Err(error) if error.kind() == async_nats::jetstream::kv::CreateErrorKind::AlreadyExists => {
                Ok(None)
            }
            Err(error) => Err(causes(&error)),
        }
    }

    /// Renews a key, if it is as it was left.
    pub(crate) async fn renew(&self, key: &str, value: Vec<u8>, last: Token) -> Result<Token, String> {
        let updated = in_time(self.store.update(key, value.into(), last.revision)).await?;
        updated.map(|revision| self.token(revision)).map_err(|error| causes(&error))
    }

    /// Removes a key, if it is as it was left.
    pub(crate) async fn remove(&self, key: &str, last: Token) -> Result<(), String> {
        let removed = in_time(self.store.delete_expect_revision(key, Some(last.revision))).await?;
        removed.map_err(|error| causes(&error))
    }

    /// A key's value and where it is in the bucket's life.
    pub(crate) async fn find(&self, key: &str) -> Result<Option<(Vec<u8>, Token)>, String> {
        let entry = in_time(self.store.entry(key)).await?.map_err(|error| causes(&error))?;
        Ok(entry.map(|entry| (entry.value.to_vec(), self.token(entry.revision))))
    }

    /// A key's value.
    pub(crate) async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, String> {
        let value = in_time(self.store.get(key)).await?;
        value.map(|value| value.map(|bytes| bytes.to_vec())).map_err(|error| causes(&error))
    }

    fn token(&self, revision: u64) -> Token {
        Token { era: self.era, revision }
    }
}

/// A reply of the broker, unless it takes too long.
async fn in_time<T>(reply: impl Future<Output = T>) -> Result<T, String> {
    let patience = REPLY_TIME + Duration::from_millis(100);
    timeout(patience, reply).await.map_err(|_| format!("no reply of NATS within {patience:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_a_later_bucket_are_greater() {
        let token = |era, revision| Token { era, revision };
        assert!(token(1, 9) < token(2, 1) && token(2, 1) < token(2, 3));
    }
}
