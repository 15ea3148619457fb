/* The parser's state, and what its files give each other.
 *
 * An error leaves the parser by simt_parse_fail, which does not return: all memory is in two arenas, so
 * nothing else has to be put back. */
#ifndef SIMT_PARSE_H
#define SIMT_PARSE_H

#include <setjmp.h>

#include "lex.h"

/* Limits that keep a hostile text from asking for more than it is worth. */
enum {
    TEXT_NBYTES_MAX = 1 << 26,
    INSTRUCTIONS_MAX = 1 << 20,
    REGISTERS_MAX = 1 << 20, /* of one declaration */
    VARIABLE_NBYTES_MAX = 1 << 30,
    PARAMETERS_NBYTES_MAX = 1 << 16, /* of one function */
    INITIAL_NBYTES_MAX = 1 << 28,    /* of all initial values of a module */
    NESTING_MAX = 64,                /* of whatever is parsed by recursion */
    SCOPES_MAX = 64,
    DIMENSIONS_MAX = 16
};

enum symbol_kind {
    SYMBOL_REGISTER,
    SYMBOL_REGISTERS, /* "%r<10>": those of them that the text names become registers of their own */
    SYMBOL_VECTOR,    /* a register of .v2 or .v4: `elements` */
    SYMBOL_VARIABLE,
    SYMBOL_FUNCTION,
    SYMBOL_LABEL, /* pc, or table, or prototype */
    SYMBOL_FILE,
    SYMBOL_POSITION
};

/* A position in the source that .loc names. */
struct position {
    const struct name *file;       /* its number: .file may come later */
    const struct name *outer_file; /* NULL: not inlined */
    uint32_t line, outer_line;     /* outer: in the kernel itself */
    const struct name *caller_file;
    uint32_t caller_line;
    const struct position *caller; /* where it was inlined, if that was inlined itself; else NULL */
};

/* The meaning of a name in a scope. */
struct symbol {
    enum symbol_kind kind;
    uint32_t depth;
    struct symbol **slot;  /* of the name */
    struct symbol *outer;  /* that it hides */
    struct symbol *next;   /* of the same scope */
    uint32_t index, count; /* register; registers: their count; label: its pc */
    enum type type;
    struct variable *variable;
    struct function *function;
    const struct operand *elements;
    const struct table *table;
    bool is_prototype;
    const char *text;                /* of a file */
    const struct position *position; /* that was inlined here, most lately */
};

/* A word of the text, once each.  Numbers name files and positions: they cannot be mistaken for names. */
struct name {
    const char *text; /* NUL-terminated */
    size_t length;
    uint64_t hash;
    struct name *next; /* with the same hash */
    struct symbol *symbol;
    struct symbol *registers; /* "%r" of "%r<10>" */
    const struct opcode *opcode;
};

/* An opcode cut at its dots. */
struct opcode {
    const char *base;
    const char *modifiers[MODIFIERS_MAX];
    uint32_t modifier_count;
    bool is_approximate;
};

/* A label that is named where it may not be known yet: looked for when the scope ends. */
struct pending {
    struct pending *next;
    struct token token;
    struct name *name;
    struct operand *operand; /* to be completed; or NULL, and */
    struct table *table;     /* whose target of this index it is */
    uint32_t index;
};

struct scope {
    struct symbol *symbols;
    struct pending *pending;
};

struct alias {
    struct alias *next;
    struct function *function;
    struct name *target;
    struct token token;
};

struct parser {
    struct simt_module *module;
    struct arena *arena;   /* the module's */
    struct arena *scratch; /* gone with the parser */
    struct lexer lexer;
    struct token token; /* the one to be looked at */
    simt_message *message;
    simt_error error;
    jmp_buf failure;

    struct name **names; /* a hash table */
    size_t name_count, name_slots;
    struct scope scopes[SCOPES_MAX];
    uint32_t depth; /* of the innermost scope; 0: the module */
    uint32_t nesting;

    struct function *function; /* in whose body we are, or NULL */
    uint32_t instruction_capacity;
    const struct position *position;   /* in force */
    const struct position **positions; /* of each instruction */
    uint32_t label_pc;                 /* the first instruction behind the latest label, */
    bool is_unplaced;                  /* which the compiler gave no line */
    uint64_t initial_nbytes;
    struct alias *aliases;
};

/* ---- parser.c: errors, memory, tokens */

/* "NAME:LINE:COLUMN: ..." */
_Noreturn void simt_parse_fail(struct parser *parser, const struct token *token, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;
/* "expected `what`, found ..." */
_Noreturn void simt_parse_expected(struct parser *parser, const char *what);

/* A token as messages quote it. */
struct quote {
    char text[64];
};
struct quote simt_parse_quote(const struct token *token);

/* "NAME: not enough memory to parse it" */
void simt_say_no_memory(simt_message *message, const char *name);

/* Zeroed; these fail when there is no memory. */
void *simt_parse_allocate(struct parser *parser, struct arena *arena, size_t nbytes);
/* Makes room for one more element after the first `count`; the array doubles whenever count is a power of two. */
void *simt_parse_grow(struct parser *parser, void *array, uint32_t count, size_t element_nbytes);

void simt_parse_advance(struct parser *parser);
bool simt_parse_at(const struct parser *parser, const char *text); /* a word or operator */
bool simt_parse_take(struct parser *parser, const char *text);     /* and passes over it, if it is there */
void simt_parse_want(struct parser *parser, const char *text);
bool simt_parse_at_word(const struct parser *parser);
bool simt_parse_at_directive(const struct parser *parser);
uint64_t simt_parse_number(struct parser *parser, const char *what, uint64_t maximum);
void simt_parse_skip_to(struct parser *parser, const char *text); /* and over it */
void simt_parse_skip_braces(struct parser *parser);
void simt_parse_enter(struct parser *parser); /* something that may hold itself */
void simt_parse_leave(struct parser *parser);

/* ---- names.c */

struct name *simt_parse_name(struct parser *parser, const char *text, size_t length);
struct name *simt_parse_word(struct parser *parser, const char *what); /* the token, which is passed over */
void simt_parse_open_scope(struct parser *parser);
void simt_parse_close_scope(struct parser *parser);
/* A new symbol in the innermost scope, or an outer one; `token` is where it is declared. */
struct symbol *simt_parse_bind(struct parser *parser, struct symbol **slot, enum symbol_kind kind,
                               uint32_t depth, const struct token *token);
/* Looks up a name in the current scopes; NULL: it is not declared. */
struct symbol *simt_parse_find(struct parser *parser, struct name *name);
/* To be completed when the scope ends; the token, the name, and where the label goes are given. */
void simt_parse_pend(struct parser *parser, const struct pending *label);
uint32_t simt_parse_add_register(struct parser *parser, const char *name, enum type type);

/* ---- constants.c */

bool simt_parse_at_constant(const struct parser *parser); /* does one begin here? */
struct constant simt_parse_constant(struct parser *parser);
struct constant simt_parse_unary(struct parser *parser); /* without operators between values */
/* The offset of "name+8-4": 0 where there is none. */
uint64_t simt_parse_offset(struct parser *parser);

/* ---- variables.c */

/* The part of a declaration before its names: ".global .align 8 .v2 .f32". */
struct declaration {
    enum type type;
    uint32_t vector;    /* elements */
    uint32_t alignment; /* 0: the type's own */
    bool is_opaque;     /* a texture, sampler or surface */
    bool is_managed;
};
struct declaration simt_parse_declaration(struct parser *parser);
/* The name and dimensions; bound in the innermost scope unless its name is "_". */
struct variable *simt_parse_declarator(struct parser *parser, const struct declaration *declaration,
                                       enum simt_space space, bool is_extern);
bool simt_parse_space(const struct parser *parser, enum simt_space *space); /* is it ".shared", say? */
/* A whole declaration, from its space to its semicolon. */
void simt_parse_variables(struct parser *parser, bool is_extern);
void simt_parse_initializer(struct parser *parser, struct variable *variable,
                            const struct declaration *declaration, const uint64_t *dimensions,
                            uint32_t dimension_count);

/* ---- functions.c, instructions.c */

void simt_parse_function(struct parser *parser, bool is_kernel);
/* Fails unless both take and give the same. */
void simt_parse_same_head(struct parser *parser, const struct token *token, const struct function *function,
                          const struct function *other);
/* legacy.c: what the opcode is to later GPUs, if the module is for one of sm_1x */
void simt_legacy_opcode(uint32_t target, struct opcode *opcode);
void simt_parse_instruction(struct parser *parser, struct name *opcode, const struct token *token,
                            int32_t guard, bool guard_is_negated);
int32_t simt_parse_guard(struct parser *parser); /* the predicate register's index */

/* ---- flow.c */

/* Fills `reconvergence` of every branch of the function; false: no memory. */
bool simt_flow(struct simt_module *module, const struct function *function);

/* ---- arrays.c */

/* Fills `array` of every address of the function in brackets; false: no memory. */
bool simt_arrays(struct simt_module *module, const struct function *function);

/* ---- shared.c */

/* Fills `shared` of every kernel; false: no memory. */
bool simt_shared(struct simt_module *module);

#endif
