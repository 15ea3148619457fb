/* What makes a right kernel slow: advice, which is no finding. */
#ifndef REPORT_ADVICE_H
#define REPORT_ADVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "simt/simt.h"

/* Thresholds, as docs/findings.md has them. */
enum {
    ADVICE_BANKS_PERCENT = 150,     /* wavefronts, of the least, */
    ADVICE_BANKS_EXCESS = 8,        /* and how many more; */
    ADVICE_SCATTERED_PERCENT = 500, /* where data choose the words */
    ADVICE_SECTORS_PERCENT = 200,   /* sectors, of the least, */
    ADVICE_SECTORS_EXCESS = 32,     /* and how many more */
    ADVICE_ATOMICS_PERCENT = 400,   /* atomics, of those that a warp would need, */
    ADVICE_ATOMICS_EXCESS = 96,     /* and how many more */
    ADVICE_UTILIZATION_PERCENT = 85, /* lanes used below it, */
    ADVICE_DIVERGENT_PERCENT = 25,  /* and branches of a line that part their warp */
    ADVICE_DIVERGENT_MIN = 8,
    ADVICE_PACKED_PERCENT = 75,     /* of which the cure leaves at most this share */
    ADVICE_OCCUPANCY_PERCENT = 50   /* resident warps, of the maximum; is_low in advice.c */
};

enum { ADVICE_MAX = 12, ADVICE_TEXT = 320 };

/* Where padding the rows of an array of shared memory is the cure: their length, 0 where it is none, and the counts
 * that an element of 4, 8 or 16 bytes after each gives, for the count that is. */
struct advice_rows {
    uint64_t nbytes, count, then[SIMT_ROW_PADDINGS];
};

struct advice {
    const char *kind; /* "bank-conflict": static */
    const char *unit; /* of the counts: static */
    const char *file; /* the report's */
    uint32_t line;
    uint64_t count, least; /* least: the best possible; of resident warps the most */
    uint64_t then;         /* the count that the cure gives, of several the one named first */
    struct advice_rows rows;
    char message[ADVICE_TEXT], cure[ADVICE_TEXT];
};

/* Of whole programs, not of a line of a kernel. */
#define ADVICE_UNWRITTEN_COPY "unwritten-copy"
#define ADVICE_UNREAD_RESULT "unread-result"
#define ADVICE_SHORT_COPY "short-copy"

/* Rules of advice, for those who list them; NULL at the end. */
extern const char *const advice_kinds[];

struct advice_subject {
    const simt_report *report; /* with lines */
    uint32_t warp_size, block_threads;
    size_t shared_nbytes; /* of a block */
    const char *source;   /* the text of the kernel's file; NULL: it is not there */
};

/* Names in the cure of a bank conflict at a line the array of shared memory to be padded, with the count that this gives.
 * false: the source has none, and the cure stays as it is. */
bool advice_name_array(const char *source, uint32_t line, const struct advice_rows *rows, uint64_t *then, char *cure,
                       size_t nbytes);

/* The worst first of each kind; returns how many. */
size_t advice_list(const struct advice_subject *subject, struct advice advice[ADVICE_MAX]);

#endif
