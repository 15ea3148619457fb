/* Following the partial results through a walk: from the input's elements, through loads and stores, lanes'
 * registers and shuffles, to the block's result. */
#ifndef CLI_EXPLAIN_REPLAY_H
#define CLI_EXPLAIN_REPLAY_H

#include "explain_story.h"

struct replay;

/* NULL: no memory. */
struct replay *replay_create(struct story *story, const struct story_setting *setting);
void replay_destroy(struct replay *replay);

/* What the event does to the partial results.  In the tree, what it combines is added to the story.  Events
 * come in an order that the block's barriers, the warps' and the shuffles allow. */
void replay_event(struct replay *replay, const struct walk_event *event, bool in_tree);

/* The partial results as they are now, in a copy that is the caller's.  NULL: no memory. */
struct cell *replay_cells(struct replay *replay, enum store store);

/* What was last written to global memory other than the input. */
struct cell replay_result(const struct replay *replay);

#endif
