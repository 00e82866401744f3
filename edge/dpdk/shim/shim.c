/* What Rust cannot call or should not know of DPDK: static inline functions, and structures whose layout moves between
 * releases. No policy, no allocation, no logging. The Rust side is src/ffi.rs; both must change together.
 *
 * Compiles against DPDK 22.11 to 25.11: once for each that the program is to know (build.rs), into a shared object.
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_memory.h>
#include <rte_mempool.h>

/* `port::FrameHead` is `rte_mbuf`: the same numbers stand in edge/port/src/frame.rs. */
#define SAME(field, offset) _Static_assert(offsetof(struct rte_mbuf, field) == (offset), #field)
_Static_assert(sizeof(struct rte_mbuf) == 128, "rte_mbuf");
SAME(buf_addr, 0);
SAME(data_off, 16);
SAME(refcnt, 18);
SAME(nb_segs, 20);
SAME(ol_flags, 24);
SAME(pkt_len, 36);
SAME(data_len, 40);
SAME(hash, 44);
SAME(hash.usr, 44);
SAME(buf_len, 54);
SAME(pool, 56);
SAME(next, 64);
SAME(tx_offload, 72);
_Static_assert(RTE_MBUF_L2_LEN_BITS == 7 && RTE_MBUF_L3_LEN_BITS == 9, "tx_offload");

_Static_assert(RTE_MBUF_F_TX_IPV4 == 1ULL << 55, "TX_FLAG_IPV4");
_Static_assert(RTE_MBUF_F_TX_IPV6 == 1ULL << 56, "TX_FLAG_IPV6");
_Static_assert(RTE_MBUF_F_TX_IP_CKSUM == 1ULL << 54, "TX_FLAG_IPV4_CHECKSUM");
_Static_assert(RTE_MBUF_F_TX_TCP_CKSUM == 1ULL << 52, "TX_FLAG_TCP_CHECKSUM");
_Static_assert(RTE_MBUF_F_TX_UDP_CKSUM == 3ULL << 52, "TX_FLAG_UDP_CHECKSUM");
_Static_assert(RTE_MBUF_F_RX_L4_CKSUM_NONE == (1ULL << 3 | 1ULL << 8), "RX_FLAG_CHECKSUM_UNFINISHED");

_Static_assert(LCORE_ID_ANY == UINT32_MAX, "ffi.rs");
_Static_assert(RTE_PKTMBUF_HEADROOM == 128, "pool.rs counts on it");
_Static_assert(RTE_MEMPOOL_F_NO_SPREAD == 0x0001, "ffi.rs");
_Static_assert(RTE_MEMPOOL_F_NO_IOVA_CONTIG == 0x0020, "ffi.rs");
_Static_assert(sizeof(struct rte_pktmbuf_pool_private) == 8, "pool.rs");
_Static_assert(offsetof(struct rte_pktmbuf_pool_private, mbuf_data_room_size) == 0, "pool.rs");
#ifdef __x86_64__
_Static_assert(RTE_CACHE_LINE_SIZE == 64, "pool.rs counts on it");
#else
_Static_assert(RTE_CACHE_LINE_SIZE <= 128, "pool.rs counts on it");
#endif
_Static_assert(sizeof(struct rte_mempool_objhdr) <= RTE_CACHE_LINE_SIZE, "pool.rs counts on it");

int eagre_errno(void)
{
	return rte_errno;
}

/* Hot path: one call for a burst. The calling thread's lcore number is an argument: DPDK's own is a variable of the
 * thread's in a library that is loaded late, which takes a call to find. */

/* Frames as they were when they were last put back: nothing in them is reset. All n or none. */
int eagre_frames_get(struct rte_mempool *pool, unsigned int lcore, struct rte_mbuf **frames, unsigned int n)
{
	return rte_mempool_generic_get(pool, (void **)frames, n, rte_mempool_default_cache(pool, lcore));
}

void eagre_frames_put(struct rte_mempool *pool, unsigned int lcore, struct rte_mbuf **frames, unsigned int n)
{
	rte_mempool_generic_put(pool, (void *const *)frames, n, rte_mempool_default_cache(pool, lcore));
}

/* The number of the calling thread, UINT32_MAX if it has none. */
unsigned int eagre_lcore(void)
{
	return rte_lcore_id();
}

uint16_t eagre_tx_burst(uint16_t port, uint16_t queue, struct rte_mbuf **frames, uint16_t n)
{
	return rte_eth_tx_burst(port, queue, frames, n);
}

uint16_t eagre_tx_prepare(uint16_t port, uint16_t queue, struct rte_mbuf **frames, uint16_t n)
{
	return rte_eth_tx_prepare(port, queue, frames, n);
}

uint16_t eagre_rx_burst(uint16_t port, uint16_t queue, struct rte_mbuf **frames, uint16_t n)
{
	return rte_eth_rx_burst(port, queue, frames, n);
}

/* The first of n frames that is spread over several buffers, or n. */
uint16_t eagre_first_chained(struct rte_mbuf *const *frames, uint16_t n)
{
	uint16_t i;

	for (i = 0; i < n; i++)
		if (frames[i]->nb_segs != 1)
			break;
	return i;
}

/* Control path: structures with a layout of our own. */

struct eagre_device {
	const char *driver;
	uint64_t tx_offloads;
	uint64_t rss;
	uint32_t rx_frame_bytes_max;
	uint16_t rx_queues_max;
	uint16_t tx_queues_max;
	uint16_t mtu_max;
};

int eagre_device_info(uint16_t port, struct eagre_device *out)
{
	struct rte_eth_dev_info info;
	int error = rte_eth_dev_info_get(port, &info);

	if (error != 0)
		return error;
	out->driver = info.driver_name;
	out->tx_offloads = info.tx_offload_capa;
	out->rss = info.flow_type_rss_offloads;
	out->rx_frame_bytes_max = info.max_rx_pktlen;
	out->rx_queues_max = info.max_rx_queues;
	out->tx_queues_max = info.max_tx_queues;
	out->mtu_max = info.max_mtu;
	return 0;
}

/* The offload bits the Rust side asks about. */
uint64_t eagre_checksum_offloads(void)
{
	return RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM;
}

/* IP, UDP and TCP over both versions. */
uint64_t eagre_rss_types(void)
{
	return RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_TCP;
}

int eagre_configure(uint16_t port, uint16_t rx_queues, uint16_t tx_queues, uint64_t tx_offloads, uint64_t rss)
{
	struct rte_eth_conf conf;

	memset(&conf, 0, sizeof(conf));
	conf.txmode.offloads = tx_offloads;
	if (rss != 0) {
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		conf.rx_adv_conf.rss_conf.rss_hf = rss;
	}
	return rte_eth_dev_configure(port, rx_queues, tx_queues, &conf);
}

/* Negative: an error. 0: down. Otherwise the speed in Mb/s, at least 1. */
int64_t eagre_link(uint16_t port)
{
	struct rte_eth_link link;
	int error;

	memset(&link, 0, sizeof(link));
	error = rte_eth_link_get_nowait(port, &link);
	if (error != 0)
		return error;
	if (link.link_status != RTE_ETH_LINK_UP)
		return 0;
	return link.link_speed == 0 || link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN ? 1 : (int64_t)link.link_speed;
}

int eagre_mac(uint16_t port, uint8_t out[6])
{
	struct rte_ether_addr mac;
	int error = rte_eth_macaddr_get(port, &mac);

	if (error == 0)
		memcpy(out, mac.addr_bytes, 6);
	return error;
}

struct eagre_counters {
	uint64_t rx_missed;
	uint64_t rx_errors;
	uint64_t rx_no_buffer;
	uint64_t tx_errors;
};

int eagre_counters(uint16_t port, struct eagre_counters *out)
{
	struct rte_eth_stats stats;
	int error;

	memset(&stats, 0, sizeof(stats));
	error = rte_eth_stats_get(port, &stats);
	if (error != 0)
		return error;
	out->rx_missed = stats.imissed;
	out->rx_errors = stats.ierrors;
	out->rx_no_buffer = stats.rx_nombuf;
	out->tx_errors = stats.oerrors;
	return 0;
}

/* Bytes of a pool's object before the frame: a cache line of the library that runs, not of these headers. */
uint32_t eagre_object_header(void)
{
	struct rte_mempool_objsz size;

	rte_mempool_calc_obj_size(1, RTE_MEMPOOL_F_NO_SPREAD, &size);
	return size.header_size;
}

/* What a pool of frames looks like in memory, for the checks that pool.rs makes. */
struct eagre_pool_layout {
	uint64_t object_bytes;
	uint32_t populated;
	uint32_t chunks;
};

void eagre_pool_layout(const struct rte_mempool *pool, struct eagre_pool_layout *out)
{
	out->object_bytes = pool->header_size + pool->elt_size + pool->trailer_size;
	out->populated = pool->populated_size;
	out->chunks = pool->nb_mem_chunks;
}

static int next_segment(const struct rte_memseg_list *list, const struct rte_memseg *segment, void *argument)
{
	const char **end = argument;

	(void)list;
	if (*end != NULL && *end != (const char *)segment->addr)
		return 1;
	*end = (const char *)segment->addr + segment->len;
	return 0;
}

/* 0: EAL's memory is one piece. 1: it has gaps. */
int eagre_memory_gaps(void)
{
	const char *end = NULL;

	return rte_memseg_walk(next_segment, &end);
}
