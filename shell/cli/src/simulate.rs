//! `sim`: runs the engine in virtual time.

use crate::args::{Common, PcapStart, SimArgs};
use crate::live::Live;
use crate::output::Sinks;
use crate::run::{Shown, conclude, load, name_of, read};
use crate::{Exit, Failure};
use campaign::Tester;
use engine::{Commands, EngineError, PortUser, TrialObserver};
use os::Draft;
use pcap::{NewInterface, Packet, PcapWriter, PcapngWriter};
use profile::Plan;
use result::ResultDocument;
use simulation::{Dut, Options, Tap};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use units::{FrameLen, Nanos};

pub(crate) fn sim(path: &Path, options: &SimArgs, common: &Common) -> Result<Exit, Failure> {
    sim_text(&read(path)?, path, options, common)
}

/// Simulates a profile's text; files it names are in the folder of `name`.
pub(crate) fn sim_text(text: &str, name: &Path, options: &SimArgs, common: &Common) -> Result<Exit, Failure> {
    let plan = load(text, name, common)?;
    let sinks = Sinks::open(common, text)?;
    let file = options.pcap.as_deref().map(|path| PacketFile::create(path, options, &plan)).transpose()?;
    let tap = file.as_ref().map(PacketFile::tap);
    let (mut live, mut commands) = Live::new(common, sinks)?;
    if let Some(file) = &file {
        live.when_it_begins(file.beginning());
    }
    let options = Options { dut: options.dut, workers: common.cores, histograms: !common.no_histograms, tap };
    let document = simulation::run(plan, options, &mut commands, &mut live);
    let sinks = live.finish();
    let document = document?;
    if let Some(file) = file {
        file.finish()?;
    }
    conclude(&document, sinks, common, Shown::run(&name_of(name)))
}

/// Capture file of all sent packets, with simulated timestamps.
struct PacketFile(Arc<Mutex<OpenFile>>);

struct OpenFile {
    /// `None` once finished.
    writer: Option<Writer>,
    path: PathBuf,
    /// Origin of times; `None` until known, while nothing is written.
    zero: Option<Nanos>,
    /// Packets still to be written.
    left: u64,
    error: Option<io::Error>,
}

/// A capture file of either format.
enum Writer {
    /// All ports in one.
    Pcap(PcapWriter<BufWriter<Draft>>),
    /// An interface for each port.
    Pcapng(PcapngWriter<BufWriter<Draft>>),
}

impl Writer {
    fn create(path: &Path, plan: &Plan) -> io::Result<Self> {
        let file = BufWriter::new(Draft::create(path)?);
        if path.extension().is_none_or(|extension| extension != "pcapng") {
            return PcapWriter::new(file, FrameLen::MAX.bytes()).map(Self::Pcap);
        }
        let mut writer = PcapngWriter::new(file, concat!("eagre ", env!("CARGO_PKG_VERSION")), None)?;
        for port in &plan.ports {
            let (name, link_type) = (port.name.as_str(), pcap::ETHERNET);
            writer.add_interface(&NewInterface {
                name,
                link_type,
                snap_len: 0,
                filter: None,
                comment: None,
            })?;
        }
        Ok(Self::Pcapng(writer))
    }

    fn write(&mut self, packet: &Packet<'_>) -> io::Result<()> {
        match self {
            Self::Pcap(writer) => writer.write(&Packet { interface: 0, ..*packet }),
            Self::Pcapng(writer) => writer.write(packet),
        }
    }

    fn finish(self) -> io::Result<()> {
        let file = match self {
            Self::Pcap(writer) => writer.into_inner(),
            Self::Pcapng(writer) => writer.into_inner(),
        };
        file.into_inner().map_err(io::IntoInnerError::into_error)?.commit()
    }
}

impl PacketFile {
    fn create(path: &Path, options: &SimArgs, plan: &Plan) -> Result<Self, Failure> {
        let writer = Writer::create(path, plan)
            .map_err(|error| Failure::bad_input(format!("{}: {error}", path.display())))?;
        Ok(Self(Arc::new(Mutex::new(OpenFile {
            writer: Some(writer),
            path: path.to_owned(),
            zero: (options.pcap_start == PcapStart::Clock).then_some(Nanos::ZERO),
            left: options.packets.unwrap_or(u64::MAX),
            error: None,
        }))))
    }

    /// Makes the start of traffic the origin of times, unless the clock is.
    fn beginning(&self) -> Box<dyn FnMut(Nanos)> {
        let file = self.0.clone();
        Box::new(move |epoch| {
            file.lock().unwrap_or_else(PoisonError::into_inner).zero.get_or_insert(epoch);
        })
    }

    /// Writes frames until the limit is reached or a write fails.
    fn tap(&self) -> Tap {
        let file = self.0.clone();
        Box::new(move |now: Nanos, port, bytes: &[u8]| {
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            if file.left == 0 || file.error.is_some() {
                return;
            }
            let Some(zero) = file.zero else { return };
            let Some(writer) = &mut file.writer else { return };
            let (at, interface) = (now.since(zero), port as u32);
            let original_len = bytes.len() as u32;
            let packet = Packet { at, interface, direction: None, original_len, bytes };
            file.error = writer.write(&packet).err();
            file.left -= 1;
        })
    }

    /// Completes the file.
    fn finish(self) -> Result<(), Failure> {
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let writer = file.writer.take();
        let finish = || writer.and_then(|writer| writer.finish().err());
        let error = file.error.take().or_else(finish);
        error.map_or(Ok(()), |error| Err(Failure::refused(format!("{}: {error}", file.path.display()))))
    }
}

/// Runs the trials of a campaign in virtual time, each on a new topology.
pub(crate) struct SimTester {
    speeds: Vec<Option<u64>>,
    dut: Option<Dut>,
    cores: u16,
}

impl SimTester {
    pub(crate) fn new(plan: &Plan, dut: Option<Dut>, cores: u16) -> Self {
        let link = plan.sim.link.speed_bps;
        let speeds = plan.ports.iter().map(|port| Some(port.speed_bps.unwrap_or(link))).collect();
        Self { speeds, dut, cores }
    }
}

impl Tester for SimTester {
    fn speeds(&self) -> Vec<Option<u64>> {
        self.speeds.clone()
    }

    fn run(
        &mut self,
        plan: Plan,
        commands: &mut Commands,
        observer: &mut dyn TrialObserver,
    ) -> Result<ResultDocument, EngineError> {
        let (mut session, clock) = simulation::load(plan, self.dut, self.cores, None);
        session.simulate(usize::from(self.cores), true, &clock, commands, observer)
    }

    fn lend(
        &mut self,
        plan: Plan,
        commands: &mut Commands,
        user: &mut dyn PortUser,
    ) -> Result<ResultDocument, EngineError> {
        let (mut session, clock) = simulation::load(plan, self.dut, 1, None);
        session.lend_simulated(&clock, commands, user)
    }

    /// Nothing to wait for: every trial starts idle.
    fn wait(&mut self, _: Nanos, _: &mut dyn FnMut() -> bool) {}

    fn is_real(&self) -> bool {
        false
    }
}
