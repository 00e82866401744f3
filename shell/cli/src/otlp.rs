//! `--otlp`: spans of requests, runs, campaigns and trials to an OpenTelemetry collector (OTLP over HTTP, protobuf).
//!
//! Not here: span definitions. A delivery failure is reported once on standard error, and again after a success in
//! between; an unreachable collector blocks nothing.

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

/// The collector's path for spans.
const PATH: &str = "/v1/traces";

/// Flushes pending spans when dropped.
pub(crate) struct Delivery(SdkTracerProvider);

impl Drop for Delivery {
    fn drop(&mut self) {
        if let Err(error) = self.0.shutdown() {
            eprintln!("eagre: --otlp: cannot deliver the last spans: {error}");
        }
    }
}

/// Starts delivering spans to the collector at `url`: `http://127.0.0.1:4318`.
pub(crate) fn begin(url: &str) -> Result<(Box<dyn Layer<Registry> + Send + Sync>, Delivery), Failure> {
    let wrong = |reason: String| Failure::bad_input(format!("--otlp: {reason}"));
    let (base, agent) = agent(url, Trust::System).map_err(wrong)?;
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

/// Sends the exporter's requests. Runs on the exporter's own thread, which can block.
#[derive(Debug)]
struct Post {
    agent: ureq::Agent,
    endpoint: String,
    failing: AtomicBool,
}

impl Post {
    fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, ureq::Error> {
        let response = self.agent.run(request.map(|body| body.to_vec()))?;
        let (head, mut body) = response.into_parts();
        Ok(Response::from_parts(head, body.read_to_vec()?.into()))
    }
}

#[async_trait]
impl HttpClient for Post {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let sent = self.send(request);
        let failure = match &sent {
            Ok(response) if response.status().is_success() => None,
            Ok(response) => Some(response.status().to_string()),
            Err(error) => Some(error.to_string()),
        };
        let failed_before = self.failing.swap(failure.is_some(), Ordering::Relaxed);
        if let Some(failure) = failure.filter(|_| !failed_before) {
            eprintln!(
                "eagre: --otlp: {}: {failure}; spans are dropped until the collector accepts them",
                self.endpoint
            );
        }
        Ok(sent?)
    }
}
