// Counts the different IPv4 destinations in 10.0.0.0/8 of all packets in the captures named, which may be pipes, read
// together. Prints: packets, different addresses, packets with another address.
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FILES = 8, BUFFER = 1 << 20, FILE_HEAD = 24, PACKET_HEAD = 16, IPV4_DST = 30 };

static uint8_t seen[(1 << 24) / 8], buffers[FILES][BUFFER];
static uint64_t packets, different, others;

static void look(const uint8_t *frame, uint32_t length) {
    packets++;
    if (length < IPV4_DST + 4 || frame[12] != 8 || frame[13] != 0 || frame[IPV4_DST] != 10) {
        others++;
        return;
    }
    const uint8_t *host = frame + IPV4_DST + 1;
    uint32_t at = (uint32_t)host[0] << 16 | (uint32_t)host[1] << 8 | host[2];
    different += !(seen[at / 8] >> at % 8 & 1);
    seen[at / 8] |= (uint8_t)(1 << at % 8);
}

// Whole packets from the beginning of a buffer; returns how many bytes they took.
static size_t take(const uint8_t *data, size_t length) {
    size_t at = 0;
    while (length - at >= PACKET_HEAD) {
        uint32_t captured;
        memcpy(&captured, data + at + 8, sizeof captured);
        if (captured > BUFFER / 2) return length + 1;
        if (length - at - PACKET_HEAD < captured) break;
        look(data + at + PACKET_HEAD, captured);
        at += PACKET_HEAD + captured;
    }
    return at;
}

int main(int count, char **names) {
    struct pollfd files[FILES];
    size_t held[FILES] = {0};
    int headed[FILES] = {0}, number = count - 1, open_files = number;
    if (number < 1 || number > FILES) return 2;
    for (int i = 0; i < number; i++) {
        // Without waiting for the writer, who opens one after the other; poll() reports no end before there was one.
        files[i] = (struct pollfd){.fd = open(names[i + 1], O_RDONLY | O_NONBLOCK), .events = POLLIN};
        if (files[i].fd < 0) return perror(names[i + 1]), 2;
    }
    while (open_files > 0 && poll(files, (nfds_t)number, -1) > 0) {
        for (int i = 0; i < number; i++) {
            if (files[i].fd < 0 || !files[i].revents) continue;
            ssize_t got = read(files[i].fd, buffers[i] + held[i], BUFFER - held[i]);
            if (got <= 0) {
                if (held[i]) return fprintf(stderr, "%s ends within a packet\n", names[i + 1]), 2;
                files[i].fd = -1;
                open_files--;
                continue;
            }
            held[i] += (size_t)got;
            size_t done = 0;
            if (!headed[i]) {
                if (held[i] < FILE_HEAD) continue;
                headed[i] = 1, done = FILE_HEAD;
            }
            done += take(buffers[i] + done, held[i] - done);
            if (done > held[i]) return fprintf(stderr, "%s is not a capture\n", names[i + 1]), 2;
            memmove(buffers[i], buffers[i] + done, held[i] -= done);
        }
    }
    printf("%llu %llu %llu\n", (unsigned long long)packets, (unsigned long long)different, (unsigned long long)others);
    return 0;
}
