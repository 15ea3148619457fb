/* Functions that the device's runtime brings: vprintf, __assertfail, malloc, free, cudaGraphSetConditional. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine.h"

enum { TEXT_MAX = 4096, CONVERSION_MAX = 64 };

/* The bytes of argument `a` of a call, as the lane's frame holds them. */
static uint64_t argument(const struct warp *warp, const struct path *path, const struct code *code, uint32_t a,
                         uint32_t lane) {
    const struct image *image = warp->block->launch->image;
    const struct operand *operand = &code->instruction->operands[code->callee.place + 1].elements[a];
    uint64_t value = 0;
    simt_passed_read(image, path->frame, operand, lane, &value, sizeof value);
    return value;
}

static void set_result(const struct warp *warp, const struct path *path, const struct code *code, uint32_t lane,
                       uint64_t value) {
    if (code->callee.place == 0) return;
    const struct operand *operand = code->instruction->operands[0].elements;
    simt_passed_write(warp->block->launch->image, path->frame, operand, lane, &value, sizeof value);
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
        if (!read_string(warp, lane, argument(warp, path, code, 0, lane), format)) continue;
        struct printing printing; /* its text is not cleared */
        printing.warp = warp;
        printing.lane = lane;
        printing.arguments = argument(warp, path, code, 1, lane);
        printing.count = 0;
        printing.length = 0;
        printing.read = strlen(format);
        print_lane(&printing, format);
        simt_block_charge(warp->block,
                          PRINT_COST + (printing.read + printing.length) / PRINT_COST_CHARACTERS);
        set_result(warp, path, code, lane, printing.count);
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
    read_string(warp, lane, argument(warp, path, code, 0, lane), message);
    read_string(warp, lane, argument(warp, path, code, 1, lane), file);
    read_string(warp, lane, argument(warp, path, code, 3, lane), function);
    simt_event event = simt_event_of(warp, path, mask);
    simt_record_finding(&event, SIMT_FINDING_TRAP, lane, 0,
                        "the assertion '%.200s' failed in %.100s (%.100s:%u)", message, function, file,
                        (unsigned)argument(warp, path, code, 2, lane));
    simt_stop(&event);
    return false;
}

/* ---- malloc and free: launches of modules that declare them run on one host thread */

enum { HEAP_NBYTES = 1 << 26, HEAP_PIECE = 256 /* what each takes at least */, HEAP_COST = 32 };

static uint64_t heap_size(uint64_t nbytes) { return (nbytes / HEAP_PIECE + 1) * HEAP_PIECE; }

static bool builtin_allocate(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    struct memory *memory = &warp->block->launch->machine->memory;
    SIMT_FOR_EACH_LANE (lane, mask) {
        uint64_t nbytes = argument(warp, path, code, 0, lane);
        bool fits = nbytes < HEAP_NBYTES && heap_size(nbytes) <= HEAP_NBYTES - memory->heap_nbytes;
        struct allocation *allocation = fits ? simt_memory_allocate(memory, nbytes, false) : NULL;
        if (fits && !allocation) { /* the host's memory is no part of what a kernel may see */
            simt_launch_no_memory(warp->block->launch);
            return false;
        }
        if (allocation) {
            allocation->is_heap = true;
            memory->heap_nbytes += heap_size(nbytes);
        }
        simt_block_charge(warp->block, HEAP_COST);
        set_result(warp, path, code, lane, allocation ? allocation->address : 0);
    }
    return true;
}

static bool builtin_free(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    struct memory *memory = &warp->block->launch->machine->memory;
    SIMT_FOR_EACH_LANE (lane, mask) {
        uint64_t address = argument(warp, path, code, 0, lane);
        struct allocation *allocation = simt_memory_find(memory, address);
        if (!address) continue;
        if (allocation && allocation->address == address && allocation->is_heap) {
            memory->heap_nbytes -= heap_size(allocation->nbytes);
            simt_memory_free(memory, allocation);
            simt_block_charge(warp->block, HEAP_COST);
            continue;
        }
        simt_event event = simt_event_of(warp, path, mask);
        simt_record_finding(&event, SIMT_FINDING_BOUNDS, lane, address,
                            "frees 0x%llx, which malloc did not return", (unsigned long long)address);
        simt_stop(&event);
        return false;
    }
    return true;
}

/* ---- cudaGraphSetConditional(handle, value): a handle is the address of the value, which no other access may change */

static bool builtin_condition(struct warp *warp, struct path *path, const struct code *code, uint32_t mask) {
    const struct memory *memory = &warp->block->launch->machine->memory;
    SIMT_FOR_EACH_LANE (lane, mask) {
        const uint64_t handle = argument(warp, path, code, 0, lane);
        const uint32_t value = (uint32_t)argument(warp, path, code, 1, lane);
        struct allocation *allocation = simt_memory_find(memory, handle);
        if (allocation && allocation->address == handle && allocation->nbytes == sizeof value) {
            __atomic_store_n((uint32_t *)(void *)allocation->bytes, value, __ATOMIC_RELAXED);
            continue;
        }
        simt_event event = simt_event_of(warp, path, mask);
        simt_record_finding(&event, SIMT_FINDING_BOUNDS, lane, handle, "sets the condition 0x%llx, which is none of a graph",
                            (unsigned long long)handle);
        simt_stop(&event);
        return false;
    }
    return true;
}

bool simt_builtin_allocates(const struct simt_module *module) {
    for (uint32_t f = 0; f < module->function_count; f++)
        if (!module->functions[f]->has_body && simt_builtin_find(module->functions[f]->name) == builtin_allocate)
            return true;
    return false;
}

/* The builtin functions, with the sizes in bytes of their results and parameters; 0 ends the list. */
enum { PARAMETERS_MAX = 5 };
static const struct builtin {
    const char *name;
    builtin_function *function;
    uint8_t result, parameters[PARAMETERS_MAX + 1];
} builtins[] = {{"vprintf", builtin_print, 4, {8, 8}},
                {"__assertfail", builtin_assert, 0, {8, 8, 4, 8, 8}},
                {"malloc", builtin_allocate, 8, {8}},
                {"free", builtin_free, 0, {8}},
                {"cudaGraphSetConditional", builtin_condition, 0, {8, 4}}};

static const struct builtin *find(const char *name) {
    for (size_t b = 0; b < sizeof builtins / sizeof *builtins; b++)
        if (strcmp(name, builtins[b].name) == 0) return &builtins[b];
    return NULL;
}

builtin_function *simt_builtin_find(const char *name) {
    const struct builtin *builtin = find(name);
    return builtin ? builtin->function : NULL;
}

bool simt_builtin_fits(const struct function *declared) {
    const struct builtin *builtin = find(declared->name);
    if (!builtin) return true;
    uint32_t results = builtin->result > 0, p = 0;
    if (declared->result_count != results || (results && declared->results[0]->nbytes != builtin->result)) return false;
    for (; p < declared->parameter_count; p++)
        if (p == PARAMETERS_MAX || declared->parameters[p]->nbytes != builtin->parameters[p]) return false;
    return builtin->parameters[p] == 0;
}
