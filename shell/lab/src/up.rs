//! Makes a design real.

use crate::design::{Check, Condition, Design, End, Link, Namespace, Service, Step};
use crate::folder::{self, Lab};
use crate::huge_pages::Reservation;
use crate::process::{self, MARK, Started};
use crate::topology::{Parameters, Place, Topology};
use crate::{LabError, needs, teardown};
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Follows what `up` does.
pub trait Watch {
    /// Something is about to be done.
    fn step(&mut self, what: &str);

    /// Whether to stop.
    fn cancelled(&self) -> bool {
        false
    }
}

/// Brings a lab up. If that fails, or is cancelled, what was made is taken away again.
///
/// # Errors
///
/// If this is not root, something is not installed, the lab is up already, or a step fails.
pub fn up(
    topology: Topology,
    parameters: &Parameters,
    place: &Place,
    watch: &mut dyn Watch,
) -> Result<Lab, LabError> {
    let design = topology.design(parameters, place)?;
    if !process::is_root() {
        return Err(LabError::NotRoot);
    }
    if let Some(sentence) = needs::missing(&design.needs) {
        return Err(LabError::Missing(sentence));
    }
    folder::claim(place)?;
    let lab = Lab {
        name: place.name().to_owned(),
        topology: topology.name().to_owned(),
        parameters: parameters.to_string(),
        owner: Started::of(std::process::id()),
        ready: false,
        namespaces: design.namespaces.iter().map(|namespace| place.namespace(&namespace.role)).collect(),
        processes: Vec::new(),
        tests: design.tests.clone(),
        huge_pages: None,
    };
    let mut builder = Builder { place, lab, children: Vec::new(), watch };
    match builder.build(&design) {
        Ok(()) => Ok(builder.lab),
        Err(error) => {
            // The first error is the one that counts.
            let _ = teardown::down(place);
            Err(error)
        }
    }
}

struct Builder<'a> {
    place: &'a Place,
    lab: Lab,
    children: Vec<(Service, Child)>,
    watch: &'a mut dyn Watch,
}

impl Builder<'_> {
    fn build(&mut self, design: &Design) -> Result<(), LabError> {
        folder::write(self.place, &self.lab)?;
        design.remarks.iter().for_each(|remark| self.watch.step(remark));
        self.reserve(design.huge_pages_mb)?;
        for namespace in &design.namespaces {
            self.watch.step(&format!("namespace {}", self.place.namespace(&namespace.role)));
            self.namespace(namespace)?;
        }
        for link in &design.links {
            self.link(link)?;
        }
        for file in &design.files {
            let path = self.place.folder().join(&file.name);
            fs::write(&path, &file.text).map_err(|error| LabError::File { path, error })?;
        }
        for step in &design.steps {
            self.step(step)?;
        }
        self.lab.ready = true;
        folder::write(self.place, &self.lab)
    }

    fn reserve(&mut self, megabytes: u64) -> Result<(), LabError> {
        if megabytes == 0 {
            return Ok(());
        }
        self.watch.step(&format!("{megabytes} MB of huge pages"));
        let reservation = Reservation::plan(megabytes)?;
        self.lab.huge_pages = Some(reservation);
        folder::write(self.place, &self.lab)?;
        reservation.take()
    }

    fn namespace(&mut self, namespace: &Namespace) -> Result<(), LabError> {
        let name = self.place.namespace(&namespace.role);
        self.command(&["ip", "netns", "add", &name])?;
        let on = |flag: bool| u8::from(flag);
        let settings = [
            // Addresses work at once, and the kernel says nothing it was not asked.
            "net.ipv6.conf.default.accept_dad=0".to_owned(),
            "net.ipv6.conf.all.accept_dad=0".to_owned(),
            "net.ipv6.conf.default.router_solicitations=0".to_owned(),
            "net.ipv6.conf.default.accept_ra=0".to_owned(),
            "net.ipv4.conf.all.rp_filter=0".to_owned(),
            "net.ipv4.conf.default.rp_filter=0".to_owned(),
            format!("net.ipv4.conf.all.forwarding={}", on(namespace.forwards)),
            format!("net.ipv6.conf.all.forwarding={}", on(namespace.forwards)),
            format!("net.ipv6.conf.default.disable_ipv6={}", on(!namespace.ipv6)),
        ];
        let mut words = vec!["ip", "netns", "exec", &name, "sysctl", "-q", "-w"];
        words.extend(settings.iter().map(String::as_str));
        self.command(&words)?;
        self.command(&["ip", "-n", &name, "link", "set", "lo", "up"])
    }

    fn link(&mut self, link: &Link) -> Result<(), LabError> {
        let (a, b) = (self.place.namespace(&link.a.role), self.place.namespace(&link.b.role));
        let (end_a, end_b) = (&link.a.interface, &link.b.interface);
        self.command(&[
            "ip", "link", "add", end_a, "netns", &a, "type", "veth", "peer", "name", end_b, "netns", &b,
        ])?;
        self.end(&a, &link.a)?;
        self.end(&b, &link.b)
    }

    fn end(&mut self, namespace: &str, end: &End) -> Result<(), LabError> {
        self.command(&["ip", "-n", namespace, "link", "set", &end.interface, "up"])?;
        for address in &end.addresses {
            self.command(&["ip", "-n", namespace, "address", "add", address, "dev", &end.interface])?;
        }
        Ok(())
    }

    fn step(&mut self, step: &Step) -> Result<(), LabError> {
        match step {
            Step::Run { role, command } => {
                self.watch.step(&command.join(" "));
                let words = self.inside(role, command);
                self.command(&words.iter().map(String::as_str).collect::<Vec<_>>())
            }
            Step::Start(service) => self.start(service),
            Step::Await(check) => self.wait_for(check),
        }
    }

    fn inside(&self, role: &str, command: &[String]) -> Vec<String> {
        let namespace = self.place.namespace(role);
        let mut words = ["ip", "netns", "exec", &namespace].map(str::to_owned).to_vec();
        words.extend_from_slice(command);
        words
    }

    /// Something of the lab's own, not yet started.
    fn prepared(&self, words: &[&str]) -> Command {
        let mut command = Command::new(words[0]);
        let folder = self.place.folder();
        command.args(&words[1..]).current_dir("/").stdin(Stdio::null());
        command.env(MARK, self.place.name()).env("PATH", needs::search_path());
        // Open vSwitch and DPDK keep what they have to keep where it goes away with the lab.
        for variable in ["OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "RUNTIME_DIRECTORY"] {
            command.env(variable, folder);
        }
        command
    }

    /// Runs a command to its end.
    fn command(&mut self, words: &[&str]) -> Result<(), LabError> {
        self.output(words).map(drop)
    }

    fn output(&mut self, words: &[&str]) -> Result<String, LabError> {
        if self.watch.cancelled() {
            return Err(LabError::Interrupted);
        }
        let failed = |said: String| LabError::Command { command: words.join(" "), said };
        let done = self.prepared(words).output().map_err(|error| failed(error.to_string()))?;
        if done.status.success() {
            return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(if done.stderr.is_empty() { &done.stdout } else { &done.stderr });
        let said = said.trim();
        Err(failed(if said.is_empty() { done.status.to_string() } else { last_lines(said, 5) }))
    }

    fn start(&mut self, service: &Service) -> Result<(), LabError> {
        self.watch.step(&format!("{}: {}", service.name, service.command.join(" ")));
        let path = self.place.folder().join(format!("{}.log", service.name));
        let log = File::create(&path).and_then(|log| Ok((log.try_clone()?, log)));
        let (out, err) = log.map_err(|error| LabError::File { path, error })?;
        let words = self.inside(&service.role, &service.command);
        let mut command = self.prepared(&words.iter().map(String::as_str).collect::<Vec<_>>());
        // In a group of its own it does not hear the terminal's Ctrl-C, and its children can be told by the group.
        let child = command.stdout(out).stderr(err).process_group(0).spawn();
        let child =
            child.map_err(|error| LabError::Command { command: words.join(" "), said: error.to_string() })?;
        if let Some(started) = Started::of(child.id()) {
            self.lab.processes.push(Started { name: service.name.clone(), ..started });
        }
        self.children.push((service.clone(), child));
        folder::write(self.place, &self.lab)
    }

    fn wait_for(&mut self, check: &Check) -> Result<(), LabError> {
        self.watch.step(&format!("waiting for {}", check.what));
        let end = os::clock::monotonic_ns().saturating_add(check.seconds * 1_000_000_000);
        while !self.holds(&check.condition)? {
            self.all_run()?;
            if os::clock::monotonic_ns() > end {
                let log = self.children.last().map_or_else(String::new, |(service, _)| self.log(service));
                return Err(LabError::TooLate { what: check.what.clone(), seconds: check.seconds, log });
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.all_run()
    }

    fn holds(&mut self, condition: &Condition) -> Result<bool, LabError> {
        match condition {
            Condition::Exists(path) if self.watch.cancelled() => {
                let _ = path;
                Err(LabError::Interrupted)
            }
            Condition::Exists(path) => Ok(path.exists()),
            Condition::Says { role, command, text, lines } => {
                let words = self.inside(role, command);
                match self.output(&words.iter().map(String::as_str).collect::<Vec<_>>()) {
                    Ok(said) => Ok(said.lines().filter(|line| line.contains(text)).count() >= *lines),
                    Err(LabError::Interrupted) => Err(LabError::Interrupted),
                    Err(_) => Ok(false),
                }
            }
        }
    }

    /// No process of the lab has ended by itself.
    fn all_run(&mut self) -> Result<(), LabError> {
        let mut ended = None;
        for (service, child) in &mut self.children {
            if matches!(child.try_wait(), Ok(Some(_))) {
                ended = Some(service.clone());
            }
        }
        match ended {
            Some(service) => Err(LabError::Ended { log: self.log(&service), name: service.name }),
            None => Ok(()),
        }
    }

    /// The last words of a process.
    fn log(&self, service: &Service) -> String {
        let path = self.place.folder().join(format!("{}.log", service.name));
        let text = fs::read(path).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        if text.trim().is_empty() {
            String::new()
        } else {
            format!("; {} says: {}", service.name, last_lines(&text, 3))
        }
    }
}

/// The end of a text.
fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.trim().lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}
