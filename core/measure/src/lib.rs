//! Loss, order, duplicates, latency, jitter and inter-arrival of every test packet
