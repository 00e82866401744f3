//! Workers, neighbours, snapshots and results: the Session handle
