//! The lab: test networks with real devices in network namespaces of this machine, and the control of devices under test
//! anywhere.
//!
//! - [`Topology`] is an entry of the catalogue; with [`Parameters`] it becomes a [`Design`], which is data: namespaces,
//!   links, files, steps, and tests.
//! - [`up`] creates a lab from a design, [`down`] removes it for any creator, [`status`] lists what is up.
//! - [`routes`] and [`rules`] write large routing tables and access lists in the syntax of eight routers and switches.
//! - [`Hook`] runs a command before or after a campaign, configuration or trial; [`Matrix`] lists a campaign's runs.
//!
//! Not here: traffic. A test is the command of this program that runs a profile inside the tester's namespace.
//!
//! Invariant: everything a lab creates is identifiable from the moment it exists: namespaces by their names, processes by a
//! mark in their environment or by the state file, files by the lab's folder. So `down` needs nothing from the process
//! that called `up`.

#![forbid(unsafe_code)]

mod command;
mod design;
mod error;
mod folder;
pub mod generate;
mod hook;
mod huge_pages;
mod matrix;
mod needs;
mod process;
mod teardown;
mod template;
mod topology;
mod up;

pub use command::{ChosenTest, chosen_test, test_command};
pub use design::{Check, Design, File, Link, Namespace, Service, Step, Test, TestCommand};
pub use error::LabError;
pub use folder::{Lab, LabStatus, labs, status};
pub use generate::{GenerateError, Hop, Prefix, RouteOptions, RuleOptions, Syntax, routes, rules};
pub use hook::{Hook, HookError, Moment, Output};
pub use matrix::{Dimension, Matrix, MatrixError, MatrixRun, Value};
pub use needs::{Need, missing};
pub use process::LabProcess;
pub use teardown::{Removed, down};
pub use template::{Template, TemplateError, Variables};
pub use topology::{LabPaths, Parameters, Topology};
pub use up::{Progress, up};
