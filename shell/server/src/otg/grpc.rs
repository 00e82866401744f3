//! The model over gRPC: the same methods, in protobuf.
//!
//! Each message becomes the JSON document the HTTP route would have got, and back. Methods that stream a document in
//! pieces are not served: what they carry fits one message.

use super::{Answer, Method, Otg};
use crate::access::{Caller, Door};
use api::Role;
use axum::body::Bytes;
use axum::http::{HeaderMap, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use otg::Errors;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tonic::codec::{BufferSettings, Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::{Code, Status};

/// Bytes of a message.
const MESSAGE_MAX: usize = 64 << 20;
/// From one ping of an idle connection to the next.
const KEEP_ALIVE: Duration = Duration::from_secs(60);
/// Before the names of methods.
const SERVICE: &str = "/otg.Openapi/";

/// How a method's messages are called: request and the field in it, response and the field in it.
struct Words {
    method: Method,
    request: Option<(&'static str, &'static str)>,
    response: (&'static str, &'static str),
}

fn words(path: &str) -> Option<Words> {
    use Method::{
        AppendConfig, DeleteConfig, GetCapture, GetConfig, GetMetrics, GetStates, GetVersion, SetConfig,
        SetControlAction, SetControlState, UpdateConfig,
    };
    let (method, request, response) = match path.strip_prefix(SERVICE)? {
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
    Some(Words { method, request, response })
}

/// Answers connections until the server ends.
pub(crate) async fn serve(listener: TcpListener, otg: Arc<Otg>, door: Arc<Door>) {
    loop {
        let Ok((stream, from)) = listener.accept().await else {
            // Out of descriptors, say: the next may be luckier.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        tokio::spawn(converse(stream, from, otg.clone(), door.clone()));
    }
}

async fn converse(stream: TcpStream, from: SocketAddr, otg: Arc<Otg>, door: Arc<Door>) {
    let _ = stream.set_nodelay(true);
    let service = hyper::service::service_fn(move |request: Request<hyper::body::Incoming>| {
        let (otg, door) = (otg.clone(), door.clone());
        async move { Ok::<_, Infallible>(respond(request, from, otg, &door).await) }
    });
    let connection = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .keep_alive_interval(KEEP_ALIVE)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = connection.await {
        tracing::debug!(%from, "gRPC connection: {error}");
    }
}

async fn respond(
    request: Request<hyper::body::Incoming>,
    from: SocketAddr,
    otg: Arc<Otg>,
    door: &Door,
) -> Response<tonic::body::Body> {
    let Some(words) = words(request.uri().path()) else {
        return Status::unimplemented(format!("no such method: {}", request.uri().path())).into_http();
    };
    let caller = match caller(door, request.headers(), from) {
        Ok(caller) => caller,
        Err(status) => return status.into_http(),
    };
    let mut grpc = tonic::server::Grpc::new(Raw)
        .max_decoding_message_size(MESSAGE_MAX)
        .max_encoding_message_size(MESSAGE_MAX);
    grpc.unary(Call { otg, words: Arc::new(words), caller }, request).await
}

fn caller(door: &Door, headers: &HeaderMap, from: SocketAddr) -> Result<Caller, Status> {
    let refused = |code| move |fault: crate::fault::Fault| Status::new(code, fault.problem().detail.clone());
    let caller = door.caller(headers, from).map_err(refused(Code::Unauthenticated))?;
    caller.must_be(Role::Run).map_err(refused(Code::PermissionDenied))?;
    Ok(caller)
}

/// One call of a method.
#[derive(Clone)]
struct Call {
    otg: Arc<Otg>,
    words: Arc<Words>,
    caller: Caller,
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

impl Call {
    async fn answer(&self, bytes: &[u8]) -> Result<Vec<u8>, Errors> {
        let mut document = match self.words.request {
            Some((message, field)) => {
                let mut request = otg::codec::decode(message, bytes)?;
                request.get_mut(field).map(Value::take).unwrap_or_else(|| json!({}))
            }
            None => json!({}),
        };
        if document.is_null() {
            document = json!({});
        }
        let (message, field) = self.words.response;
        match self.otg.call(self.words.method, document, &self.caller).await? {
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
