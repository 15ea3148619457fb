/* Where lanes that a branch parts meet again: the immediate post-dominator of its basic block.
 *
 * That is a dominator of the graph turned round, found with the algorithm of Lengauer and Tarjan (the simple
 * one, O(edges * log nodes) on any graph).  The nodes are basic blocks, the tables of indirect branches (each
 * once, however many branches share it), and the function's end, which ret, exit and trap lead to.  A block
 * from which no path leads to the end is taken as if one did. */
#include "parser.h"

#include <stdlib.h>
#include <string.h>

enum { NOTHING = UINT32_MAX };

struct graph {
    struct arena *arena;
    struct instruction *instructions; /* of the function */
    uint32_t instruction_count;
    uint32_t pc; /* of the first */
    uint32_t block_count, table_count, node_count;
    uint32_t end;       /* the last node */
    uint32_t *node_of;  /* of each instruction; after the last, `end` */
    uint32_t *block_pc; /* of each block */
    const struct table **tables;
    uint32_t *first, *successors;      /* of node n: successors[first[n]] up to successors[first[n + 1]] */
    uint32_t *first_in, *predecessors; /* likewise */
};

static uint32_t *allocate(struct graph *graph, size_t count) {
    return simt_arena_allocate(graph->arena, count * sizeof(uint32_t));
}

/* ---- blocks */

static const struct table *table_of(const struct instruction *instruction) {
    if (!simt_is_base(instruction, "brx")) return NULL;
    for (uint32_t i = 0; i < instruction->operand_count; i++)
        if (instruction->operands[i].kind == OPERAND_TABLE) return instruction->operands[i].table;
    return NULL;
}

static bool is_branch(const struct instruction *instruction) {
    return simt_is_base(instruction, "bra") && instruction->operand_count &&
           instruction->operands[0].kind == OPERAND_LABEL;
}

static bool is_end(const struct instruction *instruction) {
    return simt_is_base(instruction, "ret") || simt_is_base(instruction, "exit") || simt_is_base(instruction, "trap");
}

static int compare_tables(const void *left, const void *right) {
    uintptr_t a = (uintptr_t) * (const struct table *const *)left,
              b = (uintptr_t) * (const struct table *const *)right;
    return (a > b) - (a < b);
}

/* Each table once, in order of their addresses. */
static bool collect_tables(struct graph *graph) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < graph->instruction_count; i++)
        count += table_of(&graph->instructions[i]) != NULL;
    graph->tables = simt_arena_allocate(graph->arena, count * sizeof *graph->tables);
    if (!graph->tables) return false;
    count = 0;
    for (uint32_t i = 0; i < graph->instruction_count; i++)
        if (table_of(&graph->instructions[i])) graph->tables[count++] = table_of(&graph->instructions[i]);
    if (count) qsort(graph->tables, count, sizeof *graph->tables, compare_tables);
    for (uint32_t i = 0; i < count; i++)
        if (i == 0 || graph->tables[i] != graph->tables[i - 1])
            graph->tables[graph->table_count++] = graph->tables[i];
    return true;
}

static uint32_t table_node(const struct graph *graph, const struct table *table) {
    const struct table **found =
        bsearch(&table, graph->tables, graph->table_count, sizeof *graph->tables, compare_tables);
    return graph->block_count + (uint32_t)(found - graph->tables);
}

/* Marks the instructions with which blocks begin. */
static void mark_leaders(const struct graph *graph, uint32_t *is_leader) {
    is_leader[0] = true;
    for (uint32_t i = 0; i < graph->instruction_count; i++) {
        const struct instruction *instruction = &graph->instructions[i];
        if (is_branch(instruction)) is_leader[instruction->operands[0].index - graph->pc] = true;
        if (is_branch(instruction) || table_of(instruction) || is_end(instruction)) is_leader[i + 1] = true;
    }
    for (uint32_t t = 0; t < graph->table_count; t++)
        for (uint32_t i = 0; graph->tables[t]->targets && i < graph->tables[t]->count; i++)
            is_leader[graph->tables[t]->targets[i] - graph->pc] = true;
}

static bool make_nodes(struct graph *graph) {
    uint32_t count = graph->instruction_count;
    if (!collect_tables(graph)) return false;
    graph->node_of = allocate(graph, (size_t)count + 1);
    graph->block_pc = allocate(graph, count);
    if (!graph->node_of || !graph->block_pc) return false;
    mark_leaders(graph, graph->node_of);
    for (uint32_t i = 0; i < count; i++) {
        if (graph->node_of[i]) graph->block_pc[graph->block_count++] = graph->pc + i;
        graph->node_of[i] = graph->block_count - 1;
    }
    graph->end = graph->block_count + graph->table_count;
    graph->node_count = graph->end + 1;
    graph->node_of[count] = graph->end;
    return true;
}

/* ---- edges */

static uint32_t node_at(const struct graph *graph, uint32_t pc) {
    return graph->node_of[pc - graph->pc];
}

/* Up to two successors of the block that ends with an instruction. */
static uint32_t block_successors(const struct graph *graph, uint32_t last, uint32_t nodes[2]) {
    const struct instruction *instruction = &graph->instructions[last];
    uint32_t count = 0;
    if (is_branch(instruction)) nodes[count++] = node_at(graph, instruction->operands[0].index);
    if (table_of(instruction)) nodes[count++] = table_node(graph, table_of(instruction));
    if (is_end(instruction)) nodes[count++] = graph->end;
    if (count == 0 || instruction->guard >= 0) nodes[count++] = graph->node_of[last + 1];
    return count;
}

static void add_edges(struct graph *graph) {
    uint32_t count = 0;
    for (uint32_t block = 0; block < graph->block_count; block++) {
        uint32_t next = block + 1 < graph->block_count ? graph->block_pc[block + 1] - graph->pc
                                                       : graph->instruction_count;
        graph->first[block] = count;
        count += block_successors(graph, next - 1, graph->successors + count);
    }
    for (uint32_t t = 0; t < graph->table_count; t++) {
        const struct table *table = graph->tables[t];
        graph->first[graph->block_count + t] = count;
        for (uint32_t i = 0; table->targets && i < table->count; i++)
            graph->successors[count++] = node_at(graph, table->targets[i]);
    }
    graph->first[graph->end] = graph->first[graph->node_count] = count;
}

static void turn_edges(struct graph *graph) {
    uint32_t *first = graph->first_in;
    for (uint32_t i = 0; i < graph->first[graph->node_count]; i++) first[graph->successors[i] + 1]++;
    for (uint32_t node = 0; node < graph->node_count; node++) first[node + 1] += first[node];
    /* Each list is filled from its end, so that its beginning is left in first_in. */
    for (uint32_t node = 0; node < graph->node_count; node++)
        for (uint32_t i = graph->first[node]; i < graph->first[node + 1]; i++)
            graph->predecessors[--first[graph->successors[i] + 1]] = node;
    memmove(first, first + 1, graph->node_count * sizeof *first);
    first[graph->node_count] = graph->first[graph->node_count];
}

static bool make_edges(struct graph *graph) {
    size_t capacity = 2 * (size_t)graph->block_count;
    for (uint32_t t = 0; t < graph->table_count; t++) capacity += graph->tables[t]->count;
    graph->first = allocate(graph, (size_t)graph->node_count + 1);
    graph->first_in = allocate(graph, (size_t)graph->node_count + 1);
    graph->successors = allocate(graph, capacity);
    graph->predecessors = allocate(graph, capacity);
    if (!graph->first || !graph->first_in || !graph->successors || !graph->predecessors) return false;
    add_edges(graph);
    turn_edges(graph);
    return true;
}

/* ---- dominators of the graph turned round.  Nodes go by their depth-first number; the end is 0. */

struct dominators {
    uint32_t count;                            /* of the nodes from which the end is reached */
    uint32_t *number, *node;                   /* of a node, and back */
    uint32_t *parent, *semi, *best, *ancestor; /* Lengauer and Tarjan's, by number; best is their label */
    uint32_t *bucket, *next;                   /* lists of nodes by semidominator */
    uint32_t *path;                            /* room to walk */
    uint32_t *dominator;
};

static bool allocate_dominators(struct graph *graph, struct dominators *found) {
    uint32_t **arrays[] = {&found->number,   &found->node,   &found->parent, &found->semi, &found->best,
                           &found->ancestor, &found->bucket, &found->next,   &found->path, &found->dominator};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        uint32_t *array = allocate(graph, graph->node_count);
        if (!array) return false;
        for (uint32_t n = 0; n < graph->node_count; n++) array[n] = NOTHING;
        *arrays[i] = array;
    }
    return true;
}

static bool number_nodes(struct graph *graph, struct dominators *found) {
    size_t capacity = (size_t)graph->first[graph->node_count] + 1;
    uint32_t *nodes = allocate(graph, capacity), *parents = allocate(graph, capacity);
    size_t depth = 0;
    if (!nodes || !parents) return false;
    nodes[depth] = graph->end;
    parents[depth++] = NOTHING;
    while (depth) {
        uint32_t node = nodes[--depth], number = found->count, parent = parents[depth];
        if (found->number[node] != NOTHING) continue;
        found->number[node] = number;
        found->node[number] = node;
        found->parent[number] = parent;
        found->semi[number] = found->best[number] = number;
        found->count++;
        for (uint32_t i = graph->first_in[node]; i < graph->first_in[node + 1]; i++, depth++) {
            nodes[depth] = graph->predecessors[i];
            parents[depth] = number;
        }
    }
    return true;
}

/* The node with the least semidominator on the way up to the root of its tree; the way is made shorter. */
static uint32_t evaluate(struct dominators *found, uint32_t number) {
    uint32_t *ancestor = found->ancestor, *best = found->best, length = 0;
    if (ancestor[number] == NOTHING) return number;
    for (uint32_t at = number; ancestor[ancestor[at]] != NOTHING; at = ancestor[at])
        found->path[length++] = at;
    while (length--) {
        uint32_t at = found->path[length], above = ancestor[at];
        if (found->semi[best[above]] < found->semi[best[at]]) best[at] = best[above];
        ancestor[at] = ancestor[above];
    }
    return best[number];
}

static void find_semidominator(const struct graph *graph, struct dominators *found, uint32_t number) {
    uint32_t node = found->node[number];
    for (uint32_t i = graph->first[node]; i < graph->first[node + 1]; i++) {
        uint32_t successor = found->number[graph->successors[i]];
        /* Where the end cannot be reached, it is taken as the next node. */
        uint32_t semi = successor == NOTHING ? 0 : found->semi[evaluate(found, successor)];
        if (semi < found->semi[number]) found->semi[number] = semi;
    }
}

static void find_dominators(const struct graph *graph, struct dominators *found) {
    for (uint32_t number = found->count - 1; number > 0; number--) {
        uint32_t parent = found->parent[number];
        find_semidominator(graph, found, number);
        uint32_t *bucket = &found->bucket[found->semi[number]];
        found->next[number] = *bucket;
        *bucket = number;
        found->ancestor[number] = parent;
        for (uint32_t v = found->bucket[parent]; v != NOTHING; v = found->next[v]) {
            uint32_t best = evaluate(found, v);
            found->dominator[v] = found->semi[best] < found->semi[v] ? best : parent;
        }
        found->bucket[parent] = NOTHING;
    }
    for (uint32_t number = 1; number < found->count; number++)
        if (found->dominator[number] != found->semi[number])
            found->dominator[number] = found->dominator[found->dominator[number]];
}

/* Lanes cannot meet at a table: nodes that it dominates meet where the table's own lanes do. */
static void pass_over_tables(const struct graph *graph, struct dominators *found) {
    for (uint32_t number = 1; number < found->count; number++) {
        uint32_t above = found->dominator[number];
        bool is_table = above && found->node[above] >= graph->block_count;
        if (is_table) found->dominator[number] = found->dominator[above];
    }
}

/* ---- the result */

static uint32_t reconvergence(const struct graph *graph, const struct dominators *found, uint32_t node) {
    uint32_t number = found->number[node];
    if (number == NOTHING || found->dominator[number] == 0) return NO_PC;
    return graph->block_pc[found->node[found->dominator[number]]];
}

static bool analyse(struct graph *graph) {
    struct dominators found = {0};
    if (!make_nodes(graph) || !make_edges(graph) || !allocate_dominators(graph, &found) ||
        !number_nodes(graph, &found))
        return false;
    find_dominators(graph, &found);
    pass_over_tables(graph, &found);
    for (uint32_t i = 0; i < graph->instruction_count; i++) {
        struct instruction *instruction = &graph->instructions[i];
        if (is_branch(instruction) || table_of(instruction))
            instruction->reconvergence = reconvergence(graph, &found, graph->node_of[i]);
    }
    return true;
}

bool simt_flow(struct simt_module *module, const struct function *function) {
    struct graph graph = {.instructions = module->instructions + function->begin,
                          .instruction_count = function->end - function->begin,
                          .pc = function->begin};
    if (graph.instruction_count == 0) return true;
    graph.arena = simt_arena_create();
    bool is_done = graph.arena && analyse(&graph);
    simt_arena_destroy(graph.arena);
    return is_done;
}
