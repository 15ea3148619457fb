// Sums and extremes by key, for which elements need not be sorted: each is brought to the words of its key, in shared memory
// where there are few groups, by integer operations that commute.
//
// Options are those of groups.cu, for one sum, of values or of magnitudes, for squares with or without that of values, for how
// many are not 0, or for one extreme; -DIS_SHORT=4 if results of short runs of equal keys are to be made at once; -DWALK=5 for
// what buckets alone need, whose blocks are larger, and then -DIS_SHORT=8 if elements are read again for each of them.

#include "kernels/parts.cuh"
#if HAS_EXTREMES
#include "kernels/table_extremes.cuh"
#else
#include "kernels/table_sums.cuh"
#endif
#include "kernels/chain.cuh"
#include "kernels/table_runs.cuh"
#include "kernels/table_strays.cuh"

extern "C" __global__ void __launch_bounds__(TABLE_BLOCK, IS_BUCKETS ? 1 : 2) tables(const __grid_constant__ struct wf_table_arguments task)
{
    wait_for_those_before();
    bool is_of_tables = task.stage >= WF_TABLE_LOOK && task.stage != WF_TABLE_STATUS;
    if (is_of_tables && is_settled(&task)) return;
    if (task.is_again && (!findings_of(&task)->missed || findings_of(&task)->failed)) return;
    if (task.is_again && load_global_u32(&findings_of(&task)->wide)) return; // which other blocks of this launch may note
    if (task.is_whole && (!findings_of(&task)->wide || findings_of(&task)->failed)) return;
    bool is_of_zeros = task.stage == WF_TABLE_ZEROS || task.stage == WF_TABLE_SIGNS;
    if (is_of_zeros && (!findings_of(&task)->zeros || findings_of(&task)->failed)) return;
#if IS_BUCKETS
    if (!has_buckets(&task)) return;
    switch (task.stage) {
#if !REREADS
    case WF_TABLE_SCAN: scan_buckets(&task); break;
    case WF_TABLE_PLACE: place_and_clear(&task); break;
#endif
    default: add_by_buckets(&task);
    }
#else
    switch (task.stage) {
    case WF_TABLE_SAMPLE: sample_keys(&task); break;
#if HAS_RUNS
    case WF_TABLE_RUNS: reduce_runs(&task); break;
#endif
    case WF_TABLE_OFFSETS: open_order(&task); break;
#if HAS_STRAYS
    case WF_TABLE_STRAYS:
    case WF_TABLE_LINK:
    case WF_TABLE_MEND: take_mostly_sorted(&task); break;
#endif
#if !HAS_EXTREMES
    case WF_TABLE_LOOK: look(&task); break;
#endif
#if HAS_WHOLE
    case WF_TABLE_WHOLE: add_whole(&task); break;
#endif
#if !HAS_EXTREMES && HAS_ZEROS
    case WF_TABLE_ZEROS: add_zeros(&task); break;
#endif
    case WF_TABLE_SIGNS:
    case WF_TABLE_FINISH: finish_tables(&task, (char *)block_table); break;
    case WF_TABLE_STATUS:
        if (threadIdx.x == 0) leave_status(&task.groups);
        break;
    default: add_to_tables(&task);
    }
#endif
}
