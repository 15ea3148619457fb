/* Functions that the device's runtime brings: vprintf, __assertfail, malloc, free, cudaGraphSetConditional; those that launch
 * are in device_runtime.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "builtin.h"

enum { TEXT_MAX = 4096, CONVERSION_MAX = 64 };

void simt_builtin_read(const struct warp *warp, const struct path *path, const struct code *code, uint32_t a, uint32_t lane,
                       void *bytes, size_t nbytes) {
    const struct operand *operand = &code->instruction->operands[code->callee.place + 1].elements[a];
    memset(bytes, 0, nbytes);
    simt_passed_read(warp->block->launch->image, path->frame, operand, lane, bytes, nbytes);
}

uint64_t simt_builtin_argument(const struct warp *warp, const struct path *path, const struct code *code, uint32_t a,
                               uint32_t lane) {
    uint64_t value;
    simt_builtin_read(warp, path, code, a, lane, &value, sizeof value);
    return value;
}

void simt_builtin_result(const struct warp *warp, const struct path *path, const struct code *code, uint32_t lane,
                         uint64_t value) {
    if (code->callee.place == 0) return;
    const struct operand *operand = code->instruction->operands[0].elements;
    simt_passed_write(warp->block->launch->image, path->frame, operand, lane, &value, sizeof value);
}

bool simt_builtin_refuse(struct warp *warp, struct path *path, uint32_t mask, uint32_t lane, uint64_t address,
                         const char *what) {
    simt_event event = simt_event_of(warp, path, mask);
    simt_record_finding(&event, SIMT_FINDING_BOUNDS, lane, address, what, (unsigned long long)address);
    simt_stop(&event);
    return false;
}

/* A string of the lane's memory, cut at TEXT_MAX or where its memory ends.  false: it is not there at all. */
static bool read_string(const struct warp *warp, uint32_t lane, uint64_t address, char text[TEXT_MAX]) {
    size_t length = 0;
    while (length < TEXT_MAX - 1) {
        const unsigned char *byte = simt_generic_bytes(warp, lane, address + length, 1);
        if (!byte && length == 0) return false;
        if (!byte || !*byte) break;
        text[length++] = (char)*byte;
    }
    text[length] = 0;
    return true;
}

/* ---- vprintf */

struct printing {
    const struct warp *warp;
    uint32_t lane;
    uint64_t arguments; /* where the next one is */
    uint32_t count;
    char text[TEXT_MAX];
    size_t length;
    size_t read; /* characters, of the format and of strings */
};

/* The cost of printing by one lane, in instructions. */
enum { PRINT_COST = 8, PRINT_COST_CHARACTERS = 16 };

static uint64_t next_argument(struct printing *printing, uint32_t nbytes) {
    uint64_t value = 0;
    printing->arguments = (printing->arguments + nbytes - 1) & ~(uint64_t)(nbytes - 1);
    const unsigned char *bytes = simt_generic_bytes(printing->warp, printing->lane, printing->arguments, nbytes);
    if (bytes) memcpy(&value, bytes, nbytes);
    printing->arguments += nbytes;
    printing->count++;
    return value;
}

static void put(struct printing *printing, const char *text, size_t length) {
    if (length > TEXT_MAX - printing->length) length = TEXT_MAX - printing->length;
    memcpy(printing->text + printing->length, text, length);
    printing->length += length;
}

/* One conversion with its flags, width and precision; `specification` ends in the letter, without its length. */
static void convert(struct printing *printing, char *specification, size_t length, bool is_long) {
    char letter = specification[length - 1], text[TEXT_MAX], string[TEXT_MAX];
    uint64_t bits;
    double real;
    int written = 0;
    if (strchr("diouxX", letter)) {
        bits = next_argument(printing, is_long ? 8 : 4);
        bool is_signed = letter == 'd' || letter == 'i';
        long long value = is_long ? (long long)bits : is_signed ? (int32_t)bits : (long long)(uint32_t)bits;
        memcpy(specification + length - 1, "ll", 2);
        specification[length + 1] = letter;
        specification[length + 2] = 0;
        written = snprintf(text, sizeof text, specification, value);
    } else if (letter == 'c') {
        written = snprintf(text, sizeof text, specification, (int)next_argument(printing, 4));
    } else if (strchr("fFeEgGaA", letter)) {
        bits = next_argument(printing, 8);
        memcpy(&real, &bits, sizeof real);
        written = snprintf(text, sizeof text, specification, real);
    } else if (letter == 's') {
        if (!read_string(printing->warp, printing->lane, next_argument(printing, 8), string))
            snprintf(string, sizeof string, "(null)");
        printing->read += strlen(string);
        written = snprintf(text, sizeof text, specification, string);
    } else if (letter == 'p') {
        written = snprintf(text, sizeof text, "0x%llx", (unsigned long long)next_argument(printing, 8));
    }
    if (written > 0) put(printing, text, (size_t)written < sizeof text ? (size_t)written : sizeof text - 1);
}

/* Reads one conversion after its '%'; returns what follows it. */
static const char *print_conversion(struct printing *printing, const char *format) {
    char specification[CONVERSION_MAX + 4] = "%";
    size_t length = 1;
    bool is_long = false;
    for (; *format; format++) {
        if (strchr("hljztL", *format)) {
            is_long |= *format != 'h' && *format != 'L';
            continue;
        }
        if (*format == '*') {
            int star = (int)next_argument(printing, 4);
            length += (size_t)snprintf(specification + length, 12, "%d", star < 1000 && star > -1000 ? star : 0);
        } else specification[length++] = *format;
        bool is_huge = length >= 4 && strspn(specification + length - 4, "0123456789") >= 4; /* a width of 1000 */
        specification[length] = 0;
        if (is_huge || length > CONVERSION_MAX - 16) return format + 1;
        if (!strchr("-+ #.0123456789*", *format)) break;
    }
    if (!*format) return format;
    specification[length] = 0;
    if (*format == '%') put(printing, "%", 1);
    else convert(printing, specification, length, is_long);
    return format + 1;
}

static void print_lane(struct printing *printing, const char *format) {
    while (*format) {
        const char *percent = strchr(format, '%');
        if (!percent) percent = format + strlen(format);
        put(printing, format, (size_t)(percent - format));
        format = *percent ? print_conversion(printing, percent + 1) : percent;
    }
}

static bool builtin_print(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    struct launch *launch = warp->block->launch;
    SIMT_FOR_EACH_LANE (lane, mask) {
        char format[TEXT_MAX];
        if (!read_string(warp, lane, simt_builtin_argument(warp, path, code, 0, lane), format)) continue;
        struct printing printing; /* its text is not cleared */
        printing.warp = warp;
        printing.lane = lane;
        printing.arguments = simt_builtin_argument(warp, path, code, 1, lane);
        printing.count = 0;
        printing.length = 0;
        printing.read = strlen(format);
        print_lane(&printing, format);
        simt_block_charge(warp->block,
                          PRINT_COST + (printing.read + printing.length) / PRINT_COST_CHARACTERS);
        simt_builtin_result(warp, path, code, lane, printing.count);
        if (!launch->request->print) continue;
        pthread_mutex_lock(&launch->lock);
        launch->request->print(launch->request->print_context, printing.text, printing.length);
        pthread_mutex_unlock(&launch->lock);
    }
    return true;
}

/* ---- __assertfail(message, file, line, function, size of a character) */

static bool builtin_assert(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    uint32_t lane = (uint32_t)__builtin_ctz(mask);
    char message[TEXT_MAX] = "", file[TEXT_MAX] = "", function[TEXT_MAX] = "";
    read_string(warp, lane, simt_builtin_argument(warp, path, code, 0, lane), message);
    read_string(warp, lane, simt_builtin_argument(warp, path, code, 1, lane), file);
    read_string(warp, lane, simt_builtin_argument(warp, path, code, 3, lane), function);
    simt_event event = simt_event_of(warp, path, mask);
    simt_record_finding(&event, SIMT_FINDING_TRAP, lane, 0,
                        "the assertion '%.200s' failed in %.100s (%.100s:%u)", message, function, file,
                        (unsigned)simt_builtin_argument(warp, path, code, 2, lane));
    simt_stop(&event);
    return false;
}

/* ---- malloc and free: launches of modules that declare them run on one host thread */

enum { HEAP_NBYTES = 1 << 26, HEAP_PIECE = 256 /* what each takes at least */, HEAP_COST = 32 };

static uint64_t heap_size(uint64_t nbytes) { return (nbytes / HEAP_PIECE + 1) * HEAP_PIECE; }

bool simt_builtin_allocate(struct warp *warp, const struct path *path, uint32_t lane, uint64_t nbytes, uint64_t *address) {
    struct memory *memory = &warp->block->launch->machine->memory;
    bool fits = nbytes < HEAP_NBYTES && heap_size(nbytes) <= HEAP_NBYTES - memory->heap_nbytes;
    struct allocation *allocation = fits ? simt_memory_allocate(memory, nbytes, false) : NULL;
    if (fits && (!allocation || !simt_births_add(warp, path, lane, allocation))) { /* the host's memory is no part of what a kernel may see */
        simt_launch_no_memory(warp->block->launch);
        return false;
    }
    if (allocation) {
        allocation->is_heap = true;
        memory->heap_nbytes += heap_size(nbytes);
    }
    simt_block_charge(warp->block, HEAP_COST);
    *address = allocation ? allocation->address : 0;
    return true;
}

static bool builtin_allocate(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    SIMT_FOR_EACH_LANE (lane, mask) {
        uint64_t address;
        if (!simt_builtin_allocate(warp, path, lane, simt_builtin_argument(warp, path, code, 0, lane), &address)) return false;
        simt_builtin_result(warp, path, code, lane, address);
    }
    return true;
}

bool simt_builtin_free(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    struct memory *memory = &warp->block->launch->machine->memory;
    SIMT_FOR_EACH_LANE (lane, mask) {
        uint64_t address = simt_builtin_argument(warp, path, code, 0, lane);
        struct allocation *allocation = simt_memory_find(memory, address);
        simt_builtin_result(warp, path, code, lane, 0);
        if (!address) continue;
        if (!allocation || allocation->address != address || !allocation->is_heap)
            return simt_builtin_refuse(warp, path, mask, lane, address, "frees 0x%llx, which malloc did not return");
        memory->heap_nbytes -= heap_size(allocation->nbytes);
        simt_memory_free(memory, allocation);
        simt_block_charge(warp->block, HEAP_COST);
    }
    return true;
}

/* ---- cudaGraphSetConditional(handle, value): a handle is the address of the value, which no other access may change */

static bool builtin_condition(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    const struct memory *memory = &warp->block->launch->machine->memory;
    SIMT_FOR_EACH_LANE (lane, mask) {
        const uint64_t handle = simt_builtin_argument(warp, path, code, 0, lane);
        const uint32_t value = (uint32_t)simt_builtin_argument(warp, path, code, 1, lane);
        struct allocation *allocation = simt_memory_find(memory, handle);
        if (allocation && allocation->address == handle && allocation->nbytes == sizeof value) {
            __atomic_store_n((uint32_t *)(void *)allocation->bytes, value, __ATOMIC_RELAXED);
            continue;
        }
        return simt_builtin_refuse(warp, path, mask, lane, handle, "sets the condition 0x%llx, which is none of a graph");
    }
    return true;
}

const struct builtin simt_builtins[] = {{"vprintf", builtin_print, 4, {8, 8}, false},
                                        {"__assertfail", builtin_assert, 0, {8, 8, 4, 8, 8}, false},
                                        {"malloc", builtin_allocate, 8, {8}, true},
                                        {"free", simt_builtin_free, 0, {8}, false},
                                        {"cudaGraphSetConditional", builtin_condition, 0, {8, 4}, false},
                                        {0}};
