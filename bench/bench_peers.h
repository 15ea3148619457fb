/* Those whom the benchmark measures beside the library, as far as they are there. */
#ifndef CLI_BENCH_PEERS_H
#define CLI_BENCH_PEERS_H

#include "bench_case.h"

enum { BENCH_PEER_TEXT = 128 };

struct bench_peer {
    struct bench_runner runner;
    char name[BENCH_PEER_TEXT];
    char version[BENCH_PEER_TEXT]; /* if is_absent, the reason */
    bool is_absent;
    void (*close)(struct bench_peer *peer);
};

/* A loop as anyone would write it, in the type of the elements (integers: in 64 bits), by this compiler. */
void bench_open_plain(struct bench_peer *peer);

/* OpenBLAS, from whatever shared library of that name the system has. */
void bench_open_blas(struct bench_peer *peer);

/* A program that speaks this, a line each way, on its standard input and output:
 *
 *   (at its start)           ready NAME VERSION   or   absent NAME REASON
 *   data TYPE COUNT          ok, after the elements' bytes that follow the line
 *   time OP COUNT CALLS      NANOSECONDS RESULT of each of CALLS reductions of the first COUNT elements (dot:
 *                            of the first half of them with the second); or: none
 *
 * RESULT is decimal for integers and C's %a for floats.  The program uses one thread. */
void bench_open_process(struct bench_peer *peer, const char *command);

#endif
