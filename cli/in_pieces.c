#include "in_pieces.h"

#include "ranks.h"
#include "resume.h"

int reduce_in_pieces(wf_handle *handle, const struct request *request) {
    return request->settings->resume ? resume_reduce(handle, request) : ranks_reduce(handle, request);
}
