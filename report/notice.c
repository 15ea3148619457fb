#include "notice.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kernel_name.h"
#include "simt/lane_mask.h"

/* "byte 4 of argument 0": which argument points to the address, or so near that no other allocation is between. */
static void name_argument(const simt_launch *launch, uint64_t address, char *text, size_t nbytes) {
    const uint64_t reach = UINT64_C(1) << 31;
    const size_t count = simt_module_parameter_count(launch->module, launch->kernel);
    snprintf(text, nbytes, "global memory at 0x%" PRIx64, address);
    for (size_t i = 0; i < count; i++) {
        uint64_t pointer;
        if (simt_module_parameter_nbytes(launch->module, launch->kernel, i) != sizeof pointer) continue;
        memcpy(&pointer, launch->arguments[i], sizeof pointer);
        if (!pointer || address + reach - pointer >= 2 * reach) continue;
        snprintf(text, nbytes, "byte %" PRId64 " of argument %zu", (int64_t)(address - pointer), i);
        return;
    }
}

void notice_text(const simt_notice *notice, const simt_launch *launch, char text[NOTICE_NBYTES]) {
    static const char ends[] = "; --limit N ends it after N warp instructions";
    char kernel[128], element[192];
    readable_name(notice->kernel, kernel, sizeof kernel);
    const struct lane_text lanes = lane_text(notice->lanes);
    int length = snprintf(text, NOTICE_NBYTES, "%s takes long: %s of warp %u, block (%u,%u,%u), %s in a loop at %.200s:%u, after %.1f "
                          "million instructions of that warp", kernel, lanes.text, (unsigned)notice->warp,
                          (unsigned)notice->block[0], (unsigned)notice->block[1], (unsigned)notice->block[2], lanes.be,
                          notice->file ? notice->file : "?", (unsigned)notice->line, 1e-6 * (double)notice->instructions);
    const size_t done = length < NOTICE_NBYTES ? (size_t)length : NOTICE_NBYTES - 1;
    if (notice->polls && notice->address) {
        name_argument(launch, notice->address, element, sizeof element);
        snprintf(text + done, NOTICE_NBYTES - done, "; they read %s until another thread changes it, which must not wait for these%s",
                 element, ends);
    } else snprintf(text + done, NOTICE_NBYTES - done, "%s", ends);
}
