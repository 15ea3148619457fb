/* Compressed files: gzip and zstd, and the deflated members of .zip archives.  zlib and zstd are opened at run time, where
 * they are installed. */
#ifndef WF_IO_DECODE_H
#define WF_IO_DECODE_H

#include "io/source.h"

enum wf_codec { WF_CODEC_NONE, WF_CODEC_GZIP, WF_CODEC_ZSTD, WF_CODEC_DEFLATE };

/* By the ending of a file's name: .gz or .zst. */
enum wf_codec wf_codec_of_name(const char *path);

/* By the first bytes. */
enum wf_codec wf_codec_of_bytes(const unsigned char *bytes, size_t nbytes);

/* What a deflated member must come to. */
struct wf_member_sums {
    uint64_t nbytes, compressed_nbytes;
    uint32_t crc;
};

/* Has the source, of which nothing was taken, give the decoded bytes from now on: of as many as nobody knows yet.  sums: of
 * WF_CODEC_DEFLATE alone.  Damaged or truncated data are WF_ERROR_FORMAT when the source is read. */
wf_error wf_source_decode(wf_handle *handle, struct wf_source *source, enum wf_codec codec, const struct wf_member_sums *sums);

#endif
