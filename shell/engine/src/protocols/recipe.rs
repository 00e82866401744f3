//! Start, configuration and check of each known daemon.

use profile::plan::{Daemon, ProtocolPlan, ProtocolProgram, frr_daemons};
use std::path::{Path, PathBuf};

/// Where FRRouting's daemons are: as Debian has them, and as others do.
const FRR_FOLDERS: [&str; 3] = ["/usr/lib/frr", "/usr/libexec/frr", "/usr/local/sbin"];

/// A program of a recipe.
pub(super) struct Service {
    pub(super) name: String,
    pub(super) command: Vec<String>,
    /// The socket by which it can be reached once it is there.
    pub(super) socket: Option<PathBuf>,
}

/// Steps for an entry, in this order.
pub(super) struct Recipe {
    /// Files by name in its folder, and what is in them.
    pub(super) files: Vec<(&'static str, String)>,
    pub(super) services: Vec<Service>,
    /// Commands that must succeed.
    pub(super) setup: Vec<Vec<String>>,
    /// A command that succeeds once it is up.
    pub(super) ready: Option<Vec<String>>,
    /// The Debian package that has the programs.
    pub(super) package: Option<&'static str>,
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

impl Recipe {
    /// That of `plan`, whose host has this interface and this address.
    pub(super) fn new(plan: &ProtocolPlan, folder: &Path, interface: &str, address: &str) -> Self {
        let path = folder.display().to_string();
        let fill = |text: &str| {
            text.replace("${folder}", &path).replace("${interface}", interface).replace("${address}", address)
        };
        let config = fill(&plan.config);
        let mut recipe = match &plan.program {
            ProtocolProgram::Daemon(Daemon::Bird) => bird(folder, &config),
            ProtocolProgram::Daemon(Daemon::Frr) => frr(folder, config),
            ProtocolProgram::Daemon(Daemon::Gobgp) => gobgp(folder, config),
            ProtocolProgram::Daemon(Daemon::Lldpd) => lldpd(folder, config),
            ProtocolProgram::Command(command) => Self {
                files: vec![("config", config)],
                services: vec![Service {
                    name: plan.name.clone(),
                    command: command.iter().map(|word| fill(word)).collect(),
                    socket: None,
                }],
                setup: Vec::new(),
                ready: None,
                package: None,
            },
        };
        if let Some(ready) = &plan.ready {
            recipe.ready = Some(words(&["sh", "-c", &fill(ready)]));
        }
        recipe
    }
}

fn in_folder(folder: &Path, name: &str) -> String {
    folder.join(name).display().to_string()
}

fn bird(folder: &Path, config: &str) -> Recipe {
    let socket = in_folder(folder, "bird.ctl");
    let logs = config.lines().any(|line| line.trim_start().starts_with("log "));
    let config = format!("{}{config}", if logs { "" } else { "log stderr all;\n" });
    let pid = in_folder(folder, "bird.pid");
    let command = ["bird", "-f", "-c", &in_folder(folder, "bird.conf"), "-s", &socket, "-P", &pid];
    Recipe {
        files: vec![("bird.conf", config)],
        services: vec![Service {
            name: "bird".to_owned(),
            command: words(&command),
            socket: Some(folder.join("bird.ctl")),
        }],
        setup: Vec::new(),
        ready: Some(words(&["birdc", "-s", &socket, "show", "status"])),
        package: Some("bird2"),
    }
}

fn frr(folder: &Path, config: String) -> Recipe {
    let installed = FRR_FOLDERS.into_iter().find(|folder| Path::new(folder).join("zebra").exists());
    let programs = Path::new(installed.unwrap_or(FRR_FOLDERS[0]));
    let daemons = frr_daemons(&config);
    let path = folder.display().to_string();
    let (empty, zserv) = (in_folder(folder, "empty.conf"), in_folder(folder, "zserv.api"));
    let service = |name: &str| {
        let (program, pid) =
            (programs.join(name).display().to_string(), in_folder(folder, &format!("{name}.pid")));
        // As root, so that its files may be where only root may look; '-P 0' keeps it from listening for telnet.
        let command = [
            &program,
            "-u",
            "root",
            "-g",
            "frrvty",
            "-P",
            "0",
            "-f",
            &empty,
            "-i",
            &pid,
            "-z",
            &zserv,
            "--vty_socket",
            &path,
            "--log",
            "stdout",
        ];
        Service {
            name: name.to_owned(),
            command: words(&command),
            socket: Some(folder.join(format!("{name}.vty"))),
        }
    };
    let services = std::iter::once("zebra").chain(daemons).map(service).collect();
    let config_file = in_folder(folder, "frr.conf");
    Recipe {
        files: vec![("empty.conf", String::new()), ("frr.conf", config)],
        services,
        setup: vec![words(&["vtysh", "--vty_socket", &path, "-f", &config_file])],
        ready: None,
        package: Some("frr"),
    }
}

fn gobgp(folder: &Path, config: String) -> Recipe {
    let socket = format!("unix://{}", in_folder(folder, "gobgpd.sock"));
    let command =
        ["gobgpd", "-f", &in_folder(folder, "gobgpd.conf"), "--api-hosts", &socket, "--pprof-disable"];
    Recipe {
        files: vec![("gobgpd.conf", config)],
        services: vec![Service {
            name: "gobgpd".to_owned(),
            command: words(&command),
            socket: Some(folder.join("gobgpd.sock")),
        }],
        setup: Vec::new(),
        ready: Some(words(&["gobgp", "--target", &socket, "global"])),
        package: Some("gobgpd"),
    }
}

fn lldpd(folder: &Path, config: String) -> Recipe {
    let socket = in_folder(folder, "lldpd.socket");
    Recipe {
        files: vec![("lldpd.conf", config)],
        services: vec![Service {
            name: "lldpd".to_owned(),
            command: words(&["lldpd", "-d", "-u", &socket, "-O", &in_folder(folder, "lldpd.conf")]),
            socket: Some(folder.join("lldpd.socket")),
        }],
        setup: Vec::new(),
        ready: Some(words(&["lldpcli", "-u", &socket, "show", "chassis"])),
        package: Some("lldpd"),
    }
}
