#include "html.h"

#include <stdio.h>
#include <string.h>

static const struct html_file *find_file(const char *path) {
    for (size_t i = 0; i < html_file_count; i++)
        if (!strcmp(html_files[i].path, path)) return &html_files[i];
    return NULL;
}

const char *html_file_text(const char *path) {
    const struct html_file *file = find_file(path);
    return file ? file->text : NULL;
}

/* Is it "kit.js" or "kit_more.js", for the kind "kit" and the suffix ".js"? */
static bool is_part(const struct html_file *file, const char *kind, const char *suffix) {
    size_t length = strlen(kind), suffix_length = strlen(suffix);
    if (strncmp(file->path, kind, length) || !memchr("._", file->path[length], 2)) return false;
    size_t path_length = strlen(file->path);
    return path_length > suffix_length && !strcmp(file->path + path_length - suffix_length, suffix);
}

static void put_parts(FILE *stream, const char *kind, const char *suffix) {
    for (size_t i = 0; i < html_file_count; i++)
        if (is_part(&html_files[i], kind, suffix)) fputs(html_files[i].text, stream);
}

static void put_all_parts(FILE *stream, const char *kind, const char *suffix) {
    put_parts(stream, "kit", suffix);
    put_parts(stream, kind, suffix);
}

static void put_escaped(FILE *stream, const char *text) {
    for (; *text; text++) {
        if (*text == '<')
            fputs("&lt;", stream);
        else if (*text == '&')
            fputs("&amp;", stream);
        else
            fputc(*text, stream);
    }
}

/* In JSON a `<` can only stand in a string, where nothing may be taken for the end of the script. */
static void put_data(FILE *stream, const char *json) {
    for (; *json; json++) {
        if (*json == '<')
            fputs("\\u003c", stream);
        else
            fputc(*json, stream);
    }
}

static void put_named(FILE *stream, const struct html_page *page, const char *name, size_t length) {
    if (length == strlen("title") && !strncmp(name, "title", length))
        put_escaped(stream, page->title);
    else if (length == strlen("style") && !strncmp(name, "style", length))
        put_all_parts(stream, page->kind, ".css");
    else if (length == strlen("data") && !strncmp(name, "data", length))
        put_data(stream, page->json);
    else
        put_all_parts(stream, page->kind, ".js");
}

/* The shell, in which each @name@ is replaced. */
static void put_shell(FILE *stream, const struct html_page *page) {
    const char *text = find_file("page.html")->text;
    for (;;) {
        size_t length = strcspn(text, "@");
        fwrite(text, 1, length, stream);
        text += length;
        if (!*text) return;
        length = strcspn(text + 1, "@");
        put_named(stream, page, text + 1, length);
        text += length + 2;
    }
}

bool html_make(const struct html_page *html, struct page *page) {
    page_open(page);
    if (page->stream) put_shell(page->stream, html);
    return page_end(page);
}
