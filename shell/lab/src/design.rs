//! A topology as data: everything `up` makes, in the order it makes it.

use crate::LabError;
use crate::needs::Need;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Everything `up` makes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Design {
    /// Namespaces, the tester's among them.
    pub namespaces: Vec<Namespace>,
    /// veth pairs.
    pub links: Vec<Link>,
    /// Files in the lab's folder.
    pub files: Vec<File>,
    /// What is done when namespaces, links and files are there.
    pub steps: Vec<Step>,
    /// How it is tested. The first is what `eagre lab run` does unless told otherwise.
    pub tests: Vec<Test>,
    /// What the user should know before there are any results.
    pub remarks: Vec<String>,
    /// What has to be installed.
    pub needs: Vec<Need>,
    /// Huge pages to reserve, MB.
    pub huge_pages_mb: u64,
}

/// A network namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Namespace {
    /// What it is for; the last part of its name.
    pub role: String,
    /// Whether its kernel forwards packets.
    pub forwards: bool,
    /// Whether its kernel speaks IPv6. The tester's does not: it has no part in the traffic.
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

/// Something done in a namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A command that ends.
    Run {
        /// The namespace's role.
        role: String,
        /// Program and arguments.
        command: Vec<String>,
    },
    /// A process that stays.
    Start(Service),
    /// Something that has to come true.
    Await(Check),
}

/// A process that belongs to a lab.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// What it is called; its output goes to NAME.log in the lab's folder.
    pub name: String,
    /// The namespace's role.
    pub role: String,
    /// Program and arguments. It must not put itself into the background.
    pub command: Vec<String>,
}

/// A condition, and how long it may take to become true.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// What is waited for.
    pub what: String,
    /// The condition.
    pub condition: Condition,
    /// For how long, s.
    pub seconds: u64,
}

/// What can be waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// A file, or socket, of the lab's folder is there.
    Exists(PathBuf),
    /// A command ends well and prints at least so many lines that contain a text.
    Says {
        /// The namespace's role.
        role: String,
        /// Program and arguments.
        command: Vec<String>,
        /// The text; empty for any line.
        text: String,
        /// How many lines.
        lines: usize,
    },
}

/// A way to test a lab.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// Its name.
    pub name: String,
    /// What it does, in a few words.
    pub about: String,
    /// Role of the namespace it runs in.
    pub role: String,
    /// What is done.
    pub way: Way,
}

/// What a test does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Way {
    /// A profile is run: a file of the lab's folder.
    Profile(String),
    /// A method of `eagre bench` is run on a profile.
    Method {
        /// Its name.
        method: String,
        /// The profile: a file of the lab's folder.
        profile: String,
        /// Tags of the campaign that comes of it.
        tags: Vec<String>,
    },
    /// A command is run, where no profile can test the device.
    Command(Vec<String>),
}

impl Way {
    /// The profile it takes.
    pub fn profile(&self) -> Option<&str> {
        match self {
            Self::Profile(profile) | Self::Method { profile, .. } => Some(profile),
            Self::Command(_) => None,
        }
    }
}

/// A test by name, or the first, of the lab of this name.
pub(crate) fn test_by_name<'a>(
    tests: &'a [Test],
    lab: &str,
    name: Option<&str>,
) -> Result<&'a Test, LabError> {
    let found = tests.iter().find(|test| name.is_none_or(|name| test.name == name));
    found.ok_or_else(|| LabError::UnknownTest {
        lab: lab.to_owned(),
        test: name.unwrap_or_default().to_owned(),
        known: tests.iter().map(|test| test.name.as_str()).collect::<Vec<_>>().join(", "),
    })
}

impl Design {
    /// The test of this name, or the first, of what will be the lab of this name.
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

    /// Adds the namespace that the tester runs in.
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

    /// Adds a command that ends.
    pub(crate) fn run<S: AsRef<str>>(&mut self, role: &str, command: &[S]) {
        self.steps.push(Step::Run { role: role.to_owned(), command: words(command) });
    }

    /// Gives a namespace's kernel cores of its own for all it receives (RPS, Documentation/networking/scaling.rst). A
    /// veth pair's other end would do its work in the core of whoever sends.
    pub(crate) fn receives_on(&mut self, role: &str, mask: &str) {
        let script =
            format!("for queue in /sys/class/net/*/queues/rx-*/rps_cpus; do echo {mask} > $queue; done");
        self.run(role, &["sh", "-c", &script]);
    }

    /// Adds a process that stays.
    pub(crate) fn start<S: AsRef<str>>(&mut self, name: &str, role: &str, command: &[S]) {
        let service = Service { name: name.to_owned(), role: role.to_owned(), command: words(command) };
        self.steps.push(Step::Start(service));
    }

    /// Waits for a file.
    pub(crate) fn exists(&mut self, what: &str, path: PathBuf) {
        let check = Check { what: what.to_owned(), condition: Condition::Exists(path), seconds: 30 };
        self.steps.push(Step::Await(check));
    }

    /// Waits for a command to print enough lines with a text.
    pub(crate) fn says<S: AsRef<str>>(
        &mut self,
        what: &str,
        role: &str,
        command: &[S],
        text: &str,
        lines: usize,
    ) {
        let condition =
            Condition::Says { role: role.to_owned(), command: words(command), text: text.to_owned(), lines };
        self.steps.push(Step::Await(Check { what: what.to_owned(), condition, seconds: 30 }));
    }

    /// Adds a profile to test with.
    pub(crate) fn profile(&mut self, name: &str, about: &str, text: String) {
        let file = format!("{name}.yaml");
        self.file(&file, text);
        self.tests.push(Test {
            name: name.to_owned(),
            about: about.to_owned(),
            role: "tester".to_owned(),
            way: Way::Profile(file),
        });
    }

    /// Puts a method before all other tests, on the profile of the first of them; where no profile is, nothing changes.
    pub(crate) fn method_first(&mut self, method: &str, about: &str, tags: Vec<String>) {
        let Some(profile) = self.tests.first().and_then(|test| test.way.profile()).map(str::to_owned) else {
            return;
        };
        let way = Way::Method { method: method.to_owned(), profile, tags };
        let (name, about, role) = (method.to_owned(), about.to_owned(), "tester".to_owned());
        self.tests.insert(0, Test { name, about, role, way });
    }

    /// Adds a command to test with.
    pub(crate) fn test_by<S: AsRef<str>>(&mut self, name: &str, about: &str, role: &str, command: &[S]) {
        self.tests.push(Test {
            name: name.to_owned(),
            about: about.to_owned(),
            role: role.to_owned(),
            way: Way::Command(words(command)),
        });
    }
}

impl End {
    fn new(place: &str, addresses: &[&str]) -> Self {
        let (role, interface) = place.split_once('.').unwrap_or((place, "eth0"));
        Self { role: role.to_owned(), interface: interface.to_owned(), addresses: words(addresses) }
    }
}

/// A list of words.
fn words<S: AsRef<str>>(list: &[S]) -> Vec<String> {
    list.iter().map(|word| word.as_ref().to_owned()).collect()
}
