/* SPDX-License-Identifier: MIT */
/*
 * overlock-costs: what operations cost on this machine, for the simulator: costs.def. Prints
 * medians in ns as JSON, and for each pair of CPUs what a line's way between them takes.
 */
#define _GNU_SOURCE
#include <overlock/ops.h>

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROUNDS = 9, ONCE = 200000, SWITCHES = 20000, NODES = 1 << 20 };

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, int n) {
    qsort(values, (size_t)n, sizeof(*values), compare);
    return values[n / 2];
}

static double ns_since(ol_ticks_t from) {
    return (double)(ol_now() - from) * ol_calibration()->tick_ns;
}

static void die(const char *what) {
    fprintf(stderr, "overlock-costs: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void pin(int cpu) {
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof(set), &set))
        die("cannot run on one CPU only");
}

/* Of one context. */

struct line { /* a word that shares its line with nothing */
    uint64_t word;
} OL_OWN_LINE;

static struct line first;
static void *chain[8];

static void loads(int n) {
    void **at = chain;

    for (int i = 0; i < 8; i++)
        chain[i] = &chain[(i + 1) % 8];
    for (int i = 0; i < n; i++)
        at = *(void **volatile *)at;
    first.word = (uintptr_t)at;
}

static void stores(int n) {
    for (int i = 0; i < n; i++)
        *(volatile uint64_t *)&first.word = (uint64_t)i;
}

static void atomics(int n) {
    for (int i = 0; i < n; i++)
        __atomic_fetch_add(&first.word, 1, __ATOMIC_ACQ_REL);
}

static void clocks(int n) {
    for (int i = 0; i < n; i++)
        (void)ol_now();
}

static void pauses(int n) {
    for (int i = 0; i < n; i++)
        ol_relax();
}

static void yields(int n) {
    for (int i = 0; i < n; i++)
        sched_yield();
}

static double each(void (*what)(int n), int n) {
    double took[ROUNDS];

    what(n / 10);
    for (int i = 0; i < ROUNDS; i++) {
        ol_ticks_t from = ol_now();

        what(n);
        took[i] = ns_since(from) / n;
    }
    return median(took, ROUNDS);
}

/* A walk through 64 MiB in an order that no prefetcher guesses. */
static double memory(void) {
    struct node {
        struct node *next;
        char rest[56];
    } *nodes = aligned_alloc(64, NODES * sizeof(*nodes)), *at = nodes;
    double took[ROUNDS];
    uint32_t *order = malloc(NODES * sizeof(*order)), seed = 1;

    if (!nodes || !order)
        die("64 MiB");
    for (uint32_t i = 0; i < NODES; i++)
        order[i] = i;
    for (uint32_t i = NODES - 1; i > 0; i--) {
        uint32_t swap = order[i], j;

        seed = seed * 1664525 + 1013904223;
        j = (uint32_t)((uint64_t)seed * (i + 1) >> 32);
        order[i] = order[j];
        order[j] = swap;
    }
    for (uint32_t i = 0; i < NODES; i++)
        nodes[order[i]].next = &nodes[order[(i + 1) % NODES]];
    for (int r = 0; r < ROUNDS; r++) {
        ol_ticks_t from = ol_now();

        for (int i = 0; i < ONCE; i++)
            at = at->next;
        took[r] = ns_since(from) / ONCE;
    }
    first.word = (uintptr_t)at;
    free(order);
    free(nodes);
    return median(took, ROUNDS);
}

/* Of two contexts. */

struct pair {
    int here, there;       /* CPUs */
    bool (*answer)(int i); /* one turn of the other */
    int turns;
    uint32_t ready;
};

static void *other(void *arg) {
    struct pair *p = arg;

    pin(p->there);
    __atomic_store_n(&p->ready, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < p->turns && p->answer(i); i++)
        ;
    return 0;
}

static pthread_t begin(struct pair *p) {
    pthread_t thread;

    pin(p->here);
    if ((errno = pthread_create(&thread, 0, other, p)))
        die("no thread");
    while (!__atomic_load_n(&p->ready, __ATOMIC_ACQUIRE))
        sched_yield();
    return thread;
}

static bool bounce_back(int i) {
    while (__atomic_load_n(&first.word, __ATOMIC_ACQUIRE) != 2 * (uint64_t)i + 1)
        ;
    __atomic_store_n(&first.word, 2 * (uint64_t)i + 2, __ATOMIC_RELEASE);
    return true;
}

/* From a store by one to its being seen by the other. */
static double one_way(int here, int there) {
    double took[ROUNDS];

    for (int r = 0; r < ROUNDS; r++) {
        struct pair p = {here, there, bounce_back, ONCE / 4, 0};
        pthread_t thread;
        ol_ticks_t from;

        first.word = 0;
        thread = begin(&p);
        from = ol_now();
        for (int i = 0; i < p.turns; i++) {
            __atomic_store_n(&first.word, 2 * (uint64_t)i + 1, __ATOMIC_RELEASE);
            while (__atomic_load_n(&first.word, __ATOMIC_ACQUIRE) != 2 * (uint64_t)i + 2)
                ;
        }
        took[r] = ns_since(from) / p.turns / 2;
        pthread_join(thread, 0);
    }
    return median(took, ROUNDS);
}

static bool yield_back(int i) {
    (void)i;
    sched_yield();
    return true;
}

/* A yield to another thread on the CPU, and back: the half. */
static double yielded(int cpu) {
    double took[ROUNDS];

    for (int r = 0; r < ROUNDS; r++) {
        struct pair p = {cpu, cpu, yield_back, 10 * SWITCHES, 0};
        pthread_t thread = begin(&p);
        ol_ticks_t from = ol_now();

        for (int i = 0; i < SWITCHES; i++)
            sched_yield();
        took[r] = ns_since(from) / SWITCHES / 2;
        pthread_join(thread, 0);
    }
    return median(took, ROUNDS);
}

static uint32_t ping OL_OWN_LINE, pong OL_OWN_LINE;
static uint64_t woken_at OL_OWN_LINE;

static void futex_wait(uint32_t *at, uint32_t seen) {
    syscall(SYS_futex, at, FUTEX_WAIT_PRIVATE, seen, 0, 0, 0);
}

static void futex_wake(uint32_t *at) {
    syscall(SYS_futex, at, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

static void await(uint32_t *at, uint32_t value) {
    uint32_t seen;

    while ((seen = __atomic_load_n(at, __ATOMIC_ACQUIRE)) < value)
        futex_wait(at, seen);
}

static bool wake_back(int i) {
    await(&ping, (uint32_t)i + 1);
    __atomic_store_n(&woken_at, ol_now(), __ATOMIC_RELEASE);
    __atomic_store_n(&pong, (uint32_t)i + 1, __ATOMIC_RELEASE);
    futex_wake(&pong);
    return true;
}

/* The other sleeps when it is kicked: what a kick takes, and until the other runs on an idle CPU.
 */
static void sleeper(int here, int there, double *kick, double *wake) {
    enum { KICKS = 301 };
    static double kicks[KICKS], wakes[KICKS];
    struct pair p = {here, there, wake_back, KICKS, 0};
    pthread_t thread;

    ping = pong = 0;
    thread = begin(&p);
    for (uint32_t i = 0; i < KICKS; i++) {
        ol_ticks_t from, to;

        usleep(200);
        __atomic_store_n(&ping, i + 1, __ATOMIC_RELEASE);
        from = ol_now();
        futex_wake(&ping);
        to = ol_now();
        while (__atomic_load_n(&pong, __ATOMIC_ACQUIRE) != i + 1)
            ;
        kicks[i] = (double)(to - from) * ol_calibration()->tick_ns;
        wakes[i] = ((double)woken_at - (double)to) * ol_calibration()->tick_ns;
    }
    pthread_join(thread, 0);
    *kick = median(kicks, KICKS);
    *wake = median(wakes, KICKS);
}

/* Two that wake each other on one CPU: a kick, a sleep and a switch, without an interrupt. */
static double slept(int cpu) {
    double took[ROUNDS];

    for (int r = 0; r < ROUNDS; r++) {
        struct pair p = {cpu, cpu, wake_back, SWITCHES, 0};
        pthread_t thread;
        ol_ticks_t from;

        ping = pong = 0;
        thread = begin(&p);
        from = ol_now();
        for (uint32_t i = 0; i < SWITCHES; i++) {
            __atomic_store_n(&ping, i + 1, __ATOMIC_RELEASE);
            futex_wake(&ping);
            await(&pong, i + 1);
        }
        took[r] = ns_since(from) / SWITCHES / 2;
        pthread_join(thread, 0);
    }
    return median(took, ROUNDS);
}

static double positive(double value) {
    return value > 0 ? value : 0;
}

static void print_pairs(const int *cpus, int n) {
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) {
            printf("%s\n  {\"cpus\": [%d, %d], \"one_way\": %.1f}", i + j > 1 ? "," : "", cpus[i],
                   cpus[j], one_way(cpus[i], cpus[j]));
        }
}

int main(void) {
    int cpus[CPU_SETSIZE], n = 0;
    double atomic, yield, change, kick = 0, wake = 0;
    cpu_set_t allowed;

    if (sched_getaffinity(0, sizeof(allowed), &allowed))
        die("sched_getaffinity");
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed))
            cpus[n++] = cpu;
    pin(cpus[0]);
    atomic = each(atomics, ONCE);
    yield = each(yields, ONCE / 10);
    change = positive(yielded(cpus[0]) - yield);
    printf("{\"hit\": %.2f, \"store\": %.2f, \"atomic\": %.2f, \"clock\": %.2f, \"pause\": %.2f,\n",
           each(loads, ONCE), each(stores, ONCE), atomic, each(clocks, ONCE), each(pauses, ONCE));
    printf(" \"memory\": %.1f, \"yield\": %.1f, \"change\": %.1f,\n", memory(), yield, change);
    if (n > 1) {
        sleeper(cpus[0], cpus[1], &kick, &wake);
        printf(" \"kick_idle\": %.1f, \"wake\": %.1f, \"slept\": %.1f,\n", kick, wake,
               slept(cpus[0]));
    }
    printf(" \"pairs\": [");
    print_pairs(cpus, n);
    printf("]}\n");
    return 0;
}
