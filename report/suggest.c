#include "suggest.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/nearest.h"
#include "warpfold.h"

/* Common names of other programs for the ops, types and options of this one. */
struct alias {
    const char *typed, *meant;
};

static const struct alias type_aliases[] = {
    {"half", "f16"},     {"float16", "f16"}, {"bfloat16", "bf16"}, {"bfloat", "bf16"}, {"float", "f32"},
    {"single", "f32"},   {"float32", "f32"}, {"double", "f64"},    {"float64", "f64"}, {"int8", "i8"},
    {"int16", "i16"},    {"short", "i16"},   {"int", "i32"},       {"int32", "i32"},   {"long", "i64"},
    {"int64", "i64"},    {"byte", "u8"},     {"uint8", "u8"},      {"char", "u8"},     {"uint16", "u16"},
    {"uint", "u32"},     {"uint32", "u32"},  {"unsigned", "u32"},  {"uint64", "u64"},  {"size_t", "u64"},
    {"boolean", "bool"},
};

static const struct alias command_aliases[] = {
    {"average", "mean"},      {"avg", "mean"},       {"add", "sum"},
    {"total", "sum"},         {"multiply", "prod"},  {"sd", "std"},
    {"summary", "stats"},     {"describe", "stats"}, 
    {"percentile", "quantile"}, {"percentiles", "quantile"}, {"quantiles", "quantile"}, {"nunique", "distinct"},
    {"size", "count"},        {"len", "count"},      {"length", "count"}, {"n", "count"},
    {"unique", "distinct"},   {"uniq", "distinct"},  {"hist", "histogram"},
    {"version", "--version"},
};

static const struct alias option_aliases[] = {
    {"group", "by"},      {"group-by", "by"},       {"groupby", "by"},     {"key", "by"},         {"keys", "by"},
    {"sep", "delimiter"}, {"separator", "delimiter"}, {"field-separator", "delimiter"}, {"fs", "delimiter"}, {"field", "column"},
    {"fields", "column"}, {"dtype", "type"},        {"output", "out"},     {"quantile", "q"},     {"quantiles", "q"},
    {"percentile", "q"},  {"jobs", "threads"},      {"ignore-missing", "missing"},  {"skip-missing", "missing"},
};

static const struct alias letter_aliases[] = {
    {"c", "column"}, {"d", "delimiter"}, {"f", "format"}, {"j", "threads"}, {"o", "out"},
    {"q", "quiet"},  {"t", "type"},      {"v", "verbose"},
};

static const char *find_alias(const struct alias *aliases, size_t count, const char *typed) {
    for (size_t i = 0; i < count; i++)
        if (!strcmp(aliases[i].typed, typed)) return aliases[i].meant;
    return NULL;
}

/* What was found to be near, or else what the nearest alias means. */
static const char *nearest_or_alias(struct wf_nearest *nearest, const struct alias *aliases, size_t count) {
    const bool is_found = nearest->name[0];
    for (size_t i = 0; i < count && !is_found; i++) wf_nearest_offer(nearest, aliases[i].typed, strlen(aliases[i].typed));
    return is_found || !nearest->name[0] ? nearest->name : find_alias(aliases, count, nearest->name);
}

static struct suggestion suggest(const char *dashes, const char *name) {
    struct suggestion suggestion = {""};
    if (name[0]) snprintf(suggestion.text, sizeof suggestion.text, "; did you mean '%s%s'?", dashes, name);
    return suggestion;
}

struct suggestion suggest_name(const char *wanted, size_t length, const char *const *names,
                               const char *dashes) {
    struct wf_nearest nearest;
    wf_nearest_begin(&nearest, wanted, length);
    for (; *names; names++) wf_nearest_offer(&nearest, *names, strlen(*names));
    return suggest(dashes, nearest.name);
}

struct suggestion suggest_option(const char *wanted, size_t length, const char *const *names) {
    char typed[20] = "";
    if (length < sizeof typed) memcpy(typed, wanted, length);
    const char *alias = find_alias(option_aliases, sizeof option_aliases / sizeof option_aliases[0], typed);
    return alias ? suggest("--", alias) : suggest_name(wanted, length, names, "--");
}

struct suggestion suggest_letter(char letter) {
    const char typed[] = {letter, 0};
    const char *alias = find_alias(letter_aliases, sizeof letter_aliases / sizeof letter_aliases[0], typed);
    return suggest("--", alias ? alias : "");
}

/* "f32be", "i16le". */
static struct suggestion suggest_ordered_type(const char *wanted) {
    char name[8];
    struct suggestion suggestion = {""};
    size_t length = strlen(wanted);
    if (length < 4 || length >= sizeof name) return suggestion;
    const char *order = !strcmp(wanted + length - 2, "be") ? "big" : !strcmp(wanted + length - 2, "le") ? "little" : NULL;
    snprintf(name, sizeof name, "%.*s", (int)length - 2, wanted);
    if (!order || !wf_type_parse(name)) return suggestion;
    snprintf(suggestion.text, sizeof suggestion.text, "; did you mean '%s' with --byte-order %s?", name, order);
    return suggestion;
}

/* ">f4", as numpy writes it: the number is of bytes there. */
static struct suggestion suggest_numpy_type(const char *wanted) {
    char name[8];
    struct suggestion suggestion = {""};
    bool has_order = wanted[0] && strchr("<>", wanted[0]), is_known = strlen(wanted) == 3 && wanted[2] <= '8';
    if (!has_order || !is_known || wanted[2] < '1') return suggestion;
    snprintf(name, sizeof name, "%c%d", wanted[1], 8 * (wanted[2] - '0'));
    if (!wf_type_parse(name)) return suggestion;
    snprintf(suggestion.text, sizeof suggestion.text, "; did you mean '%s' with --byte-order %s?", name,
             wanted[0] == '<' ? "little" : "big");
    return suggestion;
}

struct suggestion suggest_type(const char *wanted) {
    const char *alias;
    struct wf_nearest nearest;
    struct suggestion suggestion = suggest_numpy_type(wanted);
    if (!suggestion.text[0]) suggestion = suggest_ordered_type(wanted);
    if (suggestion.text[0]) return suggestion;
    alias = find_alias(type_aliases, sizeof type_aliases / sizeof type_aliases[0], wanted);
    if (alias) return suggest("", alias);
    wf_nearest_begin(&nearest, wanted, strlen(wanted));
    for (int i = 1; wf_type_name((wf_type)i); i++) wf_nearest_offer(&nearest, wf_type_name((wf_type)i), strlen(wf_type_name((wf_type)i)));
    return suggest("", nearest_or_alias(&nearest, type_aliases, sizeof type_aliases / sizeof type_aliases[0]));
}

struct suggestion suggest_command(const char *wanted, const char *const *commands) {
    struct wf_nearest nearest;
    const char *alias =
        find_alias(command_aliases, sizeof command_aliases / sizeof command_aliases[0], wanted);
    if (alias) return suggest("", alias);
    wf_nearest_begin(&nearest, wanted, strlen(wanted));
    for (int i = 1; wf_op_name((wf_op)i); i++)
        wf_nearest_offer(&nearest, wf_op_name((wf_op)i), strlen(wf_op_name((wf_op)i)));
    for (; *commands; commands++) wf_nearest_offer(&nearest, *commands, strlen(*commands));
    return suggest("", nearest_or_alias(&nearest, command_aliases, sizeof command_aliases / sizeof command_aliases[0]));
}
