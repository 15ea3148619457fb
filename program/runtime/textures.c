/* Texture and surface objects: their handle is the address of what the simulator makes of their descriptions. */
#include <stdlib.h>
#include <string.h>

#include "textures.h"

struct texture {
    struct texture *next;
    uint64_t handle;
    bool is_surface;
    struct resource resource;
    struct sampler sampler;
    struct view view;
    bool has_view;
};

static struct texture *textures;

/* ---- what it consists of ------------------------------------------------------------------------- */

static void set_array(simt_texture *texture, const struct cudaArray *array) {
    const struct cudaExtent extent = array->extent;
    const bool has_rows = extent.height, has_planes = extent.depth;
    texture->address = (uintptr_t)array->memory;
    texture->row_nbytes = array->pitch;
    texture->plane_nbytes = array->pitch * (has_rows ? extent.height : 1);
    texture->is_layered = array->flags & (ARRAY_LAYERED | ARRAY_CUBE);
    texture->sizes[texture->rank++] = (uint32_t)extent.width;
    if (has_rows) texture->sizes[texture->rank++] = (uint32_t)extent.height;
    if (has_planes) texture->sizes[texture->rank++] = (uint32_t)extent.depth;
}

/* NULL: it consists of no array. */
static const struct cudaArray *array_of(const struct resource *resource, uint32_t level) {
    if (resource->type == RESOURCE_MIPMAPPED) return resource->mipmap ? resource->mipmap->levels[level] : NULL;
    return resource->type == RESOURCE_ARRAY ? resource->array : NULL;
}

/* Without levels: it is none. */
static simt_mipmap mipmap_of(const struct resource *resource, const struct sampler *sampler) {
    return (simt_mipmap){.level_count = resource->type == RESOURCE_MIPMAPPED ? resource->mipmap->level_count : 0,
                         .is_linear = sampler->mipmap_filter,
                         .bias = sampler->mipmap_bias,
                         .least = sampler->mipmap_least,
                         .most = sampler->mipmap_most};
}

static const struct cudaChannelFormatDesc *format_of(const struct resource *resource) {
    switch (resource->type) {
    case RESOURCE_ARRAY:
    case RESOURCE_MIPMAPPED: return &array_of(resource, 0)->format;
    case RESOURCE_LINEAR: return &resource->linear.format;
    default: return &resource->pitched.format;
    }
}

static void set_resource(simt_texture *texture, const struct resource *resource, uint32_t level) {
    switch (resource->type) {
    case RESOURCE_ARRAY:
    case RESOURCE_MIPMAPPED: set_array(texture, array_of(resource, level)); break;
    case RESOURCE_LINEAR:
        texture->address = (uintptr_t)resource->linear.memory;
        texture->rank = 1;
        texture->sizes[0] =
            (uint32_t)(resource->linear.nbytes / ((size_t)texture->channels * texture->channel_nbytes));
        break;
    default:
        texture->address = (uintptr_t)resource->pitched.memory;
        texture->row_nbytes = resource->pitched.pitch;
        texture->rank = 2;
        texture->sizes[0] = (uint32_t)resource->pitched.width;
        texture->sizes[1] = (uint32_t)resource->pitched.height;
    }
}

static void set_sampler(simt_texture *texture, const struct sampler *sampler) {
    for (size_t d = 0; d < 3; d++) texture->modes[d] = (uint8_t)sampler->modes[d];
    texture->is_linear = sampler->is_linear;
    texture->is_normalised = sampler->is_normalised;
    texture->is_normalised_read = sampler->is_normalised_read && texture->kind != SIMT_TEXEL_FLOAT;
    memcpy(texture->border, sampler->border, sizeof texture->border);
}

static bool is_cube(const struct resource *resource) {
    const struct cudaArray *array = array_of(resource, 0);
    return array && array->flags & ARRAY_CUBE;
}

/* ---- views --------------------------------------------------------------------------------------- */

/* 1, 2 and 4 channels of each of: integers of 8, 16 and 32 bits, without and with a sign; f16; f32. */
enum { VIEW_FORMATS = 24 };

static struct cudaChannelFormatDesc format_of_view(const struct view *view, const struct resource *resource) {
    static const int counts[] = {1, 2, 4}, sizes[] = {8, 8, 16, 16, 32, 32, 16, 32};
    enum { KINDS = 3, FIRST_FLOAT = 6 };
    if (!view || !view->format) return *format_of(resource);
    const int group = (view->format - 1) / KINDS, count = counts[(view->format - 1) % KINDS], nbits = sizes[group];
    const int kind = group >= FIRST_FLOAT ? SIMT_TEXEL_FLOAT : group % 2 ? SIMT_TEXEL_SIGNED : SIMT_TEXEL_UNSIGNED;
    return (struct cudaChannelFormatDesc){nbits, count > 1 ? nbits : 0, count > 2 ? nbits : 0, count > 2 ? nbits : 0, kind};
}

static int texel_nbits(const struct cudaChannelFormatDesc *format) { return format->x + format->y + format->z + format->w; }

static bool is_range(unsigned first, unsigned last, size_t count) { return first <= last && last < count; }

/* Of arrays alone, with their texels' size and their extent. */
static bool is_view_of(const struct view *view, const struct resource *resource) {
    enum { FACES = 6 };
    const struct cudaArray *array = array_of(resource, 0);
    if (!array || view->format < 0) return false;
    const struct cudaChannelFormatDesc format = format_of_view(view, resource);
    const bool is_layered = array->flags & (ARRAY_LAYERED | ARRAY_CUBE), is_cube = array->flags & ARRAY_CUBE;
    const size_t levels = resource->type == RESOURCE_MIPMAPPED ? resource->mipmap->level_count : 1;
    const size_t layers = is_layered ? array->extent.depth : 1;
    if (is_cube && (view->first_layer % FACES || (view->last_layer + 1) % FACES)) return false;
    return view->width == array->extent.width && view->height == array->extent.height &&
           (is_layered || view->depth == array->extent.depth) && texel_nbits(&format) == texel_nbits(&array->format) &&
           is_range(view->first_level, view->last_level, levels) && is_range(view->first_layer, view->last_layer, layers);
}

static void set_layers(simt_texture *texture, const struct view *view) {
    if (!texture->is_layered) return;
    texture->address += view->first_layer * texture->plane_nbytes;
    texture->sizes[texture->rank - 1] = view->last_layer - view->first_layer + 1;
}

static const char *what_is_absent(const struct resource *resource, const struct sampler *sampler, const struct view *view) {
    if (view && view->format > VIEW_FORMATS) return "cudaCreateTextureObject with a view of compressed blocks";
    if (sampler->seamless_cube && sampler->is_linear && is_cube(resource))
        return "cudaCreateTextureObject of a cube map that is filtered across its edges";
    if (sampler->srgb) return "cudaCreateTextureObject with colours in sRGB";
    return NULL;
}

/* ---- objects ------------------------------------------------------------------------------------- */

/* levels: NULL: it has one, and is no mipmap. */
static cudaError_t store(const simt_texture *made, const simt_mipmap *levels, uint64_t *handle) {
    unsigned char bytes[SIMT_LEVELS_MAX * SIMT_TEXTURE_NBYTES];
    const size_t nbytes = (levels ? levels->level_count : 1) * (size_t)SIMT_TEXTURE_NBYTES;
    simt_message message;
    if (levels ? simt_mipmap_encode(levels, made, bytes, &message) : simt_texture_encode(made, bytes, &message)) {
        runtime_say("%s: %s", made->is_surface ? "cudaCreateSurfaceObject" : "cudaCreateTextureObject", message.text);
        return cudaErrorInvalidValue;
    }
    cudaError_t error = runtime_error_of(simt_machine_allocate(runtime.machine, nbytes, handle));
    return error ? error : runtime_error_of(simt_machine_write(runtime.machine, *handle, bytes, nbytes));
}

static cudaError_t keep(const simt_texture *made, const simt_mipmap *levels, uint64_t *handle, const struct resource *resource,
                        const struct sampler *sampler, const struct view *view) {
    struct texture *texture = calloc(1, sizeof *texture);
    if (!texture) return cudaErrorMemoryAllocation;
    *texture = (struct texture){textures, 0, made->is_surface, *resource, *sampler, view ? *view : (struct view){0}, view};
    cudaError_t error = store(made, levels, &texture->handle);
    if (error) {
        free(texture);
        return error;
    }
    textures = texture;
    *handle = texture->handle;
    return cudaSuccess;
}

static cudaError_t create(uint64_t *handle, const struct resource *resource, const struct sampler *sampler,
                          const struct view *view) {
    simt_texture made[SIMT_LEVELS_MAX] = {{0}};
    if (!handle || !resource || !sampler || resource->type > RESOURCE_PITCHED) return cudaErrorInvalidValue;
    const char *absent = what_is_absent(resource, sampler, view);
    if (absent) return runtime_lacks(absent);
    if (resource->type <= RESOURCE_MIPMAPPED && !array_of(resource, 0)) return cudaErrorInvalidValue;
    if (view && !is_view_of(view, resource)) return cudaErrorInvalidValue;
    const struct cudaChannelFormatDesc format = format_of_view(view, resource);
    simt_mipmap levels = mipmap_of(resource, sampler);
    if (view && levels.level_count) levels.level_count = view->last_level - view->first_level + 1;
    for (uint32_t l = 0; l == 0 || l < levels.level_count; l++) {
        if (!format_read(&format, &made[l])) return runtime_lacks("cudaCreateTextureObject of such channels");
        set_resource(&made[l], resource, l + (view ? view->first_level : 0));
        if (view) set_layers(&made[l], view);
        set_sampler(&made[l], sampler);
        if (is_cube(resource)) made[l].modes[2] = SIMT_TEXTURE_CUBE;
    }
    return keep(made, levels.level_count ? &levels : NULL, handle, resource, sampler, view);
}

static cudaError_t create_surface(uint64_t *handle, const struct resource *resource) {
    simt_texture made = {.is_surface = true};
    if (!handle || !resource || resource->type != RESOURCE_ARRAY || !resource->array) return cudaErrorInvalidValue;
    if (!(resource->array->flags & ARRAY_SURFACE)) {
        runtime_say("cudaCreateSurfaceObject: the array was made without cudaArraySurfaceLoadStore");
        return cudaErrorInvalidValue;
    }
    if (!format_read(&resource->array->format, &made)) return runtime_lacks("cudaCreateSurfaceObject of such channels");
    set_array(&made, resource->array);
    return keep(&made, NULL, handle, resource, &(struct sampler){0}, NULL);
}

API cudaCreateTextureObject(uint64_t *handle, const struct resource *resource, const struct sampler *sampler,
                            const struct view *view) {
    return CALL(create(handle, resource, sampler, view));
}

API cudaCreateSurfaceObject(uint64_t *handle, const struct resource *resource) {
    return CALL(create_surface(handle, resource));
}

static struct texture **find(uint64_t handle, bool is_surface) {
    struct texture **place = &textures;
    while (*place && ((*place)->handle != handle || (*place)->is_surface != is_surface)) place = &(*place)->next;
    return place;
}

static cudaError_t destroy(uint64_t handle, bool is_surface) {
    struct texture **place = find(handle, is_surface), *texture = *place;
    if (!texture) return handle ? cudaErrorInvalidValue : cudaSuccess;
    *place = texture->next;
    free(texture);
    return runtime_error_of(simt_machine_free(runtime.machine, handle));
}

API cudaDestroyTextureObject(uint64_t handle) { return CALL_WAIT(destroy(handle, false)); }
API cudaDestroySurfaceObject(uint64_t handle) { return CALL_WAIT(destroy(handle, true)); }

static cudaError_t get(uint64_t handle, bool is_surface, struct resource *resource, struct sampler *sampler) {
    const struct texture *texture = *find(handle, is_surface);
    if (!texture) return cudaErrorInvalidValue;
    if (resource) *resource = texture->resource;
    if (sampler) *sampler = texture->sampler;
    return cudaSuccess;
}

API cudaGetTextureObjectResourceDesc(struct resource *resource, uint64_t handle) {
    return CALL(get(handle, false, resource, NULL));
}

API cudaGetTextureObjectTextureDesc(struct sampler *sampler, uint64_t handle) {
    return CALL(get(handle, false, NULL, sampler));
}

/* If it was made with one. */
static cudaError_t get_view(struct view *view, uint64_t handle) {
    const struct texture *texture = *find(handle, false);
    if (!view || !texture || !texture->has_view) return cudaErrorInvalidValue;
    *view = texture->view;
    return cudaSuccess;
}

API cudaGetTextureObjectResourceViewDesc(struct view *view, uint64_t handle) { return CALL(get_view(view, handle)); }

API cudaGetSurfaceObjectResourceDesc(struct resource *resource, uint64_t handle) {
    return CALL(get(handle, true, resource, NULL));
}
