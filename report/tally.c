#include "tally_parts.h"

bool put_tally(FILE *stream, struct tally_report *report) {
    const struct tally_grid grid = tally_grid_of(report);
    switch (report->form) {
    case TALLY_BARE: tally_put_value(stream, report, TALLY_BARE, 0, 0, 0), fputc('\n', stream); break;
    case TALLY_TABS:
    case TALLY_COMMAS: tally_put_separated(stream, report); break;
    case TALLY_ALIGNED: tally_put_aligned(stream, report, &grid); break;
    case TALLY_JSON:
        if (report->is_one) tally_put_one_json(stream, report);
        else tally_put_json(stream, report, tally_json_record);
        break;
    }
    return !report->has_failed;
}
