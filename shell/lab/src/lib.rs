//! The lab: networks in namespaces of this machine with real devices under test, and what it takes to control a device
//! under test anywhere.
//!
//! - [`Topology`] is an entry of the catalogue; with [`Parameters`] it becomes a [`Design`], which is data: namespaces,
//!   links, files, steps, and how it is tested.
//! - [`up`] makes a design real, [`down`] takes away what any process has made, [`status`] tells what is up.
//! - [`routes`] and [`rules`] write large routing tables and access lists in the syntax of eight routers and switches.
//! - [`Hook`] runs a command before or after something, [`Matrix`] lists the runs of a campaign.
//!
//! Not here: traffic. A test is the command of this program that runs a profile inside the tester's namespace.
//!
//! Invariant: what a lab makes can be told from everything else on the machine, by anybody, from the moment it exists:
//! namespaces by their names, processes by a mark in their environment or by the state file, all else lies in the lab's
//! folder. So `down` needs nothing from the process that called `up`.

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
pub use design::{Check, Design, File, Link, Namespace, Service, Step, Test, Way};
pub use error::LabError;
pub use folder::{Lab, LabStatus, labs, status};
pub use generate::{GenerateError, Hop, Prefix, RouteOptions, RuleOptions, Syntax, routes, rules};
pub use hook::{Hook, HookError, Moment, Output};
pub use matrix::{Dimension, Matrix, MatrixError, MatrixRun, Value};
pub use needs::{Need, missing};
pub use process::Started;
pub use teardown::{Removed, down};
pub use template::{Template, TemplateError, Variables};
pub use topology::{Parameters, Place, Topology};
pub use up::{Watch, up};
