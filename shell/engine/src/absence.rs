//! Verdicts on control protocols missing when traffic starts; some tests match their text.

/// Of BGP sessions.
pub const NOT_ESTABLISHED: &str = "BGP sessions could not be established";
/// Of OSPF adjacencies.
pub const NOT_FULL: &str = "OSPF routers have no full adjacency";
/// Of IS-IS adjacencies.
pub const NOT_UP: &str = "IS-IS routers lack an adjacency";
/// Of routes of any of them.
pub const NOT_ACKNOWLEDGED: &str = "routes were acknowledged within";
