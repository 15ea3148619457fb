/* NVRTC does not tell which files it read.  So the text is searched for whatever may include a file, under whichever
 * condition, and the key has each file of that name that lies where NVRTC looks, except in a toolkit. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* asprintf, dladdr, scandir */
#endif
#include "kept.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_MAX = 256, KEPT_MAX = 256 };

static const char beginning[] = "source_"; /* of the entries' names, next to the library's own */

struct reading {
    struct wf_cache_key *key;
    const struct compilation *compilation;
    char *files[FILES_MAX]; /* that the key has */
    size_t file_count;
    bool is_known; /* all that the source depends on */
};

/* ---- files that say which version something is ---------------------------------------------------- */

static void add_stamp(struct reading *reading, const char *path) {
    struct stat status;
    char stamp[80] = "none";
    if (!stat(path, &status))
        snprintf(stamp, sizeof stamp, "%lld %lld.%09ld", (long long)status.st_size, (long long)status.st_mtim.tv_sec,
                 (long)status.st_mtim.tv_nsec);
    wf_cache_key_add(reading->key, path);
    wf_cache_key_add(reading->key, stamp);
}

static void add_compiler(struct reading *reading, const struct wf_nvrtc *nvrtc) {
    int major = 0, minor = 0;
    char version[32];
    Dl_info about;
    reading->is_known &= !nvrtc->Version(&major, &minor) && dladdr(*(void *const *)&nvrtc->CreateProgram, &about);
    snprintf(version, sizeof version, "%d.%d", major, minor);
    wf_cache_key_add(reading->key, version);
    if (reading->is_known) add_stamp(reading, about.dli_fname);
}

/* The folder, or a file below it. */
static void add_stamp_below(struct reading *reading, const char *folder, const char *below) {
    char *path;
    if (asprintf(&path, "%s/%s", folder, below) < 0) {
        reading->is_known = false;
        return;
    }
    add_stamp(reading, path);
    free(path);
}

static void add_toolkits(struct reading *reading) {
    static const char *const telling[] = {"", "cuda.h", "cuda_runtime.h", "cooperative_groups.h", "cub/version.cuh",
                                          "cuda/std/__cccl/version.h"};
    for (size_t i = 0; i < reading->compilation->toolkit_count; i++)
        for (size_t k = 0; k < sizeof telling / sizeof *telling; k++)
            add_stamp_below(reading, reading->compilation->toolkits[i] + strlen("-I"), telling[k]);
}

/* ---- the folders in which NVRTC looks first --------------------------------------------------------- */

static bool is_toolkit(const struct reading *reading, const char *option) {
    for (size_t i = 0; i < reading->compilation->toolkit_count; i++)
        if (!strcmp(option, reading->compilation->toolkits[i])) return true;
    return false;
}

/* The option's folder; NULL: it names none, or a toolkit's. */
static const char *folder_of(const struct reading *reading, const char *option) {
    return strncmp(option, "-I", 2) || is_toolkit(reading, option) ? NULL : option + 2;
}

/* Whether a toolkit's own file may mean this one where it includes its neighbours. */
static bool hides_toolkit(const struct reading *reading, const char *name) {
    for (size_t i = 0; i < reading->compilation->toolkit_count; i++) {
        char *path;
        bool is_there = asprintf(&path, "%s/%s", reading->compilation->toolkits[i] + strlen("-I"), name) < 0;
        if (!is_there) {
            is_there = !access(path, F_OK);
            free(path);
        }
        if (is_there) return true;
    }
    return false;
}

/* Likewise where it includes a header of C or C++. */
static bool is_like_standard_header(const char *name) {
    const char *dot = strchr(name, '.');
    return !dot || !strcmp(dot, ".h");
}

static void add_folder(struct reading *reading, const char *folder) {
    struct dirent **entries;
    int count = scandir(folder[0] ? folder : ".", &entries, NULL, alphasort);
    if (count < 0) {
        reading->is_known = false;
        return;
    }
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        bool is_own = strcmp(name, ".") && strcmp(name, "..");
        if (is_own && hides_toolkit(reading, name)) reading->is_known = false;
        if (is_own && entries[i]->d_type != DT_DIR && is_like_standard_header(name))
            add_stamp_below(reading, folder, name);
        free(entries[i]);
    }
    free(entries);
}

/* Options that lead to other files are not followed. */
static bool leads_to_files(const char *option) {
    static const char *const words[] = {"include", "pch", "file", "-I ", "optf"};
    if (option[0] != '-' || !strcmp(option, "-I")) return true;
    for (size_t i = 0; strncmp(option, "-D", 2) && i < sizeof words / sizeof *words; i++)
        if (strncmp(option, "-I", 2) && strstr(option, words[i])) return true;
    return false;
}

static void add_options(struct reading *reading) {
    char *here = getcwd(NULL, 0); /* relative names, and what is written into the PTX */
    reading->is_known &= here != NULL;
    if (here) wf_cache_key_add(reading->key, here);
    free(here);
    for (size_t i = 0; i < reading->compilation->option_count; i++) {
        const char *option = reading->compilation->options[i], *folder = folder_of(reading, option);
        wf_cache_key_add(reading->key, option);
        reading->is_known &= !leads_to_files(option);
        if (folder) add_folder(reading, folder);
    }
    wf_cache_key_add(reading->key, "");
}

/* ---- texts ----------------------------------------------------------------------------------------- */

static void add_text(struct reading *reading, const char *text, const char *folder, size_t folder_length);

static bool is_new(struct reading *reading, const char *path) {
    for (size_t i = 0; i < reading->file_count; i++)
        if (!strcmp(reading->files[i], path)) return false;
    return true;
}

/* path: the reading's from here on. */
static void add_file(struct reading *reading, char *path) {
    struct stat status;
    size_t nbytes = 0;
    bool is_there = !stat(path, &status);
    if (!is_there || !is_new(reading, path)) {
        free(path);
        return;
    }
    char *text = S_ISREG(status.st_mode) && reading->file_count < FILES_MAX ? simt_read_file(path, &nbytes) : NULL;
    if (text && strlen(text) == nbytes) {
        reading->files[reading->file_count++] = path;
        wf_cache_key_add(reading->key, path);
        add_text(reading, text, path, simt_folder_length(path));
    } else {
        reading->is_known = false;
        free(path);
    }
    free(text);
}

static void add_candidate(struct reading *reading, const char *folder, size_t length, const char *name,
                          size_t name_length) {
    char *path;
    const char *slash = length && folder[length - 1] != '/' ? "/" : "";
    if (asprintf(&path, "%.*s%s%.*s", (int)length, folder, slash, (int)name_length, name) < 0)
        reading->is_known = false;
    else
        add_file(reading, path);
}

/* Wherever a file of this name lies, not only where NVRTC finds it first. */
static void add_included(struct reading *reading, const char *name, size_t name_length, const char *folder,
                         size_t folder_length) {
    add_candidate(reading, "", 0, name, name_length);
    if (name[0] == '/') return;
    add_candidate(reading, folder, folder_length, name, name_length);
    for (size_t i = 0; i < reading->compilation->option_count; i++) {
        const char *place = folder_of(reading, reading->compilation->options[i]);
        if (place) add_candidate(reading, place, strlen(place), name, name_length);
    }
}

static bool begins_with(const char *text, const char *word) {
    return !strncmp(text, word, strlen(word));
}

/* What is behind a #, which need not begin a directive. */
static void add_directive(struct reading *reading, const char *at, const char *folder, size_t folder_length) {
    at += strspn(at, " \t");
    if (*at == '/' || *at == '\\' || begins_with(at, "embed")) reading->is_known = false;
    if (!begins_with(at, "include") && !begins_with(at, "import")) return;
    at += strspn(at, "abcdefghijklmnopqrstuvwxyz_");
    at += strspn(at, " \t");
    const size_t length = *at == '"' || *at == '<' ? strcspn(at + 1, *at == '"' ? "\"\n" : ">\n") : 0;
    if (length)
        add_included(reading, at + 1, length, folder, folder_length);
    else
        reading->is_known = false; /* a macro */
}

static void add_text(struct reading *reading, const char *text, const char *folder, size_t folder_length) {
    static const char *const words[] = {"__has_include", "__has_embed", "__DATE__", "__TIME__", "__TIMESTAMP__"};
    wf_cache_key_add(reading->key, text);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) reading->is_known &= !strstr(text, words[i]);
    for (const char *at = text; reading->is_known && (at = strpbrk(at, "#%")); at++)
        if (*at == '#' || at[1] == ':') add_directive(reading, at + 1 + (*at == '%'), folder, folder_length);
}

static void add_source(struct reading *reading) {
    const struct source *source = reading->compilation->source;
    const simt_source *given = source->given;
    const size_t folder_length = simt_folder_length(given->path);
    wf_cache_key_add(reading->key, given->path);
    wf_cache_key_add(reading->key, source->name);
    wf_cache_key_add(reading->key, given->instance ? given->instance : "");
    wf_cache_key_add(reading->key, reading->compilation->cub ? reading->compilation->cub : "");
    for (const simt_header *header = given->headers; header && header->name; header++) {
        wf_cache_key_add(reading->key, header->name);
        add_text(reading, header->text, given->path, folder_length);
    }
    wf_cache_key_add(reading->key, "");
    add_text(reading, source->text, given->path, folder_length);
}

/* ---- keys and entries -------------------------------------------------------------------------------- */

bool simt_kept_key(struct wf_cache_key *key, const struct wf_nvrtc *nvrtc, const struct compilation *compilation) {
    struct reading reading = {.key = key, .compilation = compilation, .is_known = true};
    const char *path = compilation->source->given->path;
    char name[64];
    snprintf(name, sizeof name, "%s%s", beginning, path + simt_folder_length(path));
    wf_cache_key_begin(key, name);
    add_compiler(&reading, nvrtc);
    add_toolkits(&reading);
    if (reading.is_known) add_options(&reading);
    if (reading.is_known) add_source(&reading);
    for (size_t i = 0; i < reading.file_count; i++) free(reading.files[i]);
    return reading.is_known;
}

/* The name of the instance, a NUL, the PTX.  The version of NVRTC is in the key. */
enum { VERSION = 1 };

bool simt_kept_read(const struct wf_cache_key *key, char **ptx, char **mangled) {
    struct wf_compiled image;
    if (!wf_cache_read(key, VERSION, &image)) return false;
    const size_t name_length = strlen(image.bytes);
    *ptx = name_length < image.nbytes ? strdup(image.bytes + name_length + 1) : NULL;
    *mangled = *ptx && name_length ? strdup(image.bytes) : NULL;
    if (*ptx && name_length && !*mangled) {
        free(*ptx);
        *ptx = NULL;
    }
    free(image.bytes);
    return *ptx != NULL;
}

void simt_kept_write(const struct wf_cache_key *key, const char *ptx, const char *mangled) {
    const char *name = mangled ? mangled : "";
    struct wf_compiled image = {NULL, strlen(name) + 1 + strlen(ptx)};
    if (!(image.bytes = malloc(image.nbytes + 1))) return;
    strcpy(stpcpy(image.bytes, name) + 1, ptx);
    wf_cache_write(key, VERSION, &image);
    free(image.bytes);
    wf_cache_trim(beginning, KEPT_MAX);
}
