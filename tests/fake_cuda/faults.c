/* Failures that the environment asks for, and the log of calls. */
#include "fake.h"

#include <stdio.h>
#include <string.h>

enum { RULES_MAX = 8, NAME_NBYTES = 64 };

struct rule {
    char name[NAME_NBYTES];
    int at, result, seen;
    bool stays; /* fails from then on */
};

static struct {
    bool is_read;
    struct rule rules[RULES_MAX];
    int count;
} faults;

static void read_rules(void) {
    const char *text = getenv("FAKE_CUDA_FAIL");
    faults.is_read = true;
    for (; text && *text && faults.count < RULES_MAX; text += *text == ',') {
        struct rule *rule = &faults.rules[faults.count];
        char plus = ':';
        bool is_rule = sscanf(text, "%63[^:,]:%d%c", rule->name, &rule->at, &plus) == 3 &&
                       sscanf(text, plus == '+' ? "%*[^:,]:%*d+:%d" : "%*[^:,]:%*d:%d", &rule->result) == 1;
        rule->stays = plus == '+';
        faults.count += is_rule;
        text += strcspn(text, ",");
    }
}

static void log_call(const char *name) {
    const char *path = getenv("FAKE_CUDA_LOG");
    FILE *stream = path ? fopen(path, "a") : NULL;
    if (!stream) return;
    fprintf(stream, "%s\n", name);
    fclose(stream);
}

wf_cuda_result fake_fault(const char *name) {
    if (!faults.is_read) read_rules();
    log_call(name);
    wf_cuda_result result = CUDA_SUCCESS;
    for (int i = 0; i < faults.count; i++) {
        struct rule *rule = &faults.rules[i];
        if (strcmp(rule->name, name)) continue;
        rule->seen++;
        if (rule->seen == rule->at || (rule->stays && rule->seen > rule->at)) result = rule->result;
    }
    return result;
}
