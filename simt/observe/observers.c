/* The observers that come with the simulator: X is simt_observe_X, in X.c. */
#include "simt_observer.h"

/* COUNTERS only count; CHECKERS look for faults. */
#define COUNTERS(X)                                                                                                \
    X(instructions)                                                                                                \
    X(divergence)                                                                                                  \
    X(requests)                                                                                                    \
    X(banks)                                                                                                       \
    X(synchronisation)                                                                                             \
    X(copies)                                                                                                      \
    X(occupancy)
#define CHECKERS(X)                                                                                                \
    X(races)                                                                                                       \
    X(uninitialised)                                                                                               \
    X(shuffle)

#define DECLARE(name) extern const struct simt_observer simt_observe_##name;
COUNTERS(DECLARE)
CHECKERS(DECLARE)

#define ADDRESS(name) &simt_observe_##name,
const struct simt_observer *const simt_observers[] = {COUNTERS(ADDRESS) CHECKERS(ADDRESS) NULL};
const struct simt_observer *const simt_counters[] = {COUNTERS(ADDRESS) NULL};
