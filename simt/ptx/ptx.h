/* What this folder gives the others: a module of PTX as it is read, names resolved and opcodes cut at their dots, but
 * nothing yet known of what an instruction does.  Everything lives in the module's arena. */
#ifndef SIMT_SYNTAX_H
#define SIMT_SYNTAX_H

#include <string.h>

#include "simt_observer.h"

/* The fundamental types of PTX; one line each: name, bytes, class. */
#define SIMT_TYPES(X)                                                                                              \
    X(B8, "b8", 1) X(B16, "b16", 2) X(B32, "b32", 4) X(B64, "b64", 8) X(B128, "b128", 16)                          \
    X(U8, "u8", 1) X(U16, "u16", 2) X(U32, "u32", 4) X(U64, "u64", 8)                                              \
    X(S8, "s8", 1) X(S16, "s16", 2) X(S32, "s32", 4) X(S64, "s64", 8)                                              \
    X(F16, "f16", 2) X(F16X2, "f16x2", 4) X(BF16, "bf16", 2) X(BF16X2, "bf16x2", 4)                                \
    X(F32, "f32", 4) X(F64, "f64", 8) X(PRED, "pred", 4)

enum type {
    TYPE_NONE,
#define TYPE_NAME(name, text, nbytes) TYPE_##name,
    SIMT_TYPES(TYPE_NAME)
#undef TYPE_NAME
};

/* TYPE_NONE if `text` (without its dot) names no type. */
enum type simt_type_find(const char *text);
uint32_t simt_type_nbytes(enum type type); /* of TYPE_NONE 0 */

/* A variable of the module or of a function: .global .const .shared .local .param. */
struct variable {
    const char *name;
    enum simt_space space;
    enum type type;
    uint32_t alignment;
    uint64_t nbytes;          /* 0: an extern array without a size (dynamic shared memory) */
    bool is_extern;
    bool is_managed;          /* .attribute(.managed): the host may use it at its address */
    bool is_parameter;        /* of the function itself, not one that it passes on; offset then as below */
    bool is_result;           /* of these, what the function gives back */
    uint64_t offset;          /* .param: within the function's parameters (inputs and results each from 0,
                                 in order, aligned); else 0 */
    unsigned char *bytes;     /* the initial value, nbytes long, or NULL: zeros */
    struct relocation *relocations; /* addresses within the initial value */
    uint32_t relocation_count;
};

struct relocation {
    uint64_t offset; /* of 8 bytes (4 for 32-bit elements) in the variable's value */
    uint32_t nbytes;
    const struct variable *variable; /* whose address goes there; NULL: a function */
    const struct function *function;
    int64_t addend;
    bool is_generic; /* generic(name) */
};

enum operand_kind {
    OPERAND_REGISTER,  /* index into the function's registers */
    OPERAND_SPECIAL,   /* %tid.x: `special` */
    OPERAND_IMMEDIATE, /* bits: integers as 64-bit two's complement; 0f.. as the f32's bits in the low half; 0d.. bits */
    OPERAND_ADDRESS,   /* [base + offset], or a variable's name alone (is_bracketed false): base register or variable */
    OPERAND_LABEL,     /* pc of a label in this function */
    OPERAND_FUNCTION,
    OPERAND_TABLE,     /* .branchtargets or .calltargets: `table` */
    OPERAND_PROTOTYPE, /* .callprototype: `function`, without a name */
    OPERAND_VECTOR,    /* {a, b}: elements; also call's lists (a, b) */
    OPERAND_PAIR,      /* a|b: two elements */
    OPERAND_SINK       /* _ */
};

enum immediate_kind { IMMEDIATE_INTEGER, IMMEDIATE_F32, IMMEDIATE_F64 };

struct operand {
    enum operand_kind kind;
    bool is_negated;    /* !%p */
    bool is_bracketed;
    const char *part;   /* "b0" of %r1.b0: OPERAND_REGISTER in a video instruction, else OPERAND_SPECIAL */
    enum immediate_kind immediate;
    uint32_t index;     /* register, or pc of a label */
    uint64_t bits;      /* immediate; an address's offset, as 64-bit two's complement */
    bool has_base_register; /* address: index is its base */
    const struct variable *variable; /* address: its base, or NULL (a plain number) */
    const struct variable *array;    /* in brackets: the array of shared memory that it was derived from, or NULL */
    const struct function *function;
    const char *special; /* "tid.x", without % */
    const struct table *table;
    const struct operand *elements;
    uint32_t element_count;
};

struct table {
    const char *name;
    uint32_t count;
    uint32_t *targets;                  /* pcs */
    const struct function **functions;  /* of .calltargets, else NULL */
};

enum { MODIFIERS_MAX = 12, OPERANDS_MAX = 11 };

struct instruction {
    const char *opcode;   /* whole: "setp.lt.and.s32" */
    const char *base;     /* "setp" */
    const char *modifiers[MODIFIERS_MAX]; /* "lt", "and", "s32"; "shared::cta" whole */
    uint32_t modifier_count;
    bool is_known;        /* one that the simulator may execute, and its operands are sound */
    int32_t guard;        /* a predicate register, -1: none */
    bool guard_is_negated;
    struct operand operands[OPERANDS_MAX];
    uint32_t operand_count;
    uint32_t reconvergence; /* of bra and brx: pc of the immediate post-dominator, or NO_PC: the function's
                               end */
};

enum { NO_PC = UINT32_MAX };

/* Modules have tens of thousands of instructions, and lists of words are searched for each: most differ in the first letter. */
static inline bool simt_is_word(const char *text, const char *word) { return *text == *word && !strcmp(text, word); }

/* `words` ends with NULL. */
static inline bool simt_is_one_of(const char *text, const char *const *words) {
    while (*words && !simt_is_word(text, *words)) words++;
    return *words;
}

static inline bool simt_is_base(const struct instruction *instruction, const char *base) {
    return simt_is_word(instruction->base, base);
}

struct reg { /* "register" is C's */
    const char *name;
    enum type type;
};

struct function {
    const char *name;
    uint32_t index; /* among the module's functions */
    bool is_kernel;
    bool has_body;
    uint32_t begin, end; /* its instructions in the module: [begin, end) */
    uint32_t cluster[3]; /* of a kernel: .reqnctapercluster; zeros: it does not say */
    uint32_t block_most[3];     /* .maxntid, of which the product counts, */
    uint32_t block_required[3]; /* and .reqntid */
    struct reg *registers;
    uint32_t register_count;
    struct variable **parameters; /* in order */
    uint32_t parameter_count;
    uint64_t parameter_nbytes;
    struct variable **results;
    uint32_t result_count;
    uint64_t result_nbytes;
    struct variable **variables; /* every other one declared in its body: .local, .shared, .param of calls */
    uint32_t variable_count;
    const struct variable **shared; /* of a kernel: the static variables of shared memory that its blocks have, in order */
    uint32_t shared_count;
};

struct simt_module {
    struct arena *arena;
    const char *name;
    uint32_t target; /* 75 of sm_75 */
    struct instruction *instructions;
    simt_place *places; /* one for each instruction */
    uint32_t instruction_count;
    struct function **functions; /* declarations without a body too, each name once */
    uint32_t function_count;
    struct variable **variables; /* of module scope */
    uint32_t variable_count;
    const struct function **kernels; /* those of functions with is_kernel and a body */
    uint32_t kernel_count;
};

/* Memory that is freed all at once.  Returns zeroed memory, NULL when there is none left. */
struct arena *simt_arena_create(void);
void *simt_arena_allocate(struct arena *arena, size_t nbytes);
void simt_arena_destroy(struct arena *arena);

/* module.c: reads the text.  What the instructions do and whether their operands are sound is not looked at. */
simt_error simt_ptx_parse(const char *ptx, size_t nbytes, const char *name, simt_module **module,
                          simt_message *message);

/* Fills `reconvergence` of every branch, `array` of every address, and `shared` of every kernel of a module whose
 * instructions have been verified. */
simt_error simt_ptx_analyse(simt_module *module, simt_message *message);

/* modifiers.c: the words between the dots of an opcode */
bool simt_has(const struct instruction *instruction, const char *modifier);
enum type simt_last_type(const struct instruction *instruction); /* the last modifier that is a type's name */
bool simt_named_space(const struct instruction *instruction, enum simt_space *space); /* false: a generic address */

/* uses.c: the only parameter of the kernel from which the address of a load, a store or an atomic was calculated; false: there is
 * none, or several, or no memory. */
bool simt_ptx_parameter_of(const simt_module *module, const struct function *function, uint32_t pc, uint32_t *parameter);

/* files.c: names in the PTX's .file lines: those that begin with `from` begin with `to` instead.  false: no memory. */
struct renaming {
    const char *from, *to;
    bool is_whole; /* the name is all of `from` */
};
bool simt_rename_files(char **ptx, const struct renaming *renamings, size_t count);

#endif
