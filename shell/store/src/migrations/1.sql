CREATE TABLE campaign (
    id             TEXT PRIMARY KEY,
    name           TEXT NOT NULL,
    method         TEXT NOT NULL,
    config         TEXT NOT NULL CHECK (json_valid(config)),
    profile        TEXT NOT NULL,
    profile_sha256 TEXT NOT NULL,
    seed           TEXT NOT NULL,
    version        TEXT NOT NULL,
    command        TEXT NOT NULL,
    started        TEXT NOT NULL,
    ended          TEXT,
    state          TEXT NOT NULL CHECK (state IN ('running', 'done', 'interrupted', 'failed')),
    reason         TEXT,
    resumed        INTEGER NOT NULL DEFAULT 0,
    environment    TEXT NOT NULL CHECK (json_valid(environment))
) STRICT;
CREATE INDEX campaign_started ON campaign (started);

CREATE TABLE tag (
    campaign TEXT NOT NULL REFERENCES campaign (id) ON DELETE CASCADE,
    tag      TEXT NOT NULL,
    PRIMARY KEY (campaign, tag)
) STRICT, WITHOUT ROWID;

CREATE TABLE trial (
    campaign            TEXT NOT NULL REFERENCES campaign (id) ON DELETE CASCADE,
    number              INTEGER NOT NULL,
    key                 TEXT NOT NULL,
    label               TEXT NOT NULL,
    part                TEXT NOT NULL,
    phase               TEXT NOT NULL,
    frame               TEXT NOT NULL,
    frame_bytes         INTEGER,
    line_pps            REAL,
    started             TEXT,
    valid               INTEGER NOT NULL,
    generator_limited   INTEGER NOT NULL,
    interrupted         INTEGER NOT NULL,
    reasons             TEXT NOT NULL,
    duration_s          REAL,
    requested_pps       REAL,
    offered_pps         REAL,
    rx_pps              REAL,
    tx                  INTEGER,
    rx                  INTEGER,
    lost                INTEGER,
    loss_ratio          REAL,
    duplicates          INTEGER,
    reordered           INTEGER,
    tx_unsent           INTEGER,
    tx_bps_l1           REAL,
    rx_bps_l1           REAL,
    latency_min_ns      REAL,
    latency_mean_ns     REAL,
    latency_p50_ns      REAL,
    latency_p90_ns      REAL,
    latency_p99_ns      REAL,
    latency_p99_9_ns    REAL,
    latency_p99_99_ns   REAL,
    latency_max_ns      REAL,
    jitter_mean_ns      REAL,
    sessions_attempted  INTEGER,
    sessions_established INTEGER,
    sessions_completed  INTEGER,
    sessions_failed     INTEGER,
    sessions_active_max INTEGER,
    open_per_s          REAL,
    transactions_per_s  REAL,
    goodput_bps         REAL,
    setup_p50_ns        REAL,
    setup_p99_ns        REAL,
    ttfb_p50_ns         REAL,
    ttfb_p99_ns         REAL,
    ttlb_p50_ns         REAL,
    ttlb_p99_ns         REAL,
    request             TEXT NOT NULL CHECK (json_valid(request)),
    outcome             TEXT NOT NULL CHECK (json_valid(outcome)),
    result              TEXT NOT NULL CHECK (json_valid(result)),
    PRIMARY KEY (campaign, number)
) STRICT;

CREATE TABLE interval (
    campaign TEXT NOT NULL,
    trial    INTEGER NOT NULL,
    position INTEGER NOT NULL,
    at_s     REAL,
    document TEXT NOT NULL CHECK (json_valid(document)),
    PRIMARY KEY (campaign, trial, position),
    FOREIGN KEY (campaign, trial) REFERENCES trial (campaign, number) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE method_result (
    campaign TEXT NOT NULL REFERENCES campaign (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    document TEXT NOT NULL CHECK (json_valid(document)),
    PRIMARY KEY (campaign, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE finding (
    campaign    TEXT NOT NULL REFERENCES campaign (id) ON DELETE CASCADE,
    position    INTEGER NOT NULL,
    frame       TEXT NOT NULL,
    frame_bytes INTEGER,
    goal        TEXT NOT NULL,
    unit        TEXT NOT NULL,
    value       REAL,
    lower       REAL,
    upper       REAL,
    spread      REAL,
    line        REAL,
    note        TEXT,
    document    TEXT NOT NULL CHECK (json_valid(document)),
    PRIMARY KEY (campaign, position)
) STRICT, WITHOUT ROWID;
