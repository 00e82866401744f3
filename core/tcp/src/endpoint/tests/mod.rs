//! What the RFCs say, shown on two endpoints and a link between them, and on one endpoint whose peer is played by hand.

mod golden;
mod harness;
mod property;
mod rules;
mod times;
