//! The 18 bytes that make a packet measurable: run, stream, lane, sequence number and send time.
//!
//! They are the last 18 bytes of the innermost payload, which for a minimum UDP/IPv4 frame is all of it:
//!
//! | offset | bytes | holds, little-endian |
//! |---|---|---|
//! | 0 | 4 | mark of the run: tells our packets from foreign ones and from an earlier run's |
//! | 4 | 4 | stream (24 bits), lane (8 bits): the part of the stream one worker sends |
//! | 8 | 4 | sequence number in the lane |
//! | 12 | 6 | send time, nanoseconds modulo 2^48 |
