/* The symbols of this folder.  libwarpfold and libsimt can each be used without the other, and so each contains it; in
 * libsimt the functions bear that library's prefix, so that a program may link both, even of different versions. */
#ifndef COMMON_NAMES_H
#define COMMON_NAMES_H

#ifdef COMMON_IN_SIMT
#define wf_getenv simt_getenv
#define wf_printable simt_printable
#define wf_printable_copy simt_printable_copy
#define wf_printable_here simt_printable_here
#define wf_character_nbytes simt_character_nbytes
#define wf_nvrtc_open simt_nvrtc_open
#define wf_nvrtc_log simt_nvrtc_log
#define wf_cuda_roots simt_cuda_roots
#define wf_cache_key_begin simt_cache_key_begin
#define wf_cache_key_add simt_cache_key_add
#define wf_cache_read simt_cache_read
#define wf_cache_write simt_cache_write
#define wf_cache_trim simt_cache_trim
#define wf_cache_claim simt_cache_claim
#define wf_cache_release simt_cache_release
#endif

#endif
