//! Listens: connections in, requests to the routes, until a signal comes.

use crate::access::Door;
use crate::connections::{Connections, Place};
use crate::options::Options;
use crate::otg::{Otg, grpc};
use crate::patience::Patient;
use crate::routes;
use crate::service::Service;
use crate::tls;
use axum::Router;
use axum::extract::Request;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;

/// For a client to send the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// For a client to take the next bytes of a response.
const READ_TIME: Duration = Duration::from_secs(30);
/// For a TLS handshake.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);
/// Bytes of a request's head.
const HEAD_MAX: usize = 64 << 10;
/// Time for the rest of a request whose response was sent before it arrived completely.
const LINGER_TIME: Duration = Duration::from_secs(10);
/// For the next bytes of it.
const LINGER_PAUSE: Duration = Duration::from_secs(2);
/// Bytes of it.
const LINGER_MAX: usize = 1 << 30;
/// Bytes of it at a time.
const LINGER_BUFFER: usize = 16 << 10;
/// For runs to end when the server does.
const PATIENCE: Duration = Duration::from_secs(10);
/// From then to the end of the process.
const GRACE: Duration = Duration::from_secs(5);
/// From one look at leases to the next.
const TICK: Duration = Duration::from_millis(100);

/// Why the server does not serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address is not a loopback address, and callers are not authenticated.
    #[error(
        "{0} is not a loopback address: any host that reaches it could send traffic from this machine; give tokens with --tokens, or \
         listen on 127.0.0.1"
    )]
    Unguarded(SocketAddr),
    /// The address can't be listened on: it is in use, or not an address of this machine.
    #[error("{0}: {1}{hint}", hint = listen_hint(.1))]
    Listen(SocketAddr, io::Error),
    /// Certificate or key.
    #[error("TLS: {0}")]
    Tls(String),
    /// Folders, store, threads.
    #[error("{0}")]
    Machine(String),
}

fn listen_hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => "; is another server running there? --listen takes another port",
        io::ErrorKind::PermissionDenied => "; ports below 1024 are root's: --listen takes another port",
        io::ErrorKind::AddrNotAvailable => "; 'ip address' lists this machine's addresses",
        _ => "",
    }
}

/// Serves until SIGINT or SIGTERM. Calls `ready` with the address once requests are accepted.
///
/// # Errors
/// It can't start; once started, it does not return an error.
pub fn serve(options: &Options, ready: impl FnOnce(&Served)) -> Result<(), ServeError> {
    if options.tokens.is_empty() && !options.listen.ip().is_loopback() {
        return Err(ServeError::Unguarded(options.listen));
    }
    if let Some(address) =
        options.grpc.filter(|address| options.tokens.is_empty() && !address.ip().is_loopback())
    {
        return Err(ServeError::Unguarded(address));
    }
    let service =
        Service::new(options).map_err(|fault| ServeError::Machine(fault.problem().detail.clone()))?;
    let service = Arc::new(service);
    crate::service::note_refusals(options, &service);
    // Workers' cores are theirs alone, if there are others.
    let _ = os::cpu::pin_to(&os::cpu::control_cores(&service.worker_cores()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(32).build();
    let runtime = runtime.map_err(|error| ServeError::Machine(format!("cannot start threads: {error}")))?;
    let served = runtime.block_on(listen(options, service.clone(), ready));
    end_in(PATIENCE + GRACE);
    service.stop_all("the server ended", PATIENCE);
    // A request's thread that hangs is left behind.
    runtime.shutdown_timeout(Duration::from_secs(1));
    served
}

/// Ends the process after a time, even if something hangs: a driver that opens a port can't be interrupted.
fn end_in(time: Duration) {
    let watch = std::thread::Builder::new().name("eagre-deadline".to_owned());
    let watching = watch.spawn(move || {
        std::thread::sleep(time);
        tracing::error!("a thread hangs; ending without it");
        os::process::end_now(0);
    });
    if let Err(error) = watching {
        tracing::error!("cannot start the thread that ends a hanging server: {error}");
    }
}

/// Addresses and features served, for display.
#[derive(Debug, Clone)]
pub struct Served {
    /// `http://127.0.0.1:8443`.
    pub url: String,
    /// Where Open Traffic Generator is served over gRPC.
    pub grpc: Option<SocketAddr>,
    /// SHA-256 of the certificate, if there is one.
    pub fingerprint: Option<String>,
    /// The certificate's file, for clients to trust.
    pub certificate: Option<std::path::PathBuf>,
}

async fn listen(
    options: &Options,
    service: Arc<Service>,
    ready: impl FnOnce(&Served),
) -> Result<(), ServeError> {
    let failed = |error| ServeError::Listen(options.listen, error);
    let listener = TcpListener::bind(options.listen).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let identity = match &options.tls {
        Some(tls) => Some(tls::identity(tls, &options.state, options.listen.ip())?),
        None => None,
    };
    let door = Arc::new(Door::new(options.tokens.clone(), options.listen, options.hosts.clone()));
    let connections = Arc::new(Connections::default());
    let mut grpc = None;
    let otg = Arc::new(Otg::new(service.clone(), options.otg_lease, options.otg_locations.clone()));
    let router = routes::router(service.clone(), door.clone(), &otg);
    if let Some(address) = options.grpc {
        let failed = |error| ServeError::Listen(address, error);
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        grpc = Some(listener.local_addr().map_err(failed)?);
        tokio::spawn(grpc::serve(listener, otg, door.clone(), connections.clone()));
    }
    let ticker = service.clone();
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(TICK).await;
            ticker.tick();
        }
    });
    let scheme = if identity.is_some() { "https" } else { "http" };
    ready(&Served {
        url: format!("{scheme}://{address}"),
        grpc,
        fingerprint: identity.as_ref().map(|identity| identity.fingerprint.clone()),
        certificate: identity.as_ref().map(|identity| identity.certificate.clone()),
    });
    let acceptor = identity.map(|identity| TlsAcceptor::from(identity.config));
    let mut ended = std::pin::pin!(signal());
    loop {
        let (stream, from, place) = tokio::select! {
            () = &mut ended => return Ok(()),
            next = accept(&listener, &connections, &door) => next,
        };
        let (router, acceptor) = (router.clone(), acceptor.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = place.has_to_leave() => tracing::debug!(from = %from.address, "too many connections: this one is closed"),
                () = converse(stream, from, acceptor, router, &place) => {}
            }
        });
    }
}

/// The next connection there is a place for.
pub(crate) async fn accept(
    listener: &TcpListener,
    connections: &Arc<Connections>,
    door: &Door,
) -> (Patient<TcpStream>, From, Place) {
    loop {
        match listener.accept().await {
            Ok((stream, from)) => match connections.admit(from.ip()) {
                Some(place) => {
                    let _ = stream.set_nodelay(true);
                    let welcome = stream.local_addr().is_ok_and(|own| door.welcomes(from, own));
                    return (Patient::new(stream, READ_TIME), From { address: from, welcome }, place);
                }
                None => tracing::warn!(%from, "refused: all connections are in use"),
            },
            // Out of descriptors, say: the next may be luckier.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

/// Waits for a signal to end the server.
async fn signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut term), Ok(mut interrupt)) =
        (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = term.recv() => {}
        _ = interrupt.recv() => {}
    }
}

/// One connection.
async fn converse(
    stream: Patient<TcpStream>,
    from: From,
    acceptor: Option<TlsAcceptor>,
    router: Router,
    place: &Place,
) {
    match acceptor {
        None => requests(stream, from, router, place).await,
        Some(acceptor) => match timeout(HANDSHAKE_TIME, acceptor.accept(stream)).await {
            Ok(Ok(stream)) => requests(stream, from, router, place).await,
            Ok(Err(error)) => tracing::debug!(from = %from.address, "no TLS: {error}"),
            Err(_) => tracing::debug!(from = %from.address, "the TLS handshake took too long"),
        },
    }
}

async fn requests(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send,
    from: From,
    router: Router,
    place: &Place,
) {
    let (mut stream, connection) = (stream, place.handle());
    let service = hyper::service::service_fn(move |mut request: Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(from);
        request.extensions_mut().insert(connection.clone());
        router.clone().oneshot(request.map(axum::body::Body::new))
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(HEAD_MAX)
        .serve_connection(TokioIo::new(&mut stream), service);
    match connection.await {
        Ok(()) => linger(&mut stream).await,
        Err(error) => tracing::debug!(from = %from.address, "connection: {error}"),
    }
}

/// Reads and drops what a client still sends after the last response: closing a connection with unread data resets it, and
/// a client that sends its whole request first would see the reset instead of the response (RFC 9112 section 9.6).
async fn linger(stream: &mut (impl AsyncRead + Unpin)) {
    let mut dropped = vec![0; LINGER_BUFFER];
    let until = tokio::time::Instant::now() + LINGER_TIME;
    let mut room = LINGER_MAX;
    while room > 0 && tokio::time::Instant::now() < until {
        match timeout(LINGER_PAUSE, stream.read(&mut dropped)).await {
            Ok(Ok(length @ 1..)) => room = room.saturating_sub(length),
            _ => return,
        }
    }
}

/// Where a request came from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct From {
    pub(crate) address: SocketAddr,
    /// Whether its user may make requests.
    pub(crate) welcome: bool,
}
