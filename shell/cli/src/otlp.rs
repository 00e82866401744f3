//! `--otlp`: spans of requests, runs, campaigns and trials to an OpenTelemetry collector (OTLP over HTTP, protobuf).
//!
//! Not here: which spans there are. What can't be delivered is said once on standard error, and again after it went well
//! in between; a collector that is away holds nothing up.

use crate::Failure;
use crate::top::client::{Trust, agent};
use async_trait::async_trait;
use opentelemetry::trace::TracerProvider;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use std::sync::atomic::{AtomicBool, Ordering};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::registry::Registry;

/// Where a collector takes spans.
const PATH: &str = "/v1/traces";

/// Delivers what is left when it is dropped.
pub(crate) struct Delivery(SdkTracerProvider);

impl Drop for Delivery {
    fn drop(&mut self) {
        if let Err(error) = self.0.shutdown() {
            eprintln!("eagre: --otlp: the last spans were not delivered: {error}");
        }
    }
}

/// Begins to deliver spans to the collector at `url`: `http://127.0.0.1:4318`.
pub(crate) fn begin(url: &str) -> Result<(Box<dyn Layer<Registry> + Send + Sync>, Delivery), Failure> {
    let wrong = |reason: String| Failure::bad_input(format!("--otlp: {reason}"));
    let (base, agent) = agent(url, Trust::Machine).map_err(wrong)?;
    let endpoint = if base.ends_with(PATH) { base } else { base + PATH };
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(Post { agent, endpoint: endpoint.clone(), failing: AtomicBool::new(false) })
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(endpoint)
        .build()
        .map_err(|error| wrong(error.to_string()))?;
    let version = opentelemetry::KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let resource = Resource::builder().with_service_name("eagre").with_attribute(version).build();
    let provider = SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("eagre"));
    Ok((layer.with_filter(LevelFilter::INFO).boxed(), Delivery(provider)))
}

/// Carries what the exporter has packed. Called on the exporter's own thread, which may wait.
#[derive(Debug)]
struct Post {
    agent: ureq::Agent,
    endpoint: String,
    failing: AtomicBool,
}

impl Post {
    fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, ureq::Error> {
        let answer = self.agent.run(request.map(|body| body.to_vec()))?;
        let (head, mut body) = answer.into_parts();
        Ok(Response::from_parts(head, body.read_to_vec()?.into()))
    }
}

#[async_trait]
impl HttpClient for Post {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let sent = self.send(request);
        let trouble = match &sent {
            Ok(answer) if answer.status().is_success() => None,
            Ok(answer) => Some(answer.status().to_string()),
            Err(error) => Some(error.to_string()),
        };
        let failed_before = self.failing.swap(trouble.is_some(), Ordering::Relaxed);
        if let Some(trouble) = trouble.filter(|_| !failed_before) {
            eprintln!("eagre: --otlp: {}: {trouble}; spans are lost until it takes them", self.endpoint);
        }
        Ok(sent?)
    }
}
