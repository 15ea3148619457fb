/* compiler <REQUEST >ENTRY: NVRTC in a process of its own, for nvrtc_cache.c.  TESTS_NVRTC names the file of NVRTC, as
 * there. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/getenv.h"
#include "program.h"

const char *wf_getenv(const char *name) {
    return getenv(strcmp(name, "WARPFOLD_NVRTC") ? name : "TESTS_NVRTC");
}

int main(void) {
    struct request request;
    struct wf_nvrtc nvrtc;
    struct wf_compiled image;
    if (!request_read(stdin, &request) || chdir(request.folder) || !wf_nvrtc_open(&nvrtc)) return 1;
    int returned = program_compile(&nvrtc, &request.program, request.option_count, (const char *const *)request.options);
    program_pack(&request.program, returned, &image);
    bool is_written = image.bytes && fwrite(image.bytes, 1, image.nbytes, stdout) == image.nbytes && !fflush(stdout);
    _exit(!is_written); /* what NVRTC would free at its end is not worth the time */
}
