/* ptx: what the parser makes of small modules, where it says that texts are wrong, and where lanes that
 * branches part meet again, on graphs drawn by hand and on random ones, beside post-dominators found from
 * their definition. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/ptx.h"

#define HEADER ".version 9.0\n.target sm_75\n.address_size 64\n" /* three lines */

static int failures;

static void require(int line, const char *what, bool holds) {
    if (holds) return;
    failures++;
    fprintf(stderr, "ptx: line %d: %s\n", line, what);
}
#define REQUIRE(condition) require(__LINE__, #condition, condition)

static simt_module *parse(const char *text) {
    static simt_message message;
    simt_module *module;
    if (simt_module_parse(text, strlen(text), "test", &module, &message)) {
        failures++;
        fprintf(stderr, "ptx: %s\n%s\n", message.text, text);
        exit(1);
    }
    return module;
}

static const struct variable *variable_named(const simt_module *module, const char *name) {
    for (uint32_t i = 0; i < module->variable_count; i++)
        if (!strcmp(module->variables[i]->name, name)) return module->variables[i];
    return NULL;
}

/* ---- modules and functions */

static void check_functions(void) {
    simt_module *module = parse(
        HEADER
        ".extern .func (.param .b32 result) vprintf (.param .b64 a, .param .b64 b);\n"
        ".func (.param .b64 out) later (.param .b8 flag, .param .align 8 .b8 s[12]) ;\n"
        ".weak .func (.param .b64 out) also (.param .b8 flag, .param .align 8 .b8 s[12]);\n"
        ".visible .entry first(.param .u64 .ptr .global .align 4 p, .param .b8 c, .param .f64 d)\n"
        ".maxntid 256, 1, 1 .minnctapersm 2\n{\n"
        "  .reg .b64 %rd<3>;\n  .reg .b32 %r<2>;\n  .shared .align 4 .b8 s[20];\n"
        "  { .param .b64 param0; .param .b32 retval0;\n"
        "    call.uni (retval0), vprintf, (param0, param0); }\n"
        "  { .param .b64 o; .param .b8 f; .param .align 8 .b8 t[12]; call (o), also, (f, t); }\n"
        "  { .param .b32 retval0;\n"
        "    prototype_0 : .callprototype (.param .b32 _) _ (.param .b64 _);\n"
        "    call (retval0), %rd2, (%rd1), prototype_0; }\n  ret;\n}\n"
        ".alias also, later;\n"
        ".func (.param .b64 out) later (.param .b8 flag, .param .align 8 .b8 s[12]) .noreturn { trap; }\n"
        ".entry second { }\n");
    REQUIRE(module->target == 75 && module->function_count == 5 && module->kernel_count == 2);
    REQUIRE(simt_module_kernel_count(module) == 2);
    REQUIRE(!strcmp(simt_module_kernel_name(module, 0), "first"));
    REQUIRE(!strcmp(simt_module_kernel_name(module, 1), "second"));
    REQUIRE(simt_module_parameter_count(module, 0) == 3 && simt_module_parameter_count(module, 1) == 0);
    REQUIRE(simt_module_parameter_nbytes(module, 0, 1) == 1 &&
            simt_module_parameter_nbytes(module, 0, 2) == 8);
    REQUIRE(simt_module_kernel_name(module, 2) == NULL && simt_module_parameter_nbytes(module, 0, 3) == 0);
    REQUIRE(simt_module_shared_nbytes(module, 0) == 20 && simt_module_shared_nbytes(module, 1) == 0);
    REQUIRE(simt_module_block_threads(module, 0) == 256 && simt_module_block_threads(module, 1) == 1024);

    const struct function *first = module->kernels[0], *vprintf_ = module->functions[0];
    const struct function *later = module->functions[1], *also = module->functions[2];
    REQUIRE(first->parameters[2]->offset == 16 && first->parameter_nbytes == 24);
    REQUIRE(first->parameters[2]->is_parameter && first->parameters[2]->type == TYPE_F64);
    REQUIRE(!vprintf_->has_body && vprintf_->parameter_count == 2 && vprintf_->result_nbytes == 4);
    REQUIRE(later->has_body && later->end - later->begin == 1 && later->parameters[1]->offset == 8);
    REQUIRE(later->parameters[1]->nbytes == 12 && later->parameter_nbytes == 20);
    REQUIRE(also->has_body && !strcmp(also->name, "also") && also->begin == later->begin);
    REQUIRE(first->variable_count == 7 && first->register_count == 2); /* those that are named */

    const struct instruction *call = &module->instructions[first->begin];
    REQUIRE(!strcmp(call->opcode, "call.uni") && !strcmp(call->base, "call") && call->modifier_count == 1);
    REQUIRE(call->operand_count == 3 && call->operands[0].kind == OPERAND_VECTOR);
    REQUIRE(call->operands[0].elements[0].variable == first->variables[2]);
    REQUIRE(call->operands[1].function == vprintf_ && call->operands[2].element_count == 2);
    REQUIRE(call[1].operands[1].function == also);
    REQUIRE(call[2].operands[1].kind == OPERAND_REGISTER && call[2].operands[3].function->result_nbytes == 4);
    REQUIRE(call[2].operands[0].elements[0].variable == first->variables[6]); /* another retval0 */
    simt_module_destroy(module);
}

static void check_variables(void) {
    static const unsigned char table[] = {1, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0};
    simt_module *module = parse(
        HEADER
        ".extern .shared .align 16 .b8 dynamic[];\n.shared .f64 two[2];\n"
        ".global .u16 table[2][3] = {{1, 2}, {3}};\n.const .b8 text[] = {104, 0x69, 0};\n"
        ".global .v2 .f32 pairs[2] = {{1.0, 0f40000000}, {-3}};\n.global .f64 d = -0.5;\n"
        ".func f { ret; }\n.global .u64 links[4] = {table+2, generic(table)+4, 7, f};\n"
        ".visible .global .align 1 .u8 packed[10] = {9, 0xFF(generic(d)), 0xFF00(generic(d)),\n"
        "  0xFF0000(generic(d)), 0xFF000000(generic(d)), 0xFF00000000(generic(d)),\n"
        "  0xFF0000000000(generic(d)), 0xFF000000000000(generic(d)), 0xFF00000000000000(generic(d)), 5};\n"
        ".extern .global .b32 again;\n.global .b32 again = (1 + 2) * 3 << (7 > 6 ? 2 : 1) | ~0 & 1;\n");
    const struct variable *dynamic = variable_named(module, "dynamic"), *two = variable_named(module, "two");
    REQUIRE(dynamic->is_extern && dynamic->nbytes == 0 && dynamic->alignment == 16);
    REQUIRE(two->space == SIMT_SHARED && two->nbytes == 16 && two->alignment == 8 && !two->bytes);
    const struct variable *numbers = variable_named(module, "table");
    REQUIRE(numbers->nbytes == sizeof table && !memcmp(numbers->bytes, table, sizeof table));
    const struct variable *text = variable_named(module, "text");
    REQUIRE(text->nbytes == 3 && text->space == SIMT_CONSTANT && !strcmp((char *)text->bytes, "hi"));
    const struct variable *pairs = variable_named(module, "pairs");
    REQUIRE(pairs->alignment == 8 && !memcmp(pairs->bytes, (const float[]){1, 2, -3, 0}, 16));
    const double half = -0.5;
    REQUIRE(!memcmp(variable_named(module, "d")->bytes, &half, sizeof half));
    const struct variable *again = variable_named(module, "again");
    REQUIRE(!again->is_extern && again->bytes[0] == (9 << 2 | 1));

    const struct variable *links = variable_named(module, "links"),
                          *packed = variable_named(module, "packed");
    REQUIRE(links->relocation_count == 3 && links->bytes[16] == 7);
    REQUIRE(links->relocations[0].variable == numbers && links->relocations[0].addend == 2);
    REQUIRE(!links->relocations[0].is_generic && links->relocations[1].is_generic);
    REQUIRE(links->relocations[1].offset == 8 && links->relocations[1].addend == 4);
    REQUIRE(links->relocations[2].function == module->functions[0] && !links->relocations[2].variable);
    REQUIRE(packed->relocation_count == 1 && packed->relocations[0].offset == 1);
    REQUIRE(packed->relocations[0].nbytes == 8 && packed->bytes[0] == 9 && packed->bytes[9] == 5);
    simt_module_destroy(module);
}

/* ---- instructions and operands */

static void check_operands(void) {
    simt_module *module =
        parse(HEADER ".global .b32 word;\n.entry k(.param .b32 n) {\n"
                     "  .reg .pred %p<2>, q;\n  .reg .b32 %r<3>, %r1<12>;\n  .reg .b64 %d;\n  .reg .v2 .f32 v;\n"
                     "  ld.param.u32 %r2, [n+0];\n"                             /* 0 */
                     "  @!%p1 st.shared::cta.b32 [%r2+-4], -1;\n"               /* 1 */
                     "  mov.b64 {%r0, _}, %d;\n"                               /* 2 */
                     "  setp.lt.and.s32 %p1|q, %r2, 0x10U, !%p0;\n"             /* 3 */
                     "  mov.f32 v.x, 0f3F800000; mov.f64 %d, -1.5;\n"          /* 4, 5 */
                     "  mov.u32 %r1, %tid.x; mov.u64 %d, word+4;\n"            /* 6, 7 */
                     "  tex.2d.v2.f32.f32 v, [%r1, {%r2, 1}];\n"                /* 8 */
                     "  { .reg.b32 %r<9>; mov.b32 %r8, %r111; bra In; In: }\n" /* 9, 10 */
                     "  ld.global.b32 %r1, [word-8]; ld.u8 %r1, [(1+2)*4];\n"   /* 11, 12 */
                     "  ex2.approx.ftz.f32 %r1, %r1;\n"                         /* 13 */
                     "  vadd.s32.s32.s32 %r1, %r2.b0, 017;\n"                   /* 14 */
                     "  bra.uni End;\n  mov.b32 %r1, 0b101; mov.b32 %r1, WARP_SZ; End: }\n");
    const struct instruction *at = module->instructions;
    const struct function *kernel = module->kernels[0];
    const struct reg *registers = kernel->registers;
    REQUIRE(at[0].operands[1].kind == OPERAND_ADDRESS && at[0].operands[1].is_bracketed);
    REQUIRE(at[0].operands[1].variable == kernel->parameters[0] && at[0].guard == -1);
    REQUIRE(!strcmp(registers[at[0].operands[0].index].name, "%r2"));
    REQUIRE(at[1].guard_is_negated && registers[at[1].guard].type == TYPE_PRED);
    REQUIRE(at[1].modifier_count == 2 && !strcmp(at[1].modifiers[0], "shared::cta"));
    REQUIRE(at[1].operands[0].has_base_register && at[1].operands[0].bits == (uint64_t)-4);
    REQUIRE(at[1].operands[1].bits == UINT64_MAX && at[1].operands[1].immediate == IMMEDIATE_INTEGER);
    REQUIRE(at[2].operands[0].kind == OPERAND_VECTOR && at[2].operands[0].elements[1].kind == OPERAND_SINK);
    REQUIRE(at[3].operand_count == 4 && at[3].operands[0].kind == OPERAND_PAIR);
    REQUIRE(at[3].operands[2].bits == 16 && at[3].operands[3].is_negated);
    REQUIRE(at[4].operands[1].immediate == IMMEDIATE_F32 && at[4].operands[1].bits == 0x3f800000);
    REQUIRE(at[5].operands[1].immediate == IMMEDIATE_F64 && at[5].operands[1].bits == 0xbff8000000000000);
    REQUIRE(at[6].operands[1].kind == OPERAND_SPECIAL && !strcmp(at[6].operands[1].special, "tid.x"));
    REQUIRE(at[7].operands[1].kind == OPERAND_ADDRESS && !at[7].operands[1].is_bracketed);
    REQUIRE(at[7].operands[1].variable == module->variables[0] && at[7].operands[1].bits == 4);
    REQUIRE(at[8].operands[0].elements[0].index == at[4].operands[0].index);
    REQUIRE(at[8].operands[1].kind == OPERAND_VECTOR && at[8].operands[1].element_count == 2);
    REQUIRE(!strcmp(registers[at[9].operands[0].index].name, "%r8"));
    REQUIRE(!strcmp(registers[at[9].operands[1].index].name, "%r111")); /* "%r1<12>" has it */
    REQUIRE(at[10].operands[0].kind == OPERAND_LABEL && at[10].operands[0].index == 11);
    REQUIRE(at[11].operands[1].bits == (uint64_t)-8 && at[12].operands[1].bits == 12);
    REQUIRE(!at[12].operands[1].variable && !at[12].operands[1].has_base_register);
    REQUIRE(module->places[13].approximate && !module->places[12].approximate);
    REQUIRE(at[14].operands[1].kind == OPERAND_REGISTER && !strcmp(at[14].operands[1].part, "b0"));
    REQUIRE(at[14].operands[2].bits == 15);
    REQUIRE(at[15].operands[0].index == 18 && at[16].operands[1].bits == 5 && !strcmp(at[17].operands[1].special, "WARP_SZ"));
    REQUIRE(module->instruction_count == 18 && module->places[17].ptx_line == 22);
    simt_module_destroy(module);
}

/* Inner registers, parameters and labels hide outer ones, and are gone behind their brace. */
static void check_scopes(void) {
    simt_module *module =
        parse(HEADER ".entry k {\n  .reg .b32 %r<4>, a;\n"
                     "  mov.b32 %r3, a;\n"                                             /* 0 */
                     "  { .reg .b32 %r<4>; .reg .f32 a; mov.b32 %r3, a; L: bra L; }\n" /* 1, 2 */
                     "  { L: bra L; { bra L; bra M; } }\n"                             /* 3, 4, 5 */
                     "  M: mov.b32 %r3, a;\n}\n");                                     /* 6 */
    const struct instruction *at = module->instructions;
    REQUIRE(at[0].operands[0].index != at[1].operands[0].index);
    REQUIRE(at[0].operands[1].index != at[1].operands[1].index);
    REQUIRE(module->kernels[0]->registers[at[1].operands[1].index].type == TYPE_F32);
    REQUIRE(at[6].operands[0].index == at[0].operands[0].index &&
            at[6].operands[1].index == at[0].operands[1].index);
    REQUIRE(at[2].operands[0].index == 2 && at[3].operands[0].index == 3);
    REQUIRE(at[4].operands[0].index == 3 && at[5].operands[0].index == 6);
    simt_module_destroy(module);
}

static void check_places(void) {
    simt_module *module = parse(HEADER ".entry k {\n  .reg .b32 %r<2>;\n  mov.b32 %r1, 1;\n" /* 0 */
                                       "  .loc 1 10 3\n  mov.b32 %r1, 2;\n"                  /* 1 */
                                       "  .loc 1 20 5, function_name $L__info_string0, inlined_at 1 10 3\n"
                                       "  mov.b32 %r1, 3;\n" /* 2 */
                                       "  .loc 2 30 7, function_name $L__info_string1+6, inlined_at 1 20 5\n"
                                       "  mov.b32 %r1, 4;\n  .loc 1 0 3\n  mov.b32 %r1, 5;\n}\n" /* 3, 4 */
                                       ".entry l { ret; }\n"                                     /* 5 */
                                       ".entry m {\n  .loc 1 40 1, function_name f, inlined_at 1 0 0\n"
                                       "  ret; }\n" /* 6 */
                                       ".file 1 \"a.cu\"\n.file 2 \"b.cuh\", 123, 456\n"
                                       ".section .debug_str { $L__info_string0: .b8 95,0 { } }\n");
    const simt_place *at = module->places;
    REQUIRE(!strcmp(at[0].file, "test") && at[0].line == 6 && !at[0].outer_file);
    REQUIRE(!strcmp(at[1].file, "a.cu") && at[1].line == 10 && !at[1].outer_file && at[1].ptx_line == 8);
    REQUIRE(at[2].line == 20 && !strcmp(at[2].outer_file, "a.cu") && at[2].outer_line == 10);
    REQUIRE(!strcmp(at[3].file, "b.cuh") && at[3].line == 30 && at[3].outer_line == 10);
    REQUIRE(at[4].line == 30 && at[5].line == 16 && !strcmp(at[5].file, "test"));
    REQUIRE(!strcmp(at[2].opcode, "mov.b32"));
    REQUIRE(at[6].line == 40 && !at[6].outer_file && !at[6].outer_line);
    simt_module_destroy(module);
}

/* ---- errors */

static void check_errors(void) {
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "test:1:1: expected '.version', with which PTX begins, found the end of the text"},
        {"int main", "test:1:1: expected '.version', with which PTX begins, found 'int'"},
        {HEADER "kernel", "test:4:1: expected a directive of a module, found 'kernel'"},
        {HEADER "/* a\n", "test:4:1: unterminated comment: '/*'"},
        {HEADER ".file 1 \"a", "test:4:9: a string that does not end on its line: '\"a'"},
        {".version 9.0 .address_size 32", "test:1:28: addresses of 64 bits are needed, found '32'"},
        {".version 9.0 .target sm_", "test:1:22: not a target: 'sm_'"},
        {HEADER ".entry k {\n  ret }", "test:5:7: expected ';' after an instruction, found '}'"},
        {HEADER ".entry k {\n  ret;\n",
         "test:6:1: expected an instruction, a label or '}', found the end of the text"},
        {HEADER ".entry k { bra L; }", "test:4:16: neither declared nor a label: 'L'"},
        {HEADER ".entry k { mov.b32 a, 1; bra L; }", "test:4:20: neither declared nor a label: 'a'"},
        {HEADER ".entry k { { L: } bra L; }", "test:4:23: neither declared nor a label: 'L'"},
        {HEADER ".entry k { .reg .b32 %r<4>; mov.b32 %r4, {%r5}; }", "test:4:43: not declared: '%r5'"},
        {HEADER ".entry k { .reg .b32 a; @a ret; }", "test:4:26: not a predicate register: 'a'"},
        {HEADER ".entry k { .reg .b32 a, a; }", "test:4:25: declared twice: 'a'"},
        {HEADER ".entry k { L: L: }", "test:4:15: declared twice: 'L'"},
        {HEADER ".entry k { ret; } .entry k { }", "test:4:26: defined twice: 'k'"},
        {HEADER ".entry k { T: .branchtargets T; }", "test:4:30: not a label: 'T'"},
        {HEADER ".entry k { .reg .b32 a<9999999>; }",
         "test:4:24: a number of registers of at most 1048576 is expected, found '9999999'"},
        {HEADER ".entry k { .reg .b32 a; mov.b32 a, 0f12; }",
         "test:4:36: 0f needs eight hexadecimal digits: '0f12'"},
        {HEADER ".entry k { .reg .b32 a; mov.b32 a, 1/0; }", "test:4:37: a division by zero"},
        {HEADER ".entry k { .reg .b32 a; mov.b32 a, 18446744073709551616; }",
         "test:4:36: not a number of 64 bits: '1844674407370955161'"},
        {HEADER ".entry k { .reg .b32 a; mov.b32 a, 12ab; }", "test:4:36: not a number: '12ab'"},
        {HEADER ".entry k { .reg .b32 a; ld.b32 a, [L]; }",
         "test:4:36: neither a register nor a variable: 'L'"},
        {HEADER ".global .b8 a[2] = {1, 2, 3};", "test:4:27: more values than elements: '3'"},
        {HEADER ".global .b8 a[] = 3;", "test:4:19: expected '{', found '3'"},
        {HEADER ".global .b32 a = b;", "test:4:18: neither a variable nor a function: 'b'"},
        {HEADER ".global .b32 a = 1.5;", "test:4:18: a float where an integer is expected: '1.5'"},
        {HEADER ".global .b8 a[1073741824][1073741824];", "test:4:13: more than 1073741824 bytes: 'a'"},
        {HEADER ".global .b8 a[268435457] = {1};", "test:4:28: more than 268435456 bytes of initial values"},
        {HEADER ".global .align 3 .b8 a;", "test:4:16: an alignment must be a power of two, found '3'"},
        {HEADER ".func f(.reg .b32 a) { }", "test:4:9: expected '.param', found '.reg'"},
        {HEADER ".alias a, b;", "test:4:8: not a function: 'a'"},
        {HEADER "\x01", "test:4:1: not a character of PTX: '\\x01'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        simt_module *module = NULL;
        simt_message message;
        simt_error error = simt_module_parse(cases[i].text, strlen(cases[i].text), "test", &module, &message);
        if (error == SIMT_ERROR_SYNTAX && !module && !strcmp(message.text, cases[i].message)) continue;
        failures++;
        fprintf(stderr, "ptx: %s\n  expected %s\n  found    %s\n", cases[i].text, cases[i].message,
                message.text);
        simt_module_destroy(module);
    }
}

/* What is nested is limited, so that no text can exhaust the stack. */
static void check_depth(void) {
    static const char *const nested[] = {"(", "!", "{", "-", "["};
    enum { DEPTH = 100000 };
    for (size_t i = 0; i < sizeof nested / sizeof nested[0]; i++) {
        char *text = malloc(DEPTH + 200);
        simt_module *module = NULL;
        if (!text) exit(1);
        size_t length = (size_t)sprintf(text, HEADER ".entry k { .reg .b32 a; mov.b32 a, ");
        memset(text + length, nested[i][0], DEPTH);
        REQUIRE(simt_module_parse(text, length + DEPTH, "test", &module, NULL) == SIMT_ERROR_SYNTAX &&
                !module);
        length = (size_t)sprintf(text, HEADER ".entry k ");
        memset(text + length, nested[i][0], DEPTH);
        REQUIRE(simt_module_parse(text, length + DEPTH, "test", &module, NULL) == SIMT_ERROR_SYNTAX &&
                !module);
        length = (size_t)sprintf(text, HEADER ".global .b32 a = ");
        memset(text + length, nested[i][0], DEPTH);
        REQUIRE(simt_module_parse(text, length + DEPTH, "test", &module, NULL) == SIMT_ERROR_SYNTAX &&
                !module);
        free(text);
    }
}

/* ---- where lanes meet again */

static simt_module *parse_kernel(const char *body) {
    static char text[1 << 16];
    snprintf(text, sizeof text, HEADER ".func f; .entry k {\n.reg .pred %%p;\n.reg .b32 %%r;\n%s}\n", body);
    return parse(text);
}

static void check_flow(void) {
    enum { END = -1, BRANCHES = 5 };
    static const struct {
        const char *body;
        int meets[BRANCHES]; /* of each branch in turn: the instruction at which its lanes meet */
    } cases[] = {
        /* if */
        {"@%p bra L; mov.b32 %r, 1; L: ret;", {2}},
        /* if, else */
        {"@%p bra L; mov.b32 %r, 1; bra M; L: mov.b32 %r, 2; M: ret;", {4, 4}},
        /* a loop, with break and continue */
        {"A: @%p bra Out; @%p bra A; mov.b32 %r, 1; @%p bra A; Out: ret;", {4, 4, 4}},
        /* loop in a loop */
        {"A: mov.b32 %r, 1; B: mov.b32 %r, 2; @%p bra B; @%p bra A; ret;", {3, 4}},
        /* some return within */
        {"@%p bra L; ret; L: mov.b32 %r, 1;", {END}},
        {"@%p bra L; @%p ret; mov.b32 %r, 2; L: mov.b32 %r, 1;", {END}},
        {"@%p bra L; @%p trap; L: @%p exit; mov.b32 %r, 1;", {END}},
        /* switch */
        {"T: .branchtargets A, B, C; brx.idx %r, T; A: bra D; B: mov.b32 %r, 1; C: mov.b32 %r, 2; D: ret;",
         {4, 4}},
        {"T: .branchtargets A, A; @%p brx.idx %r, T; mov.b32 %r, 1; A: ret;", {2}},
        {"T: .branchtargets A, B; brx.idx %r, T; A: ret; B: brx.idx %r, T;", {1, 1}},
        /* a loop with two entries */
        {"@%p bra B; A: mov.b32 %r, 1; B: @%p bra A; mov.b32 %r, 2; ret;", {2, 3}},
        {"@%p bra B; A: @%p bra C; B: @%p bra A; C: ret;", {3, 3, 3}},
        /* loops without an end */
        {"L: bra L;", {END}},
        {"@%p bra L; ret; L: bra L;", {END, END}},
        {"A: @%p bra B; bra A; B: bra A;", {END, END, END}},
        /* behind the last instruction */
        {"@%p bra L; mov.b32 %r, 1; L: ", {END}},
        /* calls come back */
        {"@%p bra L; { call.uni f; } L: ret;", {2}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        simt_module *module = parse_kernel(cases[i].body);
        int branch = 0;
        for (uint32_t pc = 0; pc < module->instruction_count; pc++) {
            const struct instruction *instruction = &module->instructions[pc];
            if (strcmp(instruction->base, "bra") && strcmp(instruction->base, "brx")) continue;
            int meets = instruction->reconvergence == NO_PC ? END : (int)instruction->reconvergence;
            if (branch < BRANCHES && meets == cases[i].meets[branch++]) continue;
            failures++;
            fprintf(stderr, "ptx: %s\n  instruction %u meets at %d\n", cases[i].body, pc, meets);
        }
        simt_module_destroy(module);
    }
}

/* ---- random graphs */

enum { INSTRUCTIONS_MAX = 40, TARGETS = 3 };

/* Of each instruction the successors as bits; bit `count` is the end. */
struct graph {
    uint32_t count;
    uint64_t successors[INSTRUCTIONS_MAX];
};

static uint64_t random_state = 1;

static uint32_t random_below(uint32_t limit) {
    random_state = random_state * 6364136223846793005 + 1442695040888963407;
    return (uint32_t)((random_state >> 33) % limit);
}

/* A label before each instruction, and one behind the last. */
static void draw_graph(struct graph *graph, char *text) {
    graph->count = 2 + random_below(INSTRUCTIONS_MAX - 2);
    uint32_t tables[2][TARGETS];
    for (int t = 0; t < 2; t++) {
        text += sprintf(text, "T%d: .branchtargets ", t);
        for (int i = 0; i < TARGETS; i++) {
            tables[t][i] = random_below(graph->count);
            text += sprintf(text, "%sL%u", i ? ", " : "", tables[t][i]);
        }
        text += sprintf(text, ";\n");
    }
    for (uint32_t i = 0; i < graph->count; i++) {
        uint32_t kind = random_below(8), target = random_below(graph->count + 1), t = kind & 1;
        bool is_guarded = random_below(2);
        uint64_t bits = 0;
        text += sprintf(text, "L%u: %s ", i, is_guarded ? "@%p" : "");
        if (kind < 4) {
            text += sprintf(text, "bra L%u;\n", target);
            bits = UINT64_C(1) << target;
        } else if (kind < 6) {
            text += sprintf(text, "brx.idx %%r, T%u;\n", t);
            for (int j = 0; j < TARGETS; j++) bits |= UINT64_C(1) << tables[t][j];
        } else if (kind == 6 && target % 3 == 0) {
            text += sprintf(text, "ret;\n");
            bits = UINT64_C(1) << graph->count;
        } else {
            text += sprintf(text, "mov.b32 %%r, 1;\n");
        }
        if (is_guarded || !bits) bits |= UINT64_C(1) << (i + 1);
        graph->successors[i] = bits;
    }
    sprintf(text, "L%u:\n", graph->count);
}

/* From where no path leads to the end, one does by decree. */
static void let_all_end(struct graph *graph) {
    uint64_t ends = UINT64_C(1) << graph->count, before;
    do {
        before = ends;
        for (uint32_t i = 0; i < graph->count; i++)
            if (graph->successors[i] & ends) ends |= UINT64_C(1) << i;
    } while (ends != before);
    for (uint32_t i = 0; i < graph->count; i++)
        if (!(ends >> i & 1)) graph->successors[i] |= UINT64_C(1) << graph->count;
}

/* after[i]: the instructions that every path from i to the end comes through. */
static void find_post_dominators(const struct graph *graph, uint64_t after[INSTRUCTIONS_MAX + 1]) {
    bool is_changed = true;
    for (uint32_t i = 0; i < graph->count; i++) after[i] = ~UINT64_C(0);
    after[graph->count] = UINT64_C(1) << graph->count;
    while (is_changed) {
        is_changed = false;
        for (uint32_t i = graph->count; i-- > 0;) {
            uint64_t common = ~UINT64_C(0);
            for (uint32_t s = 0; s <= graph->count; s++)
                if (graph->successors[i] >> s & 1) common &= after[s];
            common |= UINT64_C(1) << i;
            is_changed |= common != after[i];
            after[i] = common;
        }
    }
}

/* The first of those that come after i: the one that all others come after, too. */
static uint32_t first_after(const struct graph *graph, const uint64_t *after, uint32_t i) {
    uint64_t others = after[i] & ~(UINT64_C(1) << i);
    for (uint32_t first = 0; first < graph->count; first++)
        if (others >> first & 1 && after[first] == others) return first;
    return NO_PC;
}

static void check_random_graphs(void) {
    static char body[INSTRUCTIONS_MAX * 64];
    for (int round = 0; round < 3000; round++) {
        struct graph graph;
        uint64_t after[INSTRUCTIONS_MAX + 1];
        draw_graph(&graph, body);
        let_all_end(&graph);
        find_post_dominators(&graph, after);
        simt_module *module = parse_kernel(body);
        for (uint32_t pc = 0; pc < graph.count; pc++) {
            const struct instruction *instruction = &module->instructions[pc];
            if (instruction->base[0] != 'b') continue;
            uint32_t expected = first_after(&graph, after, pc);
            if (instruction->reconvergence == expected) continue;
            failures++;
            fprintf(stderr, "ptx: round %d: instruction %u meets at %d, not %d\n%s", round, pc,
                    (int)instruction->reconvergence, (int)expected, body);
        }
        simt_module_destroy(module);
    }
}

/* A graph on which walking up the tree of dominators step by step would take the square of its size: a long
 * chain, and many branches that lead to its beginning and to its end. */
static void check_large_graph(void) {
    enum { BLOCKS = 50000 };
    char *text = malloc(BLOCKS * 80 + 400), *at = text;
    if (!text) exit(1);
    at += sprintf(at, HEADER ".entry k {\n.reg .pred %%p;\n.reg .b32 %%r;\n");
    for (int i = 0; i < BLOCKS; i++) at += sprintf(at, "@%%p bra A;\nbra Z;\n");
    at += sprintf(at, "A: ");
    for (int i = 0; i < BLOCKS; i++) at += sprintf(at, "bra L%d;\nL%d: ", i, i);
    sprintf(at, "Z: ret;\n}\n");
    simt_module *module = parse(text);
    uint32_t end = module->instruction_count - 1;
    REQUIRE(end == 3 * BLOCKS);
    for (uint32_t pc = 0; pc < end; pc++) {
        uint32_t expected = pc < 2 * BLOCKS ? end : pc + 1;
        if (module->instructions[pc].reconvergence != expected) {
            REQUIRE(!"a branch of the large graph meets where it should");
            break;
        }
    }
    simt_module_destroy(module);
    free(text);
}

/* Kernels have the shared memory that they and the functions they call name, all of it if a register says which. */
static void check_shared(void) {
    simt_module *module = parse(HEADER
                                ".shared .align 4 .b8 a[100];\n.shared .align 16 .b8 b[200];\n.shared .b8 c[8];\n"
                                ".extern .shared .align 16 .b8 dynamic[];\n"
                                ".func inner() { .reg .b32 %r<2>; .shared .b8 own[3]; mov.u32 %r1, a; ret; }\n"
                                ".func outer() { call.uni inner, (); ret; }\n"
                                ".func other() { .shared .b8 alone[50]; ret; }\n"
                                ".entry calls() { call.uni outer, (); ret; }\n"
                                ".entry names() { .reg .b32 %r<2>; ld.shared.u8 %r1, [b+4]; mov.u32 %r1, dynamic; ret; }\n"
                                ".entry any() { .reg .b64 %rd<2>; .shared .b8 s[1];\n"
                                "  p : .callprototype _ (); call %rd1, (), p; ret; }\n"
                                ".entry none() { ret; }\n");
    REQUIRE(simt_module_shared_nbytes(module, 0) == 103 && module->kernels[0]->shared_count == 2);
    REQUIRE(simt_module_shared_nbytes(module, 1) == 200 && !strcmp(module->kernels[1]->shared[0]->name, "b"));
    REQUIRE(simt_module_shared_nbytes(module, 2) == 100 + 3 + 50 + 1 && simt_module_shared_nbytes(module, 3) == 0);
    simt_module_destroy(module);
}

int main(void) {
    check_functions();
    check_shared();
    check_variables();
    check_operands();
    check_scopes();
    check_places();
    check_errors();
    check_depth();
    check_flow();
    check_random_graphs();
    check_large_graph();
    printf("ptx: %d failures\n", failures);
    return failures > 0;
}
