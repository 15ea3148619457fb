#include "inspect_arguments.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "inspect_fill.h"
#include "output.h"

enum { POINTER_NBYTES = 8, TYPE_NAME_CAPACITY = 8 };

/* ---- reading --arg ------------------------------------------------------------------------------- */

static int fail_argument(const char *text) {
    return fail_usage(
        "--arg takes a scalar such as i32:5 or f32:1.5, bytes:00ff for a struct, or a buffer such as "
        "f32[1024]=zeros, not '%s'",
        text);
}

/* PTX's names of plain bits stand for the unsigned type of their width. */
static wf_type parse_argument_type(const char *text, size_t length) {
    char name[TYPE_NAME_CAPACITY];
    if (length == 0 || length >= sizeof name) return WF_TYPE_DEFAULT;
    memcpy(name, text, length);
    name[length] = '\0';
    if (name[0] == 'b' && isdigit((unsigned char)name[1])) name[0] = 'u';
    return wf_type_parse(name);
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

/* f32[1024]=zeros: what stands behind the bracket. */
static int parse_buffer(struct argument *argument, const char *text) {
    char *end;
    errno = 0;
    argument->is_buffer = true;
    argument->count = isdigit((unsigned char)*text) ? strtoull(text, &end, 10) : UINT64_MAX;
    if (argument->count == UINT64_MAX || errno || strncmp(end, "]=", 2) || !end[2])
        return fail_argument(argument->text);
    if (argument->count > PTRDIFF_MAX / wf_type_nbytes(argument->type))
        return fail_usage("--arg %s: buffer size overflows", argument->text);
    argument->fill = end + 2;
    argument->nbytes = POINTER_NBYTES;
    argument->value = calloc(1, POINTER_NBYTES);
    if (!argument->value) return fail_memory();
    return fill_check(argument->fill) ? STATUS_OK : fail_argument(argument->text);
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

int arguments_parse(struct arguments *arguments, const struct settings *settings) {
    *arguments =
        (struct arguments){.count = settings->argument_count, .output_count = settings->output_count};
    arguments->items = calloc(arguments->count + 1, sizeof *arguments->items);
    arguments->outputs = calloc(arguments->output_count + 1, sizeof *arguments->outputs);
    if (!arguments->items || !arguments->outputs) return fail_memory();
    int status = STATUS_OK;
    for (size_t i = 0; i < arguments->count && !status; i++) {
        arguments->items[i].text = settings->arguments[i];
        status = parse_argument(&arguments->items[i]);
    }
    for (size_t i = 0; i < arguments->output_count && !status; i++)
        status = parse_output(&arguments->outputs[i], settings->outputs[i], arguments);
    return status;
}

void arguments_clear(struct arguments *arguments) {
    for (size_t i = 0; arguments->items && i < arguments->count; i++) free(arguments->items[i].value);
    for (size_t i = 0; arguments->outputs && i < arguments->output_count; i++)
        free(arguments->outputs[i].bytes);
    free(arguments->items);
    free(arguments->outputs);
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

int arguments_check(const struct arguments *arguments, const simt_module *module, size_t kernel,
                    const char *name) {
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
    return STATUS_OK;
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
    return STATUS_OK;
}

struct file_draft output_draft(const struct output *output) {
    return (struct file_draft){
        .path = output->path,
        .pieces = {{output->header, output->header_nbytes}, {output->bytes, output->nbytes}},
        .piece_count = 2};
}
