// A team: the lanes of a warp, 1 to 32 of them, that have one group at a time.

#ifndef TEAM_CUH
#define TEAM_CUH

#include "kernels/element.cuh"
#include "kernels/warp.cuh"

typedef struct {
    int log2;      // of its number of lanes
    int is_across; // its lanes are 32 / their number apart, so that neighbouring lanes are in neighbouring teams
    u32 number;    // which team of the warp
    u32 place;     // which lane of the team
} team;

static __device__ __forceinline__ team team_of(int log2, int is_across)
{
    u32 lane = lane_number(), teams_log2 = 5 - (u32)log2;
    team mine = {log2, is_across, lane >> log2, lane & ((1u << log2) - 1)};
    if (is_across) {
        mine.number = lane & ((1u << teams_log2) - 1);
        mine.place = lane >> teams_log2;
    }
    return mine;
}

// The lane of the warp at a place of the team.
static __device__ __forceinline__ u32 team_lane(const team *lanes, u32 place)
{
    return lanes->is_across ? (place << (5 - lanes->log2)) + lanes->number : (lanes->number << lanes->log2) + place;
}

// The bit in which lanes that are merged in a step differ.
static __device__ __forceinline__ u32 team_delta(const team *lanes, int step)
{
    return lanes->is_across ? 16u >> step : 1u << step;
}

static __device__ __forceinline__ u64 from_other(u64 value, u32 delta)
{
    return __shfl_xor_sync(ALL_LANES, value, delta);
}

// By all lanes of the warp.
static __device__ __forceinline__ int least_of_team(int value, const team *lanes)
{
    for (int step = 0; step < lanes->log2; step++) value = min(value, __shfl_xor_sync(ALL_LANES, value, team_delta(lanes, step)));
    return value;
}

static __device__ __forceinline__ double of_other_lane(double value, u32 delta)
{
    return __longlong_as_double((i64)from_other((u64)__double_as_longlong(value), delta));
}

#endif
