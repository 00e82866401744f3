//! Figures of ports and flows: metrics and captures.

use super::{Otg, OtgSession};
use dpdk::PortId;
use os::link::LinkFacts;
use otg::{Errors, Figures, MetricsInput, PortState};
use serde_json::Value;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use tokio::sync::Semaphore;

/// Bytes of a capture that is sent in one response; longer ones are streamed by the native API.
pub(super) const CAPTURE_MAX: u64 = 64 << 20;
/// Captures that are converted at a time, of all clients: each needs a few times its length.
static CONVERSIONS: Semaphore = Semaphore::const_new(1);

impl Otg {
    /// Answers a `MetricsRequest`. What was counted stays until traffic is started again.
    pub(super) async fn metrics(&self, session: &mut OtgSession, request: &Value) -> Result<Value, Errors> {
        let translation = session.translation()?;
        let run = session.traffic.as_ref().or(session.listening.as_ref());
        let active = run.is_some_and(|run| !run.job.has_ended());
        let snapshot = run.map(|run| run.snapshot());
        let links = os::link::list().unwrap_or_default();
        let ports: Vec<PortState> = translation
            .ports
            .iter()
            .zip(&session.captures)
            .map(|(port, captured)| PortState { up: is_up(&port.location, &links), capturing: captured.on })
            .collect();
        let figures = match &snapshot {
            Some(snapshot) => Figures {
                total: Some(&snapshot.total),
                interval: snapshot.interval.as_ref(),
                at_s: snapshot.at_s,
                active,
            },
            None => Figures::default(),
        };
        let input =
            MetricsInput { translation: &translation, figures, requested: &session.asked, ports: &ports };
        otg::metrics(request, &input)
    }

    /// Answers a `StatesRequest`: neighbours that answered the run that goes on, or the last one.
    pub(super) fn states(&self, session: &OtgSession, request: &Value) -> Result<Value, Errors> {
        let run = session.traffic.as_ref().filter(|run| !run.job.has_ended()).or(session.listening.as_ref());
        let known = run.or(session.traffic.as_ref()).map(|run| run.snapshot().neighbours).unwrap_or_default();
        // Addresses are compared as such: IPv6 has many ways to write one.
        let resolved = |port: &str, host: &str, address: &str| {
            let address: IpAddr = address.parse().ok()?;
            let is_it =
                |own: &&api::Neighbour| own.port == port && own.host == host && own.ip.parse() == Ok(address);
            let found = known.iter().find(is_it);
            found.map(|own| own.mac.clone())
        };
        otg::states(request, &*session.translation()?, &resolved)
    }

    /// What a port has captured since the capture was started.
    pub(super) async fn capture(&self, session: &mut OtgSession, request: &Value) -> Result<Vec<u8>, Errors> {
        otg::config::allowed(request, "CaptureRequest")?;
        if request["packets"]["choice"] == "slice" {
            return Err(Errors::invalid("packets.slice: not supported: only whole captures"));
        }
        let translation = session.translation()?;
        let name = request["port_name"].as_str().unwrap_or_default();
        let found = translation.ports.iter().zip(&session.captures).find(|(port, _)| port.name == name);
        let Some((port, captured)) = found else {
            return Err(Errors::invalid(format!("port_name: no port '{name}'")));
        };
        let Some(plan) = port.capture.clone() else {
            return Err(Errors::invalid(format!(
                "port_name: the configuration has no capture on port '{name}'"
            )));
        };
        let (files, skip) = (captured.files.clone(), captured.skip);
        refuse_too_long(&files)?;
        let turn = CONVERSIONS.acquire().await;
        let read = move || {
            let _turn = turn;
            let files = files.iter().map(|file| whole(file)).collect::<Result<Vec<_>, _>>()?;
            let files: Vec<Vec<u8>> = files.into_iter().filter(|bytes| !bytes.is_empty()).collect();
            otg::capture(&files, &plan, skip)
        };
        let done = tokio::task::spawn_blocking(read).await;
        done.unwrap_or_else(|_| {
            Err(Errors::internal("internal error, please report it: the request's thread panicked"))
        })
    }
}

/// Refuses captures that do not fit one response, before they are read.
fn refuse_too_long(files: &[PathBuf]) -> Result<(), Errors> {
    let length: u64 = files.iter().map(|file| file.metadata().map_or(0, |facts| facts.len())).sum();
    if length <= CAPTURE_MAX {
        return Ok(());
    }
    Err(Errors::invalid(format!(
        "the capture has {} MB and a response at most {} MB: capture less (filters, 'packet_size'), or fetch it from \
         /api/v1/runs/RUN/captures/PORT, which streams it",
        length / 1_000_000,
        CAPTURE_MAX / 1_000_000
    )))
}

/// A file; nothing if it was never begun.
fn whole(path: &Path) -> Result<Vec<u8>, Errors> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(bytes),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(Errors::internal(format!("cannot read the capture: {error}"))),
    }
}

/// Whether a port has a link; one that is no interface of the kernel always has.
fn is_up(location: &str, links: &[LinkFacts]) -> bool {
    let interface = PortId::resolve(location).ok().and_then(|id| id.kernel_interface().cloned());
    let link = interface.and_then(|interface| links.iter().find(|link| link.name == interface.name));
    link.is_none_or(|link| link.running)
}
