#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "program.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is held -------------------------------------------------------------------------------- */

void program_free_list(char **list, int count) {
    for (int i = 0; list && i < count; i++) free(list[i]);
    free(list);
}

char **program_copy_list(const char *const *list, int count) {
    char **copy = calloc((size_t)count + 1, sizeof *copy);
    bool is_whole = copy;
    for (int i = 0; is_whole && i < count; i++) is_whole = (copy[i] = strdup(list[i]));
    if (is_whole) return copy;
    program_free_list(copy, count);
    return NULL;
}

void program_forget_results(wf_nvrtc_program program) {
    for (int i = 0; i < RESULT_COUNT; i++) {
        free(program->results[i].bytes);
        program->results[i] = (struct wf_compiled){0};
    }
}

void program_free(wf_nvrtc_program program) {
    program_forget_results(program);
    for (int i = 0; i < program->expression_count; i++) free(program->expressions[i]);
    program_free_list(program->header_texts, program->header_count);
    program_free_list(program->header_names, program->header_count);
    free(program->text);
    free(program->name);
    free(program);
}

/* ---- compiling ----------------------------------------------------------------------------------- */

static bool fetch(struct wf_compiled *result, wf_nvrtc_program program, int (*size)(wf_nvrtc_program, size_t *),
                  int (*get)(wf_nvrtc_program, char *)) {
    if (size(program, &result->nbytes) || !result->nbytes) return !(result->nbytes = 0);
    result->bytes = malloc(result->nbytes);
    return result->bytes && !get(program, result->bytes);
}

static bool fetch_results(const struct wf_nvrtc *nvrtc, wf_nvrtc_program program, wf_nvrtc_program compiled) {
    struct wf_compiled *results = program->results;
    bool is_fetched = fetch(&results[LOG], compiled, nvrtc->GetProgramLogSize, nvrtc->GetProgramLog) &&
                      fetch(&results[PTX], compiled, nvrtc->GetPTXSize, nvrtc->GetPTX) &&
                      fetch(&results[CUBIN], compiled, nvrtc->GetCUBINSize, nvrtc->GetCUBIN);
    for (int i = 0; is_fetched && i < program->expression_count; i++) {
        struct wf_compiled *result = &results[LOWERED + i];
        const char *name;
        if (nvrtc->GetLoweredName(compiled, program->expressions[i], &name)) continue;
        is_fetched = (result->bytes = strdup(name));
        if (is_fetched) result->nbytes = strlen(name) + 1;
    }
    return is_fetched;
}

static int compile(const struct wf_nvrtc *nvrtc, wf_nvrtc_program program, int option_count, const char *const *options) {
    wf_nvrtc_program compiled = NULL;
    int error = nvrtc->CreateProgram(&compiled, program->text, program->name, program->header_count,
                                     (const char *const *)program->header_texts,
                                     (const char *const *)program->header_names);
    if (error) return error;
    for (int i = 0; !error && i < program->expression_count; i++)
        error = nvrtc->AddNameExpression(compiled, program->expressions[i]);
    if (!error) error = nvrtc->CompileProgram(compiled, option_count, options);
    if (!fetch_results(nvrtc, program, compiled)) error = OUT_OF_MEMORY;
    nvrtc->DestroyProgram(&compiled);
    return error;
}

/* First without what NVRTC itself declares of textures, surfaces and the device's runtime, which few kernels use and which it reads
 * for each.  What compiles without is the same code with it; what does not is compiled as asked. */
int program_compile(const struct wf_nvrtc *nvrtc, wf_nvrtc_program program, int option_count, const char *const *options) {
    const char **all = malloc(((size_t)option_count + 1) * sizeof *all);
    int error = OUT_OF_MEMORY;
    if (all) {
        if (option_count) memcpy(all, options, (size_t)option_count * sizeof *all);
        all[option_count] = "-minimal";
        error = compile(nvrtc, program, option_count + 1, all);
        free(all);
    }
    if (error == FINE) return FINE;
    program_forget_results(program);
    return compile(nvrtc, program, option_count, options);
}

/* ---- entries ------------------------------------------------------------------------------------- */

struct entry {
    int64_t returned;
    uint64_t nbytes[RESULT_COUNT];
};

void program_pack(wf_nvrtc_program program, int returned, struct wf_compiled *image) {
    struct entry entry = {.returned = returned};
    image->nbytes = sizeof entry;
    for (int i = 0; i < RESULT_COUNT; i++) image->nbytes += entry.nbytes[i] = program->results[i].nbytes;
    image->bytes = malloc(image->nbytes);
    if (!image->bytes) return;
    memcpy(image->bytes, &entry, sizeof entry);
    for (size_t i = 0, at = sizeof entry; i < RESULT_COUNT; at += entry.nbytes[i++])
        if (entry.nbytes[i]) memcpy(image->bytes + at, program->results[i].bytes, entry.nbytes[i]);
}

bool program_unpack(const struct wf_compiled *image, wf_nvrtc_program program, int *returned) {
    struct entry entry;
    size_t at = sizeof entry;
    bool is_read = image->nbytes >= at;
    if (is_read) memcpy(&entry, image->bytes, at);
    for (int i = 0; is_read && i < RESULT_COUNT; i++) {
        size_t nbytes = entry.nbytes[i];
        struct wf_compiled *result = &program->results[i];
        is_read = nbytes <= image->nbytes - at && (!nbytes || (result->bytes = malloc(nbytes)));
        if (!is_read || !nbytes) continue;
        memcpy(result->bytes, image->bytes + at, result->nbytes = nbytes);
        at += nbytes;
    }
    if (is_read)
        *returned = (int)entry.returned;
    else
        program_forget_results(program);
    return is_read;
}

/* ---- requests ------------------------------------------------------------------------------------ */

static void write_text(FILE *file, const char *text) {
    fwrite(text, 1, strlen(text) + 1, file);
}

static bool read_text(FILE *file, char **text) {
    size_t capacity = 0;
    *text = NULL;
    return getdelim(text, &capacity, '\0', file) > 0;
}

static void write_list(FILE *file, char *const *list, int count) {
    for (int i = 0; i < count; i++) write_text(file, list[i]);
}

static bool read_list(FILE *file, char **list, int count) {
    bool is_read = list;
    for (int i = 0; is_read && i < count; i++) is_read = read_text(file, &list[i]);
    return is_read;
}

bool request_write(FILE *file, const struct request *request) {
    const struct _nvrtcProgram *program = &request->program;
    fprintf(file, "%d %d %d\n", program->header_count, program->expression_count, request->option_count);
    write_text(file, request->folder);
    write_text(file, program->name);
    write_text(file, program->text);
    write_list(file, program->header_names, program->header_count);
    write_list(file, program->header_texts, program->header_count);
    write_list(file, program->expressions, program->expression_count);
    write_list(file, request->options, request->option_count);
    return !fflush(file) && !ferror(file);
}

bool request_read(FILE *file, struct request *request) {
    struct _nvrtcProgram *program = &request->program;
    *request = (struct request){0};
    if (fscanf(file, "%d %d %d", &program->header_count, &program->expression_count, &request->option_count) != 3 ||
        getc(file) != '\n')
        return false;
    program->header_names = calloc((size_t)program->header_count + 1, sizeof(char *));
    program->header_texts = calloc((size_t)program->header_count + 1, sizeof(char *));
    request->options = calloc((size_t)request->option_count + 1, sizeof(char *));
    return read_text(file, &request->folder) && read_text(file, &program->name) && read_text(file, &program->text) &&
           read_list(file, program->header_names, program->header_count) &&
           read_list(file, program->header_texts, program->header_count) &&
           read_list(file, program->expressions, program->expression_count) &&
           read_list(file, request->options, request->option_count);
}
