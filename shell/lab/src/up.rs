//! Brings a lab up.

use crate::design::{Check, Condition, Design, Device, End, Link, Namespace, Service, Step};
use crate::folder::{self, Lab};
use crate::huge_pages::Reservation;
use crate::process::{self, LabProcess, MARK};
use crate::topology::{LabPaths, Parameters, Topology};
use crate::{LabError, needs, teardown};
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Progress of `up`.
pub trait Progress {
    /// Called before each step.
    fn step(&mut self, what: &str);

    /// Whether to cancel.
    fn cancelled(&self) -> bool {
        false
    }
}

/// Brings a lab up. If that fails or is cancelled, everything created is removed.
///
/// # Errors
///
/// If this is not root, something is not installed, the lab is already up, or a step fails.
pub fn up(
    topology: Topology,
    parameters: &Parameters,
    paths: &LabPaths,
    progress: &mut dyn Progress,
) -> Result<Lab, LabError> {
    let design = topology.design(parameters, paths)?;
    if !process::is_root() {
        return Err(LabError::NotRoot);
    }
    if let Some(sentence) = needs::missing(&design.needs) {
        return Err(LabError::Missing(sentence));
    }
    folder::claim(paths)?;
    let lab = Lab {
        name: paths.name().to_owned(),
        topology: topology.name().to_owned(),
        parameters: parameters.to_string(),
        owner: LabProcess::of(std::process::id()),
        ready: false,
        namespaces: design.namespaces.iter().map(|namespace| paths.namespace(&namespace.role)).collect(),
        processes: Vec::new(),
        tests: design.tests.clone(),
        tester_cores: design.tester_cores.clone(),
        huge_pages: None,
    };
    let mut builder = Builder { paths, lab, children: Vec::new(), progress };
    match builder.build(&design) {
        Ok(()) => Ok(builder.lab),
        Err(error) => {
            // Report the first error.
            let _ = teardown::down(paths);
            Err(error)
        }
    }
}

struct Builder<'a> {
    paths: &'a LabPaths,
    lab: Lab,
    children: Vec<(Service, Child)>,
    progress: &'a mut dyn Progress,
}

impl Builder<'_> {
    fn build(&mut self, design: &Design) -> Result<(), LabError> {
        folder::write(self.paths, &self.lab)?;
        design.remarks.iter().for_each(|remark| self.progress.step(remark));
        self.reserve(design.huge_pages_mb)?;
        for namespace in &design.namespaces {
            self.progress.step(&format!("namespace {}", self.paths.namespace(&namespace.role)));
            self.namespace(namespace)?;
        }
        for link in &design.links {
            self.link(link)?;
        }
        for file in &design.files {
            let path = self.paths.folder().join(&file.name);
            fs::write(&path, &file.text).map_err(|error| LabError::File { path, error })?;
        }
        for step in &design.steps {
            self.step(step)?;
        }
        self.lab.ready = true;
        folder::write(self.paths, &self.lab)
    }

    fn reserve(&mut self, megabytes: u64) -> Result<(), LabError> {
        if megabytes == 0 {
            return Ok(());
        }
        self.progress.step(&format!("{megabytes} MB of huge pages"));
        let reservation = Reservation::plan(megabytes)?;
        self.lab.huge_pages = Some(reservation);
        folder::write(self.paths, &self.lab)?;
        reservation.take()
    }

    fn namespace(&mut self, namespace: &Namespace) -> Result<(), LabError> {
        let name = self.paths.namespace(&namespace.role);
        self.command(&["ip", "netns", "add", &name])?;
        let on = |flag: bool| u8::from(flag);
        let settings = [
            // Addresses work at once, and the kernel sends nothing unsolicited.
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
        let (a, b) = (self.paths.namespace(&link.a.role), self.paths.namespace(&link.b.role));
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
                self.progress.step(&command.join(" "));
                let words = self.inside(role, command);
                self.command(&words.iter().map(String::as_str).collect::<Vec<_>>())
            }
            Step::Start(service) => self.start(service),
            Step::Device(device) => self.device(device),
            Step::Await(check) => self.wait_for(check),
        }
    }

    /// Starts the user's device, and waits until it is up: its file exists, or its starting command has succeeded.
    fn device(&mut self, device: &Device) -> Result<(), LabError> {
        let Device { service, ready, seconds } = device;
        self.start(service)?;
        self.progress.step(&format!("waiting for the device: {} or a successful end", ready.display()));
        let end = os::clock::monotonic_ns().saturating_add(seconds * 1_000_000_000);
        while !ready.exists() {
            let ended = self.children.last_mut().and_then(|(_, child)| child.try_wait().ok()?);
            match ended {
                Some(status) if status.success() => {
                    self.children.pop();
                    self.lab.processes.pop();
                    break;
                }
                Some(status) => {
                    let log = format!(" with {status}{}", self.log(service));
                    return Err(LabError::Ended { name: "the device's command".to_owned(), log });
                }
                None if self.progress.cancelled() => return Err(LabError::Interrupted),
                None if os::clock::monotonic_ns() > end => {
                    let what = "the device ($EAGRE_READY was not made)".to_owned();
                    return Err(LabError::Timeout { what, seconds: *seconds, log: self.log(service) });
                }
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        }
        self.all_run()
    }

    fn inside(&self, role: &str, command: &[String]) -> Vec<String> {
        let namespace = self.paths.namespace(role);
        let mut words = ["ip", "netns", "exec", &namespace].map(str::to_owned).to_vec();
        words.extend_from_slice(command);
        words
    }

    /// A command of the lab, not yet started.
    fn prepared(&self, words: &[&str]) -> Command {
        let mut command = Command::new(words[0]);
        let folder = self.paths.folder();
        command.args(&words[1..]).current_dir("/").stdin(Stdio::null());
        command.env(MARK, self.paths.name()).env("PATH", needs::search_path());
        // Open vSwitch and DPDK keep their files in the lab's folder.
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
        if self.progress.cancelled() {
            return Err(LabError::Interrupted);
        }
        let failed = |output: String| LabError::Command { command: words.join(" "), output };
        let done = self.prepared(words).output().map_err(|error| failed(error.to_string()))?;
        if done.status.success() {
            return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
        }
        let output =
            String::from_utf8_lossy(if done.stderr.is_empty() { &done.stdout } else { &done.stderr });
        let output = output.trim();
        Err(failed(if output.is_empty() { done.status.to_string() } else { last_lines(output, 5) }))
    }

    fn start(&mut self, service: &Service) -> Result<(), LabError> {
        self.progress.step(&format!("{}: {}", service.name, service.command.join(" ")));
        let path = self.paths.folder().join(format!("{}.log", service.name));
        let log = File::create(&path).and_then(|log| Ok((log.try_clone()?, log)));
        let (out, err) = log.map_err(|error| LabError::File { path, error })?;
        let words = self.inside(&service.role, &service.command);
        let mut command = self.prepared(&words.iter().map(String::as_str).collect::<Vec<_>>());
        // Its own process group shields it from the terminal's Ctrl-C and identifies its children.
        let child = command.stdout(out).stderr(err).process_group(0).spawn();
        let child = child
            .map_err(|error| LabError::Command { command: words.join(" "), output: error.to_string() })?;
        if let Some(started) = LabProcess::of(child.id()) {
            self.lab.processes.push(LabProcess { name: service.name.clone(), ..started });
        }
        self.children.push((service.clone(), child));
        folder::write(self.paths, &self.lab)
    }

    fn wait_for(&mut self, check: &Check) -> Result<(), LabError> {
        self.progress.step(&format!("waiting for {}", check.what));
        let end = os::clock::monotonic_ns().saturating_add(check.seconds * 1_000_000_000);
        while !self.holds(&check.condition)? {
            self.all_run()?;
            if os::clock::monotonic_ns() > end {
                let log = self.children.last().map_or_else(String::new, |(service, _)| self.log(service));
                return Err(LabError::Timeout { what: check.what.clone(), seconds: check.seconds, log });
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.all_run()
    }

    fn holds(&mut self, condition: &Condition) -> Result<bool, LabError> {
        match condition {
            Condition::Exists(path) if self.progress.cancelled() => {
                let _ = path;
                Err(LabError::Interrupted)
            }
            Condition::Exists(path) => Ok(path.exists()),
            Condition::Prints { role, command, text, lines } => {
                let words = self.inside(role, command);
                match self.output(&words.iter().map(String::as_str).collect::<Vec<_>>()) {
                    Ok(output) => Ok(output.lines().filter(|line| line.contains(text)).count() >= *lines),
                    Err(LabError::Interrupted) => Err(LabError::Interrupted),
                    Err(_) => Ok(false),
                }
            }
        }
    }

    /// Checks that no process of the lab has exited.
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

    /// The end of a process's log, for an error.
    fn log(&self, service: &Service) -> String {
        let path = self.paths.folder().join(format!("{}.log", service.name));
        let text = fs::read(path).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        if text.trim().is_empty() {
            String::new()
        } else {
            format!("; its log {}.log ends with: {}", service.name, last_lines(&text, 3))
        }
    }
}

/// The end of a text.
fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.trim().lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}
