#include "inspect_suggest.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "inspect_fill.h"
#include "output.h"
#include "report/printed.h"

enum { MEMBERS_MAX = 32 };

static void put_extent(FILE *stream, const char *option, const uint64_t extent[3]) {
    fprintf(stream, " --%s %" PRIu64, option, extent[0]);
    if (extent[1] > 1 || extent[2] > 1) fprintf(stream, ",%" PRIu64, extent[1]);
    if (extent[2] > 1) fprintf(stream, ",%" PRIu64, extent[2]);
}

/* The elements of the shortest other buffer: what is below is an index of any. */
static uint64_t least_count(const struct kernel_source *source, const struct kernel_parameter *but, uint64_t elements) {
    uint64_t least = elements;
    for (size_t i = 0; i < source->count; i++) {
        const struct kernel_parameter *parameter = &source->parameters[i];
        if (parameter != but && parameter->is_pointer && parameter->has_count && parameter->count < least) least = parameter->count;
    }
    return least;
}

/* Numbers that are indices of any other buffer, and in no order, in which threads might never meet. */
static void put_indices(FILE *stream, const char *element, uint64_t count) {
    const uint64_t values = !strcmp(element, "u8") ? UINT8_MAX + 1 : !strcmp(element, "i8") ? INT8_MAX + 1 : UINT64_MAX;
    fprintf(stream, "=random:1:%" PRIu64, count < values ? count : values);
}

/* Links from element to element go round for ever if they are random: all are the last, by the number that the kernel ends at, or by
 * leading to themselves. */
static void put_links(FILE *stream, const struct kernel_parameter *parameter, const char *element) {
    if (!parameter->has_last_link) fputs("=iota", stream);
    else if (parameter->last_link >= 0) fprintf(stream, "=%" PRId64, parameter->last_link);
    else fputs(element[0] == 'i' ? "=-1" : !strcmp(element, "u32") ? "=4294967295" : "=iota", stream);
}

/* What a buffer holds before: zeros where main() clears it or the kernel updates it, nothing where it is an output. */
static void put_fill(FILE *stream, const struct kernel_source *source, const struct kernel_parameter *parameter, const char *element,
                     uint64_t elements) {
    const bool is_float = element && strchr("fb", element[0]) && strcmp(element, "bool");
    if (!parameter->is_cleared && !parameter->is_const && parameter->use == KERNEL_STORES) return;
    if (parameter->is_cleared || parameter->use == KERNEL_UPDATES || !element) fputs("=zeros", stream); /* structs, too */
    else if (is_float) fputs("=random:1", stream);
    else if (parameter->are_offsets) fputs("=iota", stream);
    else if (parameter->are_links) put_links(stream, parameter, element);
    else if (parameter->is_index) put_indices(stream, element, least_count(source, parameter, elements));
    else fputs("=iota", stream);
}

/* Of a pointer whose type the source does not tell, by how it is accessed. */
static const char *accessed_element(const struct kernel_parameter *parameter) {
    if (parameter->nbytes) return NULL;
    switch (parameter->accessed_nbytes) {
    case 2: return "u16";
    case 4: return parameter->is_of_floats ? "f32" : "i32";
    case 8: return parameter->is_of_floats ? "f64" : "i64";
    default: return NULL;
    }
}

/* Integers of `size` and floats of 1 as the members, and pointers of 0: it is for the reader to give what they point to. */
static void put_struct(FILE *stream, const char *text, const char *type, size_t nbytes, uint64_t size) {
    enum { BYTES_MAX = 256 };
    unsigned char bytes[BYTES_MAX] = {0};
    struct kernel_member members[MEMBERS_MAX];
    const size_t count = text ? kernel_source_members(text, type, members, MEMBERS_MAX) : 0;
    for (size_t i = 0; i < count; i++) {
        const wf_type of = members[i].element ? wf_type_parse(members[i].element) : WF_TYPE_DEFAULT;
        char number[24];
        uint64_t bits;
        snprintf(number, sizeof number, "%" PRIu64, of == WF_BOOL || of >= WF_F16 ? 1 : size);
        if (!of || !parse_bits(number, of, &bits)) continue;
        const size_t width = wf_type_nbytes(of), end = members[i].offset + members[i].nbytes;
        for (size_t at = members[i].offset; at + width <= end && at + width <= BYTES_MAX; at += width)
            memcpy(bytes + at, &bits, width); /* of a little-endian machine: the low bytes */
    }
    fputs(" --arg bytes:", stream);
    for (size_t i = 0; i < nbytes; i++) fprintf(stream, "%02x", i < BYTES_MAX ? bytes[i] : 0);
}

/* What all members of a struct are made of; NULL: of several types, or it is not known. */
static const char *struct_element(const char *text, const char *type) {
    struct kernel_member members[MEMBERS_MAX];
    const size_t count = text ? kernel_source_members(text, type, members, MEMBERS_MAX) : 0;
    size_t nbytes = 0;
    for (size_t i = 0; i < count; i++) {
        if (!members[i].element || strcmp(members[i].element, members[0].element)) return NULL;
        nbytes += members[i].nbytes;
    }
    return count && nbytes == members[count - 1].offset + members[count - 1].nbytes ? members[0].element : NULL;
}

/* 'f32[1024]=random:1'.  A vector, or a struct of members of one type, is written as its elements, another struct as its bytes. */
static void put_buffer(FILE *stream, const struct kernel *kernel, const struct kernel_parameter *parameter, uint64_t elements) {
    unsigned lanes = 1;
    const char *element = parameter->element;
    if (!element) element = kernel_vector_element(parameter->type, &lanes);
    if (!element) element = accessed_element(parameter);
    if (!element && parameter->nbytes) {
        element = struct_element(kernel->text, parameter->type);
        lanes = (unsigned)(parameter->nbytes / (element ? wf_type_nbytes(wf_type_parse(element)) : 1));
    }
    const uint64_t count = parameter->has_count ? parameter->count : elements + parameter->are_offsets;
    fprintf(stream, " --arg '%s[%" PRIu64 "]", element ? element : "u8", count * lanes);
    put_fill(stream, &kernel->source, parameter, element, elements);
    fputc('\'', stream);
}

static void put_argument(FILE *stream, const struct kernel *kernel, size_t index, uint64_t elements, uint64_t size) {
    const struct kernel_parameter *parameter = &kernel->source.parameters[index];
    const char *element = parameter->element;
    const bool is_one = parameter->is_no_extent || (element && (element[0] == 'f' || element[0] == 'b')); /* of numbers and bools alike */
    const uint64_t number = parameter->has_count ? parameter->count : size;
    if (parameter->is_pointer) put_buffer(stream, kernel, parameter, elements);
    else if (element) fprintf(stream, " --arg %s:%" PRIu64, element, is_one ? 1 : number);
    else put_struct(stream, kernel->text, parameter->type, simt_module_parameter_nbytes(kernel->module, kernel->index, index), number);
}

/* The first buffer that the kernel stores to, or else the first that it may; `count`: there is none. */
static size_t first_output(const struct kernel_source *source) {
    size_t first = source->count;
    for (size_t i = source->count; i-- > 0;) {
        const struct kernel_parameter *parameter = &source->parameters[i];
        const bool is_better = parameter->use != KERNEL_READS || first == source->count || source->parameters[first].use == KERNEL_READS;
        if (parameter->is_pointer && !parameter->is_const && is_better) first = i;
    }
    return first;
}

static void put_signature(FILE *stream, const char *name, const struct kernel_source *source) {
    put_name(stream, name, strlen(name));
    fputc('(', stream);
    for (size_t i = 0; i < source->count; i++) {
        const struct kernel_parameter *parameter = &source->parameters[i];
        fprintf(stream, "%s%s", i ? ", " : "", parameter->is_const ? "const " : "");
        put_name(stream, parameter->type, strlen(parameter->type));
        fprintf(stream, " %s%s", parameter->is_pointer ? "*" : "", parameter->name);
    }
    fputc(')', stream);
}

/* Whether the text accesses such a member: `.next` or `->next`. */
static bool uses_member(const char *text, const char *name) {
    const size_t length = strlen(name);
    for (const char *at = text; (at = strstr(at, name)); at += length)
        if (at > text && strchr(".>", at[-1]) && !isalnum((unsigned char)at[length]) && at[length] != '_') return true;
    return false;
}

/* A parameter that is no memory, or gives some, from which the kernel takes addresses. */
static bool has_pointers(const struct kernel *kernel, const struct kernel_parameter *parameter) {
    struct kernel_member members[MEMBERS_MAX];
    if (parameter->is_pointer && parameter->use != KERNEL_READS) return false;
    if (parameter->is_pointer && strchr(parameter->type, '*')) return true;
    const size_t count = parameter->element || !kernel->text ? 0 : kernel_source_members(kernel->text, parameter->type, members, MEMBERS_MAX);
    for (size_t i = 0; i < count; i++)
        if (!members[i].element && uses_member(kernel->text, members[i].name)) return true;
    return false;
}

static void put_pointers(FILE *stream, const char *path, const struct kernel *kernel) {
    for (size_t i = 0; i < kernel->source.count; i++) {
        const struct kernel_parameter *parameter = &kernel->source.parameters[i];
        if (!has_pointers(kernel, parameter)) continue;
        fprintf(stream, "warpfold: `%s` has pointers, and no --arg gives memory to these: `warpfold run ", parameter->name);
        put_name(stream, path, strlen(path));
        fputs("` runs the kernel as a main() in the file launches it\n", stream);
    }
}

static void put_link_notes(FILE *stream, const struct kernel *kernel) {
    for (size_t i = 0; i < kernel->source.count; i++)
        if (kernel->source.parameters[i].are_links)
            fprintf(stream, "warpfold: `%s` leads from element to element, and here each is the last: give it links of yours, which must end\n",
                    kernel->source.parameters[i].name);
}

/* The options that a comment of the source gives: "// Inspect: --block 128 --arg 'f32[128]=ones'", if a shell takes them for words
 * and nothing else.  0: it gives none. */
static size_t given_options(const char *text, const char **options) {
    static const char mark[] = "// Inspect: ",
                      plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=:.,[]' ";
    const char *found = text ? strstr(text, mark) : NULL;
    if (!found || (found > text && found[-1] != '\n')) return 0;
    *options = found + strlen(mark);
    const size_t length = strspn(*options, plain);
    size_t quotes = 0;
    for (size_t i = 0; i < length; i++) quotes += (*options)[i] == '\'';
    return strchr("\r\n", (*options)[length]) && quotes % 2 == 0 ? length : 0;
}

/* Of arrays of many dimensions: a buffer for 64 threads has room for the product of six. */
enum { EXTENT = 4 };

static void put_guessed(FILE *stream, const struct kernel *kernel) {
    const struct kernel_source *source = &kernel->source;
    const uint64_t one_warp[3] = {32, 1, 1}, one[3] = {1, 1, 1};
    const uint64_t *grid = source->grid[0] ? source->grid : one, *block = source->has_block ? source->block : one_warp;
    const uint64_t elements = grid[0] * grid[1] * grid[2] * block[0] * block[1] * block[2] * (source->elements ? source->elements : 1);
    const uint64_t along = block[0] * grid[0], side = block[1] > along ? block[1] : along; /* of a square, where the launch is not known */
    const bool is_plane = !source->has_launch && (block[1] > 1 || source->pitches), is_deep = is_plane && source->pitches > 2;
    put_extent(stream, "grid", grid);
    put_extent(stream, "block", block);
    if (source->shared) fprintf(stream, " --shared %" PRIu64, source->shared);
    for (size_t i = 0; i < source->count; i++) put_argument(stream, kernel, i, is_plane ? side * side : elements, is_deep ? EXTENT : is_plane ? side : elements);
    const size_t output = first_output(source);
    if (output < source->count) fprintf(stream, " --print %zu", output);
}

int inspect_suggest(const char *path, const struct kernel *kernel, const char *wanted) {
    const char *options = NULL;
    const size_t given = simt_module_kernel_count(kernel->module) == 1 ? given_options(kernel->text, &options) : 0;
    struct page page;
    page_open(&page);
    if (page.stream) {
        fputs("warpfold: ", page.stream);
        put_signature(page.stream, kernel->name, &kernel->source);
        fputs(" takes these arguments, each by an --arg; to begin with:\n    warpfold inspect ", page.stream);
        put_name(page.stream, path, strlen(path));
        if (wanted) fprintf(page.stream, " --kernel '%s'", wanted);
        if (given) fprintf(page.stream, " %.*s", (int)given, options);
        else put_guessed(page.stream, kernel);
        fputc('\n', page.stream);
        if (!given) put_pointers(page.stream, path, kernel);
        if (!given) put_link_notes(page.stream, kernel);
    }
    bool is_whole = page_end(&page);
    if (is_whole) write_all(STDERR_FILENO, page.text, page.length); /* as it is: to be copied */
    page_clear(&page);
    return is_whole ? STATUS_USAGE : fail_memory();
}
