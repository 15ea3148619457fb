#include "inspect_arguments.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inspect_fill.h"
#include "output.h"
#include "report/printed.h"
#include "report/value_at.h"

enum { POINTER_NBYTES = 8, TYPE_NAME_CAPACITY = KERNEL_WORD };

/* ---- reading --arg ------------------------------------------------------------------------------- */

static int fail_argument(const char *text) {
    return fail_usage(
        "--arg takes a scalar such as i32:5 or f32:1.5, bytes:00ff for a struct, or a buffer such as "
        "f32[1024]=zeros or, for an output, f32[1024], not '%s'",
        text);
}

/* PTX's names of plain bits stand for the unsigned type of their width; C's for what they are. */
static wf_type parse_argument_type(const char *text, size_t length) {
    char name[TYPE_NAME_CAPACITY];
    if (length == 0 || length >= sizeof name) return WF_TYPE_DEFAULT;
    memcpy(name, text, length);
    name[length] = '\0';
    if (name[0] == 'b' && isdigit((unsigned char)name[1])) name[0] = 'u';
    const char *of_c = kernel_type_element(name);
    return wf_type_parse(of_c ? of_c : name);
}

static int hexadecimal_digit(char c) {
    if (isdigit((unsigned char)c)) return c - '0';
    return isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' + 10 : -1;
}

/* bytes:00ff12 */
static int parse_bytes(struct argument *argument, const char *digits) {
    size_t length = strlen(digits);
    argument->nbytes = length / 2;
    if (length == 0 || length % 2) return fail_argument(argument->text);
    argument->value = calloc(argument->nbytes, 1);
    if (!argument->value) return fail_memory();
    for (size_t i = 0; i < length; i++) {
        int digit = hexadecimal_digit(digits[i]);
        if (digit < 0) return fail_argument(argument->text);
        argument->value[i / 2] = (unsigned char)(argument->value[i / 2] << 4 | digit);
    }
    return STATUS_OK;
}

/* i32:5 */
static int parse_scalar(struct argument *argument, const char *number) {
    uint64_t bits;
    argument->nbytes = wf_type_nbytes(argument->type);
    if (!parse_bits(number, argument->type, &bits))
        return fail_usage("--arg %s: '%s' is not a valid %s", argument->text, number, wf_type_name(argument->type));
    argument->value = calloc(1, argument->nbytes);
    if (!argument->value) return fail_memory();
    memcpy(argument->value, &bits, argument->nbytes); /* of a little-endian machine: the low bytes */
    return STATUS_OK;
}

/* f32[1024]=zeros: what follows the bracket. */
static int parse_buffer(struct argument *argument, const char *text) {
    char *end;
    errno = 0;
    argument->is_buffer = true;
    argument->count = isdigit((unsigned char)*text) ? strtoull(text, &end, 10) : UINT64_MAX;
    if (argument->count == UINT64_MAX || errno || *end != ']' || (end[1] && (end[1] != '=' || !end[2])))
        return fail_argument(argument->text);
    if (argument->count > PTRDIFF_MAX / wf_type_nbytes(argument->type))
        return fail_usage("--arg %s: buffer size overflows", argument->text);
    argument->fill = end[1] ? end + 2 : "none";
    argument->nbytes = POINTER_NBYTES;
    argument->value = calloc(1, POINTER_NBYTES);
    if (!argument->value) return fail_memory();
    const struct fill fill = {argument->fill, argument->type, argument->count};
    if (fill_check(&fill)) return STATUS_OK;
    return fail_usage("--arg %s: a buffer is filled with zeros, ones, iota, random:SEED, random:SEED:BELOW (integers), one %s for all, as many as it has elements "
                      "(%" PRIu64 "), or a .npy file", argument->text, wf_type_name(argument->type), argument->count);
}

static int parse_argument(struct argument *argument) {
    static const char bytes[] = "bytes:";
    const char *text = argument->text;
    if (!strncmp(text, bytes, strlen(bytes))) return parse_bytes(argument, text + strlen(bytes));
    size_t length = strcspn(text, ":[");
    argument->type = parse_argument_type(text, length);
    if (!text[length]) return fail_argument(text);
    if (!argument->type) return fail_usage("--arg %s: unknown type '%.*s'", text, (int)length, text);
    return text[length] == '[' ? parse_buffer(argument, text + length + 1)
                               : parse_scalar(argument, text + length + 1);
}

/* ---- reading --out ------------------------------------------------------------------------------- */

static int parse_output(struct output *output, const char *text, const struct arguments *arguments) {
    char *end = NULL;
    errno = 0;
    unsigned long long number = isdigit((unsigned char)text[0]) ? strtoull(text, &end, 10) : 0;
    if (!end || errno || *end != '=' || !end[1])
        return fail_usage("--out takes K=FILE, an argument's number and a file name, not '%s'", text);
    if (number >= arguments->count)
        return fail_usage("--out %s: no argument %llu; there are %zu, numbered from 0",
                          text, number, arguments->count);
    if (!arguments->items[number].is_buffer)
        return fail_usage("--out %s: argument %llu is a scalar ('%s'), not a buffer", text, number,
                          arguments->items[number].text);
    *output = (struct output){.argument = (size_t)number, .path = end + 1};
    return STATUS_OK;
}

/* ---- reading --print ----------------------------------------------------------------------------- */

static int parse_shown(struct shown *shown, const char *text, const struct arguments *arguments) {
    enum { SHOWN_DEFAULT = 8 };
    char *end = NULL;
    errno = 0;
    unsigned long long number = isdigit((unsigned char)text[0]) ? strtoull(text, &end, 10) : 0, count = SHOWN_DEFAULT;
    if (end && *end == ':' && isdigit((unsigned char)end[1])) count = strtoull(end + 1, &end, 10);
    if (!end || errno || *end)
        return fail_usage("--print takes K[:N], an argument's number and a number of elements, not '%s'", text);
    if (number >= arguments->count || !arguments->items[number].is_buffer)
        return fail_usage("--print %s: argument %llu is not a buffer; there are %zu arguments, numbered from 0", text, number,
                          arguments->count);
    const uint64_t all = arguments->items[number].count;
    *shown = (struct shown){.argument = (size_t)number, .count = count < all ? count : all};
    return STATUS_OK;
}

/* ---- reading --expect ---------------------------------------------------------------------------- */

/* The values after the '=', each to end at a comma. */
static int parse_wanted(struct shown *shown, const char *option, const char *values, const struct argument *argument) {
    const size_t nbytes = wf_type_nbytes(argument->type);
    shown->wanted = calloc(strlen(values) + 1, nbytes);
    if (!shown->wanted) return fail_memory();
    for (const char *at = values; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        char word[64];
        uint64_t bits;
        snprintf(word, sizeof word, "%.*s", (int)strcspn(at, ","), at);
        if (!parse_bits(word, argument->type, &bits))
            return fail_usage("--expect %s: '%s' is not a valid %s", option, word, wf_type_name(argument->type));
        if (shown->count == argument->count)
            return fail_usage("--expect %s: more values than argument %zu has elements", option, shown->argument);
        memcpy(shown->wanted + shown->count++ * nbytes, &bits, nbytes); /* of a little-endian machine: the low bytes */
    }
    return STATUS_OK;
}

static int parse_expected(struct shown *shown, const char *text, const struct arguments *arguments) {
    char *end = NULL;
    errno = 0;
    unsigned long long number = isdigit((unsigned char)text[0]) ? strtoull(text, &end, 10) : 0;
    if (!end || errno || *end != '=' || !end[1])
        return fail_usage("--expect takes K=V[,V...], an argument's number and what its first elements must be, not '%s'", text);
    if (number >= arguments->count || !arguments->items[number].is_buffer)
        return fail_usage("--expect %s: argument %llu is not a buffer; there are %zu arguments, numbered from 0", text, number,
                          arguments->count);
    *shown = (struct shown){.argument = (size_t)number};
    return parse_wanted(shown, text, end + 1, &arguments->items[number]);
}

int arguments_parse(struct arguments *arguments, const struct settings *settings) {
    *arguments =
        (struct arguments){.count = settings->arguments.count, .output_count = settings->outputs.count,
                           .shown_count = settings->prints.count + settings->expects.count};
    arguments->items = calloc(arguments->count + 1, sizeof *arguments->items);
    arguments->outputs = calloc(arguments->output_count + 1, sizeof *arguments->outputs);
    arguments->shown = calloc(arguments->shown_count + 1, sizeof *arguments->shown);
    if (!arguments->items || !arguments->outputs || !arguments->shown) return fail_memory();
    int status = STATUS_OK;
    for (size_t i = 0; i < arguments->count && !status; i++) {
        arguments->items[i].text = settings->arguments.items[i];
        status = parse_argument(&arguments->items[i]);
    }
    for (size_t i = 0; i < arguments->output_count && !status; i++)
        status = parse_output(&arguments->outputs[i], settings->outputs.items[i], arguments);
    for (size_t i = 0; i < settings->expects.count && !status; i++)
        status = parse_expected(&arguments->shown[i], settings->expects.items[i], arguments);
    for (size_t i = 0; i < settings->prints.count && !status; i++)
        status = parse_shown(&arguments->shown[settings->expects.count + i], settings->prints.items[i], arguments);
    return status;
}

void arguments_clear(struct arguments *arguments) {
    for (size_t i = 0; arguments->items && i < arguments->count; i++) free(arguments->items[i].value);
    for (size_t i = 0; arguments->outputs && i < arguments->output_count; i++)
        free(arguments->outputs[i].bytes);
    for (size_t i = 0; arguments->shown && i < arguments->shown_count; i++) {
        free(arguments->shown[i].bytes);
        free(arguments->shown[i].wanted);
    }
    free(arguments->items);
    free(arguments->outputs);
    free(arguments->shown);
    *arguments = (struct arguments){0};
}

/* ---- checking ------------------------------------------------------------------------------------ */

/* "8, 8 and 4 bytes" */
static void put_sizes(char *text, size_t capacity, const simt_module *module, size_t kernel, size_t count) {
    size_t length = 0;
    for (size_t i = 0; i < count && length < capacity; i++) {
        const char *between = i + 1 == count ? " and " : ", ";
        length += (size_t)snprintf(text + length, capacity - length, "%s%zu", i > 0 ? between : "",
                                   simt_module_parameter_nbytes(module, kernel, i));
    }
}

/* Types of one size that hold integers may stand for each other. */
static bool is_alike(wf_type type, const char *element) {
    const wf_type wanted = wf_type_parse(element);
    const bool are_integers = type < WF_F16 && wanted < WF_F16;
    return type == wanted || (are_integers && wf_type_nbytes(type) == wf_type_nbytes(wanted));
}

static int check_types(const struct arguments *arguments, const struct kernel_source *source, const char *name) {
    for (size_t i = 0; i < arguments->count && i < source->count; i++) {
        const struct argument *argument = &arguments->items[i];
        const struct kernel_parameter *parameter = &source->parameters[i];
        if (!parameter->element || !argument->type) continue;
        const bool is_raw = parameter->is_pointer && strstr(parameter->type, "char"); /* bytes of anything */
        const bool is_address = parameter->is_pointer && !argument->is_buffer && argument->type < WF_F16; /* u64:0 */
        if (is_address) continue;
        if (argument->is_buffer == parameter->is_pointer && (is_raw || is_alike(argument->type, parameter->element)))
            continue;
        return fail_usage("--arg %s: argument %zu of %s is `%s%s%s%s`: give %s%s", argument->text, i, name,
                          parameter->is_const ? "const " : "", parameter->type, parameter->is_pointer ? " *" : " ",
                          parameter->name, parameter->element, parameter->is_pointer ? "[N]=..." : ":NUMBER");
    }
    return STATUS_OK;
}

int arguments_check(const struct arguments *arguments, const simt_module *module, size_t kernel,
                    const char *name, const struct kernel_source *source) {
    size_t count = simt_module_parameter_count(module, kernel);
    char sizes[256] = "";
    put_sizes(sizes, sizeof sizes, module, kernel, count);
    if (arguments->count != count)
        return fail_usage(
            "%s takes %zu argument%s%s%s%s, each by an --arg, not %zu (a buffer counts as 8 bytes)", name,
            count, count == 1 ? "" : "s", count ? " of " : "", sizes, count ? " bytes" : "",
            arguments->count);
    for (size_t i = 0; i < count; i++) {
        size_t nbytes = simt_module_parameter_nbytes(module, kernel, i);
        if (arguments->items[i].nbytes != nbytes)
            return fail_usage(
                "%s takes %zu bytes as argument %zu, counted from 0, and '%s' has %zu (all: %s)", name,
                nbytes, i, arguments->items[i].text, arguments->items[i].nbytes, sizes);
    }
    return source ? check_types(arguments, source, name) : STATUS_OK;
}

/* ---- names for the report -------------------------------------------------------------------------- */

struct report_buffer *arguments_buffers(const struct arguments *arguments, const struct kernel_source *source) {
    struct report_buffer *buffers = calloc(arguments->count + 1, sizeof *buffers);
    for (size_t i = 0; buffers && i < arguments->count; i++) {
        const struct argument *argument = &arguments->items[i];
        const struct kernel_parameter *parameter = source ? &source->parameters[i] : NULL;
        const char *name = parameter && parameter->name[0] ? parameter->name : NULL;
        buffers[i].name = name; /* of a null pointer, too */
        if (!argument->is_buffer) continue;
        const bool is_struct = parameter && parameter->is_pointer && !parameter->element &&
                               parameter->nbytes > wf_type_nbytes(argument->type);
        buffers[i] = (struct report_buffer){.struct_type = is_struct ? parameter->type : NULL,
                                            .struct_nbytes = is_struct ? parameter->nbytes : 0,
                                            .address = argument->address,
                                            .count = argument->count,
                                            .element_nbytes = wf_type_nbytes(argument->type),
                                            .name = name,
                                            .type = parameter && parameter->element ? parameter->type
                                                                                    : wf_type_name(argument->type)};
    }
    return buffers;
}

/* ---- in the simulator's memory --------------------------------------------------------------------- */

static size_t buffer_nbytes(const struct argument *argument) {
    return (size_t)argument->count * wf_type_nbytes(argument->type);
}

static int place(struct argument *argument, simt_machine *machine) {
    if (simt_machine_allocate(machine, buffer_nbytes(argument), &argument->address))
        return fail("--arg %s: no memory for %zu bytes", argument->text, buffer_nbytes(argument));
    memcpy(argument->value, &argument->address, POINTER_NBYTES);
    const struct fill fill = {argument->fill, argument->type, argument->count};
    return fill_buffer(&fill, machine, argument->address);
}

int arguments_place(struct arguments *arguments, simt_machine *machine) {
    int status = STATUS_OK;
    for (size_t i = 0; i < arguments->count && !status; i++)
        if (arguments->items[i].is_buffer) status = place(&arguments->items[i], machine);
    return status;
}

static bool read_output(struct output *output, const struct argument *argument, const simt_machine *machine) {
    output->nbytes = buffer_nbytes(argument);
    output->bytes = malloc(output->nbytes ? output->nbytes : 1);
    if (!output->bytes) return false;
    output->header_nbytes = npy_header(output->header, argument->type, 1, &(int64_t){(int64_t)argument->count});
    return !simt_machine_read(machine, argument->address, output->bytes, output->nbytes);
}

int arguments_read(struct arguments *arguments, const simt_machine *machine) {
    for (size_t i = 0; i < arguments->output_count; i++) {
        struct output *output = &arguments->outputs[i];
        if (!read_output(output, &arguments->items[output->argument], machine)) return fail_memory();
    }
    for (size_t i = 0; i < arguments->shown_count; i++) {
        struct shown *shown = &arguments->shown[i];
        const struct argument *argument = &arguments->items[shown->argument];
        const size_t nbytes = (size_t)shown->count * wf_type_nbytes(argument->type);
        shown->bytes = malloc(nbytes ? nbytes : 1);
        if (!shown->bytes || simt_machine_read(machine, argument->address, shown->bytes, nbytes)) return fail_memory();
    }
    return STATUS_OK;
}

struct file_draft output_draft(const struct output *output) {
    return (struct file_draft){
        .path = output->path,
        .pieces = {{output->header, output->header_nbytes}, {output->bytes, output->nbytes}},
        .piece_count = 2};
}

/* ---- what --print and --expect show --------------------------------------------------------------- */

static bool is_nan(const wf_value *value) {
    char text[64];
    return wf_value_format(value, 0, text, sizeof text) && !strcmp(text, "nan");
}

/* To the bit, but that one NaN is as good as another. */
static void compare(const struct shown *shown, wf_type type, struct report_values *values) {
    const size_t nbytes = wf_type_nbytes(type);
    values->is_expected = true;
    for (uint64_t i = 0; i < shown->count; i++) {
        const wf_value is = value_at(shown->bytes, type, (int64_t)i), wanted = value_at(shown->wanted, type, (int64_t)i);
        if (!memcmp(shown->bytes + i * nbytes, shown->wanted + i * nbytes, nbytes) || (is_nan(&is) && is_nan(&wanted))) continue;
        if (values->wrong_count++) continue;
        values->wrong_index = i;
        wf_value_format(&is, 0, values->is, sizeof values->is);
        wf_value_format(&wanted, 0, values->must_be, sizeof values->must_be);
    }
}

static bool write_values(const struct shown *shown, wf_type type, struct report_values *values) {
    struct page page;
    page_open(&page);
    for (uint64_t i = 0; page.stream && i < shown->count; i++) {
        char text[64];
        const wf_value value = value_at(shown->bytes, type, (int64_t)i);
        wf_value_format(&value, 0, text, sizeof text);
        fprintf(page.stream, "%s%s", i ? " " : "", text);
    }
    bool is_whole = page_end(&page);
    *values = (struct report_values){.argument = shown->argument, .count = shown->count};
    if (is_whole) values->text = strdup(page.text);
    if (shown->wanted) compare(shown, type, values);
    page_clear(&page);
    return values->text != NULL;
}

struct report_values *arguments_values(const struct arguments *arguments) {
    struct report_values *values = calloc(arguments->shown_count + 1, sizeof *values);
    for (size_t i = 0; values && i < arguments->shown_count; i++) {
        const struct shown *shown = &arguments->shown[i];
        if (write_values(shown, arguments->items[shown->argument].type, &values[i])) continue;
        for (size_t done = 0; done < i; done++) free(values[done].text);
        free(values);
        return NULL;
    }
    return values;
}
