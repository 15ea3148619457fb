/* Lists of numbers as options have them. */
#include "number_lists.h"

#include <stdlib.h>
#include <string.h>

#include "output.h"

int parse_numbers(const char *option, const char *text, double **numbers, int64_t *count) {
    *count = 0;
    *numbers = malloc((strlen(text) + 1) * sizeof **numbers);
    if (!*numbers) return fail_memory();
    for (const char *at = text;; at++) {
        char *end;
        bool is_number = *at && !strchr(" \t\n\v\f\r", *at);
        double number = strtod(at, &end);
        if (!is_number || end == at || (*end && *end != ',') || number != number)
            return fail_usage("--%s takes numbers separated by commas, not '%s'", option, text);
        (*numbers)[(*count)++] = number;
        at = end;
        if (!*at) return STATUS_OK;
    }
}

static int check_quantiles(const double *q, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        if (!(q[i] >= 0 && q[i] <= 1)) return fail_usage("--q takes numbers from 0 to 1, such as 0.99 for the 99th percentile, not '%g'", q[i]);
    return STATUS_OK;
}

int parse_quantiles(const struct settings *settings, double **q, int64_t *count) {
    const bool is_median = !strcmp(settings->operands.items[0], "median");
    *q = NULL;
    if (!is_median && !settings->q) return fail_usage("quantile needs --q, such as --q 0.5,0.99");
    int status = parse_numbers("q", is_median ? "0.5" : settings->q, q, count);
    return status ? status : check_quantiles(*q, *count);
}
