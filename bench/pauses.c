// What a machine takes from a thread that does nothing but look at the clock: of ever so many instants, one each microsecond,
// how many pass while it is away. A sender on such a core sends what was due at those instants late, and back to back.
// Prints: instants, those missed, the longest pause in nanoseconds. Arguments: core, seconds.
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { STEP = 1000 };

static uint64_t now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    cpu_set_t core;
    CPU_ZERO(&core);
    CPU_SET(atoi(argv[1]), &core);
    if (sched_setaffinity(0, sizeof core, &core) != 0) return 1;
    uint64_t begin = now(), end = begin + (uint64_t)(atof(argv[2]) * 1e9), last = begin;
    uint64_t missed = 0, longest = 0;
    while (last < end) {
        uint64_t at = now();
        // Instants between two looks: the last of them would be served at once, those before it were missed.
        uint64_t due = (at - begin) / STEP - (last - begin) / STEP;
        if (due > 1) missed += due - 1;
        if (at - last > longest) longest = at - last;
        last = at;
    }
    printf("%llu %llu %llu\n", (unsigned long long)((last - begin) / STEP), (unsigned long long)missed, (unsigned long long)longest);
    return 0;
}
