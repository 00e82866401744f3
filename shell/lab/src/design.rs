//! A topology as data: everything `up` creates, in order.

use crate::LabError;
use crate::needs::Need;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Everything `up` creates.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Design {
    /// Namespaces, including the tester's.
    pub namespaces: Vec<Namespace>,
    /// veth pairs.
    pub links: Vec<Link>,
    /// Files in the lab's folder.
    pub files: Vec<File>,
    /// Steps after namespaces, links and files exist.
    pub steps: Vec<Step>,
    /// Its tests. `eagre lab run` runs the first by default.
    pub tests: Vec<Test>,
    /// Notes for the user, printed first.
    pub remarks: Vec<String>,
    /// The profile of its sessions; empty if it carries none of ours.
    pub sessions: String,
    /// The profile of both sides of a balancer; empty if it is none.
    pub balancer: String,
    /// The profile of four ports of a switch; empty if it is none.
    pub switch: String,
    /// Cores of the tester, in the kernel's notation, if they were chosen.
    pub tester_cores: Option<String>,
    /// Programs that must be installed.
    pub needs: Vec<Need>,
    /// Huge pages to reserve, MB.
    pub huge_pages_mb: u64,
}

/// A network namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Namespace {
    /// Its role; the last part of its name.
    pub role: String,
    /// Whether its kernel forwards packets.
    pub forwards: bool,
    /// Whether its kernel uses IPv6. The tester's does not: it takes no part in the traffic.
    pub ipv6: bool,
}

/// A veth pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// One end.
    pub a: End,
    /// The other.
    pub b: End,
}

/// An end of a veth pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// The namespace's role.
    pub role: String,
    /// The interface's name.
    pub interface: String,
    /// The kernel's addresses with prefix length.
    pub addresses: Vec<String>,
}

/// A file in the lab's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// A step in a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Runs a command to its end.
    Run {
        /// The namespace's role.
        role: String,
        /// Program and arguments.
        command: Vec<String>,
    },
    /// Starts a process that keeps running.
    Start(Service),
    /// Starts the user's device.
    Device(Device),
    /// Waits for a condition.
    Await(Check),
}

/// A process that belongs to a lab.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// Its name; output goes to NAME.log in the lab's folder.
    pub name: String,
    /// The namespace's role.
    pub role: String,
    /// Program and arguments. It must stay in the foreground.
    pub command: Vec<String>,
}

/// The user's device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// The process that starts it. It is the device, or ends with success once it has started it.
    pub service: Service,
    /// The file that it makes once the device is up.
    pub ready: PathBuf,
    /// Time limit for it, s.
    pub seconds: u64,
}

/// A condition with a timeout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Condition to wait for.
    pub what: String,
    /// The condition.
    pub condition: Condition,
    /// Timeout, s.
    pub seconds: u64,
}

/// A condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// A file or socket of the lab's folder exists.
    Exists(PathBuf),
    /// A command succeeds and prints at least `lines` lines that contain `text`.
    Prints {
        /// The namespace's role.
        role: String,
        /// Program and arguments.
        command: Vec<String>,
        /// The text; empty for any line.
        text: String,
        /// Number of lines.
        lines: usize,
    },
}

/// A test of a lab.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// Its name.
    pub name: String,
    /// A short description.
    pub about: String,
    /// Role of the namespace it runs in.
    pub role: String,
    /// Command.
    pub command: TestCommand,
}

/// Command of a test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum TestCommand {
    /// A profile: a file of the lab's folder.
    Profile(String),
    /// A method of `eagre bench`, on a profile.
    Method {
        /// Its name.
        method: String,
        /// The profile: a file of the lab's folder.
        profile: String,
        /// Its settings.
        #[serde(default)]
        settings: Vec<String>,
        /// Tags of its campaign.
        tags: Vec<String>,
    },
    /// Another program, where no profile can test the device.
    Program(Vec<String>),
}

impl TestCommand {
    /// Its profile, if it has one.
    pub fn profile(&self) -> Option<&str> {
        match self {
            Self::Profile(profile) | Self::Method { profile, .. } => Some(profile),
            Self::Program(_) => None,
        }
    }
}

/// The lab's test by name, or its first.
pub(crate) fn test_by_name<'a>(
    tests: &'a [Test],
    lab: &str,
    name: Option<&str>,
) -> Result<&'a Test, LabError> {
    let found = tests.iter().find(|test| name.is_none_or(|name| test.name == name));
    let known = || tests.iter().map(|test| test.name.as_str()).collect::<Vec<_>>();
    found.ok_or_else(|| LabError::UnknownTest {
        lab: lab.to_owned(),
        sentence: spelling::unknown("test", name.unwrap_or_default(), &known()),
    })
}

impl Design {
    /// The test by name, or the first; `lab` is for the error.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn test(&self, lab: &str, name: Option<&str>) -> Result<&Test, LabError> {
        test_by_name(&self.tests, lab, name)
    }

    /// Adds a namespace whose kernel is a host or a router.
    pub(crate) fn namespace(&mut self, role: &str, forwards: bool) {
        self.namespaces.push(Namespace { role: role.to_owned(), forwards, ipv6: true });
    }

    /// Adds the tester's namespace.
    pub(crate) fn tester(&mut self) {
        self.namespaces.push(Namespace { role: "tester".to_owned(), forwards: false, ipv6: false });
    }

    /// Adds a veth pair; ends are written 'role.interface'.
    pub(crate) fn link(&mut self, a: &str, a_addresses: &[&str], b: &str, b_addresses: &[&str]) {
        self.links.push(Link { a: End::new(a, a_addresses), b: End::new(b, b_addresses) });
    }

    /// Adds a file.
    pub(crate) fn file(&mut self, name: &str, text: impl Into<String>) {
        self.files.push(File { name: name.to_owned(), text: text.into() });
    }

    /// Adds a command that runs to its end.
    pub(crate) fn run<S: AsRef<str>>(&mut self, role: &str, command: &[S]) {
        self.steps.push(Step::Run { role: role.to_owned(), command: words(command) });
    }

    /// Assigns cores to a namespace's kernel for received packets (RPS, Documentation/networking/scaling.rst). Without
    /// it, a veth pair's other end does its work on the sender's core.
    pub(crate) fn receives_on(&mut self, role: &str, mask: &str) {
        let script =
            format!("for queue in /sys/class/net/*/queues/rx-*/rps_cpus; do echo {mask} > $queue; done");
        self.run(role, &["sh", "-c", &script]);
    }

    /// Binds the device to cores: processes to the cores of a list, received packets to the cores of a mask.
    pub(crate) fn device_on(&mut self, list: &str, mask: &str) {
        for step in &mut self.steps {
            if let Step::Start(service) | Step::Device(Device { service, .. }) = step {
                service.command.splice(0..0, ["taskset", "-c", list].map(str::to_owned));
            }
        }
        let roles: Vec<String> = self.namespaces.iter().map(|namespace| namespace.role.clone()).collect();
        let linked = |role: &String| {
            self.links.iter().any(|link| [&link.a, &link.b].iter().any(|end| end.role == *role))
        };
        let devices: Vec<String> =
            roles.into_iter().filter(|role| role != "tester" && linked(role)).collect();
        devices.iter().for_each(|role| self.receives_on(role, mask));
    }

    /// Adds a process that keeps running.
    pub(crate) fn start<S: AsRef<str>>(&mut self, name: &str, role: &str, command: &[S]) {
        let service = Service { name: name.to_owned(), role: role.to_owned(), command: words(command) };
        self.steps.push(Step::Start(service));
    }

    /// Adds the user's device.
    pub(crate) fn device<S: AsRef<str>>(&mut self, name: &str, role: &str, command: &[S], ready: PathBuf) {
        let service = Service { name: name.to_owned(), role: role.to_owned(), command: words(command) };
        self.steps.push(Step::Device(Device { service, ready, seconds: 120 }));
    }

    /// Waits for a file.
    pub(crate) fn exists(&mut self, what: &str, path: PathBuf) {
        let check = Check { what: what.to_owned(), condition: Condition::Exists(path), seconds: 30 };
        self.steps.push(Step::Await(check));
    }

    /// Waits for a command to print at least `lines` lines with a text.
    pub(crate) fn prints<S: AsRef<str>>(
        &mut self,
        what: &str,
        role: &str,
        command: &[S],
        text: &str,
        lines: usize,
    ) {
        let condition = Condition::Prints {
            role: role.to_owned(),
            command: words(command),
            text: text.to_owned(),
            lines,
        };
        self.steps.push(Step::Await(Check { what: what.to_owned(), condition, seconds: 30 }));
    }

    /// Adds a profile as a test.
    pub(crate) fn profile(&mut self, name: &str, about: &str, text: String) {
        let file = format!("{name}.yaml");
        self.file(&file, text);
        self.tests.push(Test {
            name: name.to_owned(),
            about: about.to_owned(),
            role: "tester".to_owned(),
            command: TestCommand::Profile(file),
        });
    }

    /// Inserts a method as the first test, on the first test's profile; does nothing without a profile.
    pub(crate) fn method_first(&mut self, method: &str, about: &str, tags: Vec<String>) {
        let Some(profile) = self.tests.first().and_then(|test| test.command.profile()).map(str::to_owned)
        else {
            return;
        };
        let settings = Vec::new();
        let command = TestCommand::Method { method: method.to_owned(), profile, settings, tags };
        let (name, about, role) = (method.to_owned(), about.to_owned(), "tester".to_owned());
        self.tests.insert(0, Test { name, about, role, command });
    }

    /// Inserts a search for the maximum of sessions as the first test, on a separate profile.
    pub(crate) fn sessions_first(&mut self, profile: String, tags: Vec<String>) {
        let file = "sessions.yaml";
        self.file(file, profile);
        // Two sizes of objects, so that it takes minutes.
        let sizes = [1_024, 16_384].map(|bytes| {
            format!(
                "{{\"name\":\"http\",\"request_bytes\":100,\"response_bytes\":{bytes},\"transactions\":1}}"
            )
        });
        let settings = vec![format!("apps=[{}]", sizes.join(",")), "target=2000".to_owned()];
        let about = "Eagre's own sessions: the maximum of HTTP connections per second (RFC 9411), with an HTML report.";
        self.tests.insert(
            0,
            Test {
                name: "sessions".to_owned(),
                about: about.to_owned(),
                role: "tester".to_owned(),
                command: TestCommand::Method {
                    method: "sessions".to_owned(),
                    profile: file.to_owned(),
                    settings,
                    tags,
                },
            },
        );
    }

    /// Inserts the test of a balancer as the first, on a separate profile.
    pub(crate) fn balancer_first(&mut self, profile: String, tags: Vec<String>) {
        let file = "balancer.yaml";
        self.file(file, profile);
        let about = "Spread over backends, stickiness, sessions lost and moved when a backend goes, with an HTML report.";
        let (method, settings) = ("balancer".to_owned(), Vec::new());
        self.tests.insert(
            0,
            Test {
                name: method.clone(),
                about: about.to_owned(),
                role: "tester".to_owned(),
                command: TestCommand::Method { method, profile: file.to_owned(), settings, tags },
            },
        );
    }

    /// Adds the test of a switch, on a separate profile.
    pub(crate) fn switch_last(&mut self, profile: String, tags: Vec<String>) {
        let file = "switch.yaml";
        self.file(file, profile);
        let about =
            "Four ports: meshed throughput, buffer, incast, head-of-line blocking, with an HTML report.";
        let (method, settings) = ("switch".to_owned(), Vec::new());
        self.tests.push(Test {
            name: method.clone(),
            about: about.to_owned(),
            role: "tester".to_owned(),
            command: TestCommand::Method { method, profile: file.to_owned(), settings, tags },
        });
    }

    /// Adds a program as a test.
    pub(crate) fn test_by<S: AsRef<str>>(&mut self, name: &str, about: &str, role: &str, command: &[S]) {
        self.tests.push(Test {
            name: name.to_owned(),
            about: about.to_owned(),
            role: role.to_owned(),
            command: TestCommand::Program(words(command)),
        });
    }
}

impl End {
    fn new(end: &str, addresses: &[&str]) -> Self {
        let (role, interface) = end.split_once('.').unwrap_or((end, "eth0"));
        Self { role: role.to_owned(), interface: interface.to_owned(), addresses: words(addresses) }
    }
}

/// A list of words.
fn words<S: AsRef<str>>(list: &[S]) -> Vec<String> {
    list.iter().map(|word| word.as_ref().to_owned()).collect()
}
