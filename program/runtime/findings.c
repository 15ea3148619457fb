/* Findings, as the record keeps them: by place. */
#include "runtime.h"

#include <stdio.h>
#include <string.h>

void record_text(char text[RECORD_NAME], const char *from) { snprintf(text, RECORD_NAME, "%s", from ? from : ""); }

bool record_is_spoilt(void) { return runtime.record->finding_count || runtime.record->failure_count; }

static void fill_place(struct record_place *place, const char *file, uint32_t line, const uint32_t block[3],
                       const uint32_t thread[3]) {
    record_text(place->file, file);
    place->line = line;
    memcpy(place->block, block, sizeof place->block);
    memcpy(place->thread, thread, sizeof place->thread);
}

static bool is_place(const struct record_place *place, const char *file, uint32_t line) {
    return place->line == line && !strncmp(place->file, file ? file : "", RECORD_NAME - 1);
}

static bool is_same(const struct record_finding *known, const simt_finding *finding) {
    return known->kind == (uint32_t)finding->kind && (known->has_other && !known->put) == finding->has_other &&
           is_place(&known->place, finding->file, finding->line) &&
           (!finding->has_other || is_place(&known->other, finding->other_file, finding->other_line)) &&
           !strncmp(known->kernel, finding->kernel, RECORD_NAME - 1);
}

/* Which argument of the kernel points to the address, or so near that no other allocation is between. */
static void name_argument(struct record_finding *entry, const simt_launch *launch) {
    const uint64_t reach = UINT64_C(1) << 31;
    const size_t count = simt_module_parameter_count(launch->module, launch->kernel);
    if (!entry->address || !strstr(entry->message, " global memory")) return;
    for (size_t i = 0; i < count && !entry->argument; i++) {
        uint64_t pointer;
        if (simt_module_parameter_nbytes(launch->module, launch->kernel, i) != sizeof pointer) continue;
        memcpy(&pointer, launch->arguments[i], sizeof pointer);
        if (!pointer || entry->address + reach - pointer >= 2 * reach) continue;
        entry->argument = (uint32_t)i + 1;
        entry->offset = (int64_t)(entry->address - pointer);
    }
}

/* Whether the program can read there itself. */
static bool is_of_host(uint64_t address) {
    unsigned long long begin, end;
    char line[256], readable;
    bool is_mapped = false, begins_line = true;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && !is_mapped && fgets(line, sizeof line, maps)) {
        const bool is_range = begins_line && sscanf(line, "%llx-%llx %c", &begin, &end, &readable) == 3;
        begins_line = strchr(line, '\n') != NULL;
        is_mapped = is_range && readable == 'r' && begin <= address && address < end;
    }
    if (maps) fclose(maps);
    return is_mapped;
}

/* A pointer that no cudaMalloc gave is often one to the program's own memory. */
static void tell_host_memory(char message[RECORD_NAME], uint64_t address) {
    static const char nothing[] = ", where nothing is allocated";
    char *at = strstr(message, nothing), rest[RECORD_NAME];
    if (!at || !is_of_host(address)) return;
    snprintf(rest, sizeof rest, "%s", at + strlen(nothing));
    snprintf(at, (size_t)(message + RECORD_NAME - at),
             ", which is memory of the host: give the kernel memory from cudaMalloc, and copy there by cudaMemcpy%s", rest);
}

/* Whether the message says by which pointer: memory of the host may lie near that of another, too. */
static bool has_pointer(const char *message) {
    const char *of_host = strstr(message, "memory of the host");
    return of_host && strchr(of_host, '`');
}

/* A kernel that reads on where a copy or a fill has ended; or where another kernel has, whose grid does not cover all elements. */
static void tell_written(struct record_finding *entry, const simt_finding *finding) {
    const struct buffer *buffer = buffer_find(finding->address);
    char *const message = entry->message;
    if (finding->kind != SIMT_FINDING_UNINITIALISED || !buffer || buffer->kind != BUFFER_DEVICE) return;
    if (buffer->copies && finding->address - buffer->address >= buffer->copies->put_end) entry->put = buffer->copies->put_end;
    if (entry->put) {
        entry->allocated = buffer->nbytes;
        entry->has_other = true;
        fill_place(&entry->other, buffer->copies->put_place, 0, (const uint32_t[3]){0}, (const uint32_t[3]){RECORD_ALL_THREADS});
        return;
    }
    const size_t written = simt_machine_written(runtime.machine, buffer->address, buffer->nbytes), length = strlen(message);
    if (!written || buffer->address + written != finding->address) return;
    snprintf(message + length, RECORD_NAME - length,
             "; the first %zu bytes of this allocation of %llu were written: the grid of a kernel that stores to it must cover all elements",
             written, (unsigned long long)buffer->nbytes);
}

void finding_note(const simt_finding *finding, const simt_launch *launch, uint64_t number) {
    struct record *record = runtime.record;
    for (uint32_t i = 0; i < record->finding_count; i++)
        if (is_same(&record->findings[i], finding)) {
            record->findings[i].count += finding->count;
            return;
        }
    if (record->finding_count == RECORD_FINDINGS) {
        record->findings_lost++;
        return;
    }
    struct record_finding *entry = &record->findings[record->finding_count];
    entry->kind = (uint32_t)finding->kind;
    entry->address = finding->address;
    entry->count = finding->count;
    entry->launch = number;
    record_text(entry->kernel, finding->kernel);
    record_text(entry->message, finding->message);
    tell_host_memory(entry->message, finding->address);
    fill_place(&entry->place, finding->file, finding->line, finding->block, finding->thread);
    entry->has_other = finding->has_other;
    tell_written(entry, finding);
    if (finding->has_other)
        fill_place(&entry->other, finding->other_file, finding->other_line, finding->other_block,
                   finding->other_thread);
    entry->argument = 0;
    if (launch) memcpy(entry->block_extent, launch->block, sizeof entry->block_extent);
    if (launch && !has_pointer(entry->message)) name_argument(entry, launch);
    record->finding_count++; /* last, so that a concurrent reader finds it complete */
}
