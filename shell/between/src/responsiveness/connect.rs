//! Opens a connection and times its parts.

use super::lean::{Lean, Look};
use super::{CONNECTION_WINDOW, SEND_BUFFER, STREAM_WINDOW, TLS_BUFFER, http1};
use crate::reason;
use bytes::Bytes;
use h2::client::SendRequest;
use hyper::{Method, Request, Version as Http};
use responsiveness::Location;
use rustls::ProtocolVersion;
use rustls::pki_types::ServerName;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpSocket;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;

/// Time for a server to accept a connection.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// Longest body that is read into memory, octets.
const BODY_MOST: usize = 64 << 10;

/// A connection in either direction.
pub(super) trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

/// How a server is reached.
#[derive(Clone)]
pub(super) struct Peer {
    /// Its address.
    pub(super) address: SocketAddr,
    /// Address to connect from.
    pub(super) bind: Option<IpAddr>,
    /// TLS, with its name.
    pub(super) tls: Option<(TlsConnector, ServerName<'static>)>,
    /// Without TLS: whether to begin with HTTP/2.
    pub(super) http2: bool,
}

/// A connection that is open.
pub(super) struct Opened {
    pub(super) wire: Box<dyn Wire>,
    /// The socket, for the kernel's figures.
    pub(super) look: Look,
    /// Time of TCP's handshake, ms.
    pub(super) tcp_ms: f64,
    /// Time of TLS's handshake, ms per round trip.
    pub(super) tls_ms: Option<f64>,
    pub(super) http2: bool,
    pub(super) tls_version: Option<&'static str>,
}

pub(super) fn ms(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

/// Opens a connection, within ten seconds.
pub(super) async fn open(peer: &Peer) -> Result<Opened, String> {
    match tokio::time::timeout(CONNECT_TIME, open_now(peer)).await {
        Ok(opened) => opened,
        Err(_) => Err(format!("{}: no connection within {} s", peer.address, CONNECT_TIME.as_secs())),
    }
}

async fn open_now(peer: &Peer) -> Result<Opened, String> {
    let failed = |error: std::io::Error| format!("{}: {}", peer.address, reason(&error));
    let socket =
        if peer.address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }.map_err(failed)?;
    if let Some(address) = peer.bind {
        socket.bind(SocketAddr::new(address, 0)).map_err(|error| format!("{address}: {}", reason(&error)))?;
    }
    let began = Instant::now();
    let stream = socket.connect(peer.address).await.map_err(failed)?;
    let tcp_ms = ms(began);
    let lean = Lean::new(stream);
    let look = lean.look().map_err(failed)?;
    let Some((connector, name)) = &peer.tls else {
        let (wire, http2) = (Box::new(lean), peer.http2);
        return Ok(Opened { wire, look, tcp_ms, tls_ms: None, http2, tls_version: None });
    };
    let began = Instant::now();
    let limited = |connection: &mut rustls::ClientConnection| connection.set_buffer_limit(Some(TLS_BUFFER));
    let stream = connector.connect_with(name.clone(), lean, limited).await.map_err(failed)?;
    let elapsed = ms(began);
    let (_, session) = stream.get_ref();
    // RFC 8446 section 2, RFC 5246 section 7.3.
    let (trips, tls_version) = match session.protocol_version() {
        Some(ProtocolVersion::TLSv1_2) => (2.0, Some("TLS 1.2")),
        _ => (1.0, Some("TLS 1.3")),
    };
    let http2 = session.alpn_protocol() == Some(b"h2");
    Ok(Opened { wire: Box::new(stream), look, tcp_ms, tls_ms: Some(elapsed / trips), http2, tls_version })
}

/// The client's end of HTTP/2, and the task that keeps it going.
pub(super) struct Http2 {
    pub(super) send: SendRequest<Bytes>,
    pub(super) driver: JoinHandle<Result<(), h2::Error>>,
}

impl Drop for Http2 {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

pub(super) async fn http2(wire: Box<dyn Wire>) -> Result<Http2, String> {
    let (send, connection) = h2::client::Builder::new()
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buffer_size(SEND_BUFFER)
        .enable_push(false)
        .handshake(wire)
        .await
        .map_err(|error| error.to_string())?;
    Ok(Http2 { send, driver: tokio::spawn(connection) })
}

/// A request of HTTP/2. `Accept-Encoding: identity` keeps servers from compressing.
pub(super) fn request(method: Method, at: &Location) -> Result<Request<()>, String> {
    let uploads = method == Method::POST;
    let mut request = Request::builder()
        .method(method)
        .uri(at.url())
        .version(Http::HTTP_2)
        .header("accept-encoding", "identity")
        .header("user-agent", concat!("eagre/", env!("CARGO_PKG_VERSION")));
    if uploads {
        request = request.header("content-type", "application/octet-stream");
    }
    request.body(()).map_err(|error| format!("{}: {error}", at.url()))
}

/// Gets an object over HTTP/2: status and body.
pub(super) async fn get2(send: &SendRequest<Bytes>, at: &Location) -> Result<(u16, Vec<u8>), String> {
    let failed = |error: h2::Error| error.to_string();
    let mut send = send.clone().ready().await.map_err(failed)?;
    let (response, _) = send.send_request(request(Method::GET, at)?, true).map_err(failed)?;
    let response = response.await.map_err(failed)?;
    let status = response.status().as_u16();
    let (mut body, mut whole) = (response.into_body(), Vec::new());
    while let Some(part) = body.data().await {
        let part = part.map_err(failed)?;
        // More octets than there are can't be returned.
        let _ = body.flow_control().release_capacity(part.len());
        whole.extend_from_slice(&part);
        if whole.len() > BODY_MOST {
            return Err(format!("{} is longer than {BODY_MOST} octets", at.url()));
        }
    }
    Ok((status, whole))
}

/// Gets an object over a new connection: status, body, and the time from the request to its end, ms.
pub(super) async fn get(opened: Opened, at: &Location) -> Result<(u16, Vec<u8>, f64), String> {
    if opened.http2 {
        let http2 = http2(opened.wire).await?;
        let began = Instant::now();
        let (status, body) = get2(&http2.send, at).await?;
        return Ok((status, body, ms(began)));
    }
    let mut wire = opened.wire;
    let began = Instant::now();
    let (status, body) = http1::get(&mut wire, at, BODY_MOST).await?;
    Ok((status, body, ms(began)))
}
