#include "npy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "output.h"

bool is_npy_name(const char *path) {
    static const char ending[] = ".npy";
    size_t length = strlen(path);
    return length > strlen(ending) && !strcmp(path + length - strlen(ending), ending);
}

/* ---- reading ------------------------------------------------------------------------------------- */

/* Copies at most `count` elements; *found is how many there are, or one more than `count`. */
static int copy_elements(wf_handle *handle, wf_reader *reader, uint64_t count, simt_machine *machine,
                         uint64_t address, uint64_t *found) {
    enum { LIMIT = 1 << 16 };
    const size_t nbytes = wf_type_nbytes(wf_reader_type(reader));
    for (*found = 0; *found <= count;) {
        wf_array block;
        uint64_t rest = count - *found;
        wf_error error = wf_reader_next(handle, reader,
                                        rest == 0      ? 1
                                        : rest < LIMIT ? (int64_t)rest
                                                       : LIMIT,
                                        &block);
        if (error) return fail_library(handle, error);
        if (block.count == 0) break;
        if (rest > 0 && simt_machine_write(machine, address + *found * nbytes, block.data, nbytes * (size_t)block.count))
            return fail_memory();
        *found += (uint64_t)block.count;
    }
    return STATUS_OK;
}

static int read_file(wf_handle *handle, const char *path, wf_type type, uint64_t count, simt_machine *machine,
                     uint64_t address) {
    const wf_reader_options options = {.nbytes = sizeof options, .format = WF_FORMAT_NPY};
    wf_reader *reader = NULL;
    wf_error error = wf_reader_open(handle, &path, 1, &options, &reader);
    if (error) return fail_library(handle, error);
    uint64_t found = count;
    int status = STATUS_OK;
    if (wf_reader_type(reader) != type)
        status = fail("%s has elements of %s, but its --arg asks for %s", path, wf_type_name(wf_reader_type(reader)),
                      wf_type_name(type));
    else
        status = copy_elements(handle, reader, count, machine, address, &found);
    if (!status && found > count)
        status = fail("%s has more elements than the %" PRIu64 " that its --arg asks for", path, count);
    else if (!status && found < count)
        status = fail("%s has %" PRIu64 " elements, but its --arg asks for %" PRIu64, path, found, count);
    wf_reader_close(reader);
    return status;
}

int npy_read(const char *path, wf_type type, uint64_t count, simt_machine *machine, uint64_t address) {
    wf_handle *handle = NULL;
    wf_error error = wf_handle_create("cpu", &handle);
    if (error) return fail("%s", wf_error_text(error));
    int status = read_file(handle, path, type, count, machine, address);
    wf_handle_destroy(handle);
    return status;
}

/* ---- writing ------------------------------------------------------------------------------------- */

/* The letter of a type's kind in a header's description; its size in bytes follows. */
static char kind_of(wf_type type) {
    if (type == WF_BOOL) return 'b';
    if (type >= WF_I8 && type <= WF_I64) return 'i';
    return type == WF_F16 || type == WF_F32 || type == WF_F64 ? 'f' : 'u';
}

enum { HEADER_BEFORE = 10 };

/* Magic, version 1.0, length, a Python dictionary, padded to a multiple of 64 bytes. */
size_t npy_header(char header[NPY_HEADER_NBYTES_MAX], wf_type type, int ndim, const int64_t *shape) {
    size_t nbytes = wf_type_nbytes(type);
    char text[NPY_HEADER_NBYTES_MAX];
    int length = snprintf(text, sizeof text, "{'descr': '%c%c%zu', 'fortran_order': False, 'shape': (",
                          nbytes == 1 ? '|' : '<', kind_of(type), nbytes);
    for (int d = 0; d < ndim; d++)
        length += snprintf(text + length, sizeof text - (size_t)length, "%" PRId64 "%s", shape[d],
                           ndim == 1 ? "," : d + 1 < ndim ? ", " : "");
    length += snprintf(text + length, sizeof text - (size_t)length, "), }");
    size_t whole = (HEADER_BEFORE + (size_t)length + 1 + 63) / 64 * 64;
    memset(header, ' ', whole);
    memcpy(header, "\x93NUMPY\x01", 8); /* the version's second byte is the 0 that ends the text */
    header[8] = (char)((whole - HEADER_BEFORE) & 0xff);
    header[9] = (char)((whole - HEADER_BEFORE) >> 8);
    memcpy(header + HEADER_BEFORE, text, (size_t)length);
    header[whole - 1] = '\n';
    return whole;
}
