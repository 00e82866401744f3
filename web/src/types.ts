/** The API's documents. Generated from docs/openapi.json by 'npm run types'; do not edit. */

/** Sessions or packets requested and achieved. */
export interface AchievedPart {
  /** Number of sessions or packets requested. */
  asked: number;
  /** Number that succeeded. */
  succeeded: number;
  /** Sessions still in progress at the end; zero for packets. */
  unfinished: number;
  /** `succeeded` / `asked`. */
  ratio: number;
  /** Streams or entries without any success. */
  dead: string[];
}

/** Share of the requested load that succeeded. Streams and entries for which a criterion demands loss or failures are left out. */
export interface AchievedResult {
  /** Whether at least half of the sessions that ended, and half of the packets, succeeded. */
  success: boolean;
  /** First line of the summary. */
  summary: string;
  /** Sessions completed and attempted; absent without sessions. */
  sessions?: AchievedPart | null;
  /** Packets received and sent of streams to a port of the tester; absent without such streams. */
  packets?: AchievedPart | null;
}

/** Findings at one number of addresses. */
export interface AddressRow {
  /** `capacity` or `learning rate`. */
  what: string;
  /** Addresses, or addresses per second; absent: none. */
  value: number | null;
  /** The smallest that failed. */
  failed: number | null;
  /** Limit of the value from above. */
  limit: Limit;
  /** Why the smallest that failed did: frames lost and flooded. */
  failed_by: number[] | null;
}

/** One of several machines of a run. */
export interface AgentResult {
  /** Name of the agent; `controller` for the machine of the controller. */
  name: string;
  /** Version of its program. */
  version: string;
  /** Its ports, by the profile's names. */
  ports: string[];
  /** Number of its workers. */
  workers: number;
  /** How its clock was compared with the controller's: `shared`, if both are one; `exchange`, by times of messages there and back; `kernel`, by the time daemons of both machines, if these state a smaller error. */
  clock: string;
  /** Its clock minus the controller's before the run, ns. */
  offset_ns: number;
  /** Uncertainty of the offset during the run, ns: half the shortest round trip of messages, or the largest errors that both kernels state, and the drift. */
  uncertainty_ns: number;
  /** Drift of its clock against the controller's during the run, parts per 10⁹; absent if they are one. */
  drift_ppb?: number | null;
  /** When its workers began to send, minus the common start, ns. */
  start_error_ns?: number | null;
  /** Its loss, if it was lost and the run continued on the others (`load.on_agent_loss`). */
  lost?: LossResult | null;
}

/** A class by itself. */
export interface Alone {
  /** Load sent under overload, bits/s of frames with FCS. */
  offered_bps: number;
  /** False: the tester was the limit or disturbed, so nothing is known. */
  judged: boolean;
  /** Treatment by the device. */
  treatment: Treatment | null;
  /** Rate that passes, bits/s of frames with FCS; where everything passes, the load. */
  rate_bps: number | null;
  /** Its error either way. */
  rate_error_bps: number | null;
  /** Bytes that pass in addition. */
  bucket_bytes: number | null;
  /** Their error either way. */
  bucket_error_bytes: number | null;
  /** Bytes that wait at most; of a shaper. */
  queue_bytes: number | null;
  /** Whether frames were lost, so that the queue was full. */
  queue_is_full: boolean;
  /** The longest wait, but for the slowest thousandth, ns; of a shaper. */
  wait_ns: number | null;
  /** Shortest latency at a low load, ns. */
  idle_ns: number | null;
  /** Share of frames lost under overload. */
  loss_ratio: number | null;
}

/** Alternative services: HTTP/3 where servers announce it. */
export interface AltSvcResult {
  /** Responses that announced HTTP/3. */
  announced: number;
  /** Responses that withdrew all alternatives. */
  cleared: number;
  /** Sessions opened by HTTP/3 because it was announced. */
  opened: number;
  /** Times that HTTP/3 was given up, for five minutes, because it could not be reached. */
  broken: number;
}

/** The rules behind mappings that exist at the same time. */
export interface Analysis {
  /** Mappings looked at. */
  mappings: number;
  /** Mappings whose outside endpoint is not the inside one: of none, the device is a firewall and translates nothing. */
  translated: Share;
  /** Dependence of mappings on the other end; the share is of inside endpoints with several remotes that have one outside endpoint for all. */
  mapping: Judged;
  /** Its share is of inside addresses with several mappings that have one outside address. */
  pooling: Judged2;
  /** Outside addresses seen. */
  outside_addresses: number;
  /** Lowest outside port seen. */
  port_min: number;
  /** Highest outside port seen. */
  port_max: number;
  /** Mappings whose outside port is the inside one (port preservation). */
  preserved: Share;
  /** Mappings of which both ports are even or both odd (port parity). */
  parity: Share;
  /** Pairs of neighbouring inside ports, an even one and the next, whose outside ports are neighbours, too (port contiguity). */
  contiguous: Share;
  /** Mappings whose outside port is the one after that of the mapping before, in the order in which they were made. */
  sequential: Share;
  /** Outside endpoints that more than one inside endpoint has (port overloading). */
  overloaded: Share;
  /** Outside endpoints that more than one inside endpoint has towards one remote: packets from there have two owners. */
  ambiguous: number;
  /** Ports of each subscriber, if each has its own; the share is of subscribers. */
  blocks: Judged3;
  /** Least and largest size of a block that these allow; absent: there are no blocks, or of one subscriber only. */
  block_ports?: number[] | null;
}

/** Application of sessions. */
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

/** A whole campaign, `eagre.archive/1`. Its documents are unmodified: documents of an older version may lack fields. */
export interface Archive {
  /** `eagre.archive/1`. */
  schema: string;
  /** The campaign. */
  campaign: StoredCampaign;
  /** Findings of its methods. */
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
  /** Its number in the campaign: 1, 2, 3 …, for all methods. Used in reports. */
  ordinal: number;
  /** A fingerprint of the request. */
  key: string;
  /** Description for people. */
  label: string;
  /** Method that requested it. */
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
  /** For a trial of sessions: the requested load, in `load_unit`. */
  load?: number | null;
  /** `connections/s`, `connections`, `transactions/s` or `bits/s`. */
  load_unit?: string | null;
  /** how long traffic was sent, s */
  duration_s?: number | null;
  /** requested load, packets/s; absent if a stream has none */
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
  /** The request, in the method's own form; null for a run without a method. */
  request: Record<string, unknown> | null;
  /** The method's outcome: passed to it again when the campaign is resumed. Null for a run without a method. */
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

/** Attributes of the frames of all trials. */
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
  /** Longest of the shortest bursts with loss, frames: no search found a longer one without loss, nor one shorter than `burst_frames.min` with it. Absent where nothing was lost. */
  lost_from_frames?: number | null;
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
  /** Limit of the throughput from above. Absent in archives of older versions. */
  throughput_limit?: Limit | null;
}

/** Change of a backend. */
export type BackendChange = "silent" | "reset" | "drain";

/** A backend's share. */
export interface BackendOutcome {
  /** Its address. */
  address: string;
  /** Sessions whose first response was its, as the clients saw it. */
  sessions: number;
  /** Connections, or flows of datagrams, with requests of the clients, as the backend saw it. */
  connections: number;
  /** Requests of the clients that it responded to. */
  requests: number;
  /** Requests of others, such as health checks. */
  checks: number;
}

/** Findings of the test. */
export interface BalancerRow {
  /** Backends with their sessions; empty: not tested, or not known. */
  backends?: BackendOutcome[];
  /** Weights of the backends; empty: all the same. */
  weights?: number[];
  /** Sessions of the spread that failed, by reason. */
  failed?: Record<string, number>;
  /** Stickiness. */
  sticky?: StickyFound[];
  /** Changes. */
  changes?: ChangeFound[];
  /** Parts that can't be judged: the tester was disturbed, or the limit. */
  unjudged?: string[];
}

/** A class at a low load beside all others, which overload the device. */
export interface Beside {
  /** False: the tester was the limit or disturbed, so nothing is known. */
  judged: boolean;
  /** Share of its frames that were lost. */
  loss_ratio: number | null;
  /** Mean latency, ns. */
  latency_mean_ns: number | null;
  /** 99th percentile of the latency, ns. */
  latency_p99_ns: number | null;
}

/** A BGP peer of a speaker behind a port. */
export interface BgpPeerState {
  /** Name of the port in the profile. */
  port: string;
  /** Name of the BGP speaker's host behind the port. */
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
  /** Sessions that ended unexpectedly. */
  flaps: number;
  /** Sessions restarted by a command. */
  restarts: number;
  /** Graceful restart capability of the peer in its latest session (RFC 4724); null if not announced. */
  graceful_restart: GracefulRestartState | null;
  /** Whether a prefix can have several paths (RFC 7911): `send` to the peer, `receive` from it, `both`; null if not. */
  add_path: string | null;
  /** Routes advertised; repeated advertisements count again. */
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
  /** Number of stored routes of the peer: advertised and not withdrawn, at most `keep` of the profile. */
  kept: number;
  /** Advertised routes that exceeded this limit. */
  left_out: number;
  /** Stored routes by prefix, if requested. */
  routes?: BgpRouteState[];
}

/** BGP sessions of a port's hosts, from before traffic until their end. */
export interface BgpResult {
  /** Peers. */
  peers: number;
  /** Sessions that were established when traffic started. */
  established: number;
  /** Peers without an established session when traffic started. */
  failed: number;
  /** Sessions that are established now; in a result, when traffic had ended. */
  established_at_end: number;
  /** Sessions that ended unexpectedly. */
  flaps: number;
  /** Sessions restarted by a command. */
  restarts: number;
  /** Peers that announced graceful restart (RFC 4724) in their latest session. */
  graceful_restart_peers: number;
  /** Sessions in which a prefix can have several paths, one way or both (RFC 7911); in a result, when traffic had ended. */
  add_path_sessions: number;
  /** Time from the first attempt to the first session of each peer. */
  setup_ns?: LatencyResult | null;
  /** Time from the first connection until all sessions were established and all routes acknowledged. Absent if this was not reached before traffic started. */
  announced_after_s?: number | null;
  /** Connections opened, and accepted. */
  connections: number;
  /** Routes advertised; repeated advertisements count again. */
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
  /** Prefix length, bits. */
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

/** Ports of an outside address that one inside address has to itself. */
export interface Block {
  /** The subscriber. */
  inside: string;
  /** The outside address. */
  outside: string;
  /** Lowest port seen. */
  first: number;
  /** Highest port seen. */
  last: number;
}

/** Treatment of frames to an idle port while another port is congested. */
export type Blocking = "absent" | "head_of_line" | "shared_buffer" | "no_loss";

/** Longest burst that several ports can send to one at once. */
export interface BurstFound {
  /** Ports that send to each receiver. */
  senders: number;
  /** Ports that receive at once. */
  receivers: number;
  /** Frames of a sender in the longest burst without loss; absent: none. */
  burst_frames: number | null;
  /** Frames of a sender in the shortest burst with loss. */
  failed_frames: number | null;
  /** Frames that the device held at the end of the longest burst without loss, of all receivers. */
  held_frames: number | null;
  /** The same in bytes with FCS. */
  held_bytes: number | null;
  /** Bytes it would have had to hold in the shortest burst with loss. */
  failed_bytes: number | null;
  /** Limit of the burst from above. */
  limit: Limit;
  /** Largest latency in the longest burst without loss, ns. */
  latency_max_ns: number | null;
  /** Frames waited for less than half of the time that the port takes at its line rate to send what it would have held: its speed is only declared. */
  beyond_line: boolean;
}

/** The longest burst without loss. */
export interface BurstSize {
  /** Its frames; absent: none. */
  frames: number | null;
  /** The same in bytes with FCS. */
  bytes: number | null;
  /** Bytes of the shortest burst with loss. */
  failed_bytes: number | null;
  /** Limit of the burst from above. */
  limit: Limit;
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
  /** Name of the caller that started it. */
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

/** Findings of a campaign, `eagre.campaign/1`. */
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
  /** Its end. */
  ended: CampaignEnd;
  /** Why it failed. */
  why?: string | null;
  /** Result of each method that was started. */
  results: MethodResult[];
  /** Parts that were left out, with the reason. */
  left_out: string[];
}

/** End of a campaign. */
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

/** A change and its effects. */
export interface ChangeFound {
  /** The change. */
  change: BackendChange;
  /** Sessions that were to be held. */
  wanted: number;
  /** Held sessions when the backend changed. */
  held: number;
  /** Of these, sessions whose last response was the backend's. */
  held_by_backend: number;
  /** Connections with requests of clients that it had open, by its own count. */
  open_at_backend: number;
  /** Of its held sessions, those that ended before it came back, by reason. */
  ended: Record<string, number>;
  /** Held sessions of other backends that ended after the change, by reason. */
  others_ended: Record<string, number>;
  /** Held sessions with responses of another backend after the change. */
  moved: number;
  /** Held sessions that changed their backend before the change already. */
  moved_before: number;
  /** Short sessions opened while it was away. */
  short: number;
  /** Of these, those that failed. */
  short_failed: number;
  /** Of the others, those that waited for their response for a second or more. */
  short_slow: number;
  /** When the last that failed or was slow was opened, before as many in a row as show that the backend was not used any more; absent: none failed or was slow. */
  last_failed_ns?: number | null;
  /** When the next session after that was opened; absent: too few followed to show that the backend was not used any more. */
  next_good_ns?: number | null;
  /** When the last that failed or was slow at all was opened. */
  last_trouble_ns?: number | null;
  /** Connections and datagrams that came to the backend while it was away, health checks included. */
  contacts: number;
  /** When the last of them came. */
  last_contact_ns?: number | null;
  /** When the first session that it served after its return was opened; absent: none was. */
  used_again_ns?: number | null;
  /** When the session before that was opened. */
  unused_until_ns?: number | null;
  /** Clients of other backends whose last session while it was away came to the same backend as before. */
  clients_kept: Share;
  /** Clients whose last session after its return came to the same backend as before the change. */
  clients_back: Share;
  /** Share of clients that had all their sessions before the change at one backend: without these, no client is kept. */
  clients_settled: Share;
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

/** Severity of a finding of the doctor. */
export type CheckStatus = "good" | "note" | "bad";

/** A port of a checked profile. */
export interface CheckedPort {
  /** Name in the profile. */
  name: string;
  /** Device. */
  device: string;
}

/** Counters of a running trial that were set to zero. */
export interface ClearedResult {
  /** Number of times. */
  times: number;
  /** When last, s since traffic started. */
  at_s: number;
  /** Time from then on that counts and rates cover, s. */
  counted_s: number;
  /** Whether all workers did so at one instant. If not, as many packets as were sent in a moment may be counted as sent or received and not the other. */
  exact: boolean;
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
  /** The campaigns, in the requested order. */
  campaigns: Summary[];
  /** A row for each frame length and goal that any of them has. */
  rows: ComparisonRow[];
  /** Display names: the campaigns' names, with a distinguishing addition where those are alike. */
  names: string[];
  /** Which is faster than the first, and how sure that is: a sentence for each of the others. */
  sentences: string[];
}

/** Finding of a campaign. */
export interface ComparisonCell {
  /** The value; `None` if the method found none. */
  value: number | null;
  /** Uncertainty either way. */
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
  /** Goal. */
  goal: string;
  /** Unit of the values. */
  unit: string;
  /** A cell for each campaign; `None` if it has no such finding. */
  cells: (ComparisonCell | null)[];
}

/** Compressed messages of one side. */
export interface CompressionResult {
  /** Connections on which both ends agreed to compress. */
  connections: number;
  /** Connections whose server did not agree. Clients only. */
  declined: number;
  /** Compressed messages sent. */
  messages_sent: number;
  /** Compressed messages received completely. */
  messages_received: number;
  /** Bytes of the compressed messages sent, before compression. */
  bytes_sent: number;
  /** Bytes of the compressed messages received, after decompression. */
  bytes_received: number;
  /** Bytes of the compressed messages sent, as they were sent, without frame headers. */
  compressed_bytes_sent: number;
  /** Bytes of the compressed messages received, as they were received, without frame headers. */
  compressed_bytes_received: number;
}

/** Head-of-line blocking. */
export interface CongestionFound {
  /** False: the tester was the limit or disturbed, so nothing is known. */
  judged: boolean;
  /** The port that was to be congested took more than its line rate: its speed is only declared. */
  beyond_line: boolean;
  /** Finding; absent: none. */
  blocking: Blocking | null;
  /** Mean latency of frames to the idle port by themselves, ns. */
  alone_ns: number | null;
  /** To the idle port, and from both senders to the congested one. */
  flows: FlowFound[];
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
  /** Allowed difference: a gap between two packets of a stream, and 1 ms. */
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

/** Cookies of clients' sessions. */
export interface CookieResult {
  /** Cookies stored, or replaced. */
  stored: number;
  /** Requests with cookies. */
  sent: number;
  /** Cookies that servers deleted. */
  deleted: number;
  /** Cookies not stored: of another domain, malformed, or longer than 4,096 bytes. */
  rejected: number;
  /** Cookies dropped because a session had more than 50, or 8,000 bytes of them. */
  evicted: number;
}

/** A worker's move to another core. */
export interface CoreMove {
  /** When, s since traffic started. */
  at_s: number;
  /** Old core. */
  from: number;
  /** New core. */
  to: number;
  /** Share of the preceding interval in which it waited for its core. */
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
  /** `met`, `not_met`, or `cannot_judge`: a disturbance of the tester could have changed the outcome. */
  outcome: string;
  /** Why it cannot be judged, and what to do. */
  reason?: string | null;
}

/** Kinds of damage in a stream's packets. */
export interface DamageResult {
  /** Packets by what was wrong. `single_bit`: one bit. `burst`: several bits within 32. `scattered`: bits further apart. `shifted`: a part of the payload at another place in it. `other_packet`: payload of another packet of the run. `truncated`: a part is missing. `signature`: several bits of the signature, so that no latency is known. */
  kinds: Record<string, number>;
  /** Wrong bits of packets with `single_bit`, `burst` or `scattered`. */
  bit_errors: number;
  /** Position of these bits in the payload. Places without wrong bits are absent. */
  places: DamagedPlace[];
}

/** A part of the payload. */
export interface DamagedPlace {
  /** First byte; 0 is the first byte after the headers. */
  from_byte: number;
  /** Last byte. The signature is at the payload's end. */
  to_byte: number;
  /** Wrong bits in this part. */
  bit_errors: number;
}

/** Dependence of a mapping or a filter on the other end (RFC 4787 sections 4.1 and 5). */
export type Dependence = "endpoint_independent" | "address_dependent" | "address_and_port_dependent" | "mixed";

/** A DHCP client behind a port. */
export interface DhcpClientState {
  /** Name of the port in the profile. */
  port: string;
  /** Number of the client, from 0. */
  client: number;
  /** MAC address: `02:00:00:00:00:01`. */
  mac: string;
  /** Leased address; null without a lease. The other fields are null then, too. */
  ip: string | null;
  /** Length of its network's prefix, bits. */
  prefix_len: number | null;
  /** Router (option 3). */
  router: string | null;
  /** Server that granted the lease. */
  server: string | null;
  /** Duration of the lease, s. */
  lease_s: number | null;
  /** Seconds of the lease until the client requests a renewal from its server (T1). */
  renew_s: number | null;
  /** Seconds of the lease until the client requests a rebind from any server (T2). */
  rebind_s: number | null;
  /** Time since the lease started or was extended, s. */
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
  /** Clients without an address when traffic started. */
  failed: number;
  /** Clients that have an address now; in a result, when traffic had ended. */
  holding: number;
  /** Clients started per second, from the first to the last. */
  begun_per_s?: number | null;
  /** Leases per second, from the first DISCOVER to the last first lease. */
  bound_per_s?: number | null;
  /** Time from a client's first DISCOVER to its lease. */
  bind_ns?: LatencyResult | null;
  /** DISCOVER messages sent. */
  discovers: number;
  /** OFFER messages received by clients waiting for one. */
  offers: number;
  /** REQUEST messages sent. */
  requests: number;
  /** ACK messages received that started or extended a lease. */
  acks: number;
  /** NAK messages received by clients in reply to a request. */
  naks: number;
  /** DECLINE messages sent. */
  declines: number;
  /** RELEASE messages sent. */
  releases: number;
  /** OFFER and ACK messages with an unusable address: in 0.0.0.0/8, 127.0.0.0/8 or 224.0.0.0/3, the network's first or last address, or the server's or router's address. */
  refused: number;
  /** Messages retransmitted because no reply arrived. */
  repeated: number;
  /** Leases renewed by their server. */
  renewed: number;
  /** Leases rebound because their server did not reply. */
  rebound: number;
  /** Leases that expired without renewal, or were ended by a NAK. */
  lost: number;
  /** Leases of an address already leased to another client of the tester. Declined if clients check for duplicates. */
  conflicts: number;
  /** Leases of an address already used by a neighbour; declined. */
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
  /** Leased address; null without a lease, or if none was requested. The other fields are null without a lease, too. */
  ip: string | null;
  /** Delegated prefix; null if none was requested. */
  prefix: string | null;
  /** Prefix length, bits. */
  prefix_len: number | null;
  /** DUID of the server that granted the lease, in hexadecimal digits. */
  server: string | null;
  /** Duration of the lease, s. */
  valid_s: number | null;
  /** Seconds of the lease until the client requests a renewal from its server (T1). */
  renew_s: number | null;
  /** Seconds of the lease until the client requests a rebind from any server (T2). */
  rebind_s: number | null;
  /** SOLICIT messages sent. */
  solicits: number;
  /** ADVERTISE messages received. */
  advertises: number;
  /** ADVERTISE messages without the requested addresses or prefixes. */
  passed_over: number;
  /** REQUEST messages sent. */
  requests: number;
  /** RENEW messages sent. */
  renews: number;
  /** REBIND messages sent. */
  rebinds: number;
  /** REPLY messages received. */
  replies: number;
  /** REPLY messages without the requested addresses or prefixes. */
  refused: number;
  /** RELEASE messages sent. */
  releases: number;
}

/** DHCPv6 clients of a port, from before traffic until their release. */
export interface Dhcpv6Result {
  /** Clients. */
  clients: number;
  /** Clients with all requested leases when traffic started. */
  bound: number;
  /** Clients that were not up when traffic started. */
  failed: number;
  /** Clients with all requested leases now; in a result, when traffic had ended. */
  holding: number;
  /** Clients started per second, from the first to the last. */
  begun_per_s?: number | null;
  /** Leases per second, from the first SOLICIT to the last first lease. */
  bound_per_s?: number | null;
  /** Time from a client's first SOLICIT to its lease. */
  bind_ns?: LatencyResult | null;
  /** Link-local address of the router that sent advertisements. */
  router?: string | null;
  /** SOLICIT messages sent. */
  solicits: number;
  /** ADVERTISE messages received by clients looking for a server. */
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
  /** REPLY messages received by clients in reply to a request. */
  replies: number;
  /** ADVERTISE and REPLY messages without the requested addresses or prefixes. */
  refused: number;
  /** Messages retransmitted because no reply arrived. */
  repeated: number;
  /** Leases renewed by their server. */
  renewed: number;
  /** Leases rebound because their server did not reply. */
  rebound: number;
  /** Leases that expired without renewal, or were ended by their server. */
  lost: number;
  /** Leases of an address or a prefix already leased to another client of the tester; declined. */
  conflicts: number;
  /** Leases of an address already used by a neighbour; declined. */
  duplicates: number;
  /** Commands carried out: leases renewed or released. */
  commands: number;
}

/** Distance of a value from that of the first campaign. */
export interface Difference {
  /** (value − first) / first; `None` if the first is zero and this is not. */
  ratio: number | null;
  /** Whether it is more than noise, because the intervals do not overlap; `None` if one has no interval. */
  beyond_noise: boolean | null;
  /** Distance of the intervals, as a share of the first's nearer end; absent where they overlap. */
  at_least: number | null;
}

/** A check of the doctor. */
export interface DoctorCheck {
  /** Name of the check. */
  check: string;
  /** Severity. */
  status: CheckStatus;
  /** Finding on this machine. */
  found: string;
  /** Effect on measurements. */
  why: string;
  /** Remedy: a command where there is one. */
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

/** Arrivals of a stream with one value. */
export interface EgressResult {
  /** Packets received, duplicates included. */
  rx: number;
  /** Bytes received, with FCS. */
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
  /** Kind of fault. */
  kind: FaultKind;
  /** Description, one sentence. */
  sentence: string;
}

/** Kinds of faults. */
export type FaultKind = "nothing_sent" | "silent" | "wrong_port" | "loop" | "interrupted" | "unanswered";

/** Filter of mappings. */
export interface Filtering {
  /** Its dependence on the other end; the share is of packets from endpoints that the inside has not sent to. */
  rule: Judged;
  /** Packets from the endpoint that the inside has sent to. */
  same_endpoint: Share;
  /** From another port of its address. */
  other_port: Share;
  /** From another address. */
  other_address: Share;
}

/** Finding of a method for one frame length and one goal. */
export interface Finding {
  /** Frame length or mix: `64B`, `imix`; of sessions, the application. */
  frame: string;
  /** Frame length with FCS, bytes; absent for a mix. */
  frame_bytes: number | null;
  /** `throughput`, `ndr`, `pdr 0.5%`, `latency_p99`, `back_to_back`, `connections_per_s` … */
  goal: string;
  /** `pps`, `bps`, `ns`, `s`, `frames`, `bytes`, `sessions`, `ratio`, `/s`, or empty. */
  unit: string;
  /** The value. If absent, `note` gives the reason. */
  value: number | null;
  /** Largest value known to be reached, in `unit`. */
  lower: number | null;
  /** Smallest value known not to be reached, in `unit`. */
  upper: number | null;
  /** Indication from trials that can't be judged, in `unit`: the highest load at which the tester may have lost all lost packets. */
  indicative: number | null;
  /** Maximum distance of `lower` and `upper` where trials agree, in `unit`: where the search ends. */
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
export type Findings = {  type: "mlr"; rows: MlrRow[]; } | {  type: "throughput"; rows: ThroughputRow[]; } | {  type: "latency"; rows: LatencyRow[]; } | {  type: "frame_loss"; rows: LossRow[]; } | {  type: "back_to_back"; rows: BackToBackRow[]; } | {  type: "recovery"; rows: RecoveryRow[]; } | {  type: "reset"; rows: ResetRow[]; } | {  type: "convergence"; rows: ConvergenceRow[]; } | {  type: "mrr"; rows: MrrRow[]; } | {  type: "sweep"; rows: SweepRow[]; } | {  type: "soak"; rows: SoakRow[]; } | {  type: "addresses"; rows: AddressRow[]; } | {  type: "switch"; rows: SwitchRow[]; } | {  type: "multicast"; rows: MulticastRow[]; } | {  type: "leases"; rows: LeaseRow[]; } | {  type: "routes"; rows: RouteRow[]; } | {  type: "balancer"; rows: BalancerRow[]; } | {  type: "nat"; rows: NatRow[]; } | {  type: "service_activation"; rows: ServiceRow[]; } | {  type: "traffic"; rows: TrafficRow[]; } | {  type: "self_test"; rows: SelfTestRow[]; } | {  type: "sessions"; rows: SessionRow[]; } | {  type: "mix"; rows: MixRow[]; } | {  type: "session_latency"; rows: SessionLatencyRow[]; } | {  type: "tcp"; rows: TcpRow[]; };

/** Frames from one port to another. */
export interface FlowFound {
  /** `a to c`. */
  flow: string;
  /** Frames sent. */
  sent: number;
  /** Frames received. */
  received: number;
  /** Lost ÷ sent. */
  loss_ratio: number;
  /** Mean latency, ns. */
  latency_mean_ns: number | null;
  /** Largest latency, ns. */
  latency_max_ns: number | null;
}

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

/** Finding for one goal. */
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
  /** Limit of the value from above. */
  limit: Limit;
}

/** Graceful restart capability of a BGP peer (RFC 4724). */
export interface GracefulRestartState {
  /** Whether the peer announced that it has restarted. */
  restarted: boolean;
  /** Restart time: longest time until the peer is back, s. */
  time_s: number;
  /** Whether it also retains routes when a session ends with a NOTIFICATION (RFC 8538). */
  notification: boolean;
  /** Address families whose routes are retained while it restarts: `ipv4`, `ipv6`. */
  families: string[];
  /** Of these, address families whose forwarding state it preserves. */
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
  /** Frames that came to other ports because the DUT did not know their address (RFC 2889). */
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
  /** Filter mode: true excludes `sources`, false includes only those. */
  exclude: boolean;
  /** Sources. */
  sources: string[];
  /** Time since it was joined, s. */
  joined_for_s: number;
}

/** gRPC of one side. Calls count as `requests`, ended ones as `transactions`; `ttlb_ns` is the time of a call. */
export interface GrpcResult {
  /** Messages sent. */
  messages_sent: number;
  /** Messages received completely. */
  messages_received: number;
  /** Bytes of messages sent, without their prefixes. */
  bytes_sent: number;
  /** Bytes of messages received completely, without their prefixes. */
  bytes_received: number;
  /** Calls whose deadline passed at this end. */
  deadlines: number;
  /** Calls by status: ended (clients), sent completely (servers). */
  statuses?: Record<string, number>;
  /** Time from when a message of a stream was due to its response, with `bidirectional`; with `server_streaming` from when the response was due, that is from the call, and with `interval` its number of intervals later. Clients only. */
  message_ns?: LatencyResult | null;
}

/** Confidence in a figure. It holds, has bounds, holds for undisturbed packets, is at most what was measured, or cannot be judged: then there is none of these. */
export interface HoldsResult {
  /** Whether the measured figure describes the device and the network. */
  holds: boolean;
  /** The true value is at least this. */
  lower?: number | null;
  /** The true value is at most this. */
  upper?: number | null;
  /** Share of packets not affected by a pause of the tester. For these the figures under `undisturbed` hold. */
  undisturbed_ratio?: number | null;
  /** For session times: the measured values are upper bounds, since disturbances only add to them. */
  at_most?: boolean;
  /** Why the measured figure does not hold. */
  reason?: string | null;
  /** Advice to get a figure that holds. */
  remedy?: string | null;
}

/** HTTP/2 of one side. */
export interface Http2Result {
  /** HTTP/2 connections. */
  connections: number;
  /** Streams opened: requests, including repeated ones. */
  streams: number;
  /** Streams that the other end reset (RST_STREAM). */
  resets: number;
  /** Streams that servers reset because of what clients sent. */
  resets_sent: number;
  /** GOAWAY frames received. */
  goaways: number;
  /** Requests that servers reported as not processed (GOAWAY, REFUSED_STREAM). They are repeated, and count once in `requests`. */
  unprocessed: number;
  /** Smallest number of concurrent streams that a server announced. */
  peer_streams?: number | null;
}

/** HTTP/3 of one side. */
export interface Http3Result {
  /** Request streams, including repeated requests. */
  streams: number;
  /** Streams that the other end reset, or wanted no more of (RESET_STREAM, STOP_SENDING). */
  resets: number;
  /** Streams that servers reset because of what clients sent. */
  resets_sent: number;
  /** GOAWAY frames received. */
  goaways: number;
  /** Requests that servers reported as not processed (GOAWAY, H3_REQUEST_REJECTED). They are repeated, and count once in `requests`. */
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
  /** Maximum distance of the bounds where trials agree. */
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
  /** Disturbances of the tester in this interval: a stalled worker, packets sent back to back. */
  disturbances?: string[];
  /** Machines of a run on several whose counts of this time are in the next interval. */
  late?: string[];
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

/** Counts by IS-IS level. */
export interface IsisLevelCounts {
  /** Level 1. */
  level_1: number;
  /** Level 2. */
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
  /** Remaining lifetime, s. */
  lifetime_s: number;
  /** Its flags: levels (1 and 2), overload (4), attached (8 by the default metric), partition repair (128). */
  flags: number;
  /** Its TLVs, in hexadecimal digits. */
  body: string;
}

/** A neighbour of an IS-IS router. */
export interface IsisNeighbourState {
  /** System identifier. */
  system_id: string;
  /** IP address; null if it advertises none. */
  ip: string | null;
  /** Common levels: `1`, `2` or `1-2`. */
  level: string;
  /** Adjacency state: `down`, `initializing` or `up`. */
  state: string;
  /** Priority on a LAN. */
  priority: number;
  /** Remaining holding time, s. */
  hold_s: number;
}

/** IS-IS routers of a port, from before traffic until their end. */
export interface IsisResult {
  /** Routers. */
  routers: number;
  /** Routers with an adjacency at each of their levels when traffic started. */
  up: number;
  /** Routers without all adjacencies when traffic started. */
  failed: number;
  /** Routers with an adjacency at each of their levels now; in a result, when traffic had ended. */
  up_at_end: number;
  /** Adjacencies lost unexpectedly. */
  flaps: number;
  /** Time from each router's first hello until it first had an adjacency at each of its levels. */
  up_ns?: LatencyResult | null;
  /** Time from the first hello until all adjacencies were up on both sides and the device had all LSPs. Absent if this was not reached before traffic started. */
  announced_after_s?: number | null;
  /** Routes advertised; repeated advertisements count again, routes at both levels count once. */
  advertised: number;
  /** Routes withdrawn. */
  withdrawn: number;
  /** When the first routes were withdrawn while traffic ran, ns since it started. */
  first_withdrawal_ns?: number | null;
  /** When the first routes were advertised while traffic ran, ns since it started. */
  first_advertisement_ns?: number | null;
  /** LSPs sent, by level; retransmissions count again. */
  lsps_sent: IsisLevelCounts;
  /** LSPs received, by level; repetitions count again. */
  lsps_received: IsisLevelCounts;
  /** LSPs of the device in the routers' databases now, by level. */
  database: IsisLevelCounts;
  /** LSPs of the device that exceeded the capacity of the routers' databases, 1,000,000 per level in all. */
  left_out: number;
  /** Purged LSPs received (remaining lifetime 0). */
  received_purged: number;
  /** LSPs retransmitted because the device did not acknowledge them in time. */
  retransmitted: number;
  /** LSPs refreshed because of their age, every 15 minutes. */
  refreshed: number;
  /** Own LSPs received in a newer instance than the router's, such as from an earlier run: originated again, or purged. */
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
  /** PDUs rejected because of a mismatch with their sender: area, level, network type or authentication. */
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
  /** System identifier. */
  system_id: string;
  /** Area. */
  area: string;
  /** Levels: `1`, `2` or `1-2`. */
  level: string;
  /** Address of the host. */
  local: string;
  /** Network type of its link: `broadcast` or `point_to_point`. */
  network: string;
  /** Adjacency state: `down`, `initializing` or `up`. With several neighbours, the designated system's. */
  state: string;
  /** System identifier of the neighbour; null if none was detected. */
  neighbour_id: string | null;
  /** Address of the neighbour; null if no neighbour was detected, or it advertises none. */
  neighbour: string | null;
  /** The designated system's circuit; null if there is none. */
  designated: string | null;
  /** All detected neighbours; a neighbour of both levels on a LAN is listed twice. */
  neighbours: IsisNeighbourState[];
  /** Adjacencies by level. */
  adjacencies: IsisLevelCounts;
  /** Holding time: the device drops the adjacency if it receives no hello for this long, s. */
  hold_s: number;
  /** Time since the adjacency came up, s; null if the router lacks one. */
  up_for_s: number | null;
  /** Whether there is an adjacency at each level, and the neighbour's LSPs name the router. */
  is_mutual: boolean;
  /** Whether a command has taken the router down. */
  is_down: boolean;
  /** Why an adjacency is missing; null if none is, or the router is down. */
  reason: string | null;
  /** Adjacencies lost unexpectedly. */
  flaps: number;
  /** Adjacencies lost unexpectedly, by level. */
  flaps_by_level: IsisLevelCounts;
  /** Hellos sent, by level; hellos on a point-to-point link count at each of the router's levels. */
  hellos_sent: IsisLevelCounts;
  /** Hellos received, by level; hellos on a point-to-point link count at each common level. */
  hellos_received: IsisLevelCounts;
  /** Complete sequence numbers PDUs sent, by level. */
  csnps_sent: IsisLevelCounts;
  /** Complete sequence numbers PDUs received, by level. */
  csnps_received: IsisLevelCounts;
  /** Partial sequence numbers PDUs sent, by level. */
  psnps_sent: IsisLevelCounts;
  /** Partial sequence numbers PDUs received, by level. */
  psnps_received: IsisLevelCounts;
  /** Routes advertised; repeated advertisements count again. */
  advertised: number;
  /** Routes withdrawn. */
  withdrawn: number;
  /** LSPs originated: its own, and those for the routers generated behind it. */
  originated: number;
  /** LSPs sent, by level; retransmissions count again. */
  lsps_sent: IsisLevelCounts;
  /** LSPs received, by level; repetitions count again. */
  lsps_received: IsisLevelCounts;
  /** LSPs retransmitted because the device did not acknowledge them in time. */
  retransmitted: number;
  /** LSPs of neighbours in its databases, by level. */
  database: IsisLevelCounts;
  /** Number of stored LSPs, at most `keep` of the profile per level. */
  kept: number;
  /** LSPs that exceeded the capacity of its databases. */
  left_out: number;
  /** Stored LSPs by level and identifier, if requested. */
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

/** A rule as far as samples show it. */
export interface Judged {
  /** The rule; absent: it can't be judged. */
  value?: Dependence | null;
  /** Samples that show the strictest rule there is. */
  share: Share;
  /** Why it can't be judged. */
  reason?: string | null;
}

/** A rule as far as samples show it. */
export interface Judged2 {
  /** The rule; absent: it can't be judged. */
  value?: Pooling | null;
  /** Samples that show the strictest rule there is. */
  share: Share;
  /** Why it can't be judged. */
  reason?: string | null;
}

/** A rule as far as samples show it. */
export interface Judged3 {
  /** The rule; absent: it can't be judged. */
  value?: Block[] | null;
  /** Samples that show the strictest rule there is. */
  share: Share;
  /** Why it can't be judged. */
  reason?: string | null;
}

/** Test packets that a program in the kernel recorded and dropped: their frames did not reach the tester. */
export interface KernelRxResult {
  /** Packets recorded. All others reached the tester as frames. */
  packets: number;
  /** Largest error of their arrival times on the tester's clock. Absent without packets. */
  clock_error_max_ns?: number | null;
  /** Why test packets reached the tester as frames. Absent if the kernel records them. */
  off?: string | null;
}

/** One end of a link. */
export interface LacpEndResult {
  /** Identifier of the system, a MAC address. */
  system: string;
  /** Priority of the system. */
  system_priority: number;
  /** Key of the LAG. */
  key: number;
  /** Number of the port. */
  port: number;
  /** Priority of the port. */
  port_priority: number;
  /** State flags: `activity`, `timeout`, `aggregation`, `synchronization`, `collecting`, `distributing`, `defaulted`, `expired`. */
  state: string[];
}

/** A port of a lag. */
export interface LacpPortState {
  /** Name of the port in the profile. */
  port: string;
  /** Whether a command has disabled LACP on it. */
  is_down: boolean;
  /** Current LACP state. */
  lacp: LacpResult;
}

/** LACP state of a LAG member, now; in a result, when traffic had ended (IEEE 802.1AX clause 6.4). */
export interface LacpResult {
  /** LAG. */
  lag: string;
  /** Mux state: `detached`, `waiting`, `attached`, `collecting` or `distributing`. */
  state: string;
  /** Receive state: `current`, `expired`, `defaulted` or `port_disabled`. */
  receive: string;
  /** Why the port is not distributing. Absent if it is. */
  reason?: string | null;
  /** Time until the port was first distributing, s. Absent if it never was. */
  distributing_after_s?: number | null;
  /** Number of times the port stopped distributing before the shutdown at the end. */
  flaps: number;
  /** LACPDUs sent, including the shutdown. */
  tx_lacpdus: number;
  /** LACPDUs received. */
  rx_lacpdus: number;
  /** PDUs received that are malformed. */
  rx_errors: number;
  /** PDUs received of unknown slow protocols. */
  rx_unknown: number;
  /** Markers received. */
  rx_markers: number;
  /** Marker responses sent. */
  tx_marker_responses: number;
  /** Commands that disabled or enabled LACP. */
  commands: number;
  /** This end of the link. */
  actor: LacpEndResult;
  /** The other end, by its last LACPDU. Absent if none was received. */
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
  /** Secret id: its bearer may start traffic on the ports. Shown only to the holder and to admins. */
  id?: string | null;
  /** Names of the ports. */
  ports: string[];
  /** Holder. */
  holder: string;
  /** When it was taken. */
  begun: string;
  /** When it expires, unless it is renewed. */
  expires: string;
  /** Duration after each renewal, s. */
  ttl_s: number;
  /** Time until it expires, s. */
  seconds_left: number;
}

/** Outcome of DHCP or DHCPv6 clients. */
export interface LeaseOutcome {
  /** Clients that were to begin. */
  clients: number;
  /** Clients with all requested leases at the end. */
  bound: number;
  /** Messages repeated because no reply arrived. */
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
  /** Outcome. */
  outcome: LeaseOutcome;
  /** Why it did not pass; empty if it did. */
  violations: string[];
}

/** Findings. */
export interface LeaseRow {
  /** The time each client has to get its lease, s. */
  within_s: number;
  /** One client by itself; absent: not known. */
  alone?: LeaseOutcome | null;
  /** The highest rate that passed; absent: none. */
  best: LeasePoint | null;
  /** The lowest at which the server failed; absent: none. */
  failed: LeasePoint | null;
  /** Maximum distance of the bounds, as a share. */
  resolution: number;
  /** Limit of the rate from above. */
  limit: Limit;
}

/** Limit of a figure from above. */
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
  /** Disturbances of the tester in the interval. */
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

/** A neighbour, by its last LLDPDU. */
export interface LldpNeighbourResult {
  /** Source MAC address. */
  mac: string;
  /** Chassis identifier; in hexadecimal if it is not text. */
  chassis_id: string;
  /** Type of the chassis identifier: `mac`, `network_address`, `interface`, `local` … */
  chassis_id_type: string;
  /** Port identifier; in hexadecimal if it is not text. */
  port_id: string;
  /** Type of the port identifier. */
  port_id_type: string;
  /** Time to live, s. */
  ttl_s: number;
  /** Time since it was first detected when traffic had ended, s. */
  known_for_s: number;
  /** Time since its last LLDPDU when traffic had ended, s. */
  age_s: number;
  /** Port description. */
  port_description?: string | null;
  /** System name. */
  system_name?: string | null;
  /** System description. */
  system_description?: string | null;
  /** System capabilities: `bridge`, `router` … */
  capabilities: string[];
  /** Enabled capabilities. */
  enabled: string[];
  /** Management IP addresses. */
  management: string[];
  /** Organizationally specific TLVs. */
  tlvs: LldpTlvResult[];
}

/** LLDP agents of a port, and whom they know. */
export interface LldpPortState {
  /** Name of the port in the profile. */
  port: string;
  /** Whether a command has disabled them. */
  is_down: boolean;
  /** Counts of the agents and the currently known neighbours. */
  agents: LldpResult;
}

/** LLDP agents of a port, from before traffic until their shutdown LLDPDUs (IEEE 802.1AB clause 9.2.6). */
export interface LldpResult {
  /** Neighbours known now; in a result, when traffic had ended. */
  known: number;
  /** LLDPDUs sent. */
  tx_frames: number;
  /** LLDPDUs received. */
  rx_frames: number;
  /** LLDPDUs received that are malformed. */
  rx_errors: number;
  /** LLDPDUs of neighbours that exceeded the limit of 1,024. */
  rx_discarded: number;
  /** TLVs received that were discarded: too short, or repeated in an LLDPDU. */
  tlvs_discarded: number;
  /** TLVs received of unassigned types. */
  tlvs_unknown: number;
  /** New neighbours. */
  learnt: number;
  /** Neighbours that sent a shutdown LLDPDU. */
  left: number;
  /** Neighbours whose TTL expired. */
  aged_out: number;
  /** Commands that disabled or enabled the agents. */
  commands: number;
  /** Neighbours, by their last LLDPDUs. */
  neighbours: LldpNeighbourResult[];
}

/** An organizationally specific TLV. */
export interface LldpTlvResult {
  /** Organizationally unique identifier, in hexadecimal. */
  oui: string;
  /** Subtype. */
  subtype: number;
  /** Information string, in hexadecimal. */
  value: string;
}

/** Several ports that send to one, for a whole trial. */
export interface LoadFound {
  /** Ports that send at line rate. */
  senders: number;
  /** False: the tester was the limit or disturbed, so nothing is known. */
  judged: boolean;
  /** Share of all frames that were lost. */
  loss_ratio: number | null;
  /** Jain's index of what was received of each sender; 1: equal. */
  fairness: number | null;
  /** Frames received per second. */
  received_pps: number | null;
  /** The port took more than its line rate: its speed is only declared. */
  beyond_line: boolean;
  /** By sender. */
  flows: FlowFound[];
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
  /** Load actually offered by the tester, percent of the line rate. */
  achieved_percent: number;
}

/** Loss of a machine of a run that continued on the others: its requested load, and the part that ran. */
export interface LossResult {
  /** Why it is lost. */
  reason: string;
  /** Requested duration of traffic, s. */
  requested_s: number;
  /** Time of its last counts, s since traffic started. All its numbers in the result are of that time. */
  ran_s: number;
  /** When the controller knew of the loss, s since traffic started. Its traffic had ended by then. */
  lost_s: number;
  /** Packets that it was to send; absent if a stream of it has neither a rate nor a count. */
  requested_packets?: number | null;
  /** Packets that it had sent at its last counts. */
  sent_packets: number;
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

/** Load on the tester's machine from other processes during the trial. */
export interface MachineResult {
  /** Cores of the machine. */
  cores: number;
  /** Load average of the minute before the trial: threads that ran or wanted to. */
  load_before?: number | null;
  /** Load average of the last minute at its end. */
  load_after?: number | null;
  /** Average number of cores used by other processes and the kernel. */
  others_cores?: number | null;
  /** Other processes that used the most processor time, by name. */
  others?: ProcessUsage[];
}

/** A test method. */
export interface Method {
  /** Name. */
  name: string;
  /** Purpose of the method. */
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
  /** Status at the end. */
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
  /** Objective of its load. */
  objective: Objective;
  /** Requested amount. */
  asked: number;
  /** Amount reached. */
  reached: number;
  /** Result. */
  sessions: SessionOutcome;
}

/** A trial of a mix. */
export interface MixPoint {
  /** The requested multiple of the profile's load. */
  multiplier: number;
  /** All entries together. Times are the slowest entry's. */
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
  /** Limit of the value from above. */
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

/** Findings at one frame length. */
export interface MlrRow {
  /** The frames. */
  frames: Frames;
  /** One for each goal. */
  goals: GoalResult[];
  /** Seconds of traffic for all goals. */
  traffic_s: number;
}

/** Traffic mixed into the test frames (RFC 2544 section 11). Modifier frames replace test frames. */
export type Modifier = "broadcast" | "management" | "routing_updates" | {  filters: number; } | {  hop_by_hop: number; };

/** Received rates at one frame length. */
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
  /** Limit of the value from above. */
  limit?: Limit | null;
}

/** Multicast groups of a port's host, from before traffic until it leaves them. */
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

/** Findings. */
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
  /** Trials with packets before the join: the device forwards groups without members. */
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
  /** Limit of the capacity from above; absent: not searched. */
  limit: Limit | null;
  /** Highest rate that reached every port with members without loss, frames/s sent; absent: none, or not searched. */
  throughput_pps: number | null;
  /** The lowest rate that failed, frames/s, and the frames that were lost at it, counted at every port. */
  throughput_failed: number[] | null;
  /** Limit of the throughput from above; absent: not searched. */
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

/** How a gateway behaves. */
export interface NatBehavior {
  /** The rules behind its mappings; absent: nothing arrived. */
  mapping: Analysis | null;
  /** Packets that its mappings let in; absent: nothing arrived. */
  filtering: Filtering | null;
  /** Packets from inside to an outside endpoint that reached the inside endpoint behind it. */
  hairpinning: Share;
  /** Of these, those that came from an outside endpoint, as RFC 4787 section 6 has it. */
  hairpinning_from_outside: Share;
  /** ICMP errors that reached the inside endpoint of the mapping that they are about, with the packet within translated. */
  icmp_errors: Share;
}

/** A trial of connections. */
export interface NatPoint {
  /** Connections. */
  connections: number;
  /** Connections per second that were to be opened; of throughput, packets per second in each direction. */
  rate: number;
  /** Why it did not pass; empty if it did. */
  violations: string[];
}

/** Findings of the test. */
export interface NatRow {
  /** How the gateway behaves; absent: not looked at, or not known. */
  behavior?: NatBehavior | null;
  /** When mappings end. */
  timeout?: NatTimeout | null;
  /** The search for the table's capacity. */
  capacity?: NatSearch | null;
  /** The search for the connection rate. */
  rate?: NatSearch | null;
  /** The search for throughput. */
  throughput?: NatSearch | null;
  /** Connections torn down per second, of each time. */
  tear_down_per_s?: number[];
  /** Largest distance of the bounds of rates, as a share. */
  resolution: number;
}

/** A search. */
export interface NatSearch {
  /** The highest that passed; absent: none. */
  best: NatPoint | null;
  /** The lowest that failed; absent: none. */
  failed: NatPoint | null;
  /** Upper bound of the search. */
  limit: Limit;
}

/** When mappings end. */
export interface NatTimeout {
  /** Mappings probed. */
  probes: number;
  /** Age of the oldest mapping that let its probe in, younger than all that did not, ns; absent: none did. */
  lower_ns: number | null;
  /** Age of the youngest that did not, ns; absent: all did. */
  upper_ns: number | null;
  /** Mappings older than `upper_ns` that let their probe in. */
  contradictions: number;
  /** Of the inside endpoints whose mapping had ended, those that got the same outside endpoint again. */
  reused: Share;
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

/** A neighbour that changed its MAC address. */
export interface NeighbourMoveResult {
  /** IP address. */
  ip: string;
  /** Old MAC address. */
  from: string;
  /** New MAC address. */
  to: string;
  /** When the tester learned of it, s since traffic started. */
  at_s: number;
  /** Whether the tester had to send a request. False if the neighbour announced the move, or revealed it in its own request or reply. */
  asked: boolean;
  /** Time from sending the last packet that arrived through the old address until packets were sent to the new one. Absent if no packet was lost, or if it is unknown. */
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
  /** Name of the sending host behind the port; the port's own host has the port's name. Clients are `dhcp[3]` and `pppoe[3]` by number, `dhcp` and `pppoe` are any of them. Default: any host. */
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

/** A change to the control protocols of a run's hosts. */
export interface NewProtocolChange {
  /** Action. */
  action: ProtocolAction;
  /** Name of the port in the profile. Default: every port with a protocol that the action applies to. */
  port?: string | null;
  /** BGP peers, OSPF, IS-IS and virtual routers: their names in the profile, or addresses of their hosts. Default: all. */
  peers?: string[];
  /** Names of routes in the profile. Default: all of the peers. */
  routes?: string[];
  /** Time after which sessions may come up again after a restart, s. Default: `retry` of the peer. */
  delay_s?: number | null;
  /** New priority of virtual routers. */
  priority?: number | null;
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
  /** Time after which the script is requested to stop, s. */
  run_time_s?: number | null;
  /** Time after which the script is ended unconditionally, s. Default: 5 s after the request to stop. */
  deadline_s?: number | null;
  /** Longest frame with FCS that it sends and receives, bytes. Default: 1518. Interfaces need an MTU of 18 bytes less. */
  frame_length?: number | null;
}

/** Streams to add to a run. */
export interface NewStreams {
  /** Profile with the run's `ports` and the streams to add: YAML or JSON text, or the document itself. Names of streams must be new to the run. Times, and `load.duration`, count from the moment they are added. */
  profile: string | Record<string, unknown>;
}

/** Variable that a session test increases and sustains. */
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
  /** AS-external LSAs (type 5; 0x4005 of OSPFv3). */
  external: number;
  /** NSSA LSAs (type 7; 0x2007 of OSPFv3). */
  nssa: number;
  /** Link-local opaque LSAs (type 9). */
  opaque_link: number;
  /** Area-local opaque LSAs (type 10). */
  opaque_area: number;
  /** AS-wide opaque LSAs (type 11). */
  opaque_domain: number;
  /** Inter-area-prefix LSAs (OSPFv3, type 0x2003). */
  inter_area_prefix: number;
  /** Inter-area-router LSAs (OSPFv3, type 0x2004). */
  inter_area_router: number;
  /** Link LSAs (OSPFv3, type 0x0008). */
  link: number;
  /** Intra-area-prefix LSAs (OSPFv3, type 0x2009). */
  intra_area_prefix: number;
  /** OSPFv3 LSAs of other types. */
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
  /** Sequence number, as on the wire. */
  sequence: number;
  /** Age, s. */
  age_s: number;
  /** Body after the header, in hexadecimal digits. */
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
  /** LSAs that these packets acknowledge. */
  acknowledged_lsas: number;
}

/** OSPF routers of a port, from before traffic until their end. */
export interface OspfResult {
  /** Routers. */
  routers: number;
  /** Routers whose adjacency was full when traffic started. */
  full: number;
  /** Routers without a full adjacency when traffic started. */
  failed: number;
  /** Routers whose adjacency is full now; in a result, when traffic had ended. */
  full_at_end: number;
  /** Full adjacencies that ended unexpectedly. */
  flaps: number;
  /** Time from each router's first Hello packet to its first full adjacency. */
  full_ns?: LatencyResult | null;
  /** Time from the first Hello packet until all adjacencies were full on both sides and all routes acknowledged. Absent if this was not reached before traffic started. */
  announced_after_s?: number | null;
  /** Routes advertised; repeated advertisements count again. */
  advertised: number;
  /** Routes withdrawn. */
  withdrawn: number;
  /** When the first routes were withdrawn while traffic ran, ns since it started. */
  first_withdrawal_ns?: number | null;
  /** When the first routes were advertised while traffic ran, ns since it started. */
  first_advertisement_ns?: number | null;
  /** LSAs sent, by type; retransmissions count again. */
  lsas_sent: OspfLsaCounts;
  /** LSAs received, by type; repetitions count again. */
  lsas_received: OspfLsaCounts;
  /** LSAs of the device in the routers' databases now, by type. */
  database: OspfLsaCounts;
  /** LSAs of the device that exceeded the capacity of the routers' databases, 1,000,000 in all. */
  left_out: number;
  /** Flushed LSAs received (age MaxAge). */
  received_flushed: number;
  /** LSAs retransmitted because they were not acknowledged in time. */
  retransmitted: number;
  /** LSAs refreshed because of their age. */
  refreshed: number;
  /** Own LSAs received in a newer instance than the router's, such as from an earlier run: originated again, or flushed. */
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
  /** Router ID. */
  router_id: string;
  /** Area of its link. */
  area: string;
  /** Instance of OSPFv3 on its link; 0 with version 2. */
  instance: number;
  /** Address of the host. */
  local: string;
  /** Network type of its link: `broadcast` or `point_to_point`. */
  network: string;
  /** Neighbour state: `down`, `init`, `two_way`, `ex_start`, `exchange`, `loading` or `full` (RFC 2328 section 10.1). With several neighbours, the designated router's. */
  state: string;
  /** Identifier of the neighbour; null if none was detected. */
  neighbour_id: string | null;
  /** Address of the neighbour; null if none was detected. */
  neighbour: string | null;
  /** Address of the designated router, its identifier with version 3; null if there is none. */
  designated: string | null;
  /** Address of the backup designated router, its identifier with version 3; null if there is none. */
  backup: string | null;
  /** Time since the adjacency became full, s; null if it is not. */
  full_for_s: number | null;
  /** Whether the adjacency is full, and the neighbour's LSAs list it too. */
  is_mutual: boolean;
  /** Whether a command has taken the router down. */
  is_down: boolean;
  /** Why there is no full adjacency; null if there is one, or the router is down. */
  reason: string | null;
  /** Full adjacencies that ended unexpectedly. */
  flaps: number;
  /** Routes advertised; repeated advertisements count again. */
  advertised: number;
  /** Routes withdrawn. */
  withdrawn: number;
  /** Router LSAs originated: its own, and those for the routers generated behind it. */
  originated_routers: number;
  /** Packets sent, by type. */
  packets_sent: OspfPacketCounts;
  /** Packets received and accepted, by type. */
  packets_received: OspfPacketCounts;
  /** LSAs sent, by type; retransmissions count again. */
  lsas_sent: OspfLsaCounts;
  /** LSAs received, by type; repetitions count again. */
  lsas_received: OspfLsaCounts;
  /** LSAs retransmitted because they were not acknowledged in time. */
  retransmitted: number;
  /** LSAs of neighbours in its database, by type. */
  database: OspfLsaCounts;
  /** Number of stored LSAs, at most `keep` of the profile. */
  kept: number;
  /** LSAs that exceeded the capacity of its database. */
  left_out: number;
  /** Stored LSAs by type, identifier and router, if requested. */
  lsas?: OspfLsaState[];
}

/** An outage. If it began or ended within a sampling interval, the exact time is interpolated from the share of packets received in it. */
export interface OutageResult {
  /** Start, ns since traffic started. */
  from_ns: number;
  /** End, ns since traffic started; absent while it lasts. */
  until_ns?: number | null;
  /** Packets sent in that time and not received. */
  lost: number;
}

/** Outages of a stream: times in which the share of its packets that arrived was below a threshold. A packet counts at the time when it was sent. */
export interface OutagesResult {
  /** Sampling interval, to which the share of packets refers. 1 ms, or as long as it takes to send 20 packets. */
  interval_ns: number;
  /** Outages. */
  count: number;
  /** Total duration; an outage in progress counts until now. */
  total_ns: number;
  /** Duration of the longest outage. */
  longest_ns: number;
  /** The last 100 outages. */
  last: OutageResult[];
}

/** Outcome of the run: by the criteria, or without any, by whether most of the load succeeded and losses are known. */
export interface OverallResult {
  /** `passed`, `failed`, or `cannot_judge`: the tester was disturbed where it matters. */
  outcome: string;
  /** The cause, unless it passed. */
  reason?: string | null;
  /** Advice to get a result that can be judged. */
  remedy?: string | null;
  /** Number of runs until the outcome could be judged, if more than one. */
  runs?: number | null;
}

/** Frames longer than the device is to forward. */
export interface OversizeFound {
  /** The frames. */
  frames: Frames;
  /** Frames sent. */
  sent: number;
  /** Frames that arrived; absent: the tester was the limit or disturbed. */
  received: number | null;
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
  /** Sessions that clients began to open, or that servers received a request for. */
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

/** One phase of an entry's load. An event is counted in the phase in which it happened: a session may be opened in one and completed in another. */
export interface PhaseResult {
  /** When it began, since the start of traffic. */
  from_s: number;
  /** When it ended. */
  to_s: number;
  /** Sessions that were open when counters were set to zero; absent if they were not. They are not in `attempted`, but in the counts of how sessions ended. */
  open_at_clear?: number | null;
  /** Sessions that clients began to open, or that servers received a request for. */
  attempted: number;
  /** Sessions established. */
  established: number;
  /** Sessions completed as planned. */
  completed: number;
  /** Completed sessions that were ended early because their time was up or the run was over. */
  stopped: number;
  /** Sessions that failed, by reason. */
  failed: Record<string, number>;
  /** Failed sessions / `attempted`, to which `open_at_clear` is added. */
  failed_ratio: number;
  /** Sessions open at the end; in an interval or a phase, the change since its beginning. */
  active: number;
  /** Maximum number of open sessions. With several workers, or applications of a mix, an upper bound: each reaches its maximum at a different instant, and the sum is taken over spans of at most 50 ms. */
  active_max: number;
  /** Lower bound of the maximum number of open sessions. Only with several workers, or applications of a mix. */
  active_max_at_least?: number | null;
  /** Sessions established per second. */
  open_per_s: number;
  /** Requests sent (clients) or received (servers). */
  requests: number;
  /** Requests that clients had left to send when servers closed their connections between responses. Absent if none. */
  unasked?: number | null;
  /** Requests without a complete response, or with one of status 4xx or 5xx, / `requests`; a request and the redirects it follows count as one. Clients only. */
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
  /** Time from when a request was due to the first byte of its response. Clients whose requests are sent late only. Requests that still wait at the end, if more than 0.1%, count with the time they have waited: they would take longer. */
  ttfb_due_ns?: LatencyResult | null;
  /** Time from when a request was due to the last byte of its response. Clients whose requests are sent late only. Requests that still wait at the end, if more than 0.1%, count with the time they have waited: they would take longer. */
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

/** Which outside addresses one inside address has (RFC 4787 section 4.1). */
export type Pooling = "paired" | "arbitrary";

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
  /** Mode of an `afxdp:` or `xdp:` port, such as 'native, copy': where its XDP program runs ('native': in the driver, 'generic': in the kernel's stack), whether the kernel copies frames ('copy' or 'zero-copy'), and whether a frame may have 'several buffers'. */
  xdp_mode?: string | null;
  /** Test packets recorded in the kernel. Only of `xdp:` ports. */
  kernel_rx?: KernelRxResult | null;
  /** Arrival times by the kernel or the network card. Only of ports with `timestamps: kernel` or `hardware`. */
  stamps?: StampsResult | null;
  /** ARP, ND and echo replies, and frames of pings and of control protocols of hosts sent while traffic ran. */
  tx_answers: number;
  /** Frames passed to the network namespace of the port's hosts. Absent if they have none. */
  rx_punted?: number | null;
  /** Frames to that namespace that were dropped: the tester's buffer was full, or the kernel did not accept them. */
  rx_punt_dropped?: number | null;
  /** Frames from that namespace sent. */
  tx_punted?: number | null;
  /** Frames from that namespace that were dropped: the tester's buffer was full, or they were too long for the port. */
  tx_punt_dropped?: number | null;
  /** Frames received with errors, and frames lost in the tester, by reason. */
  rx_errors: Record<string, number>;
  /** Frames the driver accepted but did not send, by reason. */
  tx_errors: Record<string, number>;
  /** IP fragments received for the port's hosts, packets reassembled from them, and packets discarded. */
  fragments?: Record<string, number>;
  /** Frames received at session tunnel endpoints: 'received' (decapsulated), 'unknown' (other identifier), 'malformed', 'unclaimed' (no inner host), 'echoes' (GTP-U echo requests replied to). */
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
  /** LACP state of the port. Absent if it belongs to no LAG. */
  lacp?: LacpResult | null;
  /** BGP sessions of the port's hosts. Absent if they have none. */
  bgp?: BgpResult | null;
  /** OSPF routers of the port. Absent if it has none. */
  ospf?: OspfResult | null;
  /** IS-IS routers of the port. Absent if it has none. */
  isis?: IsisResult | null;
  /** Virtual routers of the port. Absent if it has none. */
  vrrp?: VrrpResult | null;
  /** Neighbours that changed their MAC address while traffic ran, the first 64 of all ports. Frames use the new address immediately, unless the profile specifies the MAC address. */
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
  /** Phase: `waiting`, `discovery`, `link`, `authentication`, `network`, `up`, `terminating`, `pausing` before another attempt, or `down`. */
  phase: string;
  /** Session identifier; null if the session is not up. The other fields are null then, too. */
  session: number | null;
  /** MAC address of the access concentrator. */
  ac: string | null;
  /** Address. */
  ip: string | null;
  /** Address of the access concentrator; null if not announced. */
  peer: string | null;
  /** Addresses of name servers. */
  dns: string[];
  /** IPv6 interface identifier, in hexadecimal digits; null if none was negotiated. */
  interface: string | null;
  /** Longest IP packet that the access concentrator accepts, bytes. */
  mru: number | null;
  /** Time since the session came up, s. */
  up_for_s: number | null;
  /** Why the last attempt failed or the last session ended: `discovery`, `link`, `authentication`, `network`, `ended` by the access concentrator, or `silent`; null if none did. */
  failure: string | null;
  /** Sessions that came up. */
  sessions: number;
  /** Attempts that failed. */
  failed: number;
  /** Sessions that ended without a request of the client. */
  lost: number;
}

/** PPPoE clients of a port, from before traffic until the end of their sessions. */
export interface PppoeResult {
  /** Clients. */
  clients: number;
  /** Clients that had a session and an address when traffic started. */
  up: number;
  /** Clients that were not up when traffic started. */
  failed: number;
  /** Clients that have a session and an address now; in a result, when traffic had ended. */
  holding: number;
  /** Sessions per second, from the first PADI to the last first session. */
  up_per_s?: number | null;
  /** Time from a client's first PADI to its first session with all requested addresses. */
  setup_ns?: LatencyResult | null;
  /** Duration of discovery, from the first PADI of an attempt to its PADS. */
  discovery_ns?: LatencyResult | null;
  /** Duration of LCP negotiation, from the PADS until the link was open. */
  link_ns?: LatencyResult | null;
  /** Duration of authentication, from link establishment until the client was accepted. Absent without authentication. */
  authentication_ns?: LatencyResult | null;
  /** Duration of IPCP and IPV6CP negotiation, from authentication until the client had its address. */
  network_ns?: LatencyResult | null;
  /** Sessions established, including reconnected clients. */
  sessions: number;
  /** PADI packets sent. */
  padis: number;
  /** PADO packets received by clients in discovery. */
  pados: number;
  /** Of these, packets from another access concentrator, or without the requested service. */
  passed_over: number;
  /** PADR packets sent. */
  padrs: number;
  /** PADS packets received that started a session. */
  padss: number;
  /** PADT packets sent. */
  padts_sent: number;
  /** PADT packets received for the clients' sessions. */
  padts_received: number;
  /** Discovery and PPP messages retransmitted because no reply arrived. */
  repeated: number;
  /** Attempts that ended with an error in discovery. */
  failed_discovery: number;
  /** Attempts in which LCP negotiation did not converge. */
  failed_link: number;
  /** Attempts in which user name or password were rejected, or authentication was not requested or not completed. */
  failed_authentication: number;
  /** Attempts in which the client got no address. */
  failed_network: number;
  /** Attempts that the access concentrator ended. */
  failed_ended: number;
  /** Sessions that ended without a request of the client. */
  lost: number;
  /** Of these, sessions ended by the access concentrator. */
  lost_ended: number;
  /** Of these, sessions ended because echo requests had no reply. */
  lost_silent: number;
  /** Last reason given by an access concentrator, verbatim. Absent if none. */
  message?: string | null;
  /** LCP Echo-Request packets sent. */
  echo_requests: number;
  /** LCP Echo-Reply packets received. */
  echo_replies: number;
  /** Echo-Requests of access concentrators that the clients replied to. */
  echoes_answered: number;
  /** Packets of unknown protocols or with unknown codes; rejected. */
  rejected: number;
  /** Addresses already assigned to another client of the tester. */
  conflicts: number;
  /** Commands carried out: sessions started or ended. */
  commands: number;
}

/** A refused request (RFC 9457). */
export interface Problem {
  /** Problem type: `about:blank`, as the status code identifies the problem. */
  type: string;
  /** Reason phrase of the status. */
  title: string;
  /** HTTP status. */
  status: number;
  /** Description of the problem, one sentence. */
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
  /** Description of the error and the expected value. */
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
  /** Purpose. */
  about: string;
  /** The profile, with comments: change devices, addresses and rates. */
  profile: string;
  /** Test method to run it by; without one it is a run. */
  method: string | null;
}

/** Action on the protocols of a run's hosts. */
export type ProtocolAction = "advertise" | "withdraw" | "up" | "down" | "restart" | "renew" | "release" | "enable" | "disable" | "priority";

/** Outcome of a protocol change. */
export interface ProtocolChange {
  /** Ranges of routes, sessions, clients or ports with agents that were changed. */
  changed: number;
}

/** Number of each kind on all ports. */
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
  /** Virtual routers. */
  vrrp_routers: number;
  /** Virtual routers that are Active. */
  vrrp_active: number;
}

/** A program that ran control protocols behind a port. */
export interface ProtocolResult {
  /** Name of the entry. */
  name: string;
  /** Folder with its configuration and sockets. */
  folder: string;
  /** Log files with its programs' output. */
  logs: string[];
  /** Time from its start until it was up, s. */
  up_after_s?: number | null;
  /** Why it ended before the run did. */
  ended?: string | null;
}

/** Control protocols of a running trial's hosts. */
export interface ProtocolStates {
  /** Number of each kind, also of those that are not listed. */
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
  /** Virtual routers, by port and in the order of the profile. */
  vrrp: VrrpRouterState[];
}

/** QUIC of one side. Packets and datagrams count once their session has ended. */
export interface QuicResult {
  /** Handshakes completed. */
  connections: number;
  /** Retry packets received: servers that had clients prove their address. */
  retries: number;
  /** Retry packets sent: servers that have clients prove their address. */
  retries_sent: number;
  /** Version Negotiation packets received: servers that do not support version 1. */
  version_negotiations: number;
  /** Packets sent. */
  packets_sent: number;
  /** Packets declared lost; what was in them was sent again. */
  packets_lost: number;
  /** Datagrams received. */
  datagrams_received: number;
  /** DATAGRAM frames sent (RFC 9221): messages of programs that are not sent again if they are lost. */
  datagram_frames_sent: number;
  /** DATAGRAM frames received. */
  datagram_frames_received: number;
  /** Times a congestion window was reduced. */
  congestion_events: number;
  /** Times a client's address or port changed and its connection continued: of clients, how often they changed it; of servers, how often they followed. */
  migrated: number;
  /** Connections whose server announced a preferred address (RFC 9000 section 9.6). Clients stay at the one that they began with. */
  preferred_addresses: number;
  /** Connections with early data (0-RTT) that the server accepted. */
  early_data_accepted: number;
  /** Connections whose early data the server rejected: it was sent again after the handshake. Clients only. */
  early_data_rejected: number;
  /** Requests in early data: of clients, sent; of servers, received before the handshake was done. */
  early_requests: number;
  /** Early requests that the server refused by status 425, which were sent again after the handshake. Clients only. */
  too_early: number;
  /** Updates of the keys, by either end. */
  key_updates: number;
  /** Datagrams sent with ECT(0). */
  ecn_sent: number;
  /** Datagrams received with ECT(0) or ECT(1). */
  ecn_ect: number;
  /** Datagrams received with CE: a device on the path had congestion. */
  ecn_ce: number;
  /** Connections whose path, or other end, was found not to support congestion marks. */
  ecn_failed: number;
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

/** Highest rate of a pattern of traffic. Rates are of all flows together; a broadcast counts once. */
export interface RateFound {
  /** `full_mesh`, `one_to_many`, `many_to_one`, `halves`, `broadcast`. */
  traffic: string;
  /** The same in words. */
  words: string;
  /** The highest load without loss, share of the line rate; absent: none. */
  share: number | null;
  /** The same, frames/s. */
  rate_pps: number | null;
  /** The lowest rate at which frames were lost, frames/s. */
  failed_pps: number | null;
  /** The line rate, frames/s. */
  line_pps: number;
  /** Limit of the rate from above. */
  limit: Limit;
  /** The search ends when its bounds are this share of the line rate apart. */
  resolution: number;
  /** Share of frames lost at the line rate. */
  loss_at_line: number | null;
  /** Most frames that arrived per second, at any load tried. */
  forwarding_pps: number | null;
  /** Most frames of a trial that came to other ports too. */
  flooded: number;
  /** Latency at the highest load without loss. Quantiles are the largest of any flow. */
  latency_ns: LatencySummary | null;
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

/** Redirects that clients received. */
export interface RedirectResult {
  /** Requests sent because of a redirect; they count in `requests`, too. */
  followed: number;
  /** Connections opened to follow a redirect, because the server had closed the connection before. */
  new_connections: number;
  /** Requests after a redirect that were sent once more on such a connection, because the server closed the one before without a response to them. They count once in `requests`. */
  repeated: number;
  /** Redirects not followed, by reason: too many in a row (`limit`), to `other_scheme`, `other_host` or `other_port`, `no_location`, `bad_location`, `closed` by the server while no other connection could be had, and with HTTP/3. */
  unfollowed?: Record<string, number>;
}

/** Streams to remove from a run. */
export interface RemovedStreams {
  /** Names of streams, at least one; the name of a stream with copies means all of them. Default: all streams there are. */
  streams?: string[] | null;
  /** Time of removal, s since traffic started. Default: immediately. */
  when_s?: number | null;
}

/** Renewal of a lease. */
export interface Renewal {
  /** Time from now until the lease expires, s. Default: the time it was taken for. */
  ttl_s?: number | null;
}

/** Packets of a capture file that are not sent, or not unmodified. All counts are for one pass through the file. */
export interface ReplayResult {
  /** Packets in the file. */
  packets: number;
  /** Packets that can't be sent as Ethernet frames and are left out. */
  unsendable: number;
  /** Packets that are too long and left out. */
  too_long: number;
  /** Packets truncated to the maximum length, including packets whose end was not captured. */
  cut: number;
  /** Packets cut into TCP segments. */
  segmented: number;
  /** Packets cut into IP fragments. */
  fragmented: number;
  /** Segments and fragments that these became. */
  pieces: number;
  /** Packets with an IP length of 0, which is filled in. */
  lengths_filled: number;
  /** Wrong checksums of whole packets, including those left to a network card by offload. */
  checksums_wrong: number;
  /** Of these, checksums that are corrected. */
  checksums_repaired: number;
  /** Pauses that are shortened. */
  pauses_shortened: number;
}

/** Outage after one kind of reset. */
export interface ResetRow {
  /** Reset of the DUT. */
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

/** Result of a trial. */
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
  /** Duration of traffic, s. */
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
  /** Share of the requested load that succeeded. Independent of `verdict`. */
  achieved?: AchievedResult | null;
  /** Outcome of the run as a whole. Decides the exit code. */
  overall?: OverallResult | null;
  /** Counts of the simulated links and device in a simulated trial. */
  sim?: SimResult | null;
  /** Load on the tester's machine from other processes; absent in a simulated trial. */
  machine?: MachineResult | null;
  /** Since when the numbers count, if counters were set to zero during the trial. */
  cleared?: ClearedResult | null;
  /** Rate changes during the trial, in order. `requested_pps` keeps the profile's value. */
  rate_changes?: RateChange[];
  /** Execution of varying fields: `compiled`, or `interpreted` (much slower) where the system forbids generated machine code. Absent if nothing varied. */
  field_programs?: string | null;
  /** Captures by port. */
  captures?: Record<string, CaptureResult>;
  /** Programs that ran control protocols, in the order of the profile. */
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
  /** Machines of a run on several, in the order of their workers; absent in a run on one. */
  agents?: AgentResult[];
}

/** Rights of a caller. */
export type Role = "watch" | "run" | "admin";

/** Outcome of the sessions and adjacencies that advertise routes. */
export interface RouteOutcome {
  /** Routes advertised; those that were advertised again count again. */
  advertised: number;
  /** Sessions and adjacencies that ended while they should not have. */
  sessions_lost: number;
  /** Reason for the end of the first of them. */
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
  /** Outcome of the sessions. */
  outcome: RouteOutcome;
}

/** Findings. */
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
  /** Maximum distance of the bounds, as a share. */
  resolution: number;
  /** Limit of the capacity from above. */
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
  /** Name of the caller that started it. */
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
  /** Share of the requested load that succeeded, once there is a result. */
  achieved: AchievedResult | null;
  /** Outcome of the run, once there is a result. */
  overall: OverallResult | null;
  /** The last 100 changes of rates and streams, one sentence each. */
  rate_changes: string[];
  /** Total number of rate and stream changes. */
  rate_changes_in_all: number;
  /** The last 100 changes that were refused, with the reason. */
  refused_changes: string[];
  /** Total number of refused changes. */
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
  /** Name of the caller that started it. */
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

/** Limits of the tester. */
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
  /** Name of the stream of its yellow frames, whose packets have another DSCP or PCP, or the DEI bit; absent: it has no colours, and the device chooses itself what exceeds the CIR. */
  yellow?: string | null;
  /** Coupling flag (MEF 10.3): whether yellow frames may use what is left of the CIR. */
  coupling?: boolean;
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

/** Findings for a service. */
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
  /** `25% of CIR`, `CIR + EIR`, `policing`, `CBS`, `CBS + EBS`, `performance`; with colours also `policing of yellow`, `coupling`. */
  step: string;
  /** Requested load, bits/s of frames with FCS; with colours, this and what follows are of green frames. */
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
  /** Yellow frames, in steps that send some. */
  yellow?: YellowStep | null;
  /** Behaviour of the device once it dropped frames, in the policing step. */
  policed?: Policed | null;
  /** Share of available seconds; of the performance test. */
  availability?: number | null;
  /** Whether all criteria were met; absent: the tester was the limit or disturbed, so nothing is known. */
  passed: boolean | null;
  /** Requirements that were not met. */
  because?: string[];
}

/** Latency at one application. */
export interface SessionLatencyRow {
  /** Application of the sessions. */
  app: Application;
  /** Objective that was sustained. */
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
  /** Transactions that failed, including transactions of sessions that were never established. */
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
  /** Requested value. */
  value: number;
  /** Reached value. */
  reached: number;
  /** Result. */
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
  /** Sessions attempted before counters were set to zero; absent if they were not. */
  attempted_before_clear?: number | null;
  /** Requests due but not sent because no session was free for them: with `late_requests: send` those that still wait, negative in an interval that caught up with an earlier one; otherwise those left out, found when a session was free again, or at the end. Only with `request_rate`. */
  unsent_requests?: number | null;
  /** Sessions that were open when counters were set to zero; absent if they were not. They are not in `attempted`, but in the counts of how sessions ended. */
  open_at_clear?: number | null;
  /** Sessions that clients began to open, or that servers received a request for. */
  attempted: number;
  /** Sessions established. */
  established: number;
  /** Sessions completed as planned. */
  completed: number;
  /** Completed sessions that were ended early because their time was up or the run was over. */
  stopped: number;
  /** Sessions that failed, by reason. */
  failed: Record<string, number>;
  /** Failed sessions / `attempted`, to which `open_at_clear` is added. */
  failed_ratio: number;
  /** Sessions open at the end; in an interval or a phase, the change since its beginning. */
  active: number;
  /** Maximum number of open sessions. With several workers, or applications of a mix, an upper bound: each reaches its maximum at a different instant, and the sum is taken over spans of at most 50 ms. */
  active_max: number;
  /** Lower bound of the maximum number of open sessions. Only with several workers, or applications of a mix. */
  active_max_at_least?: number | null;
  /** Sessions established per second. */
  open_per_s: number;
  /** Requests sent (clients) or received (servers). */
  requests: number;
  /** Requests that clients had left to send when servers closed their connections between responses. Absent if none. */
  unasked?: number | null;
  /** Requests without a complete response, or with one of status 4xx or 5xx, / `requests`; a request and the redirects it follows count as one. Clients only. */
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
  /** Time from when a request was due to the first byte of its response. Clients whose requests are sent late only. Requests that still wait at the end, if more than 0.1%, count with the time they have waited: they would take longer. */
  ttfb_due_ns?: LatencyResult | null;
  /** Time from when a request was due to the last byte of its response. Clients whose requests are sent late only. Requests that still wait at the end, if more than 0.1%, count with the time they have waited: they would take longer. */
  ttlb_due_ns?: LatencyResult | null;
  /** Counts of the clients by phase, if the entry's rate ramps up or down: `ramp_up`, `sustain`, `ramp_down`. Counts of the drain are in no phase. */
  phases?: Record<string, PhaseResult>;
  /** Counts of the clients, if they run here. */
  client?: SideDetails | null;
  /** Counts of the servers, if they run here. */
  server?: SideDetails | null;
}

/** The most at one application. */
export interface SessionRow {
  /** Application of the sessions. */
  app: Application;
  /** Objective that the search increased. */
  objective: Objective;
  /** The most that passed. */
  best: SessionPoint | null;
  /** The least that did not. */
  failed: SessionPoint | null;
  /** The first that did not, in the order of trials: for a load in steps the step of failure. */
  first_failed: SessionPoint | null;
  /** Limit of the value from above. */
  limit: Limit;
  /** The search ends when its bounds are this share apart. Absent in archives of older versions. */
  resolution?: number | null;
}

/** Samples that show something, of all. */
export interface Share {
  /** Samples that show it. */
  count: number;
  /** All samples. */
  of: number;
  /** Lower bound of the share, 95 % confidence (Wilson score interval). */
  lower: number;
  /** Upper bound. */
  upper: number;
}

/** All counts of one side. */
export interface SideDetails {
  /** Sessions that were open when counters were set to zero; absent if they were not. They are not in `attempted`, but in the counts of how sessions ended. */
  open_at_clear?: number | null;
  /** Sessions that clients began to open, or that servers received a request for. */
  attempted: number;
  /** Sessions established. */
  established: number;
  /** Sessions completed as planned. */
  completed: number;
  /** Completed sessions that were ended early because their time was up or the run was over. */
  stopped: number;
  /** Sessions that failed, by reason. */
  failed: Record<string, number>;
  /** Failed sessions / `attempted`, to which `open_at_clear` is added. */
  failed_ratio: number;
  /** Sessions open at the end; in an interval or a phase, the change since its beginning. */
  active: number;
  /** Maximum number of open sessions. With several workers, or applications of a mix, an upper bound: each reaches its maximum at a different instant, and the sum is taken over spans of at most 50 ms. */
  active_max: number;
  /** Lower bound of the maximum number of open sessions. Only with several workers, or applications of a mix. */
  active_max_at_least?: number | null;
  /** Sessions established per second. */
  open_per_s: number;
  /** Requests sent (clients) or received (servers). */
  requests: number;
  /** Requests that clients had left to send when servers closed their connections between responses. Absent if none. */
  unasked?: number | null;
  /** Requests without a complete response, or with one of status 4xx or 5xx, / `requests`; a request and the redirects it follows count as one. Clients only. */
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
  /** Time from when a request was due to the first byte of its response. Clients whose requests are sent late only. Requests that still wait at the end, if more than 0.1%, count with the time they have waited: they would take longer. */
  ttfb_due_ns?: LatencyResult | null;
  /** Time from when a request was due to the last byte of its response. Clients whose requests are sent late only. Requests that still wait at the end, if more than 0.1%, count with the time they have waited: they would take longer. */
  ttlb_due_ns?: LatencyResult | null;
  /** Applications of a mix by name. Absent if there is only one. */
  apps?: Record<string, PartResult>;
  /** Hosts by name, if several play this side. Absent if there is only one. */
  hosts?: Record<string, PartResult>;
  /** Details of failures: TLS alerts, faults of certificates and responses. */
  failure_details?: Record<string, number>;
  /** Responses by class of HTTP status: `2xx`. */
  http?: Record<string, number>;
  /** DNS responses by code; `truncated` responses, `retries`, and queries repeated `over_tcp`. */
  dns?: Record<string, number>;
  /** HTTP/2. Absent if no connection used it. */
  http2?: Http2Result | null;
  /** HTTP/3. Absent if no connection used it. */
  http3?: Http3Result | null;
  /** QUIC. Absent if no session uses it. */
  quic?: QuicResult | null;
  /** Alternative services (RFC 7838). Absent unless clients go to them. */
  alt_svc?: AltSvcResult | null;
  /** Redirects (RFC 9110 section 15.4). Absent unless clients follow them. */
  redirects?: RedirectResult | null;
  /** Cookies (RFC 6265). Absent unless clients keep them. */
  cookies?: CookieResult | null;
  /** WebSocket. Absent without upgrades. */
  websocket?: WebsocketResult | null;
  /** gRPC. Absent without calls. */
  grpc?: GrpcResult | null;
  /** STAMP. Absent without test packets. */
  stamp?: StampResult | null;
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

/** Counts of simulated links and the simulated device, as opposed to measurements. */
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

/** STAMP of one side. Test packets count as `requests`, their first replies as `transactions`; `ttlb_ns` is the round trip with the reflector's own time. */
export interface StampResult {
  /** Test packets sent (clients), replies sent (servers). */
  sent: number;
  /** Test packets with a reply in time (clients), test packets received (servers). */
  received: number;
  /** Test packets without a reply in time. `sent` is `received` + `lost` + the packets whose time was not over. Clients only. */
  lost?: number | null;
  /** `lost` / (`received` + `lost`). Clients only. */
  loss_ratio?: number | null;
  /** Lost test packets that did not reach the reflector, of sessions that are over: up to the last reply of each. Only with `reflector: stateful`. */
  lost_to_reflector?: number | null;
  /** Lost test packets whose reply was lost, of sessions that are over: up to the last reply of each. Only with `reflector: stateful`. */
  lost_from_reflector?: number | null;
  /** Replies beyond the first to a packet. Clients only. */
  duplicates?: number | null;
  /** Replies to a packet sent before one that had a reply already. Clients only. */
  reordered?: number | null;
  /** Replies to packets that count as lost. Clients only. */
  late?: number | null;
  /** Replies with impossible times: a reflector that sends before it receives, or has a packet for longer than it was away. Absent if none. */
  untimed?: number | null;
  /** Datagrams that are no part of a session, by reason: `malformed`, `short`, `unauthentic`, `reflected`, `sessions`, `foreign`. */
  dropped?: Record<string, number>;
  /** Round trips without the reflector's own time. */
  round_trip_ns?: LatencyResult | null;
  /** Time from a packet's arrival at the reflector to the reply's departure, by the reflector's clock. */
  reflector_ns?: LatencyResult | null;
  /** Delays from sender to reflector. Absent unless both ends run here, with one clock. */
  to_reflector_ns?: LatencyResult | null;
  /** Delays from reflector to sender. Absent unless both ends run here, with one clock. */
  from_reflector_ns?: LatencyResult | null;
  /** Differences of the round trips of neighbouring packets of a session (RFC 3393), without their sign. */
  round_trip_jitter_ns?: LatencyResult | null;
  /** Differences of their delays to the reflector. The offset of the clocks does not change them. */
  to_reflector_jitter_ns?: LatencyResult | null;
  /** Differences of their delays from the reflector. The offset of the clocks does not change them. */
  from_reflector_jitter_ns?: LatencyResult | null;
}

/** Arrival times of frames that did not come from the worker that took them in. */
export interface StampsResult {
  /** Their source: 'kernel' or 'hardware'. */
  by: string;
  /** Frames with such a time. All others count as arrived when a worker took them in. */
  packets: number;
  /** Largest error of these times on the tester's clock. Absent without packets. */
  clock_error_max_ns?: number | null;
}

/** Whether a trial counts, and for what. */
export type Standing = "counted" | "bounded" | "tester_limited" | "invalid" | "interrupted" | "aside";

/** State of a run or campaign. */
export type State = "starting" | "running" | "draining" | "done" | "failed" | "stopped" | "interrupted";

/** Status of a method at its end. */
export type Status = "running" | "complete" | {  failed: Fault; };

/** Property that repeated sessions have in common. */
export type StickyBy = "source" | "endpoint" | "cookie";

/** A kind of stickiness. */
export interface StickyFound {
  /** Property that sessions had in common. */
  by: StickyBy;
  /** Repeated sessions at the backend of the first. */
  share: Share;
  /** The same share of a balancer that chooses by chance. */
  by_chance: number;
}

/** A campaign in the store. */
export interface StoredCampaign {
  /** Its name in the store. */
  id: CampaignId;
  /** Display name. */
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
  /** State. */
  state: StoredState;
  /** Why it failed. */
  reason: string | null;
  /** Number of times that it was resumed. */
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

/** State of a campaign. One whose process was killed stays `Running` until it is resumed. */
export type StoredState = "running" | "done" | "interrupted" | "failed";

/** One stream. */
export interface StreamResult {
  /** Packets per second requested; absent for `max`. */
  requested_pps?: number | null;
  /** When it was added to the running trial, s since traffic started; absent for streams of the profile. Rates count from then on. */
  added_s?: number | null;
  /** When it was removed from the running trial, s since traffic started. */
  removed_s?: number | null;
  /** Packets sent before counters were set to zero; absent if they were not. They are in no other number. */
  tx_before_clear?: number | null;
  /** Packets sent before counters were set to zero that arrived later; absent if they were not, and of packets counted by a mark, which carry no time. They are in no other number of the stream; ports count them. */
  rx_before_clear?: number | null;
  /** Packets per second sent. */
  offered_pps: number;
  /** Packets sent. */
  tx: number;
  /** Bytes sent, with FCS. */
  tx_bytes: number;
  /** Packets received, without duplicates; packets counted by a mark include duplicates. */
  rx?: number | null;
  /** Bytes received, with FCS. */
  rx_bytes?: number | null;
  /** Packets sent and not received. For packets counted by a mark, a lower bound, as duplicates count as received; absent if more were received than sent. */
  lost?: number | null;
  /** `lost` / `tx`. */
  loss_ratio?: number | null;
  /** Duplicates received. */
  duplicates?: number | null;
  /** Packets received after one sent later (RFC 4737). */
  reordered?: number | null;
  /** Largest distance of a reordered packet, in packets of its stream. */
  reorder_distance_max?: number | null;
  /** Packets too late to be distinguished from duplicates; counted as lost. */
  stale?: number | null;
  /** Packets with a sequence number far ahead that no later packet confirmed; not counted as received. */
  rejected?: number | null;
  /** Scope of the comparison of received packets: `signature`, its 18 bytes; `full`, also the rest of the payload. */
  integrity?: string | null;
  /** Packets received damaged, duplicates included; of streams with `integrity: full`. They are not lost. */
  damaged?: number | null;
  /** Kinds of damage. */
  damage?: DamageResult | null;
  /** One-way delay. */
  latency_ns?: LatencyResult | null;
  /** Uncertainty of `latency_ns` if sender and receiver have clocks of two processes: each value is that close to the true one, and below it only the sum of both is a bound. Absent in a run on one machine. */
  latency_uncertainty_ns?: number | null;
  /** How the clocks of its sender and its receiver were compared: `shared`, if both are one; `exchange`, by times of messages there and back; `kernel`, by their time daemons; `packets`, by the shortest delays of test packets both ways, by which `latency_ns` is corrected. Absent in a run on one machine. */
  latency_clock?: string | null;
  /** Variation of the delay from packet to packet. */
  jitter_ns?: JitterResult | null;
  /** Time between arrivals. */
  interarrival_ns?: SpreadResult | null;
  /** Times of undisturbed packets, not affected by a pause of the tester; absent if no packet was affected. */
  undisturbed?: UndisturbedResult | null;
  /** Arrival of the first packet, ns since traffic started. */
  first_arrival_ns?: number | null;
  /** Arrival of the last packet, ns since traffic started. */
  last_arrival_ns?: number | null;
  /** Arrivals by port, of a stream that may arrive at several (`also_to`). */
  paths?: Record<string, PathResult>;
  /** Outages of a stream with `outages`; absent if another sender sends it. */
  outages?: OutagesResult | null;
  /** Arrivals by the value of the bits under `egress`, as decimal numbers in the order of the profile: `46`, or `46,5` for two fields; `short` counts frames that end before these bits. Values that did not occur are absent. */
  egress?: Record<string, EgressResult>;
  /** Departures compared with the schedule. */
  pacing_ns?: PacingResult | null;
  /** Packets of the capture of a stream with `replay` that were not sent unmodified; absent if all were. Both directions of a capture have the same counts. */
  replay?: ReplayResult | null;
}

/** A campaign in a list. */
export interface Summary {
  /** Its name in the store. */
  id: CampaignId;
  /** Display name. */
  name: string;
  /** The method. */
  method: string;
  /** When it began. */
  started: string;
  /** When it ended. */
  ended: string | null;
  /** State. */
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
  /** For a single run: its outcome: `passed`, `failed` or `cannot_judge`. */
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

/** Findings of a switch at one frame length. */
export interface SwitchRow {
  /** The frames. */
  frames: Frames;
  /** By pattern of traffic, and of broadcasts. */
  rates: RateFound[];
  /** By number of senders, and of two senders each to several ports at once. */
  bursts: BurstFound[];
  /** By number of senders. */
  loads: LoadFound[];
  /** Head-of-line blocking. */
  congestion: CongestionFound | null;
  /** Frames that are too long. */
  oversize: OversizeFound | null;
}

/** The metrics of RFC 6349 section 2.3 and 4.1. */
export interface TcpFigures {
  /** Sending group. */
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

/** Capacity of the path, and TCP's use of it. */
export interface TcpRow {
  /** The path, idle. */
  path: PathOutcome | null;
  /** Bottleneck bandwidth of a direction at layer 1, bits/s. */
  bottleneck_bps: number | null;
  /** Bandwidth-delay product, bytes. */
  bdp_bytes: number | null;
  /** Maximum TCP throughput in a direction, bits/s of application data (section 4.1.1). */
  ideal_bps: number | null;
  /** One for each window and choice of senders. */
  runs: TcpRun[];
}

/** TCP with one window. */
export interface TcpRun {
  /** Sending groups. */
  senders: string[];
  /** Window of each connection, bytes. */
  window_bytes: number;
  /** Maximum allowed by the window, bits/s of each sender: window ÷ round-trip time, at most the ideal. */
  window_limit_bps: number;
  /** One for each sender. */
  results: TcpFigures[];
  /** The tester was the limit. */
  tester_limited: boolean;
}

/** Data common to all trials of a method. */
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
  /** Limit of the value from above. */
  limit: Limit;
  /** The search ends when its bounds are this share of the line rate apart. Absent in archives of older versions. */
  resolution?: number | null;
  /** Loss ratio that still passes. */
  loss_ratio?: number | null;
  /** Number of times that a load that lost frames was tried again before the loss was accepted. */
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
  /** Time to wait for late frames; counters are read after it. */
  drain: string;
  /** Rest of the DUT before the next trial. */
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
  /** Application protocol agreed on (ALPN), such as `h2`; empty if none. */
  alpn: string;
  /** Whether an earlier session was resumed. */
  resumed: boolean;
  /** Number of handshakes. */
  handshakes: number;
  /** Whether clients read no certificates and verified no signatures ('verify: nothing'). */
  unverified?: boolean;
  /** Handshakes that one key share of clients served ('key_share'). Absent if each had its own. */
  key_share_reuse?: number | null;
}

/** A class among all, each with the same part of the overload. */
export interface Together {
  /** Load sent, bits/s of frames with FCS. */
  offered_bps: number;
  /** False: the tester was the limit or disturbed, so nothing is known. */
  judged: boolean;
  /** Received, bits/s of frames with FCS. */
  received_bps: number | null;
  /** Share in what was received of all. */
  share: number | null;
  /** Share of its frames that were lost. */
  loss_ratio: number | null;
}

/** Counts since the start of a running trial, or since counters were set to zero. */
export interface TotalDocument {
  /** Since when they count, if counters were set to zero. */
  cleared?: ClearedResult | null;
  /** Ports by name. */
  ports: Record<string, PortResult>;
  /** Streams by name. `lost` includes packets in flight. */
  streams: Record<string, StreamResult>;
  /** Sums of streams by group and row. */
  groups?: Record<string, Record<string, StreamResult>>;
  /** Sessions by name of the entry under `sessions` of the profile. */
  sessions?: Record<string, SessionResult>;
}

/** Findings of a class. */
export interface TrafficRow {
  /** The class: a stream. */
  class: string;
  /** Its frames. */
  frames: Frames;
  /** By itself. */
  alone: Alone | null;
  /** The longest burst. */
  burst: BurstSize | null;
  /** Among all. */
  together: Together | null;
  /** Beside the others. */
  beside: Beside | null;
}

/** Treatment of a class that is sent above its limit. */
export type Treatment = "unlimited" | "policer" | "shaper";

/** A straight line through the intervals. */
export interface Trend {
  /** Growth per hour. */
  per_hour: number;
  /** The same in standard errors; beyond 3 either way it is hardly chance. */
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
  /** Variable of the trial: share of the line rate, or number of frames, addresses or sessions. */
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

/** Times of packets not affected by a pause of the tester: none was due, sent, in flight or waiting to be received during one. */
export interface UndisturbedResult {
  /** Share of the packets received. */
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
  /** Prerequisites of the test that were not met: addresses of clients, control-protocol sessions, packets of the sender. Also listed in `reasons`. */
  lacks?: string[];
  /** Faults other than disturbances of the tester: links that changed state, packets of unknown streams, clocks that differ. Also listed in `reasons`. */
  faults?: string[];
  /** Notes on figures that are nevertheless valid. */
  notes?: string[];
  /** Confidence in single figures, by path: `streams.a.lost`, or `streams.a.latency_ns` for all below it. A figure without an entry holds; absent if all do. */
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

/** A change of a virtual router's state. */
export interface VrrpChangeResult {
  /** When, s since traffic started; negative before. Absent while traffic has not started. */
  at_s?: number | null;
  /** New state. */
  state: string;
  /** Why: `startup`; `timeout` (no advertisement for the Active_Down interval); `resigned` (the Active router advertised priority 0); `preempting` (the Active router had a lower priority); `preempted` (another router had a higher one); `left` (by its time, a command, or the end). */
  reason: string;
  /** To Active: time since the last advertisement of another router. Absent if there was none. */
  takeover_s?: number | null;
}

/** Virtual routers of a port (VRRP, RFC 9568). */
export interface VrrpResult {
  /** Virtual routers. */
  routers: number;
  /** Virtual routers that were Active when traffic ended; before that, that are Active. */
  active_at_end: number;
  /** Times that virtual routers became Active. */
  became_active: number;
  /** Times that Active virtual routers became Backup. */
  became_backup: number;
  /** Longest takeover: time from the last advertisement of another router to becoming Active. Absent if there was none. */
  takeover_max_s?: number | null;
  /** Advertisements sent. */
  tx_advertisements: number;
  /** Valid advertisements received. */
  rx_advertisements: number;
  /** Advertisements discarded, by reason: 'ttl' (not 255), 'version', 'type', 'length', 'checksum', 'authentication' and 'interval' (VRRPv2), 'owner' (the virtual router here owns the addresses), 'own' (from the host's own address). */
  rx_invalid?: Record<string, number>;
  /** Advertisements received with VRIDs that no host of the port has. */
  rx_unknown_vrid: number;
  /** Virtual routers that commands changed, counted by command. */
  commands: number;
  /** Each of them, in the order of the profile. */
  virtual_routers: VrrpRouterResult[];
}

/** A virtual router, now; in a result, when traffic had ended. */
export interface VrrpRouterResult {
  /** Name of the virtual router in the profile; empty without one. */
  name: string;
  /** Name of its host. */
  host: string;
  /** Virtual router identifier. */
  vrid: number;
  /** Version of the protocol. */
  version: number;
  /** Address of the host, the source of advertisements. */
  local: string;
  /** Virtual addresses. */
  addresses: string[];
  /** Virtual MAC address. */
  mac: string;
  /** State: `initialize`, `backup` or `active`. */
  state: string;
  /** Priority. */
  priority: number;
  /** Address of the other router that advertised last. Absent if none did. */
  peer?: string | null;
  /** Priority of that router; 0 if it left. */
  peer_priority?: number | null;
  /** Times it became Active. */
  became_active: number;
  /** Times it became Backup after it had been Active. */
  became_backup: number;
  /** Latest takeover: time from the last advertisement of another router to its own first one as Active. Absent if there was none. */
  takeover_s?: number | null;
  /** Latest handover: time from its last advertisement as Active before it left to the first one of another router. Absent if there was none. */
  handover_s?: number | null;
  /** Advertisements sent. */
  tx_advertisements: number;
  /** Those of them with priority 0. */
  tx_priority_zero: number;
  /** Valid advertisements received. */
  rx_advertisements: number;
  /** Those of them with priority 0. */
  rx_priority_zero: number;
  /** Those of them with other virtual addresses or another interval than here. */
  rx_differing: number;
  /** Advertisements discarded, by reason. */
  rx_invalid?: Record<string, number>;
  /** Replies to ARP, neighbour discovery and echo for the virtual addresses. */
  tx_replies: number;
  /** Latest changes of its state, the oldest first; at most 16. */
  changes: VrrpChangeResult[];
}

/** A virtual router of a port. */
export interface VrrpRouterState {
  /** Name of the port in the profile. */
  port: string;
  /** Whether it has left, by its time or a command. */
  is_down: boolean;
  /** Current state. */
  router: VrrpRouterResult;
}

/** WebSocket of one side. */
export interface WebsocketResult {
  /** Connections upgraded. */
  connections: number;
  /** Time from the request for the upgrade to its response. Clients only. */
  upgrade_ns?: LatencyResult | null;
  /** Messages sent. */
  messages_sent: number;
  /** Messages received completely. */
  messages_received: number;
  /** Bytes of messages sent, without frame headers. */
  bytes_sent: number;
  /** Bytes of messages received completely, without frame headers. */
  bytes_received: number;
  /** Ping frames sent. */
  pings_sent: number;
  /** Ping frames received. */
  pings_received: number;
  /** Pong frames received. */
  pongs_received: number;
  /** Close frames received by code (RFC 6455 section 7.4): `1005` without a code, `1006` for a connection that ended without a Close frame. */
  closes?: Record<string, number>;
  /** Upgrades that servers refused, by HTTP status. Clients only. */
  refused?: Record<string, number>;
  /** Compression of messages (RFC 7692). Absent where none was offered or agreed to. */
  compression?: CompressionResult | null;
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
  /** Share of time in which it was busy. */
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
  /** Longest time between two iterations of the loop, ns. */
  stall_max_ns: number;
  /** Total time of stalls of the loop of 5 ms and longer, s; absent in a simulated trial. */
  paused_s?: number | null;
  /** Time slept because nothing was due, s; absent if it never slept. */
  slept_s?: number | null;
  /** Longest delay of a wake-up from sleep, ns; absent if it never slept. */
  overslept_max_ns?: number | null;
}

/** Yellow frames of a step. */
export interface YellowStep {
  /** Requested load, bits/s of frames with FCS. */
  asked_bps: number;
  /** Load sent. */
  offered_bps: number;
  /** Received. */
  received_bps: number;
  /** Frame loss ratio; nothing is guaranteed. */
  flr: number;
}
