#include "saved.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

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

int saved_read(wf_handle *handle, const char *path, wf_accumulator **accumulator) {
    bool is_standard_input = !strcmp(path, "-");
    const char *name = file_name(path);
    int file = is_standard_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return fail("%s: %s", name, error_text(errno));
    unsigned char saved[WF_SAVED_NBYTES_MAX + 1]; /* one more: a longer file is refused as damaged */
    ssize_t nbytes = read_up_to(file, saved, sizeof saved);
    int read_error = errno;
    if (!is_standard_input) close(file);
    if (nbytes < 0) return fail("%s: %s", name, error_text(read_error));
    if (wf_accumulator_load(handle, saved, (size_t)nbytes, accumulator))
        return fail("%s: %s", name, wf_handle_message(handle));
    return STATUS_OK;
}
