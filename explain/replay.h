/* Following the partial results through a trace: from the input's elements, through loads and stores, lanes'
 * registers and shuffles, to the block's result. */
#ifndef EXPLAIN_REPLAY_H
#define EXPLAIN_REPLAY_H

#include "timeline.h"

struct replay;

/* NULL: no memory. */
struct replay *replay_create(struct timeline *timeline, const struct timeline_setting *setting);
void replay_destroy(struct replay *replay);

/* What the event does to the partial results.  In the tree, what it combines is added to the timeline. Events
 * come in an order that the block's barriers, the warps' and the shuffles allow. */
void replay_event(struct replay *replay, const struct trace_event *event, bool in_tree);

/* The partial results as they are now, in a copy that is the caller's.  NULL: no memory. */
struct cell *replay_cells(struct replay *replay, enum store store);

/* The last store to global memory other than the input. */
struct cell replay_result(const struct replay *replay);

#endif
