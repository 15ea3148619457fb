/* The tokens of PTX. */
#ifndef SIMT_LEX_H
#define SIMT_LEX_H

#include "ptx.h"

enum token_kind {
    TOKEN_END,
    TOKEN_WORD,    /* a name, an opcode or a directive: "setp.lt.s32", ".reg", "%tid.x" */
    TOKEN_NUMBER,  /* `number` */
    TOKEN_STRING,  /* text without the quotes; escapes are in it as they stand */
    TOKEN_OPERATOR /* anything else: one character, or two such as "<<" */
};

/* A constant: an integer is signed unless it does not fit or says U. */
struct constant {
    enum immediate_kind kind;
    uint64_t bits;
    bool is_unsigned;
};

struct token {
    enum token_kind kind;
    const char *text; /* in the module's text: not NUL-terminated */
    size_t length;
    uint32_t line, column;
    struct constant number;
};

struct lexer {
    const char *at, *end, *line_begin;
    uint32_t line;
};

void simt_lex_begin(struct lexer *lexer, const char *text, size_t nbytes);

/* The next token.  NULL, or what is wrong with it; its position and text are set even so. */
const char *simt_lex(struct lexer *lexer, struct token *token);

/* What a string's text means, with the escapes that compilers write into the names of files: \", \\, \n and
 * its like, three octal digits.  `meant` has room for `length` bytes; returns how many it got. */
size_t simt_unquote(const char *text, size_t length, char *meant);

#endif
