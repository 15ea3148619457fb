/* The simulator's interface: memory, and launches whose blocks run on host threads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "effects.h"
#include "locks.h"

/* Instructions after which a block that has not ended lets others begin: it may wait for them. */
enum { BLOCK_BUDGET = 1 << 20, STILL_BUDGET = 1 << 8, BLOCKS_BEGUN_MAX = 4096, THREADS_MAX = 256 };

static simt_error fail(simt_message *message, simt_error error, const char *text) {
    if (message) snprintf(message->text, sizeof message->text, "%s", text);
    return error;
}

static const char no_kernel[] = "the module has no such kernel";

/* ---- machine and memory */

static bool is_power_of_two_to_32(uint32_t value) { return value && value <= 32 && !(value & (value - 1)); }

simt_error simt_machine_create(const simt_settings *settings, simt_machine **result) {
    const simt_settings asked = settings ? *settings : (simt_settings){0};
    uint32_t warp_size = asked.warp_size ? asked.warp_size : 32, banks = asked.banks ? asked.banks : 32;
    *result = NULL;
    if (!is_power_of_two_to_32(warp_size) || !is_power_of_two_to_32(banks)) return SIMT_ERROR_ARGUMENT;
    simt_machine *machine = calloc(1, sizeof *machine);
    if (!machine) return SIMT_ERROR_MEMORY;
    machine->warp_size = warp_size;
    machine->banks = banks;
    machine->memory.reachable = 1;
    pthread_mutex_init(&machine->spares.lock, NULL); /* never fails: its attributes are the default */
    *result = machine;
    return SIMT_OK;
}

simt_error simt_machine_set_device(simt_machine *machine, uint32_t device, uint32_t peers) {
    if (device >= SIMT_DEVICES) return SIMT_ERROR_ARGUMENT;
    machine->memory.device = device;
    machine->memory.reachable = peers | UINT32_C(1) << device;
    return SIMT_OK;
}

/* Images that are kept come last. */
static void destroy_images(simt_machine *machine, const struct image *kept) {
    while (machine->images != kept) {
        struct image *image = machine->images;
        machine->images = image->next;
        simt_image_destroy(image);
    }
}

void simt_machine_destroy(simt_machine *machine) {
    if (!machine) return;
    destroy_images(machine, NULL);
    simt_memory_clear(&machine->memory);
    simt_spares_clear(&machine->spares);
    pthread_mutex_destroy(&machine->spares.lock);
    free(machine);
}

simt_error simt_machine_prepare(simt_machine *machine, const simt_module *module, size_t kernel, simt_message *message) {
    simt_message unread;
    struct image *image;
    if (kernel >= module->kernel_count) return fail(message, SIMT_ERROR_ARGUMENT, no_kernel);
    simt_error error = simt_image_create(machine, module, module->kernels[kernel], &image, message ? message : &unread);
    machine->kept_images = machine->images;
    machine->kept_slots = machine->memory.slot_count;
    return error;
}

simt_error simt_machine_reset(simt_machine *machine) {
    destroy_images(machine, machine->kept_images);
    const bool has_workspace = machine->workspace && machine->workspace->address < simt_memory_address(machine->kept_slots);
    if (!has_workspace) machine->workspace = NULL;
    simt_memory_truncate(&machine->memory, machine->kept_slots);
    machine->memory.heap_nbytes = 0;
    for (const struct image *image = machine->images; image; image = image->next)
        if (!simt_variables_reset(image, NULL, &machine->memory)) return SIMT_ERROR_MEMORY;
    return SIMT_OK;
}

simt_error simt_machine_reset_variables(simt_machine *machine) {
    const struct image of_others = {.device = SIMT_DEVICES}; /* which have the managed variables, too */
    for (const struct image *image = machine->images; image; image = image->next)
        if (image->device == machine->memory.device && !simt_variables_reset(image, &of_others, &machine->memory))
            return SIMT_ERROR_MEMORY;
    return SIMT_OK;
}

simt_error simt_machine_allocate(simt_machine *machine, size_t nbytes, uint64_t *address) {
    struct allocation *allocation = simt_memory_allocate(&machine->memory, nbytes, false);
    *address = allocation ? allocation->address : 0;
    return allocation ? SIMT_OK : SIMT_ERROR_MEMORY;
}

simt_error simt_machine_reserve(simt_machine *machine, size_t nbytes, uint64_t *address) {
    struct allocation *allocation = simt_memory_reserve(&machine->memory, nbytes);
    *address = allocation ? allocation->address : 0;
    return allocation ? SIMT_OK : SIMT_ERROR_MEMORY;
}

simt_error simt_machine_reserve_pages(simt_machine *machine, size_t nbytes, uint64_t *address) {
    *address = 0;
    if (!nbytes || nbytes % SIMT_PAGE_NBYTES) return SIMT_ERROR_ARGUMENT;
    struct allocation *reserved = simt_memory_reserve_pages(&machine->memory, nbytes);
    if (!reserved) return SIMT_ERROR_MEMORY;
    *address = reserved->address;
    return SIMT_OK;
}

simt_error simt_machine_allocate_at(simt_machine *machine, uint64_t address) {
    struct allocation *allocation = simt_memory_find(&machine->memory, address);
    if (!allocation || !allocation->is_freed || allocation->address != address || allocation->backing != BACKING_OWN)
        return SIMT_ERROR_ARGUMENT;
    return simt_memory_allocate_again(allocation) ? SIMT_OK : SIMT_ERROR_MEMORY;
}

simt_error simt_machine_allocate_shared(simt_machine *machine, size_t nbytes, void **pointer) {
    struct allocation *allocation = simt_memory_allocate_shared(&machine->memory, nbytes);
    *pointer = allocation ? allocation->bytes : NULL;
    return allocation ? SIMT_OK : SIMT_ERROR_MEMORY;
}

simt_error simt_machine_adopt(simt_machine *machine, void *bytes, size_t nbytes, uint64_t *address) {
    struct allocation *allocation = simt_memory_adopt(&machine->memory, bytes, nbytes);
    *address = allocation ? allocation->address : 0;
    return allocation ? SIMT_OK : SIMT_ERROR_MEMORY;
}

simt_error simt_machine_free(simt_machine *machine, uint64_t address) {
    struct allocation *allocation = simt_memory_slot(&machine->memory, address);
    if (!allocation || allocation->is_freed || allocation->address != address) return SIMT_ERROR_ARGUMENT;
    simt_memory_free(&machine->memory, allocation);
    return SIMT_OK;
}

simt_error simt_machine_share(simt_machine *machine, uint64_t address, uint32_t devices) {
    struct allocation *allocation = simt_memory_slot(&machine->memory, address);
    if (!allocation || allocation->is_freed || allocation->address != address || allocation->backing != BACKING_OWN)
        return SIMT_ERROR_ARGUMENT;
    allocation->devices = allocation->owner | devices;
    return SIMT_OK;
}

static struct allocation *find_range(const simt_machine *machine, uint64_t address, size_t nbytes) {
    struct allocation *allocation = simt_memory_find(&machine->memory, address);
    bool is_within = allocation && nbytes <= allocation->nbytes &&
                     address - allocation->address <= allocation->nbytes - nbytes;
    return is_within ? allocation : NULL;
}

/* What the host has written whole, even piece by piece as fills are, needs no marks, which kernels would look at. */
static void note_written(struct allocation *allocation, uint64_t offset, size_t nbytes) {
    memset(allocation->written + offset, 0xff, nbytes);
    const uint64_t end = offset + nbytes;
    if (offset <= allocation->whole_nbytes && end > allocation->whole_nbytes) allocation->whole_nbytes = end;
    if (allocation->whole_nbytes < allocation->nbytes || allocation->backing == BACKING_PAGES) return;
    free(allocation->written);
    allocation->written = NULL;
}

simt_error simt_machine_write(simt_machine *machine, uint64_t address, const void *bytes, size_t nbytes) {
    struct allocation *allocation = find_range(machine, address, nbytes);
    const bool is_of_pages = allocation && allocation->backing == BACKING_PAGES;
    if (!allocation || (is_of_pages && allocation->is_read_only)) return SIMT_ERROR_ARGUMENT;
    uint64_t offset = address - allocation->address;
    if (nbytes) memcpy(allocation->bytes + offset, bytes, nbytes);
    if (allocation->written) note_written(allocation, offset, nbytes);
    return SIMT_OK;
}

simt_error simt_machine_read(const simt_machine *machine, uint64_t address, void *bytes, size_t nbytes) {
    const struct allocation *allocation = find_range(machine, address, nbytes);
    if (!allocation) return SIMT_ERROR_ARGUMENT;
    if (nbytes) memcpy(bytes, allocation->bytes + (address - allocation->address), nbytes);
    return SIMT_OK;
}

size_t simt_machine_written(const simt_machine *machine, uint64_t address, size_t nbytes) {
    const struct allocation *allocation = find_range(machine, address, nbytes);
    const unsigned char *written = allocation ? allocation->written : NULL;
    if (!written) return nbytes;
    written += address - allocation->address;
    size_t end = nbytes;
    while (end && !written[end - 1]) end--;
    return end && memchr(written, 0, end) ? nbytes : end;
}

static const struct variable *find_variable(const simt_module *module, const char *name) {
    for (uint32_t v = 0; v < module->variable_count; v++) {
        const struct variable *variable = module->variables[v];
        bool is_in_memory = variable->space == SIMT_GLOBAL || variable->space == SIMT_CONSTANT;
        if (is_in_memory && !strcmp(variable->name, name)) return variable;
    }
    return NULL;
}

simt_error simt_machine_variable(simt_machine *machine, const simt_module *module, const char *name,
                                 uint64_t *address, size_t *nbytes, simt_message *message) {
    simt_message unread;
    const struct variable *variable = find_variable(module, name);
    struct image *image;
    if (!variable)
        return fail(message, SIMT_ERROR_ARGUMENT, "the module has no such variable in global or constant memory");
    const struct function *kernel = module->kernel_count ? module->kernels[0] : NULL;
    simt_error error = simt_image_create(machine, module, kernel, &image, message ? message : &unread);
    if (error) return error;
    *address = simt_variable_address(image, variable);
    *nbytes = variable->nbytes;
    return SIMT_OK;
}

/* ---- a launch */

static simt_error check_extent(const simt_launch *request, simt_launch_view *view, simt_message *message) {
    uint64_t blocks = 1, threads = 1;
    for (int d = 0; d < 3; d++) {
        view->grid[d] = request->grid[d] ? request->grid[d] : 1;
        view->block[d] = request->block[d] ? request->block[d] : 1;
        if (view->block[d] > 1024) return fail(message, SIMT_ERROR_ARGUMENT, "a block has at most 1024 threads");
        if (view->grid[d] > INT32_MAX || blocks > UINT64_C(1) << 32)
            return fail(message, SIMT_ERROR_ARGUMENT, "a grid has at most 2^31 - 1 blocks along an axis");
        blocks *= view->grid[d];
        threads *= view->block[d];
    }
    if (threads > 1024) return fail(message, SIMT_ERROR_ARGUMENT, "a block has at most 1024 threads");
    view->threads_per_block = (uint32_t)threads;
    return SIMT_OK;
}

/* What the kernel has promised of its blocks: a GPU refuses to launch others. */
static simt_error check_promised(const struct launch *launch, const simt_launch_view *view, simt_message *message) {
    const struct function *function = launch->function;
    const uint32_t *required = function->block_required;
    const uint64_t most = (uint64_t)function->block_most[0] * function->block_most[1] * function->block_most[2];
    const bool is_other = required[0] && memcmp(required, view->block, sizeof view->block) != 0;
    if (!is_other && (!most || view->threads_per_block <= most)) return SIMT_OK;
    if (message && is_other)
        snprintf(message->text, sizeof message->text,
                 "the kernel was compiled for blocks of %u x %u x %u threads (.reqntid), and this launch has others",
                 required[0], required[1], required[2]);
    else if (message)
        snprintf(message->text, sizeof message->text,
                 "the kernel was compiled for at most %llu threads in a block (__launch_bounds__), and this launch has %u",
                 (unsigned long long)most, view->threads_per_block);
    return SIMT_ERROR_ARGUMENT;
}

/* How many blocks make a cluster: as the launch or the kernel says, who must not contradict each other. */
static simt_error check_cluster(const struct launch *launch, simt_launch_view *view, simt_message *message) {
    const uint8_t *asked = launch->request->cluster;
    const uint32_t *own = launch->function->cluster;
    uint64_t count = 1;
    for (int d = 0; d < 3; d++) {
        view->cluster[d] = asked[0] ? (asked[d] ? asked[d] : 1) : own[0] ? own[d] : 1;
        if (asked[0] && own[0] && view->cluster[d] != own[d])
            return fail(message, SIMT_ERROR_ARGUMENT, "the kernel was compiled for clusters of another size");
        if (view->grid[d] % view->cluster[d])
            return fail(message, SIMT_ERROR_ARGUMENT, "the grid must be a multiple of the cluster along each axis");
        count *= view->cluster[d];
        if (count > CLUSTER_BLOCKS_MAX)
            return fail(message, SIMT_ERROR_ARGUMENT, "a cluster has at most 16 blocks");
    }
    view->blocks_per_cluster = (uint32_t)count;
    return SIMT_OK;
}

/* Beginning blocks takes time, too: a grid that would take longer for that than the limit allows is refused. */
static simt_error check_limit(struct launch *launch, simt_message *message) {
    enum { BLOCK_COST = 16, SHARED_NBYTES_COST = 256 };
    const uint64_t asked = launch->request->instruction_limit;
    launch->limit = asked ? asked : SIMT_INSTRUCTION_LIMIT;
    atomic_init(&launch->pool, launch->limit);
    launch->block_limit = simt_block_limit(launch->machine, launch->view.warps_per_block);
    uint64_t cost = BLOCK_COST + launch->view.shared_nbytes / SHARED_NBYTES_COST;
    uint64_t most = (asked > SIMT_INSTRUCTION_LIMIT ? asked : SIMT_INSTRUCTION_LIMIT) / cost;
    if (launch->block_count <= most) return SIMT_OK;
    if (message)
        snprintf(message->text, sizeof message->text,
                 "a grid of %llu blocks is too large: under the limit of %llu warp instructions that a launch may "
                 "execute, it has at most %llu such blocks (--limit N allows more)",
                 (unsigned long long)launch->block_count, (unsigned long long)launch->limit,
                 (unsigned long long)most);
    return SIMT_ERROR_ARGUMENT;
}

static simt_error prepare_view(struct launch *launch, simt_message *message) {
    const simt_launch *request = launch->request;
    simt_launch_view *view = &launch->view;
    simt_error error = check_extent(request, view, message);
    if (!error) error = check_promised(launch, view, message);
    if (!error) error = check_cluster(launch, view, message);
    if (error) return error;
    enum { SHARED_MAX = 1 << 20 };
    if (request->shared_nbytes > SHARED_MAX || launch->image->shared_nbytes > SHARED_MAX)
        return fail(message, SIMT_ERROR_ARGUMENT, "the simulator supports at most 1 MiB of shared memory per block");
    view->kernel = launch->function->name;
    view->warp_size = launch->machine->warp_size;
    view->banks = launch->machine->banks;
    view->warps_per_block = (view->threads_per_block + view->warp_size - 1) / view->warp_size;
    view->shared_nbytes = request->shared_nbytes ? launch->image->dynamic_offset + request->shared_nbytes
                                                 : launch->image->shared_nbytes;
    const uint32_t reserved = simt_reserved_nbytes(launch);
    if (reserved) view->shared_nbytes = (view->shared_nbytes + reserved - 1) / reserved * reserved + reserved;
    view->places = request->module->places;
    view->place_count = request->module->instruction_count;
    view->kernel_begin = launch->function->begin;
    view->kernel_end = launch->function->end;
    view->context = request->context;
    launch->block_count = (uint64_t)view->grid[0] * view->grid[1] * view->grid[2];
    return check_limit(launch, message);
}

/* One for all launches, so that thousands of them do not use up addresses. */
static bool prepare_workspace(struct launch *launch) {
    enum { WORKSPACE_NBYTES = 64 };
    struct simt_machine *machine = launch->machine;
    if (!machine->workspace) machine->workspace = simt_memory_allocate(&machine->memory, WORKSPACE_NBYTES, false);
    launch->workspace = machine->workspace;
    if (launch->workspace) launch->workspace->devices = SIMT_ALL_DEVICES;
    if (!launch->workspace) return false;
    memset(launch->workspace->bytes, 0, WORKSPACE_NBYTES);
    memset(launch->workspace->written, 0xff, WORKSPACE_NBYTES);
    return true;
}

static simt_error prepare_parameters(struct launch *launch, simt_message *message) {
    const struct function *function = launch->function;
    launch->parameters_nbytes = function->parameter_nbytes;
    launch->parameters = calloc(function->parameter_nbytes + 16, 1);
    if (!launch->parameters || !prepare_workspace(launch))
        return fail(message, SIMT_ERROR_MEMORY, "out of memory for the parameters");
    for (uint32_t p = 0; p < function->parameter_count; p++)
        memcpy(launch->parameters + function->parameters[p]->offset, launch->request->arguments[p],
               function->parameters[p]->nbytes);
    return SIMT_OK;
}

/* ---- observers */

static void hook_add(struct hooks *hooks, const struct hook *hook, bool has_it) {
    if (has_it) hooks->hooks[hooks->count++] = *hook;
}

static bool hooks_create(struct launch *launch, size_t count) {
    struct hooks *const lists[] = {&launch->instruction, &launch->executed, &launch->branch, &launch->access,
                                   &launch->shuffle,     &launch->warp_barrier, &launch->barrier,
                                   &launch->fence,       &launch->finding, &launch->all,
                                   &launch->copy,        &launch->copy_group, &launch->mbarrier,
                                   &launch->proxy_fence, &launch->cluster_barrier};
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++) {
        lists[l]->hooks = calloc(count + 1, sizeof *lists[l]->hooks);
        if (!lists[l]->hooks) return false;
    }
    return true;
}

static void hooks_destroy(struct launch *launch) {
    struct hooks *const lists[] = {&launch->instruction, &launch->executed, &launch->branch, &launch->access,
                                   &launch->shuffle,     &launch->warp_barrier, &launch->barrier,
                                   &launch->fence,       &launch->finding, &launch->all,
                                   &launch->copy,        &launch->copy_group, &launch->mbarrier,
                                   &launch->proxy_fence, &launch->cluster_barrier};
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++) free(lists[l]->hooks);
}

static bool prepare_observers(struct launch *launch) {
    const simt_observer *const *observers = launch->request->observers;
    size_t count = 0;
    while (observers && observers[count]) count++;
    launch->launch_states = calloc(count + 1, sizeof *launch->launch_states);
    if (!launch->launch_states || !hooks_create(launch, count)) return false;
    for (size_t o = 0; o < count; o++) {
        const simt_observer *observer = observers[o];
        const struct hook hook = {observer, launch->states_nbytes};
        launch->states_nbytes += (observer->block_nbytes + 63) / 64 * 64;
        launch->needs_initialised |= observer->needs_initialised;
        launch->launch_states[o] = calloc(1, observer->launch_nbytes + 1);
        if (!launch->launch_states[o]) return false;
        if (observer->launch_begin && !observer->launch_begin(launch->launch_states[o], &launch->view)) return false;
        hook_add(&launch->all, &hook, true);
        hook_add(&launch->instruction, &hook, observer->instruction);
        hook_add(&launch->executed, &hook, observer->executed);
        hook_add(&launch->branch, &hook, observer->branch);
        hook_add(&launch->access, &hook, observer->access);
        hook_add(&launch->shuffle, &hook, observer->shuffle);
        hook_add(&launch->warp_barrier, &hook, observer->warp_barrier);
        hook_add(&launch->barrier, &hook, observer->barrier);
        hook_add(&launch->fence, &hook, observer->fence);
        hook_add(&launch->finding, &hook, observer->finding);
        hook_add(&launch->copy, &hook, observer->copy);
        hook_add(&launch->copy_group, &hook, observer->copy_group);
        hook_add(&launch->mbarrier, &hook, observer->mbarrier);
        hook_add(&launch->proxy_fence, &hook, observer->proxy_fence);
        hook_add(&launch->cluster_barrier, &hook, observer->cluster_barrier);
    }
    return true;
}

static bool is_watched(const struct launch *launch, uint32_t pc) {
    for (uint32_t o = 0; o < launch->all.count; o++) {
        const simt_observer *observer = launch->all.hooks[o].observer;
        if (!observer->instruction) continue;
        if (!observer->follows || observer->follows(launch->launch_states[o], &launch->view, pc)) return true;
    }
    return false;
}

void simt_machine_hold(struct simt_machine *machine, const simt_held_lines *lines, size_t count) {
    machine->held = lines;
    machine->held_count = count;
}

/* What touches memory, of the lines that the schedule holds. */
static bool is_held(const struct launch *launch, uint32_t pc) {
    const struct simt_machine *machine = launch->machine;
    const struct code *code = &launch->image->codes[pc];
    const simt_place *place = &launch->view.places[pc];
    const uint32_t line = place->file ? place->line : place->ptx_line; /* as findings have it */
    size_t i = launch->request->schedule == SIMT_HELD && !code->lanes && !code->is_branch ? 0 : machine->held_count;
    while (i < machine->held_count && (line < machine->held[i].first || line > machine->held[i].last)) i++;
    return i < machine->held_count;
}

static bool set_paces(struct launch *launch) {
    const uint32_t count = launch->view.place_count;
    launch->paces = calloc((size_t)count + 1, sizeof *launch->paces);
    for (uint32_t pc = count; launch->paces && pc-- > 0;) {
        struct pace *pace = &launch->paces[pc];
        const uint8_t straight = launch->image->codes[pc].straight;
        pace->is_watched = launch->instruction.count && is_watched(launch, pc);
        pace->is_held = is_held(launch, pc);
        if (straight && !pace->is_watched) pace->straight = (uint8_t)(1 + (straight > 1 ? pace[1].straight : 0));
    }
    return launch->paces;
}

/* ---- blocks on threads.  Where there are clusters, a block here is the first of one, and represents all of it. */

static struct block *block_next(struct launch *launch, struct block **spare) {
    uint64_t index = atomic_fetch_add(&launch->next_block, 1);
    if (index >= launch->block_count / launch->view.blocks_per_cluster) return NULL;
    struct block *block = *spare ? *spare : simt_block_create(launch);
    if (!block) {
        simt_launch_no_memory(launch);
        return NULL;
    }
    *spare = block == *spare ? block->next : *spare;
    block->next = NULL;
    if (simt_block_begin(block, index)) return block;
    block->next = *spare;
    *spare = block;
    return NULL;
}

static void block_put(struct block *block, struct block **spare) {
    simt_block_end(block);
    block->next = *spare;
    *spare = block;
}

static void blocks_destroy(struct block *block) {
    while (block) {
        struct block *next = block->next;
        simt_block_destroy(block);
        block = next;
    }
}

/* Blocks begun that wait for their next turn, and those that have ended and can be begun again. */
struct queue {
    struct block *first, **end, *spare;
    size_t count;
};

static void queue_add(struct queue *queue, struct block *block) {
    block->next = NULL;
    *queue->end = block;
    queue->end = &block->next;
    queue->count++;
}

static struct block *queue_take(struct queue *queue) {
    struct block *block = queue->first;
    if (!block) return NULL;
    queue->first = block->next;
    if (!queue->first) queue->end = &queue->first;
    queue->count--;
    return block;
}

/* A new block, while there are some and not too many are begun; else the one that has waited longest. */
static struct block *block_take(struct launch *launch, struct queue *queue) {
    struct block *block = queue->count < BLOCKS_BEGUN_MAX ? block_next(launch, &queue->spare) : NULL;
    return block || simt_is_stopped(launch) ? block : queue_take(queue);
}

/* Leaves the blocks to the thread that runs alone after all other host threads have ended. */
static void leave_begun(struct launch *launch, struct queue *queue) {
    pthread_mutex_lock(&launch->lock);
    *queue->end = launch->begun;
    launch->begun = queue->first;
    pthread_mutex_unlock(&launch->lock);
}

static bool are_all_begun(const struct launch *launch) {
    return atomic_load(&launch->next_block) >= launch->block_count / launch->view.blocks_per_cluster;
}

/* Whether all blocks of the queue repeat themselves while nothing has changed in the whole launch, for as long as
 * others take to change something. */
struct stillness {
    uint64_t changes;      /* of the launch */
    uint64_t blocks;       /* turns of blocks that repeat themselves since then, one after another */
    uint64_t instructions; /* in them */
};

static bool is_still(struct stillness *stillness, struct launch *launch, struct block *block,
                     const struct queue *queue, bool has_changed, uint64_t instructions) {
    enum { PATIENCE = 1 << 18 };
    if (has_changed) atomic_fetch_add(&launch->changes, 1);
    const uint64_t changes = atomic_load(&launch->changes);
    if (changes != stillness->changes || !simt_block_repeats_itself(block, true)) {
        *stillness = (struct stillness){.changes = changes};
        return false;
    }
    stillness->blocks++;
    stillness->instructions += instructions;
    return stillness->blocks > queue->count && are_all_begun(launch) &&
           (launch->is_alone || stillness->instructions > PATIENCE);
}

/* Interleaved blocks take turns as short as their warps do. */
static uint64_t turn_of(struct block *block) {
    if (block->launch->request->interleaves) return 1;
    return simt_block_repeats_itself(block, false) ? STILL_BUDGET : BLOCK_BUDGET;
}

/* Runs blocks until there are none, or no instructions left for them, or none of them can ever end.  One that has not
 * ended after a while is put at the end of those begun. */
static void *work(void *context) {
    struct launch *launch = context;
    struct queue queue = {.end = &queue.first};
    struct stillness stillness = {0};
    struct block *block = NULL;
    bool is_starved = false;
    while (launch->is_alone && launch->begun) {
        block = launch->begun;
        launch->begun = block->next;
        queue_add(&queue, block);
    }
    while (!is_starved && !simt_is_stopped(launch) && (block = block_take(launch, &queue))) {
        const uint64_t changes = simt_block_changes(block), instructions = block->tally.instructions;
        bool has_ended = simt_block_run(block, turn_of(block));
        bool has_changed = has_ended || simt_block_changes(block) != changes;
        is_starved = block->is_starved;
        if (!is_still(&stillness, launch, block, &queue, has_changed, block->tally.instructions - instructions))
            ;
        else if (launch->is_alone) simt_block_endless(block, queue.first);
        else is_starved = true;
        if (has_ended) block_put(block, &queue.spare);
        else queue_add(&queue, block);
    }
    if (is_starved && !simt_is_stopped(launch)) leave_begun(launch, &queue);
    else
        while ((block = queue_take(&queue))) block_put(block, &queue.spare);
    blocks_destroy(queue.spare);
    return NULL;
}

/* Schedules that are to be repeatable run on one thread, and kernels that allocate: nobody must look for an
 * allocation while another is made. */
static uint32_t thread_count(const struct launch *launch) {
    if (launch->request->schedule != SIMT_LOCKSTEP || simt_builtin_allocates(launch->request->module)) return 1;
    long count = launch->request->threads ? (long)launch->request->threads : sysconf(_SC_NPROCESSORS_ONLN);
    if (count < 1) count = 1;
    if (count > THREADS_MAX) count = THREADS_MAX;
    const uint64_t clusters = launch->block_count / launch->view.blocks_per_cluster;
    return (uint64_t)count > clusters ? (uint32_t)clusters : (uint32_t)count;
}

static void run(struct launch *launch) {
    pthread_t threads[THREADS_MAX];
    uint32_t count = thread_count(launch), started = 0;
    launch->is_alone = count == 1;
    while (started + 1 < count && !pthread_create(&threads[started], NULL, work, launch)) started++;
    work(launch);
    for (uint32_t t = 0; t < started; t++) pthread_join(threads[t], NULL);
    if (count == 1) return;
    launch->is_alone = true;
    work(launch); /* what they left when their instructions ran out: now none of them holds any */
}

static void launch_end(struct launch *launch) {
    for (uint32_t o = 0; o < launch->all.count; o++) {
        const simt_observer *observer = launch->all.hooks[o].observer;
        if (observer->launch_end) observer->launch_end(launch->launch_states[o], launch->report);
    }
}

static void launch_clear(struct launch *launch) {
    for (size_t o = 0; launch->launch_states && o < launch->all.count + 1; o++) free(launch->launch_states[o]);
    free(launch->launch_states);
    hooks_destroy(launch);
    free(launch->paces);
    free(launch->has_way_out);
    simt_prepared_clear(launch);
    simt_births_clear(launch);
    simt_ranges_clear(&launch->loops.reads);
    simt_ranges_clear(&launch->loops.writes);
    simt_locks_clear(launch);
    free(launch->parameters);
    pthread_mutex_destroy(&launch->lock);
}

/* Whatever else may be wrong: a launch that nothing has stopped is over when every thread has exited. */
static bool has_lost_threads(struct launch *launch) {
    uint64_t threads = launch->block_count * launch->view.threads_per_block;
    return atomic_load(&launch->is_lost) || (!simt_is_stopped(launch) && launch->exited != threads);
}

static simt_error launch_run(struct launch *launch, simt_message *message) {
    simt_error error = prepare_view(launch, message);
    if (!error) error = prepare_parameters(launch, message);
    if (error) return error;
    bool is_ready = prepare_observers(launch) && set_paces(launch);
    clock_gettime(CLOCK_MONOTONIC, &launch->begin);
    if (is_ready) run(launch);
    launch_end(launch);
    simt_leaks_find(launch);
    if (!is_ready || atomic_load(&launch->out_of_memory) || !simt_report_is_whole(launch->report))
        return fail(message, SIMT_ERROR_MEMORY, "out of memory for the launch's blocks and observers");
    if (has_lost_threads(launch))
        return fail(message, SIMT_ERROR_LOST,
                    "threads have not ended, though no finding stopped them: this is a bug in the simulator; "
                    "please report it with the kernel");
    if (!simt_is_stopped(launch)) return SIMT_OK;
    return fail(message, SIMT_ERROR_STOPPED, "the launch was stopped: see the report's findings");
}

simt_error simt_machine_launch(simt_machine *machine, const simt_launch *request, simt_report **report,
                               simt_message *message) {
    simt_message unread;
    if (!message) message = &unread;
    if (report) *report = NULL;
    if (request->kernel >= request->module->kernel_count)
        return fail(message, SIMT_ERROR_ARGUMENT, no_kernel);
    struct launch launch = {.request = request, .machine = machine};
    struct image *image;
    launch.function = request->module->kernels[request->kernel];
    simt_error error = simt_image_create(machine, request->module, launch.function, &image, message);
    if (error) return error;
    launch.image = image;
    launch.layout = simt_layout(image, launch.function);
    launch.report = simt_report_create();
    if (!launch.report) return fail(message, SIMT_ERROR_MEMORY, "out of memory for a report");
    if (pthread_mutex_init(&launch.lock, NULL)) {
        simt_report_destroy(launch.report);
        return fail(message, SIMT_ERROR_MEMORY, "cannot create a lock");
    }
    error = launch_run(&launch, message);
    launch_clear(&launch);
    simt_report_finish(launch.report, simt_is_stopped(&launch) || launch.view.warps_per_block == 1);
    if (error != SIMT_ERROR_MEMORY && !simt_report_is_whole(launch.report))
        error = fail(message, SIMT_ERROR_MEMORY, "out of memory for the report");
    if (report && (!error || error == SIMT_ERROR_STOPPED)) *report = launch.report;
    else simt_report_destroy(launch.report);
    return error;
}
