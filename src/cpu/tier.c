#include "cpu/tier.h"

#include <string.h>

#if defined(TIER_AVX2) || defined(TIER_AVX512)
static bool has_avx2(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
}
#endif

#if defined(TIER_AVX512)
static bool has_avx512(void) {
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}
#endif

static bool always(void) {
    return true;
}

/* The tiers that the build has, the fastest first. */
static const struct {
    const struct wf_tier *tier;
    bool (*is_supported)(void);
} tiers[] = {
#if defined(TIER_AVX512)
    {&wf_tier_avx512, has_avx512},
#endif
#if defined(TIER_AVX2)
    {&wf_tier_avx2, has_avx2},
#endif
#if defined(TIER_NEON)
    {&wf_tier_neon, always},
#endif
    {&wf_tier_scalar, always},
};

const struct wf_tier *wf_tier_choose(const char *name) {
    for (size_t i = 0; i < sizeof tiers / sizeof tiers[0]; i++)
        if ((!name || !strcmp(name, tiers[i].tier->name)) && tiers[i].is_supported()) return tiers[i].tier;
    return NULL;
}
