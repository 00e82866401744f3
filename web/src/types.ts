/** The API's documents. Generated from docs/openapi.json by 'npm run types'; do not edit. */

/** How much of one kind succeeded. */
export interface AchievedPart {
  /** How many were asked for. */
  asked: number;
  /** How many succeeded. */
  succeeded: number;
  /** Sessions still in progress at the end; zero for packets. */
  unfinished: number;
  /** `succeeded` / `asked`. */
  ratio: number;
  /** Streams or entries of which nothing succeeded. */
  dead: string[];
}

/** How much of what was asked succeeded. Criteria that demand loss or failures take their stream or entry out. */
export interface AchievedResult {
  /** Whether at least half of the sessions that ended, and half of the packets, succeeded. */
  success: boolean;
  /** The same in words: the first line of the summary. */
  summary: string;
  /** Sessions completed of those attempted; absent without sessions. */
  sessions?: AchievedPart | null;
  /** Packets received of those sent to a port of the tester; absent without such streams. */
  packets?: AchievedPart | null;
}

/** What was found. */
export interface AddressRow {
  /** `capacity` or `learning rate`. */
  what: string;
  /** Addresses, or addresses per second; absent: none. */
  value: number | null;
  /** The smallest that failed. */
  failed: number | null;
  /** What bounds it from above. */
  limit: Limit;
  /** Why the smallest that failed did: frames lost and flooded. */
  failed_by: number[] | null;
}

/** What sessions carry. */
export interface Application {
  /** Name in results: `http`, `https`, `raw`. */
  name: string;
  /** Bytes of a request. */
  request_bytes: number;
  /** Bytes of a response. */
  response_bytes: number;
  /** Transactions of a session before it closes. */
  transactions: number;
}

/** A whole campaign, `eagre.archive/1`. Its documents are as they were written: those of an older version may lack fields. */
export interface Archive {
  /** `eagre.archive/1`. */
  schema: string;
  /** The campaign. */
  campaign: StoredCampaign;
  /** What its methods found. */
  method_results: MethodResult[];
  /** The same as values. */
  findings: Finding[];
  /** Its trials, by number. */
  trials: ArchivedTrial[];
}

/** A trial with its documents. */
export interface ArchivedTrial {
  /** Its number in the campaign, as the method counts. */
  number: number;
  /** Its place in the campaign: 1, 2, 3 …, whatever method asked for it. What reports call it. */
  ordinal: number;
  /** A fingerprint of what was asked for. */
  key: string;
  /** What it is, for people. */
  label: string;
  /** Which method asked for it. */
  part: string;
  /** Which phase of the method it belongs to. */
  phase: string;
  /** Frame length or mix. */
  frame: string;
  /** Frame length with FCS, bytes. */
  frame_bytes: number | null;
  /** Theoretical maximum, packets/s. */
  line_pps: number | null;
  /** When traffic started (RFC 3339); a simulated trial has no such time. */
  started: string | null;
  /** Whether its figures can be believed. */
  valid: boolean;
  /** Whether the tester was the limit. */
  generator_limited: boolean;
  /** Whether it was stopped before its end. */
  interrupted: boolean;
  /** Whether something on the tester's machine disturbed it. */
  disturbed: boolean;
  /** Why not valid, why limited, or what disturbed the tester. */
  reasons: string[];
  /** Of a trial of sessions: the load it asked for, in `load_unit`. */
  load?: number | null;
  /** `connections/s`, `connections`, `transactions/s` or `bits/s`. */
  load_unit?: string | null;
  /** how long traffic was sent, s */
  duration_s?: number | null;
  /** load asked for, packets/s; absent if a stream has none */
  requested_pps?: number | null;
  /** load sent, packets/s */
  offered_pps?: number | null;
  /** test packets received, packets/s */
  rx_pps?: number | null;
  /** test packets sent */
  tx?: number | null;
  /** test packets received, each once */
  rx?: number | null;
  /** test packets sent and not received */
  lost?: number | null;
  /** lost / sent, over the streams whose arrivals were counted */
  loss_ratio?: number | null;
  /** packets received again */
  duplicates?: number | null;
  /** packets received after one sent later (RFC 4737) */
  reordered?: number | null;
  /** packets that were due and not sent */
  tx_unsent?: number | null;
  /** bits/s sent, layer 1, all ports */
  tx_bps_l1?: number | null;
  /** bits/s received, layer 1, all ports */
  rx_bps_l1?: number | null;
  /** one-way delay, smallest, ns */
  latency_min_ns?: number | null;
  /** one-way delay, mean of all packets, ns */
  latency_mean_ns?: number | null;
  /** one-way delay, median, ns; largest of the streams */
  latency_p50_ns?: number | null;
  /** one-way delay, 90%, ns; largest of the streams */
  latency_p90_ns?: number | null;
  /** one-way delay, 95%, ns; largest of the streams */
  latency_p95_ns?: number | null;
  /** one-way delay, 99%, ns; largest of the streams */
  latency_p99_ns?: number | null;
  /** one-way delay, 99.9%, ns; largest of the streams */
  latency_p99_9_ns?: number | null;
  /** one-way delay, 99.99%, ns; largest of the streams */
  latency_p99_99_ns?: number | null;
  /** one-way delay, largest, ns */
  latency_max_ns?: number | null;
  /** one-way delay, standard deviation, ns; largest of the streams */
  latency_stddev_ns?: number | null;
  /** smoothed jitter (RFC 3550), ns; largest of the streams */
  jitter_rfc3550_ns?: number | null;
  /** mean jitter (RFC 4689), ns; largest of the streams */
  jitter_mean_ns?: number | null;
  /** largest jitter (RFC 4689), ns; largest of the streams */
  jitter_max_ns?: number | null;
  /** time between arrivals, mean, ns; largest of the streams */
  interarrival_mean_ns?: number | null;
  /** time between arrivals, standard deviation, ns; largest of the streams */
  interarrival_stddev_ns?: number | null;
  /** longest time between arrivals, ns; largest of the streams */
  interarrival_max_ns?: number | null;
  /** error of the gaps between departures, 99%, ns; largest of the streams */
  gap_error_p99_ns?: number | null;
  /** share of packets that left back to back although a gap was scheduled; largest of the streams */
  back_to_back_ratio?: number | null;
  /** longest delay of a departure behind its schedule, ns */
  late_max_ns?: number | null;
  /** sessions attempted */
  sessions_attempted?: number | null;
  /** sessions established */
  sessions_established?: number | null;
  /** sessions completed */
  sessions_completed?: number | null;
  /** sessions failed, for any reason */
  sessions_failed?: number | null;
  /** most sessions open at once */
  sessions_active_max?: number | null;
  /** sessions opened per second */
  open_per_s?: number | null;
  /** transactions per second */
  transactions_per_s?: number | null;
  /** application bits/s received */
  goodput_bps?: number | null;
  /** connection set-up, median, ns */
  setup_p50_ns?: number | null;
  /** connection set-up, 95%, ns */
  setup_p95_ns?: number | null;
  /** connection set-up, 99%, ns */
  setup_p99_ns?: number | null;
  /** time to first byte, median, ns */
  ttfb_p50_ns?: number | null;
  /** time to first byte, 95%, ns */
  ttfb_p95_ns?: number | null;
  /** time to first byte, 99%, ns */
  ttfb_p99_ns?: number | null;
  /** time to last byte, median, ns */
  ttlb_p50_ns?: number | null;
  /** time to last byte, 95%, ns */
  ttlb_p95_ns?: number | null;
  /** time to last byte, 99%, ns */
  ttlb_p99_ns?: number | null;
  /** What was asked for, as the method says it to itself; null for a run without a method. */
  request: Record<string, unknown> | null;
  /** What the method was told of it: given to it again when the campaign is resumed. Null for a run without a method. */
  outcome: Record<string, unknown> | null;
  /** The result document, `eagre.result/1`. */
  result: ResultDocument;
  /** The interval documents, `eagre.interval/1`. */
  intervals: IntervalDocument[];
}

/** A part of an AS path. */
export interface AsPathPart {
  /** `set`, `sequence`, `confederation_sequence` or `confederation_set` (RFC 4271 section 4.3, RFC 5065 section 3). */
  kind: string;
  /** AS numbers, the nearest first. */
  numbers: number[];
}

/** How the frames of all trials are made. */
export interface Attributes {
  /** Pseudorandom addresses and ports, the same set in every trial (RFC 4814). */
  random_stimuli: boolean;
  /** Number of destination networks, uniformly random; 0 is one pair of addresses (RFC 2544 section 12: 1, then 256). */
  networks: number;
  /** Frames mixed in. */
  modifier?: Modifier | null;
}

/** An entry of the audit log. */
export interface AuditEntry {
  /** Time. */
  at: string;
  /** Name of the token, `local`, or `-` if the caller is unknown. */
  who: string;
  /** Role of the caller. */
  role: Role | null;
  /** Address of the caller. */
  from: string;
  /** The request. */
  what: string;
  /** HTTP status of the response. */
  status: number;
  /** Details: the run that was started, the reason of a refusal. */
  detail?: string | null;
}

/** Bursts at one frame length. */
export interface BackToBackRow {
  /** The frames. */
  frames: Frames;
  /** The throughput, frames/s of the first group; absent: none was found. */
  throughput_pps: number | null;
  /** Frames per second that fill the link. */
  line_rate_pps: number;
  /** Longest bursts without loss, frames: mean, standard deviation, smallest, largest over the searches. */
  burst_frames: Spread | null;
  /** Mean burst ÷ line rate, s. */
  implied_buffer_s: number | null;
  /** The implied buffer time less what left the buffer meanwhile, s. */
  corrected_buffer_s: number | null;
  /** The same in frames. */
  corrected_buffer_frames: number | null;
  /** Searches that ended at the longest burst. */
  at_maximum: number;
  /** Searches that the tester bounded. */
  tester_limited: number;
  /** Searches that can't be judged, because the tester was disturbed. */
  disturbed: number;
  /** Why there was nothing to search. */
  skipped: string | null;
  /** What bounds the throughput from above. Archives of older versions do not say. */
  throughput_limit?: Limit | null;
}

/** A BGP peer, and the speaker behind a port that talks to it. */
export interface BgpPeerState {
  /** Name of the port in the profile. */
  port: string;
  /** Name of the host behind the port that speaks. */
  host: string;
  /** Name of the peer in the profile; empty if it has none. */
  name: string;
  /** Address of the host. */
  local: string;
  /** Address of the peer. */
  remote: string;
  /** AS number of the host. */
  local_as: number;
  /** AS number of the peer; 0 while it is not known. */
  remote_as: number;
  /** `idle`, `connect`, `open_sent`, `open_confirm` or `established` (RFC 4271 section 8.2.2). */
  state: string;
  /** Time since the session was established, s; null if there is none. */
  established_for_s: number | null;
  /** Whether a command has taken the session down. */
  is_down: boolean;
  /** Why there is no session; null if there is one, or nothing has gone wrong so far. */
  reason: string | null;
  /** Sessions that ended while they should not have. */
  flaps: number;
  /** Sessions that a command has ended to let them restart. */
  restarts: number;
  /** What the peer said of graceful restart in its newest session (RFC 4724); null if nothing. */
  graceful_restart: GracefulRestartState | null;
  /** Whether a prefix can have several paths (RFC 7911): `send` to the peer, `receive` from it, `both`; null if not. */
  add_path: string | null;
  /** Routes advertised; those that were advertised again count again. */
  advertised: number;
  /** Routes withdrawn. */
  withdrawn: number;
  /** Routes received. */
  received: number;
  /** Withdrawals received. */
  received_withdrawn: number;
  /** End-of-RIB marks received for IPv4: all its routes have been sent (RFC 4724). */
  received_end_of_rib_ipv4: number;
  /** End-of-RIB marks received for IPv6. */
  received_end_of_rib_ipv6: number;
  /** OPEN messages sent. */
  opens_sent: number;
  /** OPEN messages received. */
  opens_received: number;
  /** UPDATE messages sent. */
  updates_sent: number;
  /** UPDATE messages received. */
  updates_received: number;
  /** KEEPALIVE messages sent. */
  keepalives_sent: number;
  /** KEEPALIVE messages received. */
  keepalives_received: number;
  /** NOTIFICATION messages sent. */
  notifications_sent: number;
  /** NOTIFICATION messages received. */
  notifications_received: number;
  /** Number of routes of the peer that are kept: advertised by it and not withdrawn, `keep` of the profile at most. */
  kept: number;
  /** Advertisements that found no room among them. */
  left_out: number;
  /** The routes that are kept, by prefix, if they were asked for. */
  routes?: BgpRouteState[];
}

/** BGP sessions of a port's hosts, from before traffic until their end. */
export interface BgpResult {
  /** Peers. */
  peers: number;
  /** Sessions that were established when traffic started. */
  established: number;
  /** Peers without a session then. */
  failed: number;
  /** Sessions that are established now; in a result, when traffic had ended. */
  established_at_end: number;
  /** Sessions that ended while they should not have. */
  flaps: number;
  /** Sessions that a command has ended to let them restart. */
  restarts: number;
  /** Peers that said that they know graceful restart (RFC 4724), in their newest session. */
  graceful_restart_peers: number;
  /** Sessions in which a prefix can have several paths, one way or both (RFC 7911); in a result, when traffic had ended. */
  add_path_sessions: number;
  /** Time from the first attempt to the first session of each peer. */
  setup_ns?: LatencyResult | null;
  /** Time from the first connection until all sessions were established and all routes acknowledged. Absent if that was not so before traffic. */
  announced_after_s?: number | null;
  /** Connections opened, and accepted. */
  connections: number;
  /** Routes advertised; those that were advertised again count again. */
  advertised: number;
  /** Routes withdrawn. */
  withdrawn: number;
  /** When the first routes were withdrawn while traffic ran, ns since it started. */
  first_withdrawal_ns?: number | null;
  /** When the first routes were advertised while traffic ran, ns since it started. */
  first_advertisement_ns?: number | null;
  /** IPv4 routes received. */
  received_ipv4: number;
  /** IPv6 routes received. */
  received_ipv6: number;
  /** Withdrawals received. */
  received_withdrawn: number;
  /** End-of-RIB marks received for IPv4: all its routes have been sent (RFC 4724). */
  received_end_of_rib_ipv4: number;
  /** End-of-RIB marks received for IPv6. */
  received_end_of_rib_ipv6: number;
  /** OPEN messages sent. */
  opens_sent: number;
  /** OPEN messages received. */
  opens_received: number;
  /** UPDATE messages sent. */
  updates_sent: number;
  /** UPDATE messages received. */
  updates_received: number;
  /** KEEPALIVE messages sent. */
  keepalives_sent: number;
  /** KEEPALIVE messages received. */
  keepalives_received: number;
  /** NOTIFICATION messages sent. */
  notifications_sent: number;
  /** NOTIFICATION messages received. */
  notifications_received: number;
  /** ROUTE-REFRESH messages received. */
  refreshes_received: number;
  /** Commands carried out: routes advertised or withdrawn, peers taken up or down or restarted. */
  commands: number;
}

/** A route that a peer advertises. */
export interface BgpRouteState {
  /** Address of the prefix. */
  address: string;
  /** Its length, bits. */
  prefix_len: number;
  /** Path identifier, where a prefix can have several paths (RFC 7911). */
  path_id: number | null;
  /** Next hop. */
  next_hop: string | null;
  /** `igp`, `egp` or `incomplete`. */
  origin: string | null;
  /** AS path. */
  as_path: AsPathPart[];
  /** Communities (RFC 1997), as numbers of 32 bits. */
  communities: number[];
  /** Multi-exit discriminator. */
  med: number | null;
  /** Local preference. */
  local_pref: number | null;
}

/** A campaign. */
export interface Campaign {
  /** Id, here and in the store. */
  id: string;
  /** Name. */
  name: string;
  /** Name of the method. */
  method: string;
  /** State. */
  state: State;
  /** Why it failed or was stopped. */
  reason: string | null;
  /** Who started it. */
  holder: string;
  /** Names of its ports, as they are leased. */
  ports: string[];
  /** Start time. */
  started: string;
  /** End time. */
  ended: string | null;
  /** Seed of everything random. */
  seed: number;
  /** Warnings. */
  warnings: string[];
  /** Completed share of the running part, from 0 to 1. */
  fraction: number;
  /** Completed trials. */
  trials_done: number;
  /** Estimated number of trials left. */
  trials_left: number;
  /** Estimated time left, s. */
  left_s: number;
  /** Running part. */
  part: string | null;
  /** Running trial. */
  label: string | null;
  /** Completed trials. */
  points: Point[];
  /** Findings, one sentence each. */
  found: string[];
  /** Whether the method found what it looks for and, where it judges, passed; once it has ended. */
  overall: OverallResult | null;
}

/** What a campaign found, `eagre.campaign/1`. */
export interface CampaignDocument {
  /** `eagre.campaign/1`. */
  schema: string;
  /** Version of the program. */
  version: string;
  /** Id in the store. */
  id: string;
  /** Name of the campaign. */
  name: string;
  /** Seed of everything random. */
  seed: number;
  /** SHA-256 of the profile's text. */
  profile_sha256: string;
  /** How it ended. */
  ended: CampaignEnd;
  /** Why it failed. */
  why?: string | null;
  /** Result of each method that was started. */
  results: MethodResult[];
  /** Parts that were left out, with the reason. */
  left_out: string[];
}

/** How a campaign ended. */
export type CampaignEnd = "done" | "failed" | "interrupted";

/** A campaign's name in the store: its first day and second, and six hexadecimal digits. */
export type CampaignId = string;

/** A capture on a port. */
export interface CaptureResult {
  /** Files of the capture, oldest first. */
  files: string[];
  /** Packets seen. */
  seen: number;
  /** Packets that passed the filter: `captured` + `dropped`. */
  matched: number;
  /** Packets captured. */
  captured: number;
  /** Packets dropped because memory or disk was full. */
  dropped: number;
  /** Captured packets overwritten by newer ones; they are in no file. */
  displaced: number;
  /** Why the capture ended early. */
  error?: string | null;
}

/** Outcome of a check: what the profile contains, or its errors. */
export interface Check {
  /** Whether the profile can run. */
  good: boolean;
  /** Number of streams. */
  streams: number;
  /** Number of entries under `sessions`. */
  sessions: number;
  /** Ports. */
  ports: CheckedPort[];
  /** Duration of traffic, s. */
  duration_s: number | null;
  /** Warnings. */
  warnings: string[];
  /** Errors. */
  errors: ProblemPlace[];
}

/** How much a check of the doctor matters. */
export type CheckStatus = "good" | "note" | "bad";

/** A port of a checked profile. */
export interface CheckedPort {
  /** Name in the profile. */
  name: string;
  /** Device. */
  device: string;
}

/** The clock that stamped the packets. */
export interface ClockResult {
  /** `tsc`, `monotonic` or `virtual`. */
  source: string;
  /** Ticks per second. */
  hz: number;
  /** Uncertainty of the rate at calibration, parts per million. */
  uncertainty_ppm?: number | null;
  /** Drift against the system clock during the trial, parts per million. */
  drift_ppm?: number | null;
  /** Duration of one reading, ns. */
  read_cost_ns?: number | null;
  /** Largest offset observed between two workers' clocks, ns. */
  core_skew_ns?: number | null;
}

/** Campaigns side by side; the first is what the others are compared with. */
export interface Comparison {
  /** The campaigns, in the order asked for. */
  campaigns: Summary[];
  /** A row for each frame length and goal that any of them has. */
  rows: ComparisonRow[];
  /** What to call them: their names, with what tells them apart where those are alike. */
  names: string[];
  /** Which is faster than the first, and how sure that is: a sentence for each of the others. */
  sentences: string[];
}

/** What a campaign found. */
export interface ComparisonCell {
  /** The value; `None` if the method found none. */
  value: number | null;
  /** How far it may be off either way. */
  noise: number | null;
  /** Where its interval begins; absent if it has none, or no such end. */
  lower: number | null;
  /** Where its interval ends. */
  upper: number | null;
  /** Why the value is not certain: trials that contradict it. */
  doubt: string | null;
  /** Compared with the first campaign; `None` for itself, and where one of the two is missing. */
  difference: Difference | null;
}

/** A frame length and a goal. */
export interface ComparisonRow {
  /** Frame length or mix. */
  frame: string;
  /** What was to be found out. */
  goal: string;
  /** Unit of the values. */
  unit: string;
  /** A cell for each campaign; `None` if it has no such finding. */
  cells: (ComparisonCell | null)[];
}

/** Convergence at one frame length. Times count from the withdrawal, s. */
export interface ConvergenceRow {
  /** The frames. */
  frames: Frames;
  /** Frames per second of the first direction. */
  rate_pps: number;
  /** Length of a trial. */
  duration_ns: number;
  /** Packets that did not take the other path ÷ rate, mean of all streams. */
  by_loss_s: Spread | null;
  /** First packet by the other path, mean of all streams. */
  by_first_packet_s: Spread | null;
  /** The stream that was first. */
  first_route_s: Spread | null;
  /** All streams. */
  full_s: Spread | null;
  /** Packets that arrived by neither path. */
  lost: Spread | null;
  /** Most that the two ways differed by, of one stream in one trial. */
  apart_max_s: number | null;
  /** What they may differ by: a gap between two packets of a stream, and 1 ms. */
  apart_allowed_s: number | null;
  /** Why they differed by more, a sentence for each trial in which they did. */
  apart_because?: string[];
  /** From the new advertisement until packets took the first path again, mean of all streams. */
  return_s: Spread | null;
  /** Packets that arrived by neither path then. */
  return_lost: Spread | null;
  /** Trials in which a stream did not take the other path in time. */
  not_converged: number;
  /** Trials in which a stream took the other path before its routes were withdrawn. */
  too_early: number;
  /** Trials in which a stream did not come back to the first path in time. */
  not_returned: number;
  /** Trials that the tester limited or disturbed. */
  tester_limited: number;
}

/** A worker's move to another core. */
export interface CoreMove {
  /** When, s since traffic started. */
  at_s: number;
  /** The core it left. */
  from: number;
  /** The core it went to. */
  to: number;
  /** Share of the time just before for which it waited for its core. */
  waited_ratio: number;
}

/** A criterion and whether it passed. */
export interface CriterionResult {
  /** Path of the value in this document. */
  path: string;
  /** The bound, as the profile writes it. */
  bound: string;
  /** The value; absent if not measured. */
  value?: number | null;
  /** Whether it passed. A value that was not measured fails. */
  passed: boolean;
  /** `met`, `not_met`, or `cannot_judge`: what disturbed the tester decides. */
  outcome: string;
  /** Why it cannot be judged, and what to do. */
  reason?: string | null;
}

/** What was wrong with damaged packets of a stream. */
export interface DamageResult {
  /** Packets by what was wrong. `single_bit`: one bit. `burst`: several bits within 32. `scattered`: bits further apart. `shifted`: a part of the payload at another place in it. `other_packet`: payload of another packet of the run. `truncated`: a part is missing. `signature`: several bits of the signature, so that no latency is known. */
  kinds: Record<string, number>;
  /** Wrong bits of packets with `single_bit`, `burst` or `scattered`. */
  bit_errors: number;
  /** Where in the payload these bits were. Places without any are absent. */
  places: DamagedPlace[];
}

/** A part of the payload. */
export interface DamagedPlace {
  /** Its first byte; 0 is the first behind the headers. */
  from_byte: number;
  /** Its last byte. The signature is at the payload's end. */
  to_byte: number;
  /** Wrong bits in it. */
  bit_errors: number;
}

/** A DHCP client behind a port. */
export interface DhcpClientState {
  /** Name of the port in the profile. */
  port: string;
  /** Number of the client, from 0. */
  client: number;
  /** MAC address: `02:00:00:00:00:01`. */
  mac: string;
  /** Leased address; null without a lease. The others are null then, too. */
  ip: string | null;
  /** Length of its network's prefix, bits. */
  prefix_len: number | null;
  /** Router that the server named. */
  router: string | null;
  /** Server the lease is of. */
  server: string | null;
  /** Duration of the lease, s. */
  lease_s: number | null;
  /** Seconds of the lease until the client asks its server for more time. */
  renew_s: number | null;
  /** Seconds of the lease until the client asks any server. */
  rebind_s: number | null;
  /** Time since the lease began or was prolonged, s. */
  leased_for_s: number | null;
  /** DISCOVER messages sent. */
  discovers: number;
  /** OFFER messages received. */
  offers: number;
  /** REQUEST messages sent. */
  requests: number;
  /** ACK messages received. */
  acks: number;
  /** NAK messages received. */
  naks: number;
  /** RELEASE messages sent. */
  releases: number;
}

/** DHCP clients of a port, from before traffic until their release. */
export interface DhcpResult {
  /** Clients. */
  clients: number;
  /** Clients that had an address when traffic started. */
  bound: number;
  /** Clients that had none. */
  failed: number;
  /** Clients that have an address now; in a result, when traffic had ended. */
  holding: number;
  /** Clients that began per second, from the first to the last. */
  begun_per_s?: number | null;
  /** Leases per second, from the first DISCOVER to the last first lease. */
  bound_per_s?: number | null;
  /** Time from a client's first DISCOVER to its lease. */
  bind_ns?: LatencyResult | null;
  /** DISCOVER messages sent. */
  discovers: number;
  /** OFFER messages received by clients that waited for one. */
  offers: number;
  /** REQUEST messages sent. */
  requests: number;
  /** ACK messages received that began or prolonged a lease. */
  acks: number;
  /** NAK messages received by clients that had asked. */
  naks: number;
  /** DECLINE messages sent. */
  declines: number;
  /** RELEASE messages sent. */
  releases: number;
  /** OFFER and ACK messages with an address that no client can have: 0.0.0.0/8, 127.0.0.0/8, 224.0.0.0/3, the first or last of its network, that of the server or router. */
  refused: number;
  /** Messages sent again because no answer came. */
  repeated: number;
  /** Leases prolonged by their server. */
  renewed: number;
  /** Leases prolonged after their server kept silent. */
  rebound: number;
  /** Leases that ended because nobody prolonged them, or by a NAK. */
  lost: number;
  /** Leases of an address that another client here had. They are declined if clients check. */
  conflicts: number;
  /** Leases of an address that a neighbour had, and that were declined. */
  duplicates: number;
  /** Commands carried out: addresses renewed or released. */
  commands: number;
}

/** A DHCPv6 client behind a port. */
export interface Dhcpv6ClientState {
  /** Name of the port in the profile. */
  port: string;
  /** Number of the client, from 0. */
  client: number;
  /** MAC address: `02:00:00:00:00:01`. */
  mac: string;
  /** Link-local address. */
  link_local: string;
  /** Leased address; null without a lease, or if none was asked for. The others are null without a lease, too. */
  ip: string | null;
  /** Delegated prefix; null if none was asked for. */
  prefix: string | null;
  /** Its length, bits. */
  prefix_len: number | null;
  /** DUID of the server the lease is of, in hexadecimal digits. */
  server: string | null;
  /** Duration of the lease, s. */
  valid_s: number | null;
  /** Seconds of the lease until the client asks its server for more time. */
  renew_s: number | null;
  /** Seconds of the lease until the client asks any server. */
  rebind_s: number | null;
  /** SOLICIT messages sent. */
  solicits: number;
  /** ADVERTISE messages received. */
  advertises: number;
  /** ADVERTISE messages that did not have what was asked for. */
  passed_over: number;
  /** REQUEST messages sent. */
  requests: number;
  /** RENEW messages sent. */
  renews: number;
  /** REBIND messages sent. */
  rebinds: number;
  /** REPLY messages received. */
  replies: number;
  /** REPLY messages that did not have what was asked for. */
  refused: number;
  /** RELEASE messages sent. */
  releases: number;
}

/** DHCPv6 clients of a port, from before traffic until their release. */
export interface Dhcpv6Result {
  /** Clients. */
  clients: number;
  /** Clients that had what they asked for when traffic started. */
  bound: number;
  /** Clients that had not. */
  failed: number;
  /** Clients that have what they asked for now; in a result, when traffic had ended. */
  holding: number;
  /** Clients that began per second, from the first to the last. */
  begun_per_s?: number | null;
  /** Leases per second, from the first SOLICIT to the last first lease. */
  bound_per_s?: number | null;
  /** Time from a client's first SOLICIT to its lease. */
  bind_ns?: LatencyResult | null;
  /** Router that advertised itself, by its link-local address. */
  router?: string | null;
  /** SOLICIT messages sent. */
  solicits: number;
  /** ADVERTISE messages received by clients that looked for a server. */
  advertises: number;
  /** REQUEST messages sent. */
  requests: number;
  /** RENEW messages sent. */
  renews: number;
  /** REBIND messages sent. */
  rebinds: number;
  /** RELEASE messages sent. */
  releases: number;
  /** DECLINE messages sent. */
  declines: number;
  /** REPLY messages received by clients that had asked. */
  replies: number;
  /** ADVERTISE and REPLY messages that did not have what was asked for. */
  refused: number;
  /** Messages sent again because no answer came. */
  repeated: number;
  /** Leases prolonged by their server. */
  renewed: number;
  /** Leases prolonged after their server kept silent. */
  rebound: number;
  /** Leases that ended because nobody prolonged them, or by their server. */
  lost: number;
  /** Leases of an address or a prefix that another client here had, and that were declined. */
  conflicts: number;
  /** Leases of an address that a neighbour had, and that were declined. */
  duplicates: number;
  /** Commands carried out: leases renewed or released. */
  commands: number;
}

/** How far a value is from that of the first campaign. */
export interface Difference {
  /** (value − first) / first; `None` if the first is zero and this is not. */
  ratio: number | null;
  /** Whether it is more than noise, because the intervals do not overlap; `None` if one has no interval. */
  beyond_noise: boolean | null;
  /** How far the intervals are apart, as a share of the first's nearer end; absent where they overlap. */
  at_least: number | null;
}

/** A check of the doctor. */
export interface DoctorCheck {
  /** Name of the check. */
  check: string;
  /** How much it matters. */
  status: CheckStatus;
  /** What was found on this machine. */
  found: string;
  /** Effect on measurements. */
  why: string;
  /** How to fix it: a command where there is one. */
  remedy: string | null;
}

/** Effective durations of the trials at a load, s: full-length or short, low-loss or high-loss. */
export interface Durations {
  /** Full-length, low-loss. */
  full_low: number;
  /** Full-length, high-loss. */
  full_high: number;
  /** Short, low-loss. */
  short_low: number;
  /** Short, high-loss. */
  short_high: number;
}

/** Arrivals of a stream that had one value. */
export interface EgressResult {
  /** Packets received, duplicates included. */
  rx: number;
  /** Their bytes, with FCS. */
  rx_bytes: number;
  /** Arrival of the first of them, ns since traffic started. */
  first_arrival_ns?: number | null;
  /** Arrival of the last of them, ns since traffic started. */
  last_arrival_ns?: number | null;
  /** One-way delay. */
  latency_ns?: LatencyResult | null;
}

/** Why a method stopped. */
export interface Fault {
  /** What kind of fault. */
  kind: FaultKind;
  /** What is wrong, in a sentence. */
  sentence: string;
}

/** Kinds of faults. */
export type FaultKind = "nothing_sent" | "silent" | "wrong_port" | "loop" | "interrupted" | "unanswered";

/** What a method found for one frame length and one goal. */
export interface Finding {
  /** Frame length or mix: `64B`, `imix`; of sessions, the application. */
  frame: string;
  /** Frame length with FCS, bytes; absent for a mix. */
  frame_bytes: number | null;
  /** `throughput`, `ndr`, `pdr 0.5%`, `latency_p99`, `back_to_back`, `connections_per_s` … */
  goal: string;
  /** `pps`, `bps`, `ns`, `s`, `frames`, `sessions`, `ratio`, `/s`, or empty. */
  unit: string;
  /** The answer. If absent, `note` gives the reason. */
  value: number | null;
  /** Largest value known to be reached, in `unit`. */
  lower: number | null;
  /** Smallest value known not to be reached, in `unit`. */
  upper: number | null;
  /** What trials that can't be judged suggest, in `unit`: the highest load at which the tester may have lost all that was lost. */
  indicative: number | null;
  /** How far apart `lower` and `upper` are at most where trials agree, in `unit`: where the search ends. */
  resolution: number | null;
  /** Why the value is not certain: trials that contradict it, with figures, and whether the tester was disturbed. */
  doubt: string | null;
  /** Standard deviation of repeats, in `unit`. */
  spread: number | null;
  /** Theoretical maximum, in `unit`. */
  line: number | null;
  /** A reason or a warning. */
  note: string | null;
  /** The row or goal it is from, in full. */
  document: Record<string, unknown> | null;
}

/** Findings by method: a row for each frame length, mix, application or goal. */
export type Findings = {  type: "mlr"; rows: MlrRow[]; } | {  type: "throughput"; rows: ThroughputRow[]; } | {  type: "latency"; rows: LatencyRow[]; } | {  type: "frame_loss"; rows: LossRow[]; } | {  type: "back_to_back"; rows: BackToBackRow[]; } | {  type: "recovery"; rows: RecoveryRow[]; } | {  type: "reset"; rows: ResetRow[]; } | {  type: "convergence"; rows: ConvergenceRow[]; } | {  type: "mrr"; rows: MrrRow[]; } | {  type: "sweep"; rows: SweepRow[]; } | {  type: "soak"; rows: SoakRow[]; } | {  type: "addresses"; rows: AddressRow[]; } | {  type: "multicast"; rows: MulticastRow[]; } | {  type: "leases"; rows: LeaseRow[]; } | {  type: "routes"; rows: RouteRow[]; } | {  type: "service_activation"; rows: ServiceRow[]; } | {  type: "self_test"; rows: SelfTestRow[]; } | {  type: "sessions"; rows: SessionRow[]; } | {  type: "mix"; rows: MixRow[]; } | {  type: "session_latency"; rows: SessionLatencyRow[]; } | {  type: "tcp"; rows: TcpRow[]; };

/** A load, in the units that reports use. */
export interface FoundRate {
  /** Each group's. */
  groups: OfferedLoad[];
  /** Share of the line rate, the same for all groups, 0 to 1. */
  share: number;
  /** Frames per second, all groups. */
  total_pps: number;
  /** Bits/s with preamble and gap, all groups. */
  total_bps_l1: number;
  /** Bits/s of frames with FCS, all groups. */
  total_bps_l2: number;
}

/** A frame length, a mix of lengths with weights, or the name of a mix. */
export type Frames = string;

/** A goal of the search: a rate at which few enough trials lose too much. */
export interface Goal {
  /** A trial that loses more than this is a high-loss trial; 0 up to, not including, 1. */
  loss_ratio: number;
  /** A load may have this share of high-loss trials, by duration, and still be a lower bound; 0 up to, not including, 1. */
  exceed_ratio: number;
  /** Upper and lower bound end at most this far apart, relative to the upper bound. */
  width: number;
  /** Length of the first trials. */
  initial_trial: string;
  /** Length of a full-length trial. */
  final_trial: string;
  /** Sum of full-length trials that decides about a load. */
  duration_sum: string;
  /** Number of looser targets on the way. */
  preceding: number;
  /** Factor by which the step beyond a bound grows each time. */
  expansion: number;
}

/** What was found for one goal. */
export interface GoalResult {
  /** `NDR`, `PDR 0.5%`. */
  name: string;
  /** The goal. */
  goal: Goal;
  /** Both relevant bounds were found, and they are no further apart than the goal's width. */
  regular: boolean;
  /** The relevant lower bound. */
  lower: MlrBound | null;
  /** The relevant upper bound. */
  upper: MlrBound | null;
  /** The forwarding rate at the relevant lower bound, without the trials that may be exceeded. */
  conditional_throughput: FoundRate | null;
  /** The load at which trials can't be judged, where the search ended; absent: none. */
  unjudged?: UnjudgedLoad | null;
  /** What bounds it from above. */
  limit: Limit;
}

/** What a BGP peer said of graceful restart (RFC 4724). */
export interface GracefulRestartState {
  /** Whether the peer said that it has restarted. */
  restarted: boolean;
  /** How long it takes the peer at most to be back, s. */
  time_s: number;
  /** Whether it keeps routes also when a session ends by a NOTIFICATION (RFC 8538). */
  notification: boolean;
  /** Families whose routes are to be kept while it restarts: `ipv4`, `ipv6`. */
  families: string[];
  /** Those of them whose packets it forwards all the while. */
  forwarding: string[];
}

/** One direction, or one group of streams that share a load. */
export interface Group {
  /** Name in results. */
  name: string;
  /** Speed of its link, bits/s at layer 1. */
  line_bps: number;
}

/** Latency of one group, ns: medians over the trials (RFC 8219 section 7.2), extremes over all. */
export interface GroupLatency {
  /** The group. */
  group: string;
  /** Smallest. */
  min_ns: number;
  /** Mean of the means. */
  mean_ns: number;
  /** Typical latency: the median of the trials' medians. */
  p50_ns: number;
  /** Median of the trials' 99th percentiles. */
  p99_ns: number;
  /** Worst case: the median of the trials' 99.9th percentiles. */
  p99_9_ns: number;
  /** Largest. */
  max_ns: number;
  /** Median of the trials' delay variations, 99.9th percentile less minimum. */
  pdv_ns: number;
  /** Median of the trials' mean differences between delays of consecutive packets; absent: not measured. */
  ipdv_ns?: number | null;
}

/** The outcome for one group. */
export interface GroupOutcome {
  /** The group's name. */
  group: string;
  /** Requested rate, frames/s. */
  requested_pps: number;
  /** Rate sent, frames/s. */
  achieved_pps: number;
  /** Frames sent. */
  sent: number;
  /** Frames received at the right port, each counted once. */
  received: number;
  /** Frames lost. */
  lost: number;
  /** Frames that the DUT lost at least, if the tester may have lost the others; absent: nothing is known of that. */
  lost_least?: number | null;
  /** Frames received again. */
  duplicates: number;
  /** Frames received out of order (RFC 4737). */
  reordered: number;
  /** Frames received at a wrong port. */
  wrong_port: number;
  /** Frames that the DUT flooded to the monitor port because it did not know their address (RFC 2889). */
  flooded: number;
  /** Latency, ns. */
  latency_ns?: LatencySummary | null;
  /** Jitter, ns. */
  jitter_ns?: JitterSummary | null;
}

/** A multicast group that the host of a port is a member of. */
export interface GroupState {
  /** Name of the port in the profile. */
  port: string;
  /** Address of the group. */
  group: string;
  /** Whether it wants packets of all sources but `sources`; otherwise only of those. */
  exclude: boolean;
  /** Sources. */
  sources: string[];
  /** Time since it was joined, s. */
  joined_for_s: number;
}

/** How far a figure can be trusted. It holds, has bounds, holds for undisturbed packets, is at most what was measured, or cannot be judged: then there is none of these. */
export interface HoldsResult {
  /** Whether the figure describes the device and the network as it stands. */
  holds: boolean;
  /** The true value is at least this. */
  lower?: number | null;
  /** The true value is at most this. */
  upper?: number | null;
  /** Share of packets that no pause of the tester touched. For these the figures under `undisturbed` hold. */
  undisturbed_ratio?: number | null;
  /** Of times of sessions: the true values are at most those that were measured, since disturbances only add to them. */
  at_most?: boolean;
  /** Why it does not hold as it stands. */
  reason?: string | null;
  /** How to get a figure that holds. */
  remedy?: string | null;
}

/** HTTP/2 of one side. */
export interface Http2Result {
  /** Connections that spoke HTTP/2. */
  connections: number;
  /** Streams opened: requests, those asked again included. */
  streams: number;
  /** Streams that the other end reset (RST_STREAM). */
  resets: number;
  /** Streams that servers reset because of what clients sent. */
  resets_sent: number;
  /** GOAWAY frames received. */
  goaways: number;
  /** Requests that servers said they had not processed (GOAWAY, REFUSED_STREAM). They are asked again, and count once in `requests`. */
  unprocessed: number;
  /** Smallest number of concurrent streams that a server announced. */
  peer_streams?: number | null;
}

/** HTTP/3 of one side. */
export interface Http3Result {
  /** Streams of requests, those asked again included. */
  streams: number;
  /** Streams that the other end reset, or wanted no more of (RESET_STREAM, STOP_SENDING). */
  resets: number;
  /** Streams that servers reset because of what clients sent. */
  resets_sent: number;
  /** GOAWAY frames received. */
  goaways: number;
  /** Requests that servers said they had not processed (GOAWAY, H3_REQUEST_REJECTED). They are asked again, and count once in `requests`. */
  unprocessed: number;
}

/** Where a finding lies. */
export interface Interval {
  /** Frames, or the application of sessions. */
  frame: string;
  /** The finding's goal. */
  goal: string;
  /** Unit of the values. */
  unit: string;
  /** The finding's value. */
  value: number | null;
  /** Largest value known to be reached: no trial contradicts it. */
  lower: number | null;
  /** Smallest value known not to be reached: no trial contradicts it. */
  upper: number | null;
  /** How far apart the bounds are at most where trials agree. */
  resolution: number | null;
  /** Why the value is not certain: trials that contradict it, with figures, and whether the tester was disturbed. */
  doubt?: string | null;
}

/** Counts since the previous interval: one line of a `--jsonl` file. */
export interface IntervalDocument {
  /** `eagre.interval/1`. */
  schema: string;
  /** End of the interval, s since traffic started. */
  at_s: number;
  /** Its length, s. */
  interval_s: number;
  /** Whether sending is over and the tester waits for late packets. */
  draining: boolean;
  /** What disturbed the tester in this interval: a worker that stood still, packets that left back to back. */
  disturbances?: string[];
  /** Ports by name. */
  ports: Record<string, PortResult>;
  /** Streams by name. `lost` is absent: packets in flight at the end of an interval are not lost. */
  streams: Record<string, StreamResult>;
  /** Streams added up, instead of `streams`: the store keeps no rows of each for runs with many. */
  all_streams?: StreamResult | null;
  /** Sums of streams by group and row, as defined under `groups` of the profile. */
  groups?: Record<string, Record<string, StreamResult>>;
  /** Sessions by name of the entry under `sessions` of the profile. */
  sessions?: Record<string, SessionResult>;
}

/** Things counted by level. */
export interface IsisLevelCounts {
  /** Of level 1. */
  level_1: number;
  /** Of level 2. */
  level_2: number;
}

/** An LSP that a neighbour sent (ISO/IEC 10589 section 9.8). */
export interface IsisLspState {
  /** Level. */
  level: number;
  /** Identifier: the system, its pseudonode, the fragment. */
  id: string;
  /** Sequence number. */
  sequence: number;
  /** Time until it is not valid any more, s. */
  lifetime_s: number;
  /** Its flags: levels (1 and 2), overload (4), attached (8 by the default metric), partition repair (128). */
  flags: number;
  /** Its TLVs, in hexadecimal digits. */
  body: string;
}

/** A neighbour of an IS-IS router. */
export interface IsisNeighbourState {
  /** Its system identifier. */
  system_id: string;
  /** Its address; null if it says none. */
  ip: string | null;
  /** Levels that it and the router have in common: `1`, `2` or `1-2`. */
  level: string;
  /** How far the router is with it: `down`, `initializing` or `up`. */
  state: string;
  /** Its priority on a LAN. */
  priority: number;
  /** Time until it is lost unless it is heard, s. */
  hold_s: number;
}

/** IS-IS routers of a port, from before traffic until their end. */
export interface IsisResult {
  /** Routers. */
  routers: number;
  /** Routers that had an adjacency at each of their levels when traffic started. */
  up: number;
  /** Routers that had not. */
  failed: number;
  /** Routers that have one at each of their levels now; in a result, when traffic had ended. */
  up_at_end: number;
  /** Times that routers lost an adjacency while they should not have. */
  flaps: number;
  /** Time from each router's first hello until it first had an adjacency at each of its levels. */
  up_ns?: LatencyResult | null;
  /** Time from the first hello until all adjacencies were up on both sides and the device had all LSPs. Absent if that was not so before traffic. */
  announced_after_s?: number | null;
  /** Routes advertised; those that were advertised again count again, those at two levels once. */
  advertised: number;
  /** Routes withdrawn. */
  withdrawn: number;
  /** When the first routes were withdrawn while traffic ran, ns since it started. */
  first_withdrawal_ns?: number | null;
  /** When the first routes were advertised while traffic ran, ns since it started. */
  first_advertisement_ns?: number | null;
  /** LSPs sent, by level; those that were sent again count again. */
  lsps_sent: IsisLevelCounts;
  /** LSPs received, by level; those that were received again count again. */
  lsps_received: IsisLevelCounts;
  /** LSPs of the device that the routers hold now, by level. */
  database: IsisLevelCounts;
  /** LSPs of the device for which the routers' databases had no room: they hold 1,000,000 of a level in all. */
  left_out: number;
  /** LSPs received that were being purged. */
  received_purged: number;
  /** LSPs sent again because the device did not have them in time. */
  retransmitted: number;
  /** LSPs originated again because they became old: every 15 minutes. */
  refreshed: number;
  /** Own LSPs that came back newer than they are, as those of a run before: they were originated again, or purged. */
  outdated: number;
  /** Hellos sent. */
  hellos_sent: number;
  /** Hellos received and accepted. */
  hellos_received: number;
  /** Complete sequence numbers PDUs sent. */
  csnps_sent: number;
  /** Complete sequence numbers PDUs received. */
  csnps_received: number;
  /** Partial sequence numbers PDUs sent. */
  psnps_sent: number;
  /** Partial sequence numbers PDUs received. */
  psnps_received: number;
  /** PDUs refused because their sender is no neighbour: another area or level, another kind of link, or other authentication. */
  mismatched: number;
  /** PDUs that could not be read, and LSPs with a wrong checksum. */
  malformed: number;
  /** Commands carried out: routes advertised or withdrawn, routers taken up or down. */
  commands: number;
}

/** An IS-IS router behind a port, and its neighbour. */
export interface IsisRouterState {
  /** Name of the port in the profile. */
  port: string;
  /** Name of the host that is the router. */
  host: string;
  /** Name of the router in the profile; empty if it has none. */
  name: string;
  /** Its system identifier. */
  system_id: string;
  /** Its area. */
  area: string;
  /** Its levels: `1`, `2` or `1-2`. */
  level: string;
  /** Address of the host. */
  local: string;
  /** What its link is: `broadcast` or `point_to_point`. */
  network: string;
  /** How far it is with its neighbour: `down`, `initializing` or `up`. Of several neighbours, the designated system's. */
  state: string;
  /** System identifier of the neighbour; null if none was heard. */
  neighbour_id: string | null;
  /** Address of the neighbour; null if none was heard, or it says none. */
  neighbour: string | null;
  /** The designated system's circuit; null if there is none. */
  designated: string | null;
  /** All neighbours that were heard; one of both levels on a LAN is there twice. */
  neighbours: IsisNeighbourState[];
  /** Adjacencies by level. */
  adjacencies: IsisLevelCounts;
  /** Time after which the device loses the router if it does not hear it, s. */
  hold_s: number;
  /** Time since the adjacency came up, s; null if the router lacks one. */
  up_for_s: number | null;
  /** Whether there is an adjacency at each level, and the neighbour's LSPs name the router. */
  is_mutual: boolean;
  /** Whether a command has taken the router down. */
  is_down: boolean;
  /** Why an adjacency is missing; null if none is, or the router is down. */
  reason: string | null;
  /** Times that it lost an adjacency while it should not have. */
  flaps: number;
  /** The same by level. */
  flaps_by_level: IsisLevelCounts;
  /** Hellos sent, by level; those of a point-to-point link count at each of the router's levels. */
  hellos_sent: IsisLevelCounts;
  /** Hellos received, by level; those of a point-to-point link count at each level in common. */
  hellos_received: IsisLevelCounts;
  /** Complete sequence numbers PDUs sent, by level. */
  csnps_sent: IsisLevelCounts;
  /** Complete sequence numbers PDUs received, by level. */
  csnps_received: IsisLevelCounts;
  /** Partial sequence numbers PDUs sent, by level. */
  psnps_sent: IsisLevelCounts;
  /** Partial sequence numbers PDUs received, by level. */
  psnps_received: IsisLevelCounts;
  /** Routes advertised; those that were advertised again count again. */
  advertised: number;
  /** Routes withdrawn. */
  withdrawn: number;
  /** LSPs that are there of it and of routers generated behind it. */
  originated: number;
  /** LSPs sent, by level; those that were sent again count again. */
  lsps_sent: IsisLevelCounts;
  /** LSPs received, by level; those that were received again count again. */
  lsps_received: IsisLevelCounts;
  /** LSPs sent again because the device did not have them in time. */
  retransmitted: number;
  /** LSPs of neighbours that it holds, by level. */
  database: IsisLevelCounts;
  /** Number of them that are kept to be shown, `keep` of the profile at most at each level. */
  kept: number;
  /** LSPs for which its databases had no room. */
  left_out: number;
  /** Those that are kept, by level and identifier, if they were asked for. */
  lsps?: IsisLspState[];
}

/** Variation of the delay from packet to packet, ns. */
export interface JitterResult {
  /** Smoothed estimate (RFC 3550 section 6.4.1). */
  rfc3550?: number | null;
  /** Mean of |D(i) − D(i−1)| (RFC 4689 section 3.2.5). */
  rfc4689_mean: number;
  /** Maximum of |D(i) − D(i−1)|. */
  rfc4689_max: number;
}

/** Jitter, ns. */
export interface JitterSummary {
  /** The running estimate of RFC 3550 section 6.4.1. */
  rfc3550: number;
  /** Mean of |D(i) − D(i−1)| over consecutive received frames (RFC 4689 section 3.2.5). */
  rfc4689_mean: number;
  /** The largest of them. */
  rfc4689_max: number;
}

/** Test packets that a program in the kernel recorded, and dropped: no frame of theirs reached the tester. */
export interface KernelRxResult {
  /** Packets that were recorded. All others came as frames. */
  packets: number;
  /** Largest error of their arrival times on the tester's clock. Absent if none came. */
  clock_error_max_ns?: number | null;
  /** Why test packets came as frames. Absent if they need not. */
  off?: string | null;
}

/** One end of a link. */
export interface LacpEndResult {
  /** Identifier of the system, a MAC address. */
  system: string;
  /** Priority of the system. */
  system_priority: number;
  /** Key of the lag. */
  key: number;
  /** Number of the port. */
  port: number;
  /** Priority of the port. */
  port_priority: number;
  /** Its state: `activity`, `timeout`, `aggregation`, `synchronization`, `collecting`, `distributing`, `defaulted`, `expired`. */
  state: string[];
}

/** A port of a lag. */
export interface LacpPortState {
  /** Name of the port in the profile. */
  port: string;
  /** Whether a command has disabled LACP on it. */
  is_down: boolean;
  /** How it stands now. */
  lacp: LacpResult;
}

/** A port in its lag, as it stood when traffic had ended, or stands (IEEE 802.1AX clause 6.4). */
export interface LacpResult {
  /** Its lag. */
  lag: string;
  /** How far it is on its way to carry traffic: `detached`, `waiting`, `attached`, `collecting` or `distributing`. */
  state: string;
  /** What is known of the partner: `current`, `expired`, `defaulted` or `port_disabled`. */
  receive: string;
  /** Why it does not distribute. Absent if it does. */
  reason?: string | null;
  /** How long it took to distribute for the first time, s. Absent if it never did. */
  distributing_after_s?: number | null;
  /** How often it stopped distributing before it left at the end. */
  flaps: number;
  /** LACPDUs sent, until it had left. */
  tx_lacpdus: number;
  /** LACPDUs received. */
  rx_lacpdus: number;
  /** PDUs received that are malformed. */
  rx_errors: number;
  /** PDUs received of other slow protocols. */
  rx_unknown: number;
  /** Markers received. */
  rx_markers: number;
  /** Answers to markers sent. */
  tx_marker_responses: number;
  /** Commands that disabled or enabled LACP. */
  commands: number;
  /** This end of the link. */
  actor: LacpEndResult;
  /** The other end, as it described itself last. Absent if nothing is known. */
  partner?: LacpEndResult | null;
}

/** A distribution of times, ns. Percentiles are absent without a histogram. */
export interface LatencyResult {
  /** Minimum. */
  min: number;
  /** Mean. */
  mean: number;
  /** Standard deviation. */
  stddev: number;
  /** Median. */
  p50?: number | null;
  /** 90th percentile. */
  p90?: number | null;
  /** 95th percentile. */
  p95?: number | null;
  /** 99th percentile. */
  p99?: number | null;
  /** 99.9th percentile. */
  p99_9?: number | null;
  /** 99.99th percentile. */
  p99_99?: number | null;
  /** Maximum. */
  max: number;
  /** Number of samples. */
  samples: number;
}

/** Latency at one frame length and load. */
export interface LatencyRow {
  /** The frames. */
  frames: Frames;
  /** Share of the rate found. */
  share_of_rate: number;
  /** The load. */
  load: FoundRate;
  /** Trials that counted. */
  trials: number;
  /** Trials in which the tester was the limit. */
  limited: number;
  /** Length of a trial. */
  duration_ns: number;
  /** The trials' mean latencies, ns: the RFC's figure is their mean. */
  mean_ns: Spread | null;
  /** One for each group. */
  groups: GroupLatency[];
  /** Frames lost ÷ sent in these trials. */
  loss_ratio: number;
}

/** A distribution of latencies, ns. The tester defines the two instants (RFC 1242 section 3.8). */
export interface LatencySummary {
  /** Frames measured. */
  samples: number;
  /** Smallest. */
  min: number;
  /** Arithmetic mean. */
  mean: number;
  /** Standard deviation. */
  stddev: number;
  /** Median. */
  p50: number;
  /** 90th percentile. */
  p90: number;
  /** 95th percentile; absent: an older version measured it, which had none. */
  p95?: number | null;
  /** 99th percentile. */
  p99: number;
  /** 99.9th percentile: the worst case of RFC 8219. */
  p99_9: number;
  /** 99.99th percentile. */
  p99_99: number;
  /** Largest. */
  max: number;
  /** Buckets that are not empty: highest value, ns, and count. Optional. */
  histogram?: number[][];
}

/** A lease of ports. When it ends, the runs and campaigns that use it are stopped. */
export interface Lease {
  /** Secret id: who knows it may start traffic on the ports. Shown to the holder and to admins only. */
  id?: string | null;
  /** Names of the ports. */
  ports: string[];
  /** Holder. */
  holder: string;
  /** When it was taken. */
  begun: string;
  /** When it expires, unless it is renewed. */
  expires: string;
  /** Duration from each renewal on, s. */
  ttl_s: number;
  /** Time until it expires, s. */
  seconds_left: number;
}

/** What became of DHCP or DHCPv6 clients. */
export interface LeaseOutcome {
  /** Clients that were to begin. */
  clients: number;
  /** Clients that had what they asked for in the end. */
  bound: number;
  /** Messages sent again because no answer came. */
  repeated: number;
  /** Leases of what another client had. */
  conflicts: number;
  /** Clients that began per second. */
  begun_per_s: number | null;
  /** Leases per second, from the first message to the last first lease. */
  bound_per_s: number | null;
  /** Time from a client's first message to its lease, ns. */
  bind?: LatencySummary | null;
}

/** A rate that was tried. */
export interface LeasePoint {
  /** Clients per second that were to begin. */
  rate: number;
  /** What came of it. */
  outcome: LeaseOutcome;
  /** Why it did not pass; empty if it did. */
  violations: string[];
}

/** What was found. */
export interface LeaseRow {
  /** The time each client has to get its lease, s. */
  within_s: number;
  /** One client by itself; absent: not known. */
  alone?: LeaseOutcome | null;
  /** The highest rate that passed; absent: none. */
  best: LeasePoint | null;
  /** The lowest at which the server failed; absent: none. */
  failed: LeasePoint | null;
  /** How far apart bounds may be, as a share. */
  resolution: number;
  /** What bounds the rate from above. */
  limit: Limit;
}

/** What bounds a figure from above. */
export type Limit = "dut" | "maximum" | "tester" | "disturbed" | "impossible" | "open";

/** Live figures of a run in columns, ten times a second at most. Null: not measured. */
export interface Live {
  /** Time since traffic started, s. */
  at_s: number;
  /** Length of the interval, s. */
  interval_s: number;
  /** Whether sending is over and the run waits for late packets. */
  draining: boolean;
  /** Ports. */
  ports: LivePorts;
  /** Streams. */
  streams: LiveStreams;
  /** Entries under `sessions`. */
  sessions: LiveSessions;
  /** Latency of all streams in the interval. */
  latency: LiveLatency | null;
  /** Workers. */
  workers: WorkerLoad[];
  /** What disturbed the tester in the interval. */
  disturbances?: string[];
  /** In events of a campaign: names of the running trial's columns. Those of a run are in the run. */
  names?: Names | null;
}

/** Latency percentiles, ns. */
export interface LiveLatency {
  /** Median. */
  p50_ns: number | null;
  /** 90th percentile. */
  p90_ns: number | null;
  /** 95th percentile. */
  p95_ns: number | null;
  /** 99th percentile. */
  p99_ns: number | null;
  /** 99.9th percentile. */
  p99_9_ns: number | null;
  /** Maximum. */
  max_ns: number;
}

/** Ports in columns. */
export interface LivePorts {
  /** Packets sent per second. */
  tx_pps: number[];
  /** Packets received per second. */
  rx_pps: number[];
  /** Bits sent per second, layer 1. */
  tx_bps_l1: number[];
  /** Bits received per second, layer 1. */
  rx_bps_l1: number[];
  /** Packets sent since the start. */
  tx_packets: number[];
  /** Packets received since the start. */
  rx_packets: number[];
}

/** Sessions in columns. */
export interface LiveSessions {
  /** Open sessions. */
  active: number[];
  /** Sessions established per second. */
  open_per_s: number[];
  /** Responses per second. */
  transactions_per_s: number[];
  /** Application bits received per second. */
  rx_bps_goodput: number[];
  /** Sessions failed since the start. */
  failed: number[];
  /** Sessions established since the start. */
  established: number[];
}

/** Streams in columns. */
export interface LiveStreams {
  /** Packets sent per second. */
  tx_pps: number[];
  /** Test packets received per second. */
  rx_pps: number[];
  /** Packets sent since the start. */
  tx: number[];
  /** Test packets received since the start. */
  rx: (number | null)[];
  /** Packets sent and not received since the start: lost, or still on the way. */
  lost: (number | null)[];
  /** Median latency in the interval, ns. */
  latency_p50_ns: (number | null)[];
  /** 99th percentile of latency in the interval, ns. */
  latency_p99_ns: (number | null)[];
  /** Maximum latency in the interval, ns. */
  latency_max_ns: (number | null)[];
}

/** A neighbour, in the words of its last LLDPDU. */
export interface LldpNeighbourResult {
  /** MAC address it sent from. */
  mac: string;
  /** Chassis identifier; in hexadecimal if it is no text. */
  chassis_id: string;
  /** What kind of identifier it is: `mac`, `network_address`, `interface`, `local` … */
  chassis_id_type: string;
  /** Port identifier, likewise. */
  port_id: string;
  /** What kind of identifier it is. */
  port_id_type: string;
  /** How long it is to be kept, s. */
  ttl_s: number;
  /** How long it had been known when traffic had ended, s. */
  known_for_s: number;
  /** How long ago its last LLDPDU came then, s. */
  age_s: number;
  /** Description of its port. */
  port_description?: string | null;
  /** Its name. */
  system_name?: string | null;
  /** What it is. */
  system_description?: string | null;
  /** What it can do: `bridge`, `router` … */
  capabilities: string[];
  /** What of that is enabled. */
  enabled: string[];
  /** IP addresses where it is managed. */
  management: string[];
  /** Its TLVs of organizations. */
  tlvs: LldpTlvResult[];
}

/** LLDP agents of a port, and whom they know. */
export interface LldpPortState {
  /** Name of the port in the profile. */
  port: string;
  /** Whether a command has disabled them. */
  is_down: boolean;
  /** What they did and the neighbours that are known now. */
  agents: LldpResult;
}

/** LLDP agents of a port, from before traffic until they have taken back what they said (IEEE 802.1AB clause 9.2.6). */
export interface LldpResult {
  /** Neighbours that were known when traffic had ended, or so far. */
  known: number;
  /** LLDPDUs sent. */
  tx_frames: number;
  /** LLDPDUs received. */
  rx_frames: number;
  /** LLDPDUs received that are malformed. */
  rx_errors: number;
  /** LLDPDUs of neighbours there was no room for: 1,024 are kept. */
  rx_discarded: number;
  /** TLVs received that were passed over: too short, or twice in an LLDPDU. */
  tlvs_discarded: number;
  /** TLVs received of types that nobody defined. */
  tlvs_unknown: number;
  /** Neighbours that were new. */
  learnt: number;
  /** Neighbours that took back what they had said. */
  left: number;
  /** Neighbours that were silent for longer than they had said. */
  aged_out: number;
  /** Commands that disabled or enabled the agents. */
  commands: number;
  /** What they said last. */
  neighbours: LldpNeighbourResult[];
}

/** An organization's TLV. */
export interface LldpTlvResult {
  /** Whose it is, in hexadecimal. */
  oui: string;
  /** Its subtype. */
  subtype: number;
  /** What it says, in hexadecimal. */
  value: string;
}

/** A point of the curve. */
export interface LossPoint {
  /** Offered load, percent of the line rate: the abscissa, 0 to 100. */
  load_percent: number;
  /** The same in frames per second of the first group, where steps are not shares of the line rate: they were given as rates, or begin at what the tester can send. */
  load_pps?: number | null;
  /** Lost frames, percent of those sent: the ordinate, 0 to 100; absent if the tester was the limit or disturbed. */
  loss_percent: number | null;
  /** Bounds of it where the tester was disturbed, percent. */
  bounds_percent?: number[] | null;
  /** The same by group. */
  groups_percent: number[];
  /** What the tester really offered, percent of the line rate. */
  achieved_percent: number;
}

/** The curve at one frame length. */
export interface LossRow {
  /** The frames. */
  frames: Frames;
  /** From the highest load down. */
  points: LossPoint[];
  /** Two loss-free trials in a row ended it, so below them nothing is lost. */
  ended_loss_free: boolean;
  /** Where the steps begin because the tester can send no more, percent of the line rate; absent: at the line rate. */
  tester_most_percent?: number | null;
  /** Loads that were left out, percent of the line rate: the tester had fallen far short of more. */
  left_out_percent?: number[];
}

/** What else the tester's machine did during the trial. */
export interface MachineResult {
  /** Cores of the machine. */
  cores: number;
  /** Load average of the minute before the trial: threads that ran or wanted to. */
  load_before?: number | null;
  /** Load average of the last minute at its end. */
  load_after?: number | null;
  /** How many cores other processes and the kernel kept busy, on average. */
  others_cores?: number | null;
  /** Other processes that used most processor time, by name. */
  others?: ProcessUsage[];
}

/** A test method. */
export interface Method {
  /** Name. */
  name: string;
  /** What it measures. */
  about: string;
  /** Parts, with their settings. */
  parts: MethodPart[];
}

/** A part of a method. */
export interface MethodPart {
  /** Name, as settings are given: `throughput.resolution`. */
  name: string;
  /** Settings and their defaults. */
  settings: Record<string, unknown>;
}

/** The result of a method. */
export interface MethodResult {
  /** The method. */
  method: string;
  /** How it ended. */
  status: Status;
  /** Findings, in sentences. */
  summary: string[];
  /** Caveats: settings below what the RFC requires, limits of the tester, invalid trials. */
  remarks: string[];
  /** The testbed. */
  testbed: Testbed;
  /** Findings, by type. */
  findings: Findings;
  /** Between which bounds each finding lies, by the trials of all methods of the campaign. */
  intervals?: Interval[];
  /** Seconds of traffic. */
  traffic_s: number;
  /** All trials, in order. */
  trials: TrialNote[];
}

/** The outcome of an entry of a mix. */
export interface MixEntry {
  /** Its name under `sessions:`. */
  entry: string;
  /** What its load says. */
  objective: Objective;
  /** How much of it was asked for. */
  asked: number;
  /** How much was reached. */
  reached: number;
  /** What it showed. */
  sessions: SessionOutcome;
}

/** A trial of a mix. */
export interface MixPoint {
  /** The multiple of the profile's load that was asked for. */
  multiplier: number;
  /** All entries together. Times are those of the slowest entry. */
  sessions: SessionOutcome;
  /** Each entry. */
  entries: MixEntry[];
  /** Why it did not pass. */
  violations: string[];
  /** Where things were seen to vanish. */
  drops: ((string | number)[])[];
}

/** The highest multiple of a mix. */
export interface MixRow {
  /** The highest that passed. */
  best: MixPoint | null;
  /** The lowest that did not. */
  failed: MixPoint | null;
  /** What bounds it from above. */
  limit: Limit;
  /** The search ends when its bounds are this share apart. */
  resolution: number;
}

/** A load that was judged. */
export interface MlrBound {
  /** The load. */
  load: FoundRate;
  /** On which trials it was judged, s. */
  durations: Durations;
}

/** What was found at one frame length. */
export interface MlrRow {
  /** The frames. */
  frames: Frames;
  /** One for each goal. */
  goals: GoalResult[];
  /** Seconds of traffic for all goals. */
  traffic_s: number;
}

/** What is mixed into the test frames (RFC 2544 section 11). Modifier frames replace test frames. */
export type Modifier = "broadcast" | "management" | "routing_updates" | {  filters: number; } | {  hop_by_hop: number; };

/** What arrived at one frame length. */
export interface MrrRow {
  /** The frames. */
  frames: Frames;
  /** Frames/s that fill the link of the first group. */
  line_rate_pps: number;
  /** Frames/s that arrived, all groups. */
  received_pps: Spread | null;
  /** Frames/s that were offered, all groups. */
  offered_pps: Spread | null;
  /** Trials in which the tester could not send the line rate. They count only if none did better. */
  tester_limited: number;
  /** Trials that can't be judged, because the tester was disturbed. They do not count. */
  disturbed: number;
  /** The most that arrived in one of them, frames/s of all groups. */
  indicative_pps?: number | null;
  /** What bounds it from above. */
  limit?: Limit | null;
}

/** Multicast groups of a port's host, from before traffic until it has left them. */
export interface MulticastResult {
  /** Groups joined. */
  joined: number;
  /** Groups left. */
  left: number;
  /** Frames with reports sent. */
  reports: number;
  /** Queries received. */
  queries: number;
  /** When the first group was joined while traffic ran, ns since it started. */
  first_join_ns?: number | null;
  /** When the first group was left while traffic ran, ns since it started. */
  first_leave_ns?: number | null;
}

/** What was found. */
export interface MulticastRow {
  /** The frames. */
  frames: Frames;
  /** Frames per second of all groups of a trial together. */
  rate_pps: number;
  /** Groups while delays were measured. */
  groups: number;
  /** From the report that joins to the first packet, s. */
  join_delay_s: Spread | null;
  /** From the report that leaves to the last packet, s; 0 if none came after it. */
  leave_delay_s: Spread | null;
  /** Trials in which no packet came after the join. */
  not_joined: number;
  /** Trials in which packets came before the join: the device forwards groups that nobody joined. */
  too_early: number;
  /** Trials in which packets still came when the trial ended. */
  not_left: number;
  /** Trials of delays that the tester limited or disturbed. */
  tester_limited: number;
  /** Most groups that were forwarded; absent: none, or not searched. */
  capacity: number | null;
  /** The smallest number that failed. */
  capacity_failed: number | null;
  /** Frames of it that were lost, and that came to other ports. */
  failed_by: number[] | null;
  /** What bounds the capacity from above; absent: not searched. */
  limit: Limit | null;
  /** Highest rate that reached every port with members without loss, frames/s sent; absent: none, or not searched. */
  throughput_pps: number | null;
  /** The lowest rate that failed, frames/s, and the frames that were lost at it, counted at every port. */
  throughput_failed: number[] | null;
  /** What bounds the throughput from above; absent: not searched. */
  throughput_limit: Limit | null;
}

/** Names of the columns of live figures, in their order. */
export interface Names {
  /** Ports. */
  ports: string[];
  /** Streams. */
  streams: string[];
  /** Groups of streams. */
  groups: string[];
  /** Entries under `sessions`. */
  sessions: string[];
}

/** A resolved neighbour. */
export interface Neighbour {
  /** Name of the port in the profile. */
  port: string;
  /** Name of the host behind the port that resolved it; the port's own host has the port's name. */
  host: string;
  /** IP address. */
  ip: string;
  /** MAC address: `02:00:00:00:00:01`. */
  mac: string;
}

/** A neighbour that changed its hardware address. */
export interface NeighbourMoveResult {
  /** Its IP address. */
  ip: string;
  /** The hardware address it had. */
  from: string;
  /** The one it has now. */
  to: string;
  /** When the tester heard of it, s since traffic started. */
  at_s: number;
  /** Whether the tester had to ask. False if the neighbour announced it, or said so in a question or an answer of its own. */
  asked: boolean;
  /** From when the last packet left that arrived by way of the old address, until packets left for the new one. Absent if no packet was lost, or nobody knows. */
  took_s?: number | null;
  /** Packets of measured streams that went to the old address and were lost. Absent if no measured stream uses the neighbour. */
  lost?: number | null;
}

/** A campaign to start. */
export interface NewCampaign {
  /** Name of the method. */
  method: string;
  /** YAML or JSON text, or the document itself. */
  profile?: string | Record<string, unknown>;
  /** Name of a stored profile, instead of `profile`. */
  profile_name?: string | null;
  /** Lease of the ports. Without one, the campaign leases them for itself. */
  lease?: string | null;
  /** Name of the campaign. Default: the profile's name. */
  name?: string | null;
  /** Take minutes instead of hours. */
  quick?: boolean;
  /** Duration of every measuring trial, s. */
  trial_s?: number | null;
  /** Frame lengths and mixes: `64B`, `imix`. */
  sizes?: string[] | null;
  /** Settings by name. */
  set?: Record<string, string>;
  /** Use pseudorandom addresses and ports (RFC 4814). */
  random_stimuli?: boolean;
  /** Number of destination networks (RFC 2544 section 12). */
  networks?: number;
  /** Seed of everything random, instead of the profile's. */
  seed?: number | null;
  /** Number of worker cores. */
  cores?: number | null;
  /** Tags in the store. */
  tags?: string[];
}

/** A profile to check. */
export interface NewCheck {
  /** YAML or JSON text, or the document itself. */
  profile: string | Record<string, unknown>;
}

/** Ports to lease. */
export interface NewLease {
  /** Names of ports, or devices as profiles write them. */
  ports: string[];
  /** Time until the lease expires, s; from 1 to 86,400. */
  ttl_s?: number;
  /** Purpose, shown to others behind the caller's name. */
  holder?: string | null;
}

/** A ping to send from a port of a run. */
export interface NewPing {
  /** Name of the port in the profile. */
  port: string;
  /** Destination address. */
  to: string;
  /** Name of the sending host behind the port; the port's own host has the port's name. Default: any. */
  host?: string | null;
  /** Source address. Default: the host's address on the destination's network, else its first of that IP version. */
  from?: string | null;
  /** Maximum number of echo requests. Default: 3. */
  attempts?: number | null;
  /** Time between echo requests, s. Default: 1. */
  timeout_s?: number | null;
}

/** A profile to store. */
export interface NewProfile {
  /** YAML or JSON text, or the document itself. */
  profile: string | Record<string, unknown>;
}

/** A change of what the hosts of a run do by themselves. */
export interface NewProtocolChange {
  /** What happens. */
  action: ProtocolAction;
  /** Name of the port in the profile. Default: every port that has to do with it. */
  port?: string | null;
  /** BGP peers, OSPF and IS-IS routers: their names in the profile, or addresses of their hosts. Default: all. */
  peers?: string[];
  /** Names of routes in the profile. Default: all of the peers. */
  routes?: string[];
  /** Time after which sessions may come up again after a restart, s. Default: `retry` of the peer. */
  delay_s?: number | null;
}

/** A rate change. Either `rate` or `scale`. */
export interface NewRate {
  /** Name of the stream, or of the entry of sessions; the name of a stream with copies means all of them. Default: all. */
  stream?: string | null;
  /** Rate: `2Mpps`; for sessions `500/s`. */
  rate?: string | null;
  /** Factor on the profile's rate: 0 pauses, 1 resumes. */
  scale?: number | null;
}

/** A run to start. */
export interface NewRun {
  /** YAML or JSON text, or the document itself. */
  profile?: string | Record<string, unknown>;
  /** Name of a stored profile, instead of `profile`. */
  profile_name?: string | null;
  /** Name of the run. Default: the profile's name. */
  name?: string | null;
  /** Lease of the ports. Without one, the run leases them for itself. */
  lease?: string | null;
  /** Rate of every stream, instead of the profile's: `1Mpps`, `2.5Gbps`, `40%`. */
  rate?: string | null;
  /** Duration of traffic, s, instead of the profile's. */
  duration_s?: number | null;
  /** Seed of everything random, instead of the profile's. */
  seed?: number | null;
  /** Number of worker cores. */
  cores?: number | null;
  /** Tags in the store. */
  tags?: string[];
  /** Whether to store the result. Default: true. */
  keep?: boolean | null;
}

/** A Lua script to run. It must have an end: `run_time_s`, `deadline_s` or both. */
export interface NewScript {
  /** The script's text. */
  text: string;
  /** Devices of its ports, as the script numbers them from 0. */
  ports: string[];
  /** The script's own arguments. */
  arguments?: string[];
  /** Name. Default: script. */
  name?: string | null;
  /** Lease of the ports. Without one, the script leases them for itself. */
  lease?: string | null;
  /** When to tell the script to stop, s. */
  run_time_s?: number | null;
  /** When to end it whatever it does, s. Default: 5 s after it was told to stop. */
  deadline_s?: number | null;
  /** Longest frame with FCS that it sends and receives, bytes. Default: 1518. Interfaces need an MTU of 18 bytes less. */
  frame_length?: number | null;
}

/** Streams to add to a run. */
export interface NewStreams {
  /** Profile with the run's `ports` and the streams to add: YAML or JSON text, or the document itself. Names of streams must be new to the run. Times, and `load.duration`, count from the moment they are added. */
  profile: string | Record<string, unknown>;
}

/** What a session test increases and sustains. */
export type Objective = "connections_per_second" | "concurrent_connections" | "transactions_per_second" | "goodput_bps";

/** The load of one group. */
export interface OfferedLoad {
  /** The group's name. */
  group: string;
  /** Frames per second, exact. */
  rate_pps: number;
  /** The same as a share of the group's line rate, 0 to 1. */
  share: number;
}

/** LSAs by type. */
export interface OspfLsaCounts {
  /** Of routers (type 1; 0x2001 of OSPFv3). */
  router: number;
  /** Of networks (type 2; 0x2002 of OSPFv3). */
  network: number;
  /** Summaries of networks and border routers (types 3 and 4). */
  summary: number;
  /** External ones (type 5; 0x4005 of OSPFv3). */
  external: number;
  /** External ones of NSSAs (type 7; 0x2007 of OSPFv3). */
  nssa: number;
  /** Opaque ones of a link (type 9). */
  opaque_link: number;
  /** Opaque ones of an area (type 10). */
  opaque_area: number;
  /** Opaque ones that go everywhere (type 11). */
  opaque_domain: number;
  /** Prefixes of other areas (OSPFv3, type 0x2003). */
  inter_area_prefix: number;
  /** Border routers of other areas (OSPFv3, type 0x2004). */
  inter_area_router: number;
  /** Of links (OSPFv3, type 0x0008). */
  link: number;
  /** Prefixes of routers and networks of the area (OSPFv3, type 0x2009). */
  intra_area_prefix: number;
  /** Of other types of OSPFv3. */
  other: number;
}

/** An LSA that a neighbour sent (RFC 2328 appendix A.4, RFC 5340 appendix A.4). */
export interface OspfLsaState {
  /** Type; with version 3 as on the wire, such as 0x2001, but decimal. */
  kind: number;
  /** Link state identifier. */
  id: string;
  /** Identifier of the router that originated it. */
  router_id: string;
  /** Options (RFC 2328 appendix A.2); 0 with version 3, whose headers have none. */
  options: number;
  /** Sequence number, as it is on the wire. */
  sequence: number;
  /** Age, s. */
  age_s: number;
  /** What is behind its header, in hexadecimal digits. */
  body: string;
}

/** OSPF packets, by type (RFC 2328 appendix A.3, RFC 5340 appendix A.3). */
export interface OspfPacketCounts {
  /** Hello packets. */
  hellos: number;
  /** Database Description packets. */
  descriptions: number;
  /** Link State Request packets. */
  requests: number;
  /** Link State Update packets. */
  updates: number;
  /** Link State Acknowledgment packets. */
  acknowledgments: number;
  /** LSAs that those acknowledge. */
  acknowledged_lsas: number;
}

/** OSPF routers of a port, from before traffic until their end. */
export interface OspfResult {
  /** Routers. */
  routers: number;
  /** Routers whose adjacency was full when traffic started. */
  full: number;
  /** Routers without one then. */
  failed: number;
  /** Routers whose adjacency is full now; in a result, when traffic had ended. */
  full_at_end: number;
  /** Full adjacencies that ended while they should not have. */
  flaps: number;
  /** Time from each router's first Hello packet to its first full adjacency. */
  full_ns?: LatencyResult | null;
  /** Time from the first Hello packet until all adjacencies were full on both sides and all routes acknowledged. Absent if that was not so before traffic. */
  announced_after_s?: number | null;
  /** Routes advertised; those that were advertised again count again. */
  advertised: number;
  /** Routes withdrawn. */
  withdrawn: number;
  /** When the first routes were withdrawn while traffic ran, ns since it started. */
  first_withdrawal_ns?: number | null;
  /** When the first routes were advertised while traffic ran, ns since it started. */
  first_advertisement_ns?: number | null;
  /** LSAs sent, by type; those that were sent again count again. */
  lsas_sent: OspfLsaCounts;
  /** LSAs received, by type; those that were received again count again. */
  lsas_received: OspfLsaCounts;
  /** LSAs of the device that the routers hold now, by type. */
  database: OspfLsaCounts;
  /** LSAs of the device for which the routers' databases had no room: they hold 1,000,000 in all. */
  left_out: number;
  /** LSAs received that were being flushed. */
  received_flushed: number;
  /** LSAs sent again because they were not acknowledged in time. */
  retransmitted: number;
  /** LSAs originated again because they became old. */
  refreshed: number;
  /** Own LSAs that came back newer than they are, as those of a run before: they were originated again, or flushed. */
  outdated: number;
  /** Hello packets sent. */
  hellos_sent: number;
  /** Hello packets received and accepted. */
  hellos_received: number;
  /** Database Description packets sent. */
  descriptions_sent: number;
  /** Database Description packets received. */
  descriptions_received: number;
  /** Link State Request packets sent. */
  requests_sent: number;
  /** Link State Request packets received. */
  requests_received: number;
  /** Link State Update packets sent. */
  updates_sent: number;
  /** Link State Update packets received. */
  updates_received: number;
  /** Link State Acknowledgment packets sent. */
  acknowledgments_sent: number;
  /** Link State Acknowledgment packets received. */
  acknowledgments_received: number;
  /** Packets refused because their sender is no neighbour: another area or instance, other intervals, another mask or other authentication. */
  mismatched: number;
  /** Packets that could not be read, and LSAs with a wrong checksum. */
  malformed: number;
  /** Commands carried out: routes advertised or withdrawn, routers taken up or down. */
  commands: number;
}

/** An OSPF router behind a port, and its neighbour. */
export interface OspfRouterState {
  /** Name of the port in the profile. */
  port: string;
  /** Name of the host that is the router. */
  host: string;
  /** Name of the router in the profile; empty if it has none. */
  name: string;
  /** Version of OSPF: 2 or 3. */
  version: number;
  /** Its identifier. */
  router_id: string;
  /** Area of its link. */
  area: string;
  /** Instance of OSPFv3 on its link; 0 with version 2. */
  instance: number;
  /** Address of the host. */
  local: string;
  /** What its link is: `broadcast` or `point_to_point`. */
  network: string;
  /** How far it is with its neighbour: `down`, `init`, `two_way`, `ex_start`, `exchange`, `loading` or `full` (RFC 2328 section 10.1). Of several neighbours, the designated router's. */
  state: string;
  /** Identifier of the neighbour; null if none was heard. */
  neighbour_id: string | null;
  /** Address of the neighbour; null if none was heard. */
  neighbour: string | null;
  /** Address of the designated router, its identifier with version 3; null if there is none. */
  designated: string | null;
  /** The same of the backup designated router; null if there is none. */
  backup: string | null;
  /** Time since the adjacency became full, s; null if it is not. */
  full_for_s: number | null;
  /** Whether it is full, and the neighbour's LSAs say that it is on its side. */
  is_mutual: boolean;
  /** Whether a command has taken the router down. */
  is_down: boolean;
  /** Why there is no full adjacency; null if there is one, or the router is down. */
  reason: string | null;
  /** Full adjacencies that ended while they should not have. */
  flaps: number;
  /** Routes advertised; those that were advertised again count again. */
  advertised: number;
  /** Routes withdrawn. */
  withdrawn: number;
  /** LSAs of routers that it has originated: its own, and those of routers generated behind it. */
  originated_routers: number;
  /** Packets sent, by type. */
  packets_sent: OspfPacketCounts;
  /** Packets received and accepted, by type. */
  packets_received: OspfPacketCounts;
  /** LSAs sent, by type; those that were sent again count again. */
  lsas_sent: OspfLsaCounts;
  /** LSAs received, by type; those that were received again count again. */
  lsas_received: OspfLsaCounts;
  /** LSAs sent again because they were not acknowledged in time. */
  retransmitted: number;
  /** LSAs of neighbours that it holds, by type. */
  database: OspfLsaCounts;
  /** Number of them that are kept to be shown, `keep` of the profile at most. */
  kept: number;
  /** LSAs for which its database had no room. */
  left_out: number;
  /** Those that are kept, by type, identifier and router, if they were asked for. */
  lsas?: OspfLsaState[];
}

/** An outage. Where it began or ended within a sampling interval, the share of that says where. */
export interface OutageResult {
  /** Its beginning, ns since traffic started. */
  from_ns: number;
  /** Its end, ns since traffic started; absent while it lasts. */
  until_ns?: number | null;
  /** Packets sent in that time and not received. */
  lost: number;
}

/** Outages of a stream: times in which the share of its packets that arrived was below a threshold. A packet counts at the time when it was sent. */
export interface OutagesResult {
  /** Sampling interval: the share is that of the packets sent in it. 1 ms, or so many that 20 packets are sent. */
  interval_ns: number;
  /** Outages. */
  count: number;
  /** The time of all together; one that is not over counts until now. */
  total_ns: number;
  /** The time of the longest. */
  longest_ns: number;
  /** The last 100. */
  last: OutageResult[];
}

/** Whether what was asked holds: the criteria, or without any, that most succeeded and that losses are known. */
export interface OverallResult {
  /** `passed`, `failed`, or `cannot_judge`: the tester was disturbed where it matters. */
  outcome: string;
  /** The cause, unless it passed. */
  reason?: string | null;
  /** How to judge it. */
  remedy?: string | null;
  /** Runs until it could be judged, if it ran more than once. */
  runs?: number | null;
}

/** Departures compared with the schedule, ns. The error of a gap is its difference from the scheduled gap. */
export interface PacingResult {
  /** Median error of a gap. */
  error_p50: number;
  /** 99th percentile of the error. */
  error_p99: number;
  /** 99.9th percentile of the error. */
  error_p99_9: number;
  /** Share of packets that left back to back although a gap was scheduled. */
  back_to_back_ratio: number;
  /** Longest delay of a departure behind its schedule. */
  late_max: number;
}

/** One application of a mix, or one of several hosts, on one side. */
export interface PartResult {
  /** Sessions that clients began to open, or that servers were asked for. */
  attempted: number;
  /** Sessions completed as planned. */
  completed: number;
  /** Sessions that failed, by reason. */
  failed: Record<string, number>;
  /** Sessions open at the end; in an interval, the change since its beginning. */
  active: number;
  /** Requests sent (clients) or received (servers). */
  requests: number;
  /** Complete responses received (clients) or sent (servers). */
  transactions: number;
  /** Application bytes received. */
  rx_bytes_goodput: number;
  /** Application bytes sent and acknowledged; over UDP, sent. */
  tx_bytes_goodput: number;
  /** Time to open a session, until established. Clients only. */
  setup_ns?: LatencyResult | null;
  /** Time from a request to the first byte of its response. Clients only. */
  ttfb_ns?: LatencyResult | null;
  /** Time from a request to the last byte of its response. Clients only. */
  ttlb_ns?: LatencyResult | null;
}

/** An idle path. */
export interface PathOutcome {
  /** The largest IP packet it carries, bytes (RFC 4821). */
  mtu_bytes: number;
  /** The smallest round-trip time, ns. */
  rtt_min_ns: number;
}

/** Arrivals of a stream at one port. */
export interface PathResult {
  /** Packets received there, duplicates included. */
  rx: number;
  /** Arrival of the first of them, ns since traffic started. */
  first_arrival_ns: number;
  /** Arrival of the last of them, ns since traffic started. */
  last_arrival_ns: number;
  /** Departure of the first of them to leave, ns since traffic started. */
  first_departure_ns: number;
  /** Departure of the last of them to leave, ns since traffic started. */
  last_departure_ns: number;
}

/** Which part of a method a trial belongs to. */
export type Phase = "warm_up" | "probe" | "explore" | "measure";

/** One phase of an entry's load. What is counted belongs to the phase in which it happened: a session may be opened in one and completed in another. */
export interface PhaseResult {
  /** When it began, since the start of traffic. */
  from_s: number;
  /** When it ended. */
  to_s: number;
  /** Sessions that clients began to open, or that servers were asked for. */
  attempted: number;
  /** Sessions established. */
  established: number;
  /** Sessions completed as planned. */
  completed: number;
  /** Completed sessions that were ended early because their time was up or the run was over. */
  stopped: number;
  /** Sessions that failed, by reason. */
  failed: Record<string, number>;
  /** Failed sessions / `attempted`. */
  failed_ratio: number;
  /** Sessions open at the end; in an interval or a phase, the change since its beginning. */
  active: number;
  /** Maximum of open sessions. With several workers, or applications of a mix, at most so many: each has its maximum at an instant of its own, and the sum is taken over spans of at most 50 ms. */
  active_max: number;
  /** At least so many sessions were open at one instant. Only with several workers, or applications of a mix. */
  active_max_at_least?: number | null;
  /** Sessions established per second. */
  open_per_s: number;
  /** Requests sent (clients) or received (servers). */
  requests: number;
  /** Requests that clients had left to send when servers closed their connections between responses. Absent if none. */
  unasked?: number | null;
  /** Requests without a complete response, or with one of status 4xx or 5xx, / `requests`. Clients only. */
  failed_requests_ratio?: number | null;
  /** Complete responses received (clients) or sent (servers). */
  transactions: number;
  /** Transactions per second. */
  transactions_per_s: number;
  /** Application bytes received. */
  rx_bytes_goodput: number;
  /** Application bytes sent and acknowledged; over UDP, sent. */
  tx_bytes_goodput: number;
  /** Application bits received per second while load was offered. */
  rx_bps_goodput: number;
  /** Application bits sent and acknowledged per second while load was offered; over UDP, sent. */
  tx_bps_goodput: number;
  /** TCP segments retransmitted, for any cause. */
  retransmitted_segments: number;
  /** Time to open a session, until established. Clients only. */
  setup_ns?: LatencyResult | null;
  /** Duration of TLS handshakes. */
  handshake_ns?: LatencyResult | null;
  /** Time from a request to the first byte of its response. Clients only. */
  ttfb_ns?: LatencyResult | null;
  /** Time from a request to the last byte of its response. Clients only. */
  ttlb_ns?: LatencyResult | null;
  /** Time from when a request was due to the first byte of its response. Clients whose requests are sent late only. */
  ttfb_due_ns?: LatencyResult | null;
  /** Time from when a request was due to the last byte of its response. Clients whose requests are sent late only. */
  ttlb_due_ns?: LatencyResult | null;
}

/** Outcome of a ping. */
export interface PingResult {
  /** Name of the port in the profile. */
  port: string;
  /** Source address; null if the port has none. */
  from: string | null;
  /** Destination address. */
  to: string;
  /** Next hop: the destination itself, or a gateway. */
  via: string | null;
  /** Whether a reply arrived. */
  answered: boolean;
  /** Echo requests sent. */
  sent: number;
  /** Round-trip time, ns. */
  rtt_ns: number | null;
  /** Why there is no reply. */
  reason: string | null;
}

/** A completed trial, as a point of a curve. */
export interface Point {
  /** Number within its part. */
  number: number;
  /** Part. */
  part: string;
  /** Label. */
  label: string;
  /** Frame length or mix. */
  frame: string;
  /** Offered load of all streams, packets per second. */
  offered_pps: number;
  /** Duration of traffic, s. */
  duration_s: number;
  /** Packets sent. */
  sent: number;
  /** Packets received. */
  received: number;
  /** Packets lost. */
  lost: number;
  /** `lost` / `sent`. */
  loss_ratio: number;
  /** Median latency, ns. */
  latency_p50_ns: number | null;
  /** 99th percentile of latency, ns. */
  latency_p99_ns: number | null;
  /** Whether its figures are valid. */
  valid: boolean;
  /** Whether the tester was the limit. */
  generator_limited: boolean;
  /** Whether something on the tester's machine disturbed it. */
  disturbed: boolean;
  /** Why it is not valid, why the tester was the limit, or what disturbed it. */
  reasons: string[];
  /** Standard deviation of latency, ns. */
  latency_stddev_ns: number | null;
  /** Mean jitter (RFC 4689), ns. */
  jitter_mean_ns: number | null;
  /** Sessions of the trial. */
  sessions: PointSessions | null;
}

/** Sessions of a trial. */
export interface PointSessions {
  /** Load requested, in `unit`. */
  load: number;
  /** Unit of the load: `connections/s`, `connections`, `transactions/s`, `bits/s`. */
  unit: string;
  /** Sessions attempted. */
  attempted: number;
  /** Sessions established. */
  established: number;
  /** Responses received. */
  transactions: number;
  /** Transactions failed. */
  transactions_failed: number;
  /** `transactions_failed` / `transactions`. */
  failed_ratio: number;
  /** 99th percentile of the time to open a session, ns. */
  setup_p99_ns: number | null;
  /** 99th percentile of the time to the first byte, ns. */
  ttfb_p99_ns: number | null;
  /** 99th percentile of the time to the last byte, ns. */
  ttlb_p99_ns: number | null;
}

/** A rate that was held by dropping frames. */
export interface Policed {
  /** From when on frames were dropped, s since traffic started. */
  from_s: number;
  /** Received from then on, bits/s of frames with FCS. */
  bps: number;
  /** Received beyond that rate in all: the size of the device's bucket, bytes of frames with FCS. */
  burst_bytes: number;
}

/** A port of this machine. */
export interface Port {
  /** Name to lease it by. */
  name: string;
  /** Device to write in a profile. */
  device: string;
  /** Kind. */
  kind: PortKind;
  /** Whether the link is up. */
  up: boolean;
  /** Speed at layer 1, bits per second. */
  speed_bps: number | null;
  /** MTU, bytes. */
  mtu: number | null;
  /** Driver. */
  driver: string | null;
  /** Whether the operator allows its use. */
  allowed: boolean;
  /** Remark. */
  note: string | null;
  /** Current lease. */
  lease: PortLease | null;
}

/** Kind of a port. */
export type PortKind = "interface" | "pci" | "in-process";

/** The lease of a port. */
export interface PortLease {
  /** Holder. */
  holder: string;
  /** When it expires, unless it is renewed. */
  expires: string;
  /** Time until then, s. */
  seconds_left: number;
}

/** One port. */
export interface PortResult {
  /** Test packets sent. */
  tx_packets: number;
  /** Bytes of test packets sent. */
  tx_bytes: number;
  /** Packets received, of any kind. */
  rx_packets: number;
  /** Bytes received, of any kind. */
  rx_bytes: number;
  /** Packets due but not sent. */
  tx_unsent?: number | null;
  /** Packets per second sent. */
  tx_pps: number;
  /** Packets per second received. */
  rx_pps: number;
  /** Layer-1 bits per second sent. */
  tx_bps_l1: number;
  /** Layer-1 bits per second received. */
  rx_bps_l1: number;
  /** Packets received that are not test packets of this run. */
  rx_other: number;
  /** How an `afxdp:` or `xdp:` port works, such as 'native, copy': where its XDP program runs ('native': in the driver, 'generic': in the kernel's stack), whether the kernel copies frames ('copy' or 'zero-copy'), and whether a frame may have 'several buffers'. */
  xdp_mode?: string | null;
  /** Test packets that the kernel took in by itself. Only of `xdp:` ports. */
  kernel_rx?: KernelRxResult | null;
  /** ARP, ND and echo replies, and frames of pings, DHCP and DHCPv6 clients, members of groups, LLDP agents, ports of lags, BGP speakers, OSPF and IS-IS routers sent while traffic ran. */
  tx_answers: number;
  /** Frames passed to the network namespace of the port's hosts. Absent if they have none. */
  rx_punted?: number | null;
  /** Frames for that namespace that were dropped: the tester's buffer was full, or the kernel did not take them. */
  rx_punt_dropped?: number | null;
  /** Frames of that namespace sent. */
  tx_punted?: number | null;
  /** Frames of that namespace that were dropped: the tester's buffer was full, or they are too long for the port. */
  tx_punt_dropped?: number | null;
  /** Frames received with errors, and frames lost in the tester, by reason. */
  rx_errors: Record<string, number>;
  /** Frames the driver accepted but did not send, by reason. */
  tx_errors: Record<string, number>;
  /** IP fragments received for the port's hosts, packets reassembled from them, and packets given up. */
  fragments?: Record<string, number>;
  /** What arrived at the ends of tunnels of sessions: 'received' (taken out of a tunnel), 'unknown' (another identifier), 'malformed', 'unclaimed' (for nobody inside), 'echoes' (of GTP-U, answered). */
  tunnels?: Record<string, number>;
  /** The port's DHCP clients. Absent if it has none. */
  dhcp?: DhcpResult | null;
  /** The port's DHCPv6 clients. Absent if it has none. */
  dhcpv6?: Dhcpv6Result | null;
  /** The port's PPPoE clients. Absent if it has none. */
  pppoe?: PppoeResult | null;
  /** The multicast groups of the port's host. Absent if it joins none. */
  multicast?: MulticastResult | null;
  /** LLDP agents of the port, and its neighbours. Absent if it has none. */
  lldp?: LldpResult | null;
  /** The port in its lag, by LACP. Absent if it belongs to none. */
  lacp?: LacpResult | null;
  /** BGP sessions of the port's hosts. Absent if they have none. */
  bgp?: BgpResult | null;
  /** OSPF routers of the port. Absent if it has none. */
  ospf?: OspfResult | null;
  /** IS-IS routers of the port. Absent if it has none. */
  isis?: IsisResult | null;
  /** Neighbours that changed their hardware address while traffic ran, the first 64 of all ports. Frames follow them at once, unless the profile gives the hardware address. */
  neighbour_moves?: NeighbourMoveResult[];
  /** Departures of all paced streams compared with the schedule. */
  pacing_ns?: PacingResult | null;
}

/** A PPPoE client behind a port. */
export interface PppoeClientState {
  /** Name of the port in the profile. */
  port: string;
  /** Number of the client, from 0. */
  client: number;
  /** MAC address: `02:00:00:00:00:01`. */
  mac: string;
  /** How far it is: `waiting`, `discovery`, `link`, `authentication`, `network`, `up`, `terminating`, `pausing` before another attempt, or `down`. */
  phase: string;
  /** Number of its session; null if it is not up. The others are null then, too. */
  session: number | null;
  /** MAC address of the access concentrator. */
  ac: string | null;
  /** Address. */
  ip: string | null;
  /** The access concentrator's address; null if it did not say. */
  peer: string | null;
  /** Addresses of name servers. */
  dns: string[];
  /** Interface identifier of IPv6, in hexadecimal digits; null if none was agreed on. */
  interface: string | null;
  /** Longest IP packet that the access concentrator takes, bytes. */
  mru: number | null;
  /** Time since the session came up, s. */
  up_for_s: number | null;
  /** Why the last attempt failed or the last session ended: `discovery`, `link`, `authentication`, `network`, `ended` by the access concentrator, or `silent`; null if none did. */
  failure: string | null;
  /** Sessions that came up. */
  sessions: number;
  /** Attempts that failed. */
  failed: number;
  /** Sessions that ended without its doing. */
  lost: number;
}

/** PPPoE clients of a port, from before traffic until the end of their sessions. */
export interface PppoeResult {
  /** Clients. */
  clients: number;
  /** Clients that had a session and an address when traffic started. */
  up: number;
  /** Clients that had not. */
  failed: number;
  /** Clients that have a session and an address now; in a result, when traffic had ended. */
  holding: number;
  /** Sessions per second, from the first PADI to the last first session. */
  up_per_s?: number | null;
  /** Time from a client's first PADI to its first session with all it asked for. */
  setup_ns?: LatencyResult | null;
  /** Time of discovery, from the first PADI of an attempt to its PADS. */
  discovery_ns?: LatencyResult | null;
  /** Time of LCP, from there until the link was open. */
  link_ns?: LatencyResult | null;
  /** Time of authentication, from there until the client was let in. Absent if nobody asked. */
  authentication_ns?: LatencyResult | null;
  /** Time of IPCP and IPV6CP, from there until the client had its address. */
  network_ns?: LatencyResult | null;
  /** Sessions that came up, those of clients that came back among them. */
  sessions: number;
  /** PADI packets sent. */
  padis: number;
  /** PADO packets received by clients that looked for an access concentrator. */
  pados: number;
  /** Those of them from another access concentrator, or without the service. */
  passed_over: number;
  /** PADR packets sent. */
  padrs: number;
  /** PADS packets received that began a session. */
  padss: number;
  /** PADT packets sent. */
  padts_sent: number;
  /** PADT packets received for sessions here. */
  padts_received: number;
  /** Messages of discovery and PPP sent again because no answer came. */
  repeated: number;
  /** Attempts that ended with an error in discovery. */
  failed_discovery: number;
  /** Attempts on which LCP came to no end. */
  failed_link: number;
  /** Attempts on which user name or password were refused, or nobody asked for them or answered. */
  failed_authentication: number;
  /** Attempts on which the client got no address. */
  failed_network: number;
  /** Attempts that the access concentrator ended. */
  failed_ended: number;
  /** Sessions that ended without their client's doing. */
  lost: number;
  /** Those of them that the access concentrator ended. */
  lost_ended: number;
  /** Those of them that were given up because nobody answered echo requests. */
  lost_silent: number;
  /** What an access concentrator last gave as a reason, in its words. Absent if it gave none. */
  message?: string | null;
  /** LCP's Echo-Request packets sent. */
  echo_requests: number;
  /** Answers to them. */
  echo_replies: number;
  /** Echo-Request packets of access concentrators that were answered. */
  echoes_answered: number;
  /** Packets of protocols or with codes that clients do not know; they were rejected. */
  rejected: number;
  /** Addresses that another client here had. */
  conflicts: number;
  /** Commands carried out: sessions begun or ended. */
  commands: number;
}

/** A refused request (RFC 9457). */
export interface Problem {
  /** `about:blank`: the status says what kind of problem it is. */
  type: string;
  /** Reason phrase of the status. */
  title: string;
  /** HTTP status. */
  status: number;
  /** What is wrong, one sentence. */
  detail: string;
  /** The wrong places of the document, if there are any. */
  errors?: ProblemPlace[];
}

/** A place in a document and what is wrong there. */
export interface ProblemPlace {
  /** Path of the value: `streams[0].rate`; empty for the document itself. */
  path: string;
  /** Line in the text, from 1; absent if there is no text. */
  line?: number | null;
  /** What is wrong and what is expected. */
  reason: string;
}

/** Processor time of processes with one name. */
export interface ProcessUsage {
  /** Their name. */
  name: string;
  /** Processor time during the trial, s. */
  cpu_s: number;
}

/** A profile in the list. */
export interface ProfileEntry {
  /** Name. */
  name: string;
  /** First line of the profile's comment. */
  about: string;
  /** Whether it is an example that comes with the program. */
  built_in: boolean;
  /** Time of the last change. */
  changed: string | null;
}

/** A profile to start a common test from. */
export interface ProfileKind {
  /** Kind of device or test. */
  name: string;
  /** What it is for. */
  about: string;
  /** The profile, with comments: change devices, addresses and rates. */
  profile: string;
  /** Test method to run it by; without one it is a run. */
  method: string | null;
}

/** What happens to the protocols of a run's hosts. */
export type ProtocolAction = "advertise" | "withdraw" | "up" | "down" | "restart" | "renew" | "release" | "enable" | "disable";

/** What a change came to. */
export interface ProtocolChange {
  /** Ranges of routes, sessions, clients or ports with agents that were changed. */
  changed: number;
}

/** How many there are of each kind on all ports. */
export interface ProtocolCounts {
  /** BGP peers. */
  bgp_peers: number;
  /** BGP peers with an established session. */
  bgp_established: number;
  /** OSPF routers. */
  ospf_routers: number;
  /** OSPF routers with a full adjacency. */
  ospf_full: number;
  /** IS-IS routers. */
  isis_routers: number;
  /** IS-IS routers with an adjacency at each of their levels. */
  isis_up: number;
  /** DHCP clients. */
  dhcp_clients: number;
  /** DHCP clients with a lease. */
  dhcp_leases: number;
  /** DHCPv6 clients. */
  dhcpv6_clients: number;
  /** DHCPv6 clients with a lease. */
  dhcpv6_leases: number;
  /** PPPoE clients. */
  pppoe_clients: number;
  /** PPPoE clients with a session and an address. */
  pppoe_sessions: number;
  /** Ports with LLDP agents. */
  lldp_ports: number;
  /** LLDP neighbours that are known. */
  lldp_neighbours: number;
  /** Ports of lags. */
  lacp_ports: number;
  /** Ports of lags that distribute. */
  lacp_distributing: number;
  /** Multicast groups that are joined. */
  groups: number;
}

/** A program that spoke control protocols behind a port. */
export interface ProtocolResult {
  /** Name of the entry. */
  name: string;
  /** Folder with its configuration and sockets. */
  folder: string;
  /** Files with what its programs said. */
  logs: string[];
  /** From its start until it was up, s. */
  up_after_s?: number | null;
  /** Why it ended before the run did. */
  ended?: string | null;
}

/** Control protocols of a running trial's hosts. */
export interface ProtocolStates {
  /** How many there are of each kind, also of those that are not listed. */
  counts: ProtocolCounts;
  /** BGP peers, by port and in the order of the profile. */
  bgp: BgpPeerState[];
  /** OSPF routers, by port and in the order of the profile. */
  ospf: OspfRouterState[];
  /** IS-IS routers, by port and in the order of the profile. */
  isis: IsisRouterState[];
  /** DHCP clients, by port and number. */
  dhcp: DhcpClientState[];
  /** DHCPv6 clients, by port and number. */
  dhcpv6: Dhcpv6ClientState[];
  /** PPPoE clients, by port and number. */
  pppoe: PppoeClientState[];
  /** LLDP agents, by port. */
  lldp: LldpPortState[];
  /** Ports of lags. */
  lacp: LacpPortState[];
  /** Multicast groups that hosts are members of, by port and address. */
  groups: GroupState[];
}

/** QUIC of one side. Packets and datagrams are those of sessions that are over. */
export interface QuicResult {
  /** Handshakes completed. */
  connections: number;
  /** Retry packets received: servers that had clients prove their address. */
  retries: number;
  /** Version Negotiation packets received: servers that do not speak version 1. */
  version_negotiations: number;
  /** Packets sent. */
  packets_sent: number;
  /** Packets declared lost; what was in them was sent again. */
  packets_lost: number;
  /** Datagrams received. */
  datagrams_received: number;
  /** Times a congestion window was reduced. */
  congestion_events: number;
}

/** A rate change during a trial. */
export interface RateChange {
  /** When it took effect, s since traffic started. */
  at_s: number;
  /** The stream, or the entry of sessions; absent for all. */
  stream?: string | null;
  /** The new rate: `2Mpps`, or `50% of the profile's rate`. */
  to: string;
}

/** Recovery at one frame length. */
export interface RecoveryRow {
  /** The frames. */
  frames: Frames;
  /** The throughput, frames/s of the first group; absent: none was found. */
  throughput_pps: number | null;
  /** 110% of it, or the line rate if that is less. */
  overload: FoundRate | null;
  /** From the drop of the load (A) to the last lost frame (B): B − A, ns. The RFC prints A − B, which is negative. */
  recovery_ns: Spread | null;
  /** Trials after which frames were still lost at the very end: the DUT did not recover. */
  not_recovered: number;
  /** Trials that the tester limited. */
  tester_limited: number;
}

/** Streams to remove from a run. */
export interface RemovedStreams {
  /** Names of streams; the name of a stream with copies means all of them. Default: all streams there are. */
  streams?: string[];
  /** When, s since traffic started. Default: at once. */
  when_s?: number | null;
}

/** Renewal of a lease. */
export interface Renewal {
  /** Time from now until the lease expires, s. Default: the time it was taken for. */
  ttl_s?: number | null;
}

/** Packets of a capture file that are not sent, or not as they stand. All are counts of one pass through the file. */
export interface ReplayResult {
  /** Packets in the file. */
  packets: number;
  /** Packets that can't be sent as Ethernet frames and are left out. */
  unsendable: number;
  /** Packets that are too long and left out. */
  too_long: number;
  /** Packets cut to the longest length, those included of which the end was not captured. */
  cut: number;
  /** Packets cut into TCP segments. */
  segmented: number;
  /** Packets cut into IP fragments. */
  fragmented: number;
  /** Segments and fragments that these became. */
  pieces: number;
  /** Packets with an IP length of 0, which is filled in. */
  lengths_filled: number;
  /** Wrong checksums of whole packets, those left to a network card included. */
  checksums_wrong: number;
  /** Those of them that are put right. */
  checksums_repaired: number;
  /** Pauses that are shortened. */
  pauses_shortened: number;
}

/** Outage after one kind of reset. */
export interface ResetRow {
  /** How the DUT was reset. */
  how: string;
  /** The frames. */
  frames: Frames;
  /** Length of a trial. */
  duration_ns: number;
  /** Lost frames ÷ offered rate, s (RFC 6201 section 4.1). */
  by_loss_s: Spread | null;
  /** Last arrival before to first arrival after, s (RFC 6201 section 4.2). */
  by_arrivals_s: Spread | null;
  /** Trials at whose end the DUT was still away. */
  not_back: number;
  /** Frames per second of the first group that were sent; absent: no rate was found. */
  rate_pps?: number | null;
  /** Trials that the tester limited or disturbed. */
  tester_limited: number;
}

/** What a trial found. */
export interface ResultDocument {
  /** `eagre.result/1`. */
  schema: string;
  /** Version of the program. */
  version: string;
  /** Seed of everything random. */
  seed: number;
  /** SHA-256 of the profile's text. */
  profile_sha256: string;
  /** When traffic started (RFC 3339); a simulated trial has none. */
  started?: string | null;
  /** How long traffic was sent, s. */
  duration_s: number;
  /** Whether it was stopped before its end. */
  interrupted: boolean;
  /** Why a part of the tester failed and ended the run; the numbers are what was counted until then. */
  failure?: string | null;
  /** The clock that stamped the packets. */
  clock: ClockResult;
  /** `software`, `hardware-rx`, `hardware`, or `simulated`. */
  timestamp_class: string;
  /** The tester's own share of a latency, measured on an in-process link before the trial. */
  self_latency_ns?: LatencyResult | null;
  /** Whether the result can be trusted. */
  verdict: Verdict;
  /** How much of what was asked succeeded. `verdict` says nothing about it. */
  achieved?: AchievedResult | null;
  /** Whether what was asked holds. It decides the exit code. */
  overall?: OverallResult | null;
  /** What happened to frames in a simulated trial. */
  sim?: SimResult | null;
  /** What else the tester's machine did; absent in a simulated trial. */
  machine?: MachineResult | null;
  /** Rate changes during the trial, in order. `requested_pps` stays what the profile says. */
  rate_changes?: RateChange[];
  /** How varying fields were written: `compiled`, or `interpreted` (much slower) where the system forbids generated machine code. Absent if nothing varied. */
  field_programs?: string | null;
  /** Captures by port. */
  captures?: Record<string, CaptureResult>;
  /** Programs that spoke control protocols, in the order the profile names them. */
  protocols?: ProtocolResult[];
  /** The criteria of the profile. */
  criteria?: CriterionResult[];
  /** Ports by name. */
  ports: Record<string, PortResult>;
  /** Streams by name. */
  streams: Record<string, StreamResult>;
  /** Sums of streams by group and row, as defined under `groups` of the profile. */
  groups?: Record<string, Record<string, StreamResult>>;
  /** Sessions by name of the entry under `sessions` of the profile. */
  sessions?: Record<string, SessionResult>;
  /** Workers, one for each core. */
  workers: WorkerResult[];
}

/** Rights of a caller. */
export type Role = "watch" | "run" | "admin";

/** What became of the sessions and adjacencies that advertise routes. */
export interface RouteOutcome {
  /** Routes advertised; those that were advertised again count again. */
  advertised: number;
  /** Sessions and adjacencies that ended while they should not have. */
  sessions_lost: number;
  /** What the first of them ended by. */
  why: string | null;
  /** From the first connection or hello until every route was acknowledged, s. */
  announced_after_s: number | null;
}

/** A number of routes that was tried. */
export interface RoutePoint {
  /** Routes that were advertised together. */
  routes: number;
  /** Packets sent to them. */
  sent: number;
  /** Packets that did not arrive. */
  lost: number;
  /** What the sessions did. */
  outcome: RouteOutcome;
}

/** What was found. */
export interface RouteRow {
  /** The frames. */
  frames: Frames;
  /** Highest share of packets lost with which a trial passed. */
  loss_max: number;
  /** The largest number of routes that passed; absent: none. */
  best: RoutePoint | null;
  /** The smallest at which the device failed; absent: none. */
  failed: RoutePoint | null;
  /** The smallest number of routes of which nothing is known because of the tester, and why; absent: none. */
  unknown: (number | string)[] | null;
  /** How far apart bounds may be, as a share. */
  resolution: number;
  /** What bounds the capacity from above. */
  limit: Limit;
}

/** A run. */
export interface Run {
  /** Id, here and in the store. */
  id: string;
  /** Name. */
  name: string;
  /** State. */
  state: State;
  /** Why it failed or was stopped. */
  reason: string | null;
  /** Who started it. */
  holder: string;
  /** Names of its ports, as they are leased. */
  ports: string[];
  /** Start time. */
  started: string;
  /** End time. */
  ended: string | null;
  /** Planned duration of traffic, s. */
  duration_s: number;
  /** Time since traffic started, s. */
  at_s: number;
  /** Seed of everything random. */
  seed: number;
  /** Warnings. */
  warnings: string[];
  /** The result's verdict, once there is one. */
  verdict: Verdict | null;
  /** How much of what was asked succeeded, once there is a result. */
  achieved: AchievedResult | null;
  /** Whether what was asked holds, once there is a result. */
  overall: OverallResult | null;
  /** The last 100 changes of rates and streams, one sentence each. */
  rate_changes: string[];
  /** How many such changes there were. */
  rate_changes_in_all: number;
  /** The last 100 changes that were refused, with the reason. */
  refused_changes: string[];
  /** How many were refused. */
  refused_changes_in_all: number;
  /** Names of the columns of live figures. */
  names: Names;
  /** Ports with a capture. */
  captures: string[];
}

/** A script. */
export interface Script {
  /** Id. */
  id: string;
  /** Name. */
  name: string;
  /** State. */
  state: State;
  /** Why it failed or was stopped. */
  reason: string | null;
  /** Who started it. */
  holder: string;
  /** Names of its ports, as they are leased. */
  ports: string[];
  /** Its arguments. */
  arguments: string[];
  /** Start time. */
  started: string;
  /** End time. */
  ended: string | null;
  /** Warnings. */
  warnings: string[];
  /** The end of what it printed, at most 256 KiB. Empty in lists. */
  output: string;
  /** Bytes printed before that. */
  output_skipped: number;
  /** Files it wrote. Empty in lists. */
  files: ScriptFile[];
}

/** A file that a script wrote. */
export interface ScriptFile {
  /** Name. */
  name: string;
  /** Size. */
  bytes: number;
}

/** What the tester can do. */
export interface SelfTestRow {
  /** Frames of 64 B per second, all groups. */
  most_pps: number | null;
  /** Frames of 64 B that fill the links, all groups. */
  line_rate_pps: number;
  /** The shortest frame that fills the links, bytes with FCS; absent: none does. */
  shortest_full_bytes: number | null;
}

/** A service and what was agreed. */
export interface Service {
  /** Name of its stream. */
  name: string;
  /** Committed information rate, of frames with FCS. */
  cir: string;
  /** Excess information rate; absent: none. */
  eir: string | null;
  /** Committed burst size: as many bytes of frames with FCS, back to back, must pass; absent: not tested. */
  cbs: number | null;
  /** Excess burst size: bursts of CBS + EBS bytes are sent, of which the CBS must pass; absent: not tested. */
  ebs: number | null;
  /** Frame length or mix; absent: the stream's own. */
  frames: Frames | null;
  /** Whether the device polices: passes no more than CIR + EIR. */
  policing: boolean;
  /** Highest frame loss ratio. */
  flr_max: number;
  /** Highest frame transfer delay, mean. */
  ftd_max: string;
  /** Highest frame delay variation: the 99.9th percentile of the delay less the minimum. */
  fdv_max: string;
  /** Lowest availability in the performance test. */
  availability_min: number;
}

/** What was found of a service. */
export interface ServiceRow {
  /** The service, and what was agreed. */
  service: Service;
  /** The steps of the configuration test in their order, then the performance test. */
  steps: ServiceStep[];
  /** Whether everything passed; absent: not all is known. */
  passed: boolean | null;
}

/** A service at one load. */
export interface ServiceStep {
  /** `25% of CIR`, `CIR + EIR`, `policing`, `CBS`, `CBS + EBS`, `performance`. */
  step: string;
  /** Load asked for, bits/s of frames with FCS. */
  asked_bps: number;
  /** Load sent. */
  offered_bps: number;
  /** Received. */
  received_bps: number;
  /** Frame loss ratio. */
  flr: number;
  /** Mean delay, ns. */
  ftd_ns: number | null;
  /** Delay variation, ns. */
  fdv_ns: number | null;
  /** What the device did once it dropped frames, in the policing step. */
  policed?: Policed | null;
  /** Share of available seconds; of the performance test. */
  availability?: number | null;
  /** Whether all criteria were met; absent: the tester was the limit or disturbed, so nothing is known. */
  passed: boolean | null;
  /** What was not met. */
  because?: string[];
}

/** Latency at one application. */
export interface SessionLatencyRow {
  /** What sessions carried. */
  app: Application;
  /** What was held. */
  objective: Objective;
  /** The most that passed, as searched or given; absent: nothing did. */
  most: number | null;
  /** Latency at a share of it. */
  point: SessionPoint | null;
  /** The tester was the limit. */
  tester_limited: boolean;
}

/** The outcome of sessions; of the sustain phase, unless stated otherwise. */
export interface SessionOutcome {
  /** Sessions attempted. */
  attempted: number;
  /** Sessions established. */
  established: number;
  /** Transactions attempted. */
  transactions: number;
  /** Transactions that failed, including those of sessions that were never established. */
  transactions_failed: number;
  /** Unexpected resets. */
  resets: number;
  /** Sessions opened per second, mean. */
  open_per_s: number;
  /** Sessions open at the same time, mean. */
  concurrent_mean: number;
  /** Most sessions open at the same time. */
  concurrent_max: number;
  /** Transactions per second, mean. */
  transactions_per_s: number;
  /** Application bytes received, bits/s, mean. */
  goodput_bps: number;
  /** Largest deviation of the forwarding rate from its mean over samples of at most 2 s, as a share of the mean. */
  rate_deviation: number;
  /** The same of the number of open sessions. */
  concurrent_deviation: number;
  /** SYN to established, ns. */
  setup_ns?: LatencySummary | null;
  /** SYN to the first application byte received, ns. */
  ttfb_ns?: LatencySummary | null;
  /** SYN to the last application byte received, ns. */
  ttlb_ns?: LatencySummary | null;
}

/** A trial of sessions. */
export interface SessionPoint {
  /** What was asked for. */
  value: number;
  /** What was reached. */
  reached: number;
  /** What it showed. */
  sessions: SessionOutcome;
  /** Why it did not pass. */
  violations: string[];
  /** Where things were seen to vanish. */
  drops: ((string | number)[])[];
}

/** One entry under `sessions`: counts of its clients, or of its servers if the clients are external. */
export interface SessionResult {
  /** Mean rate of sessions requested while sessions were opened; absent for `max` and for servers. */
  requested_open_per_s?: number | null;
  /** Sessions due but not opened because the tester was too slow; negative in an interval that caught up with an earlier one. Absent for servers. */
  unopened?: number | null;
  /** Sessions due but not opened because `concurrent` were open. Absent for servers. */
  withheld?: number | null;
  /** Requests due but not sent because every session waited for a response; negative in an interval that caught up with an earlier one. Only where requests are sent late (`late_requests: send`). */
  unsent_requests?: number | null;
  /** Sessions that clients began to open, or that servers were asked for. */
  attempted: number;
  /** Sessions established. */
  established: number;
  /** Sessions completed as planned. */
  completed: number;
  /** Completed sessions that were ended early because their time was up or the run was over. */
  stopped: number;
  /** Sessions that failed, by reason. */
  failed: Record<string, number>;
  /** Failed sessions / `attempted`. */
  failed_ratio: number;
  /** Sessions open at the end; in an interval or a phase, the change since its beginning. */
  active: number;
  /** Maximum of open sessions. With several workers, or applications of a mix, at most so many: each has its maximum at an instant of its own, and the sum is taken over spans of at most 50 ms. */
  active_max: number;
  /** At least so many sessions were open at one instant. Only with several workers, or applications of a mix. */
  active_max_at_least?: number | null;
  /** Sessions established per second. */
  open_per_s: number;
  /** Requests sent (clients) or received (servers). */
  requests: number;
  /** Requests that clients had left to send when servers closed their connections between responses. Absent if none. */
  unasked?: number | null;
  /** Requests without a complete response, or with one of status 4xx or 5xx, / `requests`. Clients only. */
  failed_requests_ratio?: number | null;
  /** Complete responses received (clients) or sent (servers). */
  transactions: number;
  /** Transactions per second. */
  transactions_per_s: number;
  /** Application bytes received. */
  rx_bytes_goodput: number;
  /** Application bytes sent and acknowledged; over UDP, sent. */
  tx_bytes_goodput: number;
  /** Application bits received per second while load was offered. */
  rx_bps_goodput: number;
  /** Application bits sent and acknowledged per second while load was offered; over UDP, sent. */
  tx_bps_goodput: number;
  /** TCP segments retransmitted, for any cause. */
  retransmitted_segments: number;
  /** Time to open a session, until established. Clients only. */
  setup_ns?: LatencyResult | null;
  /** Duration of TLS handshakes. */
  handshake_ns?: LatencyResult | null;
  /** Time from a request to the first byte of its response. Clients only. */
  ttfb_ns?: LatencyResult | null;
  /** Time from a request to the last byte of its response. Clients only. */
  ttlb_ns?: LatencyResult | null;
  /** Time from when a request was due to the first byte of its response. Clients whose requests are sent late only. */
  ttfb_due_ns?: LatencyResult | null;
  /** Time from when a request was due to the last byte of its response. Clients whose requests are sent late only. */
  ttlb_due_ns?: LatencyResult | null;
  /** Counts of the clients by phase, of an entry whose rate goes up or down: `ramp_up`, `sustain`, `ramp_down`. What came in the drain is in none. */
  phases?: Record<string, PhaseResult>;
  /** Counts of the clients, if they run here. */
  client?: SideDetails | null;
  /** Counts of the servers, if they run here. */
  server?: SideDetails | null;
}

/** The most at one application. */
export interface SessionRow {
  /** What sessions carried. */
  app: Application;
  /** What the search increased. */
  objective: Objective;
  /** The most that passed. */
  best: SessionPoint | null;
  /** The least that did not. */
  failed: SessionPoint | null;
  /** The first that did not, in the order of trials: for a load in steps the step of failure. */
  first_failed: SessionPoint | null;
  /** What bounds it from above. */
  limit: Limit;
  /** The search ends when its bounds are this share apart. Archives of older versions do not say. */
  resolution?: number | null;
}

/** All counts of one side. */
export interface SideDetails {
  /** Sessions that clients began to open, or that servers were asked for. */
  attempted: number;
  /** Sessions established. */
  established: number;
  /** Sessions completed as planned. */
  completed: number;
  /** Completed sessions that were ended early because their time was up or the run was over. */
  stopped: number;
  /** Sessions that failed, by reason. */
  failed: Record<string, number>;
  /** Failed sessions / `attempted`. */
  failed_ratio: number;
  /** Sessions open at the end; in an interval or a phase, the change since its beginning. */
  active: number;
  /** Maximum of open sessions. With several workers, or applications of a mix, at most so many: each has its maximum at an instant of its own, and the sum is taken over spans of at most 50 ms. */
  active_max: number;
  /** At least so many sessions were open at one instant. Only with several workers, or applications of a mix. */
  active_max_at_least?: number | null;
  /** Sessions established per second. */
  open_per_s: number;
  /** Requests sent (clients) or received (servers). */
  requests: number;
  /** Requests that clients had left to send when servers closed their connections between responses. Absent if none. */
  unasked?: number | null;
  /** Requests without a complete response, or with one of status 4xx or 5xx, / `requests`. Clients only. */
  failed_requests_ratio?: number | null;
  /** Complete responses received (clients) or sent (servers). */
  transactions: number;
  /** Transactions per second. */
  transactions_per_s: number;
  /** Application bytes received. */
  rx_bytes_goodput: number;
  /** Application bytes sent and acknowledged; over UDP, sent. */
  tx_bytes_goodput: number;
  /** Application bits received per second while load was offered. */
  rx_bps_goodput: number;
  /** Application bits sent and acknowledged per second while load was offered; over UDP, sent. */
  tx_bps_goodput: number;
  /** TCP segments retransmitted, for any cause. */
  retransmitted_segments: number;
  /** Time to open a session, until established. Clients only. */
  setup_ns?: LatencyResult | null;
  /** Duration of TLS handshakes. */
  handshake_ns?: LatencyResult | null;
  /** Time from a request to the first byte of its response. Clients only. */
  ttfb_ns?: LatencyResult | null;
  /** Time from a request to the last byte of its response. Clients only. */
  ttlb_ns?: LatencyResult | null;
  /** Time from when a request was due to the first byte of its response. Clients whose requests are sent late only. */
  ttfb_due_ns?: LatencyResult | null;
  /** Time from when a request was due to the last byte of its response. Clients whose requests are sent late only. */
  ttlb_due_ns?: LatencyResult | null;
  /** Applications of a mix by name. Absent if there is only one. */
  apps?: Record<string, PartResult>;
  /** Hosts by name, if several play this side. Absent if there is only one. */
  hosts?: Record<string, PartResult>;
  /** Details of failures: TLS alerts, faults of certificates and responses. */
  failure_details?: Record<string, number>;
  /** Responses by class of HTTP status: `2xx`. */
  http?: Record<string, number>;
  /** DNS responses by code; `truncated` ones, `retries`, and queries asked again `over_tcp`. */
  dns?: Record<string, number>;
  /** HTTP/2. Absent if no connection spoke it. */
  http2?: Http2Result | null;
  /** HTTP/3. Absent if no connection spoke it. */
  http3?: Http3Result | null;
  /** QUIC. Absent if no session goes over it. */
  quic?: QuicResult | null;
  /** TLS handshakes by negotiated parameters. */
  tls?: TlsResult[];
  /** TCP counters that are not zero. */
  tcp?: Record<string, number>;
  /** Round-trip times measured by TCP. */
  rtt_ns?: LatencyResult | null;
  /** Largest IP packet received with a TCP segment, bytes. */
  packet_max_bytes?: number | null;
  /** Frame counters that are not zero. */
  frames?: Record<string, number>;
}

/** What simulated links and the simulated device did, as opposed to what was measured. */
export interface SimResult {
  /** Frames lost on links. */
  lost_on_links: number;
  /** Frames duplicated on links. */
  duplicated: number;
  /** Frames delayed on links. */
  delayed: number;
  /** Frames in which links flipped a bit. */
  corrupted: number;
  /** Frames delivered after a frame sent later on the same port. */
  overtaken: number;
  /** Frames dropped by the device because its buffer was full. */
  dropped_by_device: number;
  /** Frames the device had no route for. */
  no_route: number;
}

/** Everything known of a run: the last interval and the totals. */
export interface Snapshot {
  /** Id of the run. */
  id: string;
  /** State. */
  state: State;
  /** Time since traffic started, s. */
  at_s: number;
  /** Planned duration of traffic, s. */
  duration_s: number;
  /** `eagre.interval/1`: the last interval; null before the first. */
  interval: IntervalDocument | null;
  /** Totals since the start. Packets on the way count as lost until they arrive. */
  total: TotalDocument;
  /** Workers. */
  workers: WorkerLoad[];
  /** Neighbours that were resolved before traffic started, or whose MAC address is given. */
  neighbours: Neighbour[];
}

/** One interval. */
export interface SoakInterval {
  /** Lost ÷ sent; absent if the tester was the limit. */
  loss_ratio: number | null;
  /** Mean latency of all groups, ns. */
  latency_mean_ns: number | null;
}

/** A load held at one frame length. */
export interface SoakRow {
  /** The frames. */
  frames: Frames;
  /** The load; absent: no rate was found. */
  load: FoundRate | null;
  /** Interval by interval. */
  intervals: SoakInterval[];
  /** Lost ÷ sent over all intervals that counted. */
  loss_ratio: number;
  /** Growth of the loss ratio per hour. */
  loss_trend: Trend | null;
  /** Growth of the mean latency, ns per hour. */
  latency_trend: Trend | null;
}

/** Mean and standard deviation (n − 1), median, smallest and largest. */
export interface Spread {
  /** Number of values. */
  samples: number;
  /** Arithmetic mean. */
  mean: number;
  /** Standard deviation of the sample. */
  stddev: number;
  /** Median; of an even number of values, the mean of the middle two. Absent in results of versions that did not have it. */
  median?: number | null;
  /** Smallest. */
  min: number;
  /** Largest. */
  max: number;
}

/** The spread of times, ns. */
export interface SpreadResult {
  /** Minimum. */
  min: number;
  /** Mean. */
  mean: number;
  /** Standard deviation. */
  stddev: number;
  /** Maximum. */
  max: number;
}

/** Whether a trial counts, and for what. */
export type Standing = "counted" | "bounded" | "tester_limited" | "invalid" | "interrupted" | "aside";

/** State of a run or campaign. */
export type State = "starting" | "running" | "draining" | "done" | "failed" | "stopped" | "interrupted";

/** How a method ended. */
export type Status = "running" | "complete" | {  failed: Fault; };

/** A campaign in the store. */
export interface StoredCampaign {
  /** Its name in the store. */
  id: CampaignId;
  /** What people call it. */
  name: string;
  /** The method. */
  method: string;
  /** The method's settings. */
  config: Record<string, unknown>;
  /** Text of the profile. */
  profile: string;
  /** SHA-256 of that text. */
  profile_sha256: string;
  /** Seed of everything random. */
  seed: number;
  /** Version of the program. */
  version: string;
  /** The command line that does it again. */
  command: string;
  /** When it began (RFC 3339, UTC, ms). */
  started: string;
  /** When it ended, likewise. */
  ended: string | null;
  /** How far it is. */
  state: StoredState;
  /** Why it failed. */
  reason: string | null;
  /** How often it was resumed. */
  resumed: number;
  /** The machine it ran on. */
  environment: Record<string, unknown>;
  /** Words to find it by, in alphabetical order. */
  tags: string[];
}

/** A stored profile. */
export interface StoredProfile {
  /** Name. */
  name: string;
  /** Text. */
  profile: string;
}

/** How far a campaign is. One whose process was killed stays `Running` until it is resumed. */
export type StoredState = "running" | "done" | "interrupted" | "failed";

/** One stream. */
export interface StreamResult {
  /** Packets per second requested; absent for `max`. */
  requested_pps?: number | null;
  /** When it was added to the running trial, s since traffic started; absent for streams of the profile. Rates count from then on. */
  added_s?: number | null;
  /** When it was removed from the running trial, s since traffic started. */
  removed_s?: number | null;
  /** Packets per second sent. */
  offered_pps: number;
  /** Packets sent. */
  tx: number;
  /** Bytes sent, with FCS. */
  tx_bytes: number;
  /** Packets received, without duplicates; of packets counted by a mark with them. */
  rx?: number | null;
  /** Their bytes, with FCS. */
  rx_bytes?: number | null;
  /** Packets sent and not received. Of packets counted by a mark at least so many, as duplicates count as received; absent if more were received than sent. */
  lost?: number | null;
  /** `lost` / `tx`. */
  loss_ratio?: number | null;
  /** Duplicates received. */
  duplicates?: number | null;
  /** Packets received after one sent later (RFC 4737). */
  reordered?: number | null;
  /** Largest distance of a reordered packet, in packets of its stream. */
  reorder_distance_max?: number | null;
  /** Packets too late to tell from duplicates; counted as lost. */
  stale?: number | null;
  /** Packets with a sequence number far ahead that no later packet confirmed; not counted as received. */
  rejected?: number | null;
  /** What was compared of received packets: `signature`, its 18 bytes; `full`, the rest of the payload, too. */
  integrity?: string | null;
  /** Packets received damaged, duplicates included; of streams with `integrity: full`. They are not lost. */
  damaged?: number | null;
  /** What was wrong with them. */
  damage?: DamageResult | null;
  /** One-way delay. */
  latency_ns?: LatencyResult | null;
  /** Variation of the delay from packet to packet. */
  jitter_ns?: JitterResult | null;
  /** Time between arrivals. */
  interarrival_ns?: SpreadResult | null;
  /** The times of packets that no pause of the tester touched; absent if none was touched. */
  undisturbed?: UndisturbedResult | null;
  /** Arrival of the first packet, ns since traffic started. */
  first_arrival_ns?: number | null;
  /** Arrival of the last packet, ns since traffic started. */
  last_arrival_ns?: number | null;
  /** Arrivals by port, of a stream that may arrive at several (`also_to`). */
  paths?: Record<string, PathResult>;
  /** When too few packets arrived, of a stream with `outages`; absent if others sent it. */
  outages?: OutagesResult | null;
  /** Arrivals by the value of the bits under `egress`, as decimal numbers in the order of the profile: `46`, or `46,5` of two fields; `short` has frames that end before these bits. Values that did not come are absent. */
  egress?: Record<string, EgressResult>;
  /** Departures compared with the schedule. */
  pacing_ns?: PacingResult | null;
  /** What the capture of a stream with `replay` did not give as it stands; absent if all is sent as captured. Both directions of a capture have the same. */
  replay?: ReplayResult | null;
}

/** A campaign in a list. */
export interface Summary {
  /** Its name in the store. */
  id: CampaignId;
  /** What people call it. */
  name: string;
  /** The method. */
  method: string;
  /** When it began. */
  started: string;
  /** When it ended. */
  ended: string | null;
  /** How far it is. */
  state: StoredState;
  /** Words to find it by. */
  tags: string[];
  /** Finished trials. */
  trials: number;
  /** Those of them that are not valid. */
  invalid: number;
  /** Those of them in which the tester was the limit. */
  generator_limited: number;
  /** Those of them in which something disturbed the tester. */
  disturbed: number;
  /** Why the first of the trials that are not valid is not; else why the first that was limited was. */
  reason: string | null;
  /** Of a single run: whether what was asked of it holds: `passed`, `failed` or `cannot_judge`. */
  outcome: string | null;
}

/** A point of the curve. */
export interface SweepPoint {
  /** The load. */
  load: FoundRate;
  /** Lost ÷ sent; absent if the tester was the limit, or the trial can't be judged. */
  loss_ratio: number | null;
  /** Of these at least this share was the DUT's, where the tester was disturbed. */
  loss_ratio_least?: number | null;
  /** Frames/s that arrived, all groups. */
  received_pps: number;
  /** Latency by group, ns. */
  latency_ns: (LatencySummary | null)[];
  /** Jitter by group, ns. */
  jitter_ns: (JitterSummary | null)[];
}

/** The curve at one frame length. */
export interface SweepRow {
  /** The frames. */
  frames: Frames;
  /** Length of a trial. */
  duration_ns?: number;
  /** By rising load. */
  points: SweepPoint[];
  /** The highest loss-free load below the first loss, share of the line rate. */
  loss_free: number | null;
  /** The lowest load with loss, share of the line rate. */
  first_loss: number | null;
}

/** The metrics of RFC 6349 section 2.3 and 4.1. */
export interface TcpFigures {
  /** Who sent. */
  group: string;
  /** Application data that arrived, bits/s. */
  achieved_bps: number;
  /** Actual ÷ ideal transfer time of the same data. */
  transfer_time_ratio: number;
  /** (Bytes sent − bytes sent again) ÷ bytes sent, percent. */
  efficiency_percent: number;
  /** (Mean − smallest round-trip time) ÷ smallest, percent. */
  buffer_delay_percent: number;
}

/** What the path can do, and what TCP made of it. */
export interface TcpRow {
  /** The path, idle. */
  path: PathOutcome | null;
  /** Bottleneck bandwidth of a direction at layer 1, bits/s. */
  bottleneck_bps: number | null;
  /** Bandwidth-delay product, bytes. */
  bdp_bytes: number | null;
  /** What TCP can carry at best in a direction, bits/s of application data (section 4.1.1). */
  ideal_bps: number | null;
  /** One for each window and choice of senders. */
  runs: TcpRun[];
}

/** TCP with one window. */
export interface TcpRun {
  /** Who sent. */
  senders: string[];
  /** Window of each connection, bytes. */
  window_bytes: number;
  /** What the window allows at best, bits/s of each sender: window ÷ round-trip time, at most the ideal. */
  window_limit_bps: number;
  /** One for each sender. */
  results: TcpFigures[];
  /** The tester was the limit. */
  tester_limited: boolean;
}

/** What all trials of a method share. */
export interface Testbed {
  /** The senders; all send the same share of their line rate (RFC 2544 section 14). */
  groups: Group[];
  /** Times around the traffic of a trial. */
  timing: Timing;
  /** Addresses, ports and modifiers of the frames. */
  attributes: Attributes;
  /** Routes that the ports advertise to which streams go. */
  routes?: number;
}

/** Throughput at one frame length. */
export interface ThroughputRow {
  /** The frames. */
  frames: Frames;
  /** The highest rate that passed a trial of full length; absent: none did. */
  throughput: FoundRate | null;
  /** Frames per second that fill the link of the first group: the theoretical limit. */
  line_rate_pps: number;
  /** The lowest rate of the first group at which the DUT failed, frames/s. */
  failed_pps: number | null;
  /** The same with all groups. */
  failed?: FoundRate | null;
  /** The highest load above the throughput that can't be judged; absent: none. */
  unjudged?: UnjudgedLoad | null;
  /** What bounds it from above. */
  limit: Limit;
  /** The search ends when its bounds are this share of the line rate apart. Archives of older versions do not say. */
  resolution?: number | null;
  /** Loss ratio that still passes. */
  loss_ratio?: number | null;
  /** How often a load that lost frames was tried again before the loss was believed. */
  loss_verification?: number | null;
  /** Length of the trial it passed. */
  final_trial_ns: number;
  /** That trial, by group. */
  directions: GroupOutcome[];
  /** The smallest loss ratio seen at the smallest load, if that failed. */
  loss_at_minimum: number | null;
}

/** The times around the traffic of a trial (RFC 2544 section 23). */
export interface Timing {
  /** Time for routing updates and learning frames before the traffic. */
  learning: string;
  /** How long to wait for late frames; counters are read after it. */
  drain: string;
  /** How long the DUT rests before the next trial. */
  settle: string;
}

/** TLS handshakes with the same parameters. */
export interface TlsResult {
  /** `1.2` or `1.3`. */
  version: string;
  /** Cipher suite (IANA). */
  suite: string;
  /** Key exchange; empty if there was none. */
  group: string;
  /** Application protocol agreed on (ALPN), such as `h2`; empty if none, `other` if it is not a common one. */
  alpn: string;
  /** Whether an earlier session was resumed. */
  resumed: boolean;
  /** Number of handshakes. */
  handshakes: number;
}

/** Counts since the start of a running trial. */
export interface TotalDocument {
  /** Ports by name. */
  ports: Record<string, PortResult>;
  /** Streams by name. `lost` includes packets in flight. */
  streams: Record<string, StreamResult>;
  /** Sums of streams by group and row. */
  groups?: Record<string, Record<string, StreamResult>>;
  /** Sessions by name of the entry under `sessions` of the profile. */
  sessions?: Record<string, SessionResult>;
}

/** A straight line through the intervals. */
export interface Trend {
  /** Growth per hour. */
  per_hour: number;
  /** How many standard errors that is; beyond 3 either way it is hardly chance. */
  standard_errors: number;
}

/** A trial in a method's result. */
export interface TrialNote {
  /** Its number. */
  number: number;
  /** Its key. */
  key: string;
  /** Its phase. */
  phase: Phase;
  /** Its label. */
  label: string;
  /** The frames; absent unless the trial is an even load. */
  frames?: Frames | null;
  /** What the trial varies: share of the line rate, or number of frames, addresses or sessions. */
  magnitude: number;
  /** Its length. */
  duration_ns: number;
  /** Frames sent. */
  sent: number;
  /** Frames lost. */
  lost: number;
  /** Frames that the DUT lost at least, if the tester may have lost the others. */
  lost_least?: number | null;
  /** Whether it counts, and for what. */
  standing: Standing;
  /** Reasons why it does not count. */
  reasons?: string[];
}

/** Times of packets that no pause of the tester touched: none was due, sent, under way or waiting to be received in one. */
export interface UndisturbedResult {
  /** Their share of the packets received. */
  ratio: number;
  /** One-way delay. */
  latency_ns?: LatencyResult | null;
  /** Variation of the delay from packet to packet. */
  jitter_ns?: JitterResult | null;
  /** Time between arrivals. */
  interarrival_ns?: SpreadResult | null;
}

/** A load at which trials can't be judged, because the tester was disturbed. */
export interface UnjudgedLoad {
  /** The load. */
  load: FoundRate;
  /** Smallest loss ratio counted at it. The tester may have lost all of that. */
  loss_ratio: number;
}

/** Whether a result can be trusted. */
export interface Verdict {
  /** Whether the figures can be trusted. */
  valid: boolean;
  /** Whether the tester, and not the device under test, was the limit. */
  generator_limited: boolean;
  /** Whether something on the tester's machine disturbed it: its cores were taken away or it paused. */
  disturbed: boolean;
  /** Why the result is not valid, why the tester was the limit, or what disturbed it. */
  reasons: string[];
  /** What the test needed and did not get: addresses of clients, sessions of control protocols, packets of the sender. These are among `reasons`, too. */
  lacks?: string[];
  /** What else is wrong, whatever disturbed the tester: links that changed, packets of unknown streams, clocks that differ. These are among `reasons`, too. */
  faults?: string[];
  /** What to know about the figures that are valid all the same. */
  notes?: string[];
  /** How far single figures can be trusted, by path: `streams.a.lost`, or `streams.a.latency_ns` for all below it. A figure without an entry holds; absent if all do. */
  holds?: Record<string, HoldsResult>;
}

/** Versions. */
export interface Version {
  /** Version of the program. */
  version: string;
  /** Version of the API, the number in its paths. */
  api: string;
  /** Version of DPDK; null until a port opens it. */
  dpdk: string | null;
}

/** The caller. */
export interface Whoami {
  /** Name of the token, or `local`. */
  name: string;
  /** Role. */
  role: Role;
}

/** Load of a worker. */
export interface WorkerLoad {
  /** Core; null if the worker is bound to none. */
  core: number | null;
  /** Share of its time in which it was busy. */
  busy_ratio: number;
}

/** One worker. */
export interface WorkerResult {
  /** The core it ran on at the end; absent in a simulated trial. */
  core?: number | null;
  /** Moves to other cores, because other processes used its own. */
  moves?: CoreMove[];
  /** Its priority, such as `nice -20`; if it is `normal`, why. Absent in a simulated trial. */
  priority?: string | null;
  /** Share of time with work to do. */
  busy_ratio: number;
  /** Processor time used, s. */
  cpu_s?: number | null;
  /** Time spent waiting for the core, s. */
  waited_s?: number | null;
  /** Longest time between two turns of the loop, ns. */
  stall_max_ns: number;
  /** Time in which the loop stood still for 5 ms and longer, s; absent in a simulated trial. */
  paused_s?: number | null;
  /** Time asleep because nothing was due, s; absent if it never slept. */
  slept_s?: number | null;
  /** Longest time by which a sleep ended too late, ns; absent if it never slept. */
  overslept_max_ns?: number | null;
}
