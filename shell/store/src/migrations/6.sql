-- The 95th percentile, which older versions did not measure: their trials have none.
ALTER TABLE trial ADD COLUMN latency_p95_ns REAL;
ALTER TABLE trial ADD COLUMN setup_p95_ns REAL;
ALTER TABLE trial ADD COLUMN ttfb_p95_ns REAL;
ALTER TABLE trial ADD COLUMN ttlb_p95_ns REAL;
