-- What disturbed the tester, how evenly packets left and arrived, and what a trial of sessions asked for.
ALTER TABLE trial ADD COLUMN disturbed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE trial ADD COLUMN load REAL;
ALTER TABLE trial ADD COLUMN load_unit TEXT;
ALTER TABLE trial ADD COLUMN latency_stddev_ns REAL;
ALTER TABLE trial ADD COLUMN jitter_rfc3550_ns REAL;
ALTER TABLE trial ADD COLUMN jitter_max_ns REAL;
ALTER TABLE trial ADD COLUMN interarrival_mean_ns REAL;
ALTER TABLE trial ADD COLUMN interarrival_stddev_ns REAL;
ALTER TABLE trial ADD COLUMN interarrival_max_ns REAL;
ALTER TABLE trial ADD COLUMN gap_error_p99_ns REAL;
ALTER TABLE trial ADD COLUMN back_to_back_ratio REAL;
ALTER TABLE trial ADD COLUMN late_max_ns REAL;
-- Trials of older versions: from their documents.
UPDATE trial SET
    disturbed = coalesce(json_extract(result, '$.verdict.disturbed'), 0),
    load = CASE json_extract(request, '$.kind.type') WHEN 'sessions' THEN json_extract(request, '$.kind.value') END,
    load_unit = CASE json_extract(request, '$.kind.objective')
        WHEN 'connections_per_second' THEN 'connections/s'
        WHEN 'concurrent_connections' THEN 'connections'
        WHEN 'transactions_per_second' THEN 'transactions/s'
        WHEN 'goodput_bps' THEN 'bits/s' END,
    (latency_stddev_ns, jitter_rfc3550_ns, jitter_max_ns, interarrival_mean_ns, interarrival_stddev_ns, interarrival_max_ns,
     gap_error_p99_ns, back_to_back_ratio, late_max_ns) = (
        SELECT max(value ->> '$.latency_ns.stddev'), max(value ->> '$.jitter_ns.rfc3550'),
            max(value ->> '$.jitter_ns.rfc4689_max'), max(value ->> '$.interarrival_ns.mean'),
            max(value ->> '$.interarrival_ns.stddev'), max(value ->> '$.interarrival_ns.max'),
            max(value ->> '$.pacing_ns.error_p99'), max(value ->> '$.pacing_ns.back_to_back_ratio'),
            max(value ->> '$.pacing_ns.late_max')
        FROM json_each(result, '$.streams'));
