/* Members of .npz files, which are .zip archives of .npy files: stored ones are read in place, deflated ones decoded. */
#ifndef WF_IO_ZIP_H
#define WF_IO_ZIP_H

#include "io/source.h"

/* Whether the file at path may be an archive by its name, and is one by its first bytes. */
bool wf_zip_may_be_archive(const char *path);
bool wf_zip_is_archive(const unsigned char *bytes, size_t nbytes);

/* Has the source, which is the archive, give the bytes of the member that path names; of its only one, if path names none.
 * The archive must be a regular file. */
wf_error wf_zip_open_member(wf_handle *handle, struct wf_source *source, const char *path);

#endif
