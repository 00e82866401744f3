//! The server: HTTP/2 and HTTP/1.1, with the configuration and three objects.

use super::lean::Lean;
use super::{
    BLOCK, CONNECTION_WINDOW, Identity, NOW_AND_THEN, SEND_BUFFER, STREAM_WINDOW, TLS_BUFFER, ZEROS, runtime,
    trust,
};
use crate::{Wrong, reason};
use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HOST};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use responsiveness::{Config, LARGE, SMALL, UPLOAD, WELL_KNOWN};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use socket2::{Domain, Protocol, Socket, Type};
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

/// Length of a download: 8 GiB.
const DOWNLOAD: u64 = 8 << 30;
/// Path of the configuration that clients from before the well-known one use.
const OLD_CONFIG: &str = "/config";
/// Most threads.
const THREADS: usize = 4;
/// Connections that the kernel keeps until they are accepted.
const BACKLOG: i32 = 1024;
/// Time for a handshake of TLS, and for the head of a request.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);
/// Time after which an idle connection is closed.
const IDLE_TIME: Duration = Duration::from_secs(30);
/// Transfers of fewer octets are probes.
const LOAD_LEAST: u64 = 100_000;

/// Options of a server.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Address to listen at; none for all of both families.
    pub bind: Option<IpAddr>,
    /// Port to listen at; 0 for one that is free.
    pub port: u16,
    /// Certificate; none for no TLS.
    pub identity: Option<Identity>,
    /// Most connections at once.
    pub connections: usize,
    /// Longest transfer.
    pub longest: Duration,
}

/// Events for display.
#[derive(Debug)]
pub enum Served {
    /// The server listens.
    Listens(SocketAddr),
    /// A load is over: whose, octets to the client and from it, its length in s.
    Load(SocketAddr, u64, u64, f64),
    /// A connection failed, or was refused.
    Failed(SocketAddr, String),
}

type Show = Arc<dyn Fn(Served) + Send + Sync>;

struct Shared {
    options: ServerOptions,
    acceptor: Option<TlsAcceptor>,
    open: AtomicUsize,
    show: Show,
}

/// Serves until `stop`.
///
/// # Errors
/// It can't listen, or its certificate can't be used.
pub fn serve(options: ServerOptions, stop: &Arc<AtomicBool>, show: Show) -> Result<(), Wrong> {
    raise_limit();
    let acceptor = options.identity.as_ref().map(trust::server).transpose()?.map(TlsAcceptor::from);
    let address = SocketAddr::new(options.bind.unwrap_or(Ipv6Addr::UNSPECIFIED.into()), options.port);
    let listener = listen(address).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => Wrong::Refused(format!("{address}: in use; -p takes another port")),
        io::ErrorKind::PermissionDenied => {
            Wrong::Refused(format!("{address}: ports below 1024 are root's; -p takes another port"))
        }
        _ => Wrong::Refused(format!("{address}: {}", reason(&error))),
    })?;
    let address = listener.local_addr().map_err(Wrong::io("a socket"))?;
    let shared = Arc::new(Shared { options, acceptor, open: AtomicUsize::new(0), show });
    (shared.show)(Served::Listens(address));
    let mut threads = Vec::new();
    for _ in 0..os::cpu::of_process().len().clamp(1, THREADS) {
        let listener = listener.try_clone().map_err(Wrong::io("a socket"))?;
        let (shared, stop, runtime) = (Arc::clone(&shared), Arc::clone(stop), runtime()?);
        let thread = std::thread::Builder::new().name("eagre-serve".to_owned());
        threads.push(
            thread
                .spawn(move || runtime.block_on(accept(&shared, listener, &stop)))
                .map_err(Wrong::io("threads"))?,
        );
    }
    for thread in threads {
        thread.join().map_err(|_| Wrong::Refused("a thread of the server failed".to_owned()))??;
    }
    Ok(())
}

/// As many open connections as this process may have. If it may not have more, those there can be are served.
fn raise_limit() {
    let most = getrlimit(Resource::Nofile).maximum;
    let _ = setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most });
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    // A machine without IPv6 has IPv4.
    let bound = |address: SocketAddr| {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        if address.is_ipv6() {
            socket.set_only_v6(!address.ip().is_unspecified())?;
        }
        socket.set_reuse_address(true)?;
        socket.bind(&address.into())?;
        socket.listen(BACKLOG)?;
        socket.set_nonblocking(true)?;
        Ok::<TcpListener, io::Error>(socket.into())
    };
    let v4 = SocketAddr::new(std::net::Ipv4Addr::UNSPECIFIED.into(), address.port());
    match bound(address) {
        Err(error)
            if address.ip() == IpAddr::from(Ipv6Addr::UNSPECIFIED)
                && error.kind() != io::ErrorKind::AddrInUse =>
        {
            bound(v4)
        }
        other => other,
    }
}

/// A thread: accepts connections, and serves those that it accepted.
async fn accept(shared: &Arc<Shared>, listener: TcpListener, stop: &AtomicBool) -> Result<(), Wrong> {
    let listener = tokio::net::TcpListener::from_std(listener).map_err(Wrong::io("a socket"))?;
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = sleep(NOW_AND_THEN) => match stop.load(Ordering::Relaxed) {
                true => return Ok(()),
                false => continue,
            },
        };
        let Ok((socket, peer)) = accepted else {
            // Out of descriptors, or the client has gone again.
            sleep(NOW_AND_THEN).await;
            continue;
        };
        if shared.open.fetch_add(1, Ordering::Relaxed) >= shared.options.connections {
            shared.open.fetch_sub(1, Ordering::Relaxed);
            (shared.show)(Served::Failed(
                peer,
                "refused: there are as many connections as there may be".to_owned(),
            ));
            continue;
        }
        let shared = Arc::clone(shared);
        tokio::spawn(async move {
            let outcome = connection(&shared, Lean::new(socket), peer).await;
            shared.open.fetch_sub(1, Ordering::Relaxed);
            if let Err(reason) = outcome {
                (shared.show)(Served::Failed(peer, reason));
            }
        });
    }
}

/// Serves a connection. That a client ends it in the middle of a transfer is usual.
async fn connection(shared: &Arc<Shared>, socket: Lean, peer: SocketAddr) -> Result<(), String> {
    let moved = socket.moved();
    let Some(acceptor) = &shared.acceptor else {
        requests(shared, socket, peer, &moved).await;
        return Ok(());
    };
    let limited = |connection: &mut rustls::ServerConnection| connection.set_buffer_limit(Some(TLS_BUFFER));
    match timeout(HANDSHAKE_TIME, acceptor.accept_with(socket, limited)).await {
        Ok(Ok(stream)) => {
            requests(shared, stream, peer, &moved).await;
            Ok(())
        }
        // A client that goes during its handshake: its test is over, or it only looks whether a port is open.
        Ok(Err(error)) if has_gone(&error) => Ok(()),
        Ok(Err(error)) => Err(format!("TLS: {}", reason(&error))),
        Err(_) => Err(format!("TLS: no handshake within {} s", HANDSHAKE_TIME.as_secs())),
    }
}

fn has_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
}

async fn requests<S>(shared: &Arc<Shared>, stream: S, peer: SocketAddr, moved: &AtomicU64)
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HANDSHAKE_TIME).max_buf_size(4 * BLOCK);
    builder
        .http2()
        .timer(TokioTimer::new())
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buf_size(SEND_BUFFER);
    let service = service_fn(move |request| {
        let shared = Arc::clone(shared);
        async move { Ok::<_, Infallible>(respond(&shared, request, peer).await) }
    });
    tokio::select! {
        // Clients end connections in the middle of a load.
        _ = builder.serve_connection(TokioIo::new(stream), service) => {}
        () = idle(moved) => {}
    }
}

/// Until a connection was idle for half a minute: some clients keep that of each probe.
async fn idle(moved: &AtomicU64) {
    let mut before = moved.load(Ordering::Relaxed);
    loop {
        sleep(IDLE_TIME).await;
        let now = moved.load(Ordering::Relaxed);
        if now == before {
            return;
        }
        before = now;
    }
}

async fn respond(shared: &Arc<Shared>, request: Request<Incoming>, peer: SocketAddr) -> Response<Content> {
    let load = || Load { shared: Arc::clone(shared), peer, began: Instant::now(), sent: 0, received: 0 };
    match (request.method(), request.uri().path()) {
        (&Method::GET, WELL_KNOWN | OLD_CONFIG) => configuration(shared, &request),
        (&Method::GET, SMALL) => content(StatusCode::OK, Content::of(Bytes::from_static(b"e"))),
        (&Method::GET, LARGE) => content(StatusCode::OK, Content::Zeros { left: DOWNLOAD, load: load() }),
        (&Method::POST | &Method::PUT, UPLOAD) => {
            let mut load = load();
            match take(request.into_body(), &mut load).await {
                true => content(StatusCode::OK, Content::of(Bytes::new())),
                false => content(StatusCode::PAYLOAD_TOO_LARGE, Content::of(Bytes::new())),
            }
        }
        (_, WELL_KNOWN | OLD_CONFIG | SMALL | LARGE | UPLOAD) => {
            content(StatusCode::METHOD_NOT_ALLOWED, Content::of(Bytes::new()))
        }
        _ => content(StatusCode::NOT_FOUND, Content::of(Bytes::new())),
    }
}

fn content(status: StatusCode, content: Content) -> Response<Content> {
    let mut response = Response::new(content);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, "application/octet-stream".parse().expect("a field's value"));
    response
}

/// URLs with the host by which the client reached this server.
fn configuration(shared: &Shared, request: &Request<Incoming>) -> Response<Content> {
    let field = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    let host =
        request.uri().authority().map(hyper::http::uri::Authority::as_str).or(field).unwrap_or("localhost");
    // What could end a text of JSON or a URL is no host.
    if !host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte)) {
        return content(StatusCode::BAD_REQUEST, Content::of(Bytes::new()));
    }
    let mut response =
        content(StatusCode::OK, Content::of(Config::write(shared.acceptor.is_some(), host).into()));
    response.headers_mut().insert(CONTENT_TYPE, "application/json".parse().expect("a field's value"));
    response.headers_mut().insert(CACHE_CONTROL, "no-store".parse().expect("a field's value"));
    response
}

/// Takes an upload to its end; false if it lasts too long.
async fn take(mut body: Incoming, load: &mut Load) -> bool {
    loop {
        let frame = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await;
        match frame {
            Some(Ok(frame)) => load.received += frame.data_ref().map_or(0, Bytes::len) as u64,
            Some(Err(_)) | None => return true,
        }
        if load.is_over() {
            return false;
        }
    }
}

/// Counts of a load, reported at its end.
struct Load {
    shared: Arc<Shared>,
    peer: SocketAddr,
    began: Instant,
    sent: u64,
    received: u64,
}

impl Load {
    fn is_over(&self) -> bool {
        self.began.elapsed() > self.shared.options.longest
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        if self.sent.max(self.received) >= LOAD_LEAST {
            let seconds = self.began.elapsed().as_secs_f64();
            (self.shared.show)(Served::Load(self.peer, self.sent, self.received, seconds));
        }
    }
}

/// The body of a response.
enum Content {
    Bytes(Option<Bytes>),
    Zeros { left: u64, load: Load },
}

impl Content {
    fn of(bytes: Bytes) -> Self {
        Self::Bytes(Some(bytes).filter(|bytes| !bytes.is_empty()))
    }
}

impl Body for Content {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        match &mut *self {
            Self::Bytes(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Zeros { left: 0, .. } => Poll::Ready(None),
            Self::Zeros { load, .. } if load.is_over() => {
                Poll::Ready(Some(Err(io::Error::other("the transfer lasts too long"))))
            }
            Self::Zeros { left, load } => {
                let length = (*left).min(BLOCK as u64);
                *left -= length;
                load.sent += length;
                Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&ZEROS[..length as usize])))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Bytes(None) | Self::Zeros { left: 0, .. })
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Bytes(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Self::Zeros { left, .. } => SizeHint::with_exact(*left),
        }
    }
}
