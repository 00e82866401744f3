//! Rules of the RFCs, shown on two endpoints and a link between them, and on one endpoint with a scripted peer.

mod golden;
mod harness;
mod property;
mod rules;
mod times;
