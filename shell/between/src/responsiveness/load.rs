//! A load-generating connection: a transfer without end, in a thread.

use super::connect::{Peer, get2, http2, ms, open, request};
use super::lean::Look;
use super::{BLOCK, ZEROS, http1, runtime};
use bytes::Bytes;
use h2::client::SendRequest;
use hyper::Method;
use responsiveness::Location;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;
use tokio::sync::watch;

/// State of a connection, of its thread and its readers.
#[derive(Default)]
struct State {
    /// Octets of bodies that came.
    downloaded: AtomicU64,
    /// For requests beside the load, over HTTP/2.
    send: Mutex<Option<SendRequest<Bytes>>>,
    look: Mutex<Option<Look>>,
    failure: Mutex<Option<String>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) struct Load {
    pub(super) upwards: bool,
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

/// A request beside a load.
pub(super) enum Beside {
    Http2(SendRequest<Bytes>),
    /// HTTP/1.1 has one request at a time: TCP's own estimate of the round trip, ms, takes its place.
    RoundTrip(f64),
}

impl Load {
    /// Begins a transfer, which ends with `end`.
    pub(super) fn begin(peer: Peer, at: Location, upwards: bool, end: watch::Receiver<bool>) -> Self {
        let state = Arc::new(State::default());
        let own = Arc::clone(&state);
        let thread = std::thread::Builder::new().name("eagre-load".to_owned()).spawn(move || {
            let outcome = runtime().map_err(|wrong| wrong.to_string());
            let outcome = outcome.and_then(|runtime| runtime.block_on(run(&peer, &at, upwards, end, &own)));
            *lock(&own.send) = None;
            if let Err(reason) = outcome {
                *lock(&own.failure) = Some(reason);
            }
        });
        if let Err(error) = &thread {
            *lock(&state.failure) = Some(format!("threads: {error}"));
        }
        Self { upwards, state, thread: thread.ok() }
    }

    /// Octets transferred: of a download the octets of bodies; of an upload what the server's TCP acknowledged, with the
    /// headers of TLS and HTTP.
    pub(super) fn octets(&self) -> u64 {
        if !self.upwards {
            return self.state.downloaded.load(Ordering::Relaxed);
        }
        lock(&self.state.look).as_ref().map_or(0, Look::delivered)
    }

    pub(super) fn failure(&self) -> Option<String> {
        lock(&self.state.failure).clone()
    }

    /// None if it is not open yet.
    pub(super) fn beside(&self) -> Option<Beside> {
        if let Some(send) = &*lock(&self.state.send) {
            return Some(Beside::Http2(send.clone()));
        }
        lock(&self.state.look).as_ref()?.round_trip_ms().map(Beside::RoundTrip)
    }

    /// Waits for the thread, which `end` has ended.
    pub(super) fn join(mut self) {
        if let Some(thread) = self.thread.take() {
            // A panic in it is no news: it had no result.
            let _ = thread.join();
        }
    }
}

async fn run(
    peer: &Peer,
    at: &Location,
    upwards: bool,
    mut end: watch::Receiver<bool>,
    state: &State,
) -> Result<(), String> {
    tokio::select! {
        outcome = transfer(peer, at, upwards, state) => outcome,
        _ = end.wait_for(|is_over| *is_over) => Ok(()),
    }
}

async fn transfer(peer: &Peer, at: &Location, upwards: bool, state: &State) -> Result<(), String> {
    let opened = open(peer).await?;
    *lock(&state.look) = Some(opened.look);
    let mut wire = opened.wire;
    if !opened.http2 {
        return match upwards {
            true => http1::upload(&mut wire, at).await,
            false => http1::download(&mut wire, at, &state.downloaded).await,
        };
    }
    let http2 = http2(wire).await?;
    *lock(&state.send) = Some(http2.send.clone());
    loop {
        match upwards {
            true => upload(&http2.send, at).await?,
            false => download(&http2.send, at, &state.downloaded).await?,
        }
    }
}

async fn download(send: &SendRequest<Bytes>, at: &Location, count: &AtomicU64) -> Result<(), String> {
    let failed = |error: h2::Error| format!("{}: {error}", at.url());
    let mut send = send.clone().ready().await.map_err(failed)?;
    let (response, _) = send.send_request(request(Method::GET, at)?, true).map_err(failed)?;
    let response = response.await.map_err(failed)?;
    if response.status() != 200 {
        return Err(format!("{}: status {}", at.url(), response.status().as_u16()));
    }
    let mut body = response.into_body();
    while let Some(part) = body.data().await {
        let octets = part.map_err(failed)?.len();
        // More octets than there are can't be returned.
        let _ = body.flow_control().release_capacity(octets);
        count.fetch_add(octets as u64, Ordering::Relaxed);
    }
    Ok(())
}

async fn upload(send: &SendRequest<Bytes>, at: &Location) -> Result<(), String> {
    let failed = |error: h2::Error| format!("{}: {error}", at.url());
    let mut send = send.clone().ready().await.map_err(failed)?;
    let (mut response, mut body) = send.send_request(request(Method::POST, at)?, false).map_err(failed)?;
    let fill = async {
        loop {
            body.reserve_capacity(BLOCK);
            let room = std::future::poll_fn(|context| body.poll_capacity(context)).await;
            match room.transpose().map_err(failed)? {
                // The server wants no more; its response says why.
                None => return Ok::<(), String>(()),
                Some(0) => {}
                Some(room) => {
                    let part = Bytes::from_static(&ZEROS[..room.min(BLOCK)]);
                    body.send_data(part, false).map_err(failed)?;
                }
            }
        }
    };
    let response = tokio::select! {
        filled = fill => match filled {
            Ok(()) => response.await,
            Err(reason) => return Err(reason),
        },
        response = &mut response => response,
    };
    match response.map_err(failed)?.status().as_u16() {
        200 => Ok(()),
        status => Err(format!("{}: status {status}", at.url())),
    }
}

/// Gets an object beside a load; the time, ms.
pub(super) async fn probe(beside: Beside, at: &Location) -> Result<f64, String> {
    match beside {
        Beside::RoundTrip(ms) => Ok(ms),
        Beside::Http2(send) => {
            let began = Instant::now();
            match get2(&send, at).await? {
                (200, _) => Ok(ms(began)),
                (status, _) => Err(format!("{}: status {status}", at.url())),
            }
        }
    }
}
