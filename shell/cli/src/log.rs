//! Logging of `eagre serve`: requests, runs, campaigns and trials as lines on standard error (text or JSON) and as
//! spans to a collector (`otlp`).
//!
//! Not here: log messages. Rooms emit them through `tracing`; without a subscriber that costs next to nothing.

use crate::{Failure, otlp};
use clap::ValueEnum;
use std::io::IsTerminal;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::Registry;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};

/// Format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    /// Plain text.
    Text,
    /// One JSON object per line.
    Json,
}

/// A log layer.
type Boxed = Box<dyn Layer<Registry> + Send + Sync>;

/// Starts logging. `filter` is a level (`info`) or levels by module (`warn,server=debug`), `collector` the URL of an
/// OpenTelemetry collector. Keep the returned guard until the program ends.
pub(crate) fn begin(
    filter: Option<&str>,
    format: Format,
    collector: Option<&str>,
) -> Result<Option<otlp::Delivery>, Failure> {
    let mut layers: Vec<Boxed> =
        filter.map(|filter| lines(filter, format)).transpose()?.into_iter().collect();
    let mut delivery = None;
    if let Some(url) = collector {
        let (spans, delivered) = otlp::begin(url)?;
        layers.push(spans);
        delivery = Some(delivered);
    }
    if !layers.is_empty() {
        let begun = tracing_subscriber::registry().with(layers).try_init();
        begun.map_err(|error| Failure::refused(format!("--log: {error}")))?;
    }
    Ok(delivery)
}

fn lines(filter: &str, format: Format) -> Result<Boxed, Failure> {
    let wanted = filter.parse::<Targets>().map_err(|error| {
        Failure::bad_input(format!(
            "--log: '{filter}' is not a level (error, warn, info, debug, trace) or a list of levels by module \
             (warn,server=debug): {error}"
        ))
    })?;
    // The end of a span logs its duration.
    let lines = fmt::layer().with_writer(std::io::stderr).with_span_events(FmtSpan::CLOSE);
    Ok(match format {
        Format::Text => {
            let colours = std::io::stderr().is_terminal()
                && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
            lines.with_ansi(colours).with_filter(wanted).boxed()
        }
        Format::Json => lines.json().with_filter(wanted).boxed(),
    })
}
