#include "saved.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/tables.h"
#include "output.h"

/* At most capacity bytes; -1 with errno set. */
static ssize_t read_up_to(int file, unsigned char *data, size_t capacity) {
    size_t nbytes = 0;
    while (nbytes < capacity) {
        ssize_t count = read(file, data + nbytes, capacity - nbytes);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return -1;
        if (count == 0) break;
        nbytes += (size_t)count;
    }
    return (ssize_t)nbytes;
}

/* Whether it is worth reading on: what is no accumulator may have no end. */
static bool may_be_long(const unsigned char *bytes, size_t nbytes) {
    static const char magic[] = "warpfold";
    return nbytes > sizeof magic && !memcmp(bytes, magic, sizeof magic - 1);
}

/* All of the file, in memory of the caller's; false with errno set. */
static bool read_all(int file, struct saved *saved) {
    size_t capacity = WF_SAVED_NBYTES_MAX + 1;
    *saved = (struct saved){malloc(capacity), 0};
    while (saved->bytes) {
        ssize_t count = read_up_to(file, (unsigned char *)saved->bytes + saved->nbytes, capacity - saved->nbytes);
        if (count < 0) return false;
        saved->nbytes += (size_t)count;
        if (saved->nbytes < capacity || !may_be_long(saved->bytes, saved->nbytes)) return true;
        capacity *= 2;
        void *longer = realloc(saved->bytes, capacity);
        if (!longer) saved_clear(saved);
        saved->bytes = longer;
    }
    errno = ENOMEM;
    return false;
}

int saved_read_bytes(const char *path, struct saved *saved) {
    bool is_standard_input = !strcmp(path, "-");
    const char *name = file_name(path);
    int file = is_standard_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return fail("%s: %s", name, error_text(errno));
    int status = read_all(file, saved) ? STATUS_OK : fail("%s: %s", name, error_text(errno));
    if (!is_standard_input) close(file);
    return status;
}

int saved_load(wf_handle *handle, const char *path, const struct saved *saved, wf_accumulator **accumulator) {
    if (wf_tally_is_saved(saved->bytes, saved->nbytes))
        return fail("%s: a saved table, which merges with tables only, but the first operand is not a table", file_name(path));
    wf_error error = wf_accumulator_load(handle, saved->bytes, saved->nbytes, accumulator);
    return error ? fail("%s: %s", file_name(path), wf_handle_message(handle)) : STATUS_OK;
}

int saved_read(wf_handle *handle, const char *path, wf_accumulator **accumulator) {
    struct saved saved = {NULL, 0};
    int status = saved_read_bytes(path, &saved);
    if (!status) status = saved_load(handle, path, &saved, accumulator);
    saved_clear(&saved);
    return status;
}

int saved_make(wf_handle *handle, const wf_accumulator *accumulator, struct saved *saved) {
    *saved = (struct saved){NULL, 0};
    wf_accumulator_save(handle, accumulator, NULL, 0, &saved->nbytes); /* tells only the length */
    saved->bytes = malloc(saved->nbytes + 1);
    if (!saved->bytes) return fail_memory();
    wf_error error = wf_accumulator_save(handle, accumulator, saved->bytes, saved->nbytes, &saved->nbytes);
    return error ? fail_library(handle, error) : STATUS_OK;
}

void saved_clear(struct saved *saved) {
    free(saved->bytes);
    saved->bytes = NULL;
}

uint64_t hash_bytes(const void *bytes, size_t nbytes) {
    const unsigned char *byte = bytes;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < nbytes; i++) hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
    return hash;
}
