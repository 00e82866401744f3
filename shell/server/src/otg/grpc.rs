//! The model over gRPC: the same methods, in protobuf.
//!
//! Each message becomes the JSON document the HTTP route would have got, and back. Methods whose names begin with `stream`
//! carry the same documents in pieces, as serialized messages without the request or response around them.

use super::{Answer, Method, Otg};
use crate::access::{Caller, Door};
use crate::connections::{ConnectionHandle, Connections, Place};
use crate::jobs::now;
use crate::listen::{From, accept};
use crate::patience::Patient;
use api::{AuditEntry, Role};
use axum::body::Bytes;
use axum::http::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use otg::Errors;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tonic::codec::{BufferSettings, Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::{Code, Status};

/// Bytes of a request.
const REQUEST_MAX: usize = 16 << 20;
/// Bytes of a response, with room for what is around a capture.
const RESPONSE_MAX: usize = super::view::CAPTURE_MAX as usize + (1 << 20);
/// Memory of a call's body, counted for its caller, bytes.
const REQUEST_ROOM: usize = 1 << 20;
/// For a call's request to arrive: a body sent byte by byte ends then.
const ARRIVES: Duration = Duration::from_secs(60);
/// For a client to make its first call.
const CALL_TIME: Duration = Duration::from_secs(20);
/// Bytes that wait to be sent, for each call.
const SEND_MAX: usize = 256 << 10;
/// Calls of a connection at a time.
const CALLS_MAX: u32 = 32;
/// Bytes of a call's headers.
const HEADERS_MAX: u32 = 16 << 10;
/// Calls a client may cancel before they are processed; one that cancels more is cut off.
const CANCELLED_MAX: usize = 20;
/// From one ping of an idle connection to the next.
const KEEP_ALIVE: Duration = Duration::from_secs(60);
/// Bytes of a piece of a document that is streamed.
const PIECE: usize = 1 << 20;
/// Before the names of methods.
const SERVICE: &str = "/otg.Openapi/";

/// Names of a method's messages: request and the field in it, response and the field in it.
struct Words {
    method: Method,
    request: Option<(&'static str, &'static str)>,
    response: (&'static str, &'static str),
    /// The message that comes in pieces, if one does: in place of the request, or of the response.
    pieces: Pieces,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pieces {
    None,
    Request(&'static str),
    /// The name is empty for plain bytes.
    Response(&'static str),
}

fn words(path: &str) -> Option<Words> {
    use Method::{
        AppendConfig, DeleteConfig, GetCapture, GetConfig, GetMetrics, GetStates, GetVersion, SetConfig,
        SetControlAction, SetControlState, UpdateConfig,
    };
    let name = path.strip_prefix(SERVICE)?;
    let (name, pieces) = match name {
        "streamSetConfig" => ("SetConfig", Pieces::Request("Config")),
        "streamSetControlState" => ("SetControlState", Pieces::Request("ControlState")),
        "streamSetControlAction" => ("SetControlAction", Pieces::Request("ControlAction")),
        "streamGetConfig" => ("GetConfig", Pieces::Response("Config")),
        "streamGetMetrics" => ("GetMetrics", Pieces::Response("MetricsResponse")),
        "streamGetStates" => ("GetStates", Pieces::Response("StatesResponse")),
        "streamGetCapture" => ("GetCapture", Pieces::Response("")),
        whole => (whole, Pieces::None),
    };
    let (method, request, response) = match name {
        "SetConfig" => (SetConfig, Some(("SetConfigRequest", "config")), ("SetConfigResponse", "warning")),
        "GetConfig" => (GetConfig, None, ("GetConfigResponse", "config")),
        "UpdateConfig" => (
            UpdateConfig,
            Some(("UpdateConfigRequest", "config_update")),
            ("UpdateConfigResponse", "warning"),
        ),
        "AppendConfig" => (
            AppendConfig,
            Some(("AppendConfigRequest", "config_append")),
            ("AppendConfigResponse", "warning"),
        ),
        "DeleteConfig" => (
            DeleteConfig,
            Some(("DeleteConfigRequest", "config_delete")),
            ("DeleteConfigResponse", "warning"),
        ),
        "SetControlState" => (
            SetControlState,
            Some(("SetControlStateRequest", "control_state")),
            ("SetControlStateResponse", "warning"),
        ),
        "SetControlAction" => (
            SetControlAction,
            Some(("SetControlActionRequest", "control_action")),
            ("SetControlActionResponse", "control_action_response"),
        ),
        "GetMetrics" => (
            GetMetrics,
            Some(("GetMetricsRequest", "metrics_request")),
            ("GetMetricsResponse", "metrics_response"),
        ),
        "GetStates" => (
            GetStates,
            Some(("GetStatesRequest", "states_request")),
            ("GetStatesResponse", "states_response"),
        ),
        "GetCapture" => (
            GetCapture,
            Some(("GetCaptureRequest", "capture_request")),
            ("GetCaptureResponse", "response_bytes"),
        ),
        "GetVersion" => (GetVersion, None, ("GetVersionResponse", "version")),
        _ => return None,
    };
    Some(Words { method, request, response, pieces })
}

/// Answers connections until the server ends.
pub(crate) async fn serve(
    listener: TcpListener,
    otg: Arc<Otg>,
    door: Arc<Door>,
    connections: Arc<Connections>,
) {
    loop {
        let (stream, from, place) = accept(&listener, &connections, &door).await;
        let (otg, door) = (otg.clone(), door.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = place.has_to_leave() => tracing::debug!(from = %from.address, "too many connections: this one is closed"),
                () = silence(&place) => tracing::debug!(from = %from.address, "no call in time"),
                () = converse(stream, from, otg, door, place.handle()) => {}
            }
        });
    }
}

/// Returns if no caller makes a call in time.
async fn silence(place: &Place) {
    tokio::time::sleep(CALL_TIME).await;
    if place.handle().has_caller() {
        std::future::pending::<()>().await;
    }
}

async fn converse(
    stream: Patient<TcpStream>,
    from: From,
    otg: Arc<Otg>,
    door: Arc<Door>,
    connection: ConnectionHandle,
) {
    let service = hyper::service::service_fn(move |request: Request<hyper::body::Incoming>| {
        let (otg, door, connection) = (otg.clone(), door.clone(), connection.clone());
        async move { Ok::<_, Infallible>(respond(request, from, otg, &door, &connection).await) }
    });
    let connection = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .keep_alive_interval(KEEP_ALIVE)
        .max_concurrent_streams(CALLS_MAX)
        .max_header_list_size(HEADERS_MAX)
        .max_pending_accept_reset_streams(CANCELLED_MAX)
        .max_send_buf_size(SEND_MAX)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = connection.await {
        tracing::debug!(from = %from.address, "gRPC connection: {error}");
    }
}

async fn respond(
    request: Request<hyper::body::Incoming>,
    from: From,
    otg: Arc<Otg>,
    door: &Door,
    connection: &ConnectionHandle,
) -> Response<tonic::body::Body> {
    let Some(words) = words(request.uri().path()) else {
        return Status::unimplemented(format!("no such method: {}", request.uri().path())).into_http();
    };
    let note = |caller: Option<&Caller>, status: u16, detail: Option<String>| {
        otg.service.audit.note(AuditEntry {
            at: now(),
            who: caller.map_or_else(|| "-".to_owned(), |caller| caller.name.clone()),
            role: caller.map(|caller| caller.role),
            from: from.address.to_string(),
            what: format!("gRPC {}", request.uri().path()),
            status,
            detail,
        });
    };
    let caller = match door.caller(request.headers(), from) {
        Ok(caller) => caller,
        Err(fault) => {
            note(None, fault.status().as_u16(), Some(fault.problem().detail.clone()));
            return Status::new(Code::Unauthenticated, fault.problem().detail.clone()).into_http();
        }
    };
    if let Err(fault) = caller.must_be(Role::Run) {
        note(Some(&caller), fault.status().as_u16(), Some(fault.problem().detail.clone()));
        return Status::new(Code::PermissionDenied, fault.problem().detail.clone()).into_http();
    }
    connection.is_of(&caller.name);
    // Messages do not say their length before they come.
    let pieces = words.pieces;
    let room = if matches!(pieces, Pieces::Request(_)) { REQUEST_MAX } else { REQUEST_ROOM };
    let room = match connection.body(&caller.name, room) {
        Ok(room) => room,
        Err(fault) => {
            return Status::new(Code::ResourceExhausted, fault.problem().detail.clone()).into_http();
        }
    };
    if words.method.changes() {
        if let Err(reason) = otg.service.audit.ready() {
            return Status::unavailable(reason).into_http();
        }
        note(Some(&caller), 200, None);
    }
    let mut grpc = tonic::server::Grpc::new(Raw)
        .max_decoding_message_size(REQUEST_MAX)
        .max_encoding_message_size(RESPONSE_MAX);
    let arrived = Arc::new(Notify::new());
    let call = Call { otg, words: Arc::new(words), caller, arrived: arrived.clone() };
    let response = async {
        match pieces {
            Pieces::None => grpc.unary(call, request).await,
            Pieces::Request(_) => grpc.client_streaming(call, request).await,
            Pieces::Response(_) => grpc.server_streaming(call, request).await,
        }
    };
    let response = tokio::select! {
        response = response => response,
        () = late(&arrived) => {
            let seconds = ARRIVES.as_secs();
            Status::deadline_exceeded(format!("the request was incomplete after {seconds} s")).into_http()
        }
    };
    drop(room);
    response
}

/// Returns if a request has not arrived in time. The time to process a request is not limited.
async fn late(arrived: &Notify) {
    if tokio::time::timeout(ARRIVES, arrived.notified()).await.is_ok() {
        std::future::pending::<()>().await;
    }
}

/// One call of a method.
#[derive(Clone)]
struct Call {
    otg: Arc<Otg>,
    words: Arc<Words>,
    caller: Caller,
    /// Told once the request is here.
    arrived: Arc<Notify>,
}

impl tonic::server::UnaryService<Bytes> for Call {
    type Response = Vec<u8>;
    type Future = Pin<Box<dyn Future<Output = Result<tonic::Response<Vec<u8>>, Status>> + Send>>;

    fn call(&mut self, request: tonic::Request<Bytes>) -> Self::Future {
        let call = self.clone();
        Box::pin(async move {
            let answered = call.answer(&request.into_inner()).await;
            answered.map(tonic::Response::new).map_err(|errors| status(&errors))
        })
    }
}

impl tonic::server::ClientStreamingService<Bytes> for Call {
    type Response = Vec<u8>;
    type Future = Pin<Box<dyn Future<Output = Result<tonic::Response<Vec<u8>>, Status>> + Send>>;

    fn call(&mut self, request: tonic::Request<tonic::Streaming<Bytes>>) -> Self::Future {
        let call = self.clone();
        Box::pin(async move {
            let mut pieces = request.into_inner();
            let mut whole = Vec::new();
            while let Some(piece) = pieces.message().await? {
                whole.extend(otg::codec::decode_piece(&piece).map_err(|errors| status(&errors))?);
                if whole.len() > REQUEST_MAX {
                    let most = REQUEST_MAX >> 20;
                    return Err(Status::out_of_range(format!(
                        "the document is longer than {most} MiB, the most that is accepted; send parts with AppendConfig"
                    )));
                }
            }
            let answered = call.answer(&whole).await;
            answered.map(tonic::Response::new).map_err(|errors| status(&errors))
        })
    }
}

impl tonic::server::ServerStreamingService<Bytes> for Call {
    type Response = Vec<u8>;
    type ResponseStream = futures_util::stream::Iter<std::vec::IntoIter<Result<Vec<u8>, Status>>>;
    type Future = Pin<Box<dyn Future<Output = Result<tonic::Response<Self::ResponseStream>, Status>> + Send>>;

    fn call(&mut self, request: tonic::Request<Bytes>) -> Self::Future {
        let call = self.clone();
        Box::pin(async move {
            let whole = call.answer(&request.into_inner()).await.map_err(|errors| status(&errors))?;
            let pieces: Vec<_> =
                whole.chunks(PIECE).map(|piece| Ok(otg::codec::encode_piece(piece))).collect();
            Ok(tonic::Response::new(futures_util::stream::iter(pieces)))
        })
    }
}

impl Call {
    async fn answer(&self, bytes: &[u8]) -> Result<Vec<u8>, Errors> {
        self.arrived.notify_one();
        let mut document = match (self.words.pieces, self.words.request) {
            (Pieces::Request(message), _) => otg::codec::decode(message, bytes)?,
            (_, Some((message, field))) => {
                let mut request = otg::codec::decode(message, bytes)?;
                request.get_mut(field).map(Value::take).unwrap_or_else(|| json!({}))
            }
            (_, None) => json!({}),
        };
        if document.is_null() {
            document = json!({});
        }
        let (message, field) = self.words.response;
        match self.otg.call(self.words.method, document, &self.caller).await? {
            Answer::Document(document) if let Pieces::Response(message) = self.words.pieces => {
                otg::codec::encode(message, &document)
            }
            Answer::Bytes(bytes) if matches!(self.words.pieces, Pieces::Response(_)) => Ok(bytes),
            Answer::Document(document) => otg::codec::encode(message, &json!({field: document})),
            Answer::Bytes(bytes) => Ok(otg::codec::encode_capture(bytes)),
        }
    }
}

/// The clients read the model's error out of the status.
fn status(errors: &Errors) -> Status {
    let code = if errors.status() == 400 { Code::InvalidArgument } else { Code::Internal };
    Status::new(code, errors.json().to_string())
}

/// Messages as bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Raw;

impl Codec for Raw {
    type Encode = Vec<u8>;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Raw {
    type Item = Vec<u8>;
    type Error = Status;

    fn encode(&mut self, item: Vec<u8>, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        bytes::BufMut::put_slice(buffer, &item);
        Ok(())
    }

    fn buffer_settings(&self) -> BufferSettings {
        BufferSettings::default()
    }
}

impl Decoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        let length = bytes::Buf::remaining(buffer);
        Ok(Some(bytes::Buf::copy_to_bytes(buffer, length)))
    }

    fn buffer_settings(&self) -> BufferSettings {
        BufferSettings::default()
    }
}
