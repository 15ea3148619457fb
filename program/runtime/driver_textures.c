/* The driver's arrays, textures and surfaces: those of the runtime, whose handles they have. */
#include "driver.h"
#include "textures.h"

/* ---- formats ------------------------------------------------------------------------------------- */

enum { FORMAT_SIGNED, FORMAT_UNSIGNED, FORMAT_FLOAT }; /* a cudaChannelFormatKind */

static const struct {
    int number, bits, kind;
} formats[] = {{0x01, 8, FORMAT_UNSIGNED}, {0x02, 16, FORMAT_UNSIGNED}, {0x03, 32, FORMAT_UNSIGNED},
               {0x08, 8, FORMAT_SIGNED},   {0x09, 16, FORMAT_SIGNED},   {0x0a, 32, FORMAT_SIGNED},
               {0x10, 16, FORMAT_FLOAT},   {0x20, 32, FORMAT_FLOAT}};
enum { FORMATS = sizeof formats / sizeof *formats };

/* Of another number, or of other channels than the runtime has: without any, which it refuses. */
static struct cudaChannelFormatDesc format_of(int number, unsigned channels) {
    struct cudaChannelFormatDesc format = {0};
    int *const bits[] = {&format.x, &format.y, &format.z, &format.w};
    for (size_t i = 0; i < FORMATS; i++) {
        if (formats[i].number != number || channels > 4) continue;
        for (unsigned c = 0; c < channels; c++) *bits[c] = formats[i].bits;
        format.f = formats[i].kind;
    }
    return format;
}

static int number_of(const struct cudaChannelFormatDesc *format) {
    for (size_t i = 0; i < FORMATS; i++)
        if (formats[i].bits == format->x && formats[i].kind == format->f) return formats[i].number;
    return 0;
}

static unsigned channels_of(const struct cudaChannelFormatDesc *format) {
    return (format->x > 0) + (format->y > 0) + (format->z > 0) + (format->w > 0);
}

/* ---- arrays -------------------------------------------------------------------------------------- */

/* CUDA_ARRAY_DESCRIPTOR and CUDA_ARRAY3D_DESCRIPTOR. */
struct description_2d {
    size_t width, height;
    int format;
    unsigned channels;
};

struct description {
    size_t width, height, depth;
    int format;
    unsigned channels, flags;
};

static cudaError_t create(struct cudaArray **array, struct description of) {
    const struct cudaChannelFormatDesc format = format_of(of.format, of.channels);
    return cudaMalloc3DArray(array, &format, (struct cudaExtent){of.width, of.height, of.depth}, of.flags);
}

static cudaError_t create_2d(struct cudaArray **array, const struct description_2d *of) {
    if (!of) return cudaErrorInvalidValue;
    return create(array, (struct description){of->width, of->height, 0, of->format, of->channels, 0});
}

static cudaError_t describe(struct description *description, const struct cudaArray *array) {
    if (!array) return cudaErrorInvalidResourceHandle;
    const struct cudaExtent extent = array->extent;
    *description = (struct description){extent.width,
                                        extent.height,
                                        extent.depth,
                                        number_of(&array->format),
                                        channels_of(&array->format),
                                        array->flags};
    return cudaSuccess;
}

static cudaError_t describe_2d(struct description_2d *description, const struct cudaArray *array) {
    struct description whole;
    cudaError_t error = description ? describe(&whole, array) : cudaErrorInvalidValue;
    if (!error) *description = (struct description_2d){whole.width, whole.height, whole.format, whole.channels};
    return error;
}

DRIVER cuArrayCreate_v2(struct cudaArray **array, const struct description_2d *description) {
    return DRIVE(create_2d(array, description));
}
ALSO_UNVERSIONED(cuArrayCreate)

DRIVER cuArray3DCreate_v2(struct cudaArray **array, const struct description *description) {
    return DRIVE(description ? create(array, *description) : cudaErrorInvalidValue);
}
ALSO_UNVERSIONED(cuArray3DCreate)

DRIVER cuArrayGetDescriptor_v2(struct description_2d *description, const struct cudaArray *array) {
    return DRIVE(describe_2d(description, array));
}
ALSO_UNVERSIONED(cuArrayGetDescriptor)

DRIVER cuArray3DGetDescriptor_v2(struct description *description, const struct cudaArray *array) {
    return DRIVE(description ? describe(description, array) : cudaErrorInvalidValue);
}
ALSO_UNVERSIONED(cuArray3DGetDescriptor)

DRIVER cuArrayDestroy(struct cudaArray *array) {
    return DRIVE(array ? cudaFreeArray(array) : cudaErrorInvalidResourceHandle);
}

static cudaError_t create_mipmap(struct cudaMipmappedArray **mipmap, const struct description *of, unsigned levels) {
    if (!of) return cudaErrorInvalidValue;
    const struct cudaChannelFormatDesc format = format_of(of->format, of->channels);
    const struct cudaExtent extent = {of->width, of->height, of->depth};
    return cudaMallocMipmappedArray(mipmap, &format, extent, levels, of->flags);
}

DRIVER cuMipmappedArrayCreate(struct cudaMipmappedArray **mipmap, const struct description *description, unsigned levels) {
    return DRIVE(create_mipmap(mipmap, description, levels));
}

DRIVER cuMipmappedArrayGetLevel(struct cudaArray **array, const struct cudaMipmappedArray *mipmap, unsigned level) {
    return DRIVE(cudaGetMipmappedArrayLevel(array, mipmap, level));
}

DRIVER cuMipmappedArrayDestroy(struct cudaMipmappedArray *mipmap) {
    return DRIVE(mipmap ? cudaFreeMipmappedArray(mipmap) : cudaErrorInvalidResourceHandle);
}

/* ---- copies of bytes of a row -------------------------------------------------------------------- */

DRIVER cuMemcpyHtoA_v2(struct cudaArray *to, size_t x, const void *from, size_t nbytes) {
    return DRIVE(cudaMemcpyToArray(to, x, 0, from, nbytes, cudaMemcpyHostToDevice));
}
ALSO(cuMemcpyHtoA_v2, _ptds)
ALSO_UNVERSIONED(cuMemcpyHtoA)

DRIVER cuMemcpyHtoAAsync_v2(struct cudaArray *to, size_t x, const void *from, size_t nbytes, cudaStream_t stream) {
    return DRIVE(cudaMemcpyToArrayAsync(to, x, 0, from, nbytes, cudaMemcpyHostToDevice, stream));
}
ALSO(cuMemcpyHtoAAsync_v2, _ptsz)
ALSO_UNVERSIONED(cuMemcpyHtoAAsync)

DRIVER cuMemcpyDtoA_v2(struct cudaArray *to, size_t x, CUdeviceptr from, size_t nbytes) {
    return DRIVE(cudaMemcpyToArray(to, x, 0, pointer_to(from), nbytes, cudaMemcpyDeviceToDevice));
}
ALSO(cuMemcpyDtoA_v2, _ptds)
ALSO_UNVERSIONED(cuMemcpyDtoA)

DRIVER cuMemcpyAtoH_v2(void *to, const struct cudaArray *from, size_t x, size_t nbytes) {
    return DRIVE(cudaMemcpyFromArray(to, from, x, 0, nbytes, cudaMemcpyDeviceToHost));
}
ALSO(cuMemcpyAtoH_v2, _ptds)
ALSO_UNVERSIONED(cuMemcpyAtoH)

DRIVER cuMemcpyAtoHAsync_v2(void *to, const struct cudaArray *from, size_t x, size_t nbytes, cudaStream_t stream) {
    return DRIVE(cudaMemcpyFromArrayAsync(to, from, x, 0, nbytes, cudaMemcpyDeviceToHost, stream));
}
ALSO(cuMemcpyAtoHAsync_v2, _ptsz)
ALSO_UNVERSIONED(cuMemcpyAtoHAsync)

DRIVER cuMemcpyAtoD_v2(CUdeviceptr to, const struct cudaArray *from, size_t x, size_t nbytes) {
    return DRIVE(cudaMemcpyFromArray(pointer_to(to), from, x, 0, nbytes, cudaMemcpyDeviceToDevice));
}
ALSO(cuMemcpyAtoD_v2, _ptds)
ALSO_UNVERSIONED(cuMemcpyAtoD)

DRIVER cuMemcpyAtoA_v2(struct cudaArray *to, size_t to_x, const struct cudaArray *from, size_t from_x, size_t nbytes) {
    return DRIVE(!to || !from ? cudaErrorInvalidResourceHandle
                              : cudaMemcpy2DArrayToArray(to, to_x, 0, from, from_x, 0, nbytes, 1, cudaMemcpyDeviceToDevice));
}
ALSO(cuMemcpyAtoA_v2, _ptds)
ALSO_UNVERSIONED(cuMemcpyAtoA)

/* ---- textures and surfaces ----------------------------------------------------------------------- */

/* CUDA_RESOURCE_DESC: its kinds have the runtime's numbers. */
struct driver_resource {
    int type;
    union {
        struct cudaArray *array;
        struct {
            CUdeviceptr memory;
            int format;
            unsigned channels;
            size_t nbytes;
        } linear;
        struct {
            CUdeviceptr memory;
            int format;
            unsigned channels;
            size_t width, height, pitch;
        } pitched;
        int reserved[32];
    };
    unsigned flags;
};

/* CUDA_TEXTURE_DESC. */
struct driver_sampler {
    int modes[3], is_linear;
    unsigned flags, anisotropy;
    int mipmap_filter;
    float mipmap_bias, mipmap_least, mipmap_most, border[4];
    int reserved[12];
};

enum { READ_INTEGERS = 1, NORMALISED = 2, SRGB = 0x10, PLAIN_TRILINEAR = 0x20, SEAMLESS = 0x40 };

static struct resource runtime_resource(const struct driver_resource *of) {
    struct resource resource = {0};
    resource.type = of->type;
    switch (of->type) {
    case RESOURCE_LINEAR:
        resource.linear.memory = pointer_to(of->linear.memory);
        resource.linear.format = format_of(of->linear.format, of->linear.channels);
        resource.linear.nbytes = of->linear.nbytes;
        break;
    case RESOURCE_PITCHED:
        resource.pitched.memory = pointer_to(of->pitched.memory);
        resource.pitched.format = format_of(of->pitched.format, of->pitched.channels);
        resource.pitched.width = of->pitched.width;
        resource.pitched.height = of->pitched.height;
        resource.pitched.pitch = of->pitched.pitch;
        break;
    default: resource.array = of->array;
    }
    return resource;
}

static void driver_resource(struct driver_resource *result, const struct resource *of) {
    *result = (struct driver_resource){.type = of->type};
    switch (of->type) {
    case RESOURCE_LINEAR:
        result->linear.memory = (uintptr_t)of->linear.memory;
        result->linear.format = number_of(&of->linear.format);
        result->linear.channels = channels_of(&of->linear.format);
        result->linear.nbytes = of->linear.nbytes;
        break;
    case RESOURCE_PITCHED:
        result->pitched.memory = (uintptr_t)of->pitched.memory;
        result->pitched.format = number_of(&of->pitched.format);
        result->pitched.channels = channels_of(&of->pitched.format);
        result->pitched.width = of->pitched.width;
        result->pitched.height = of->pitched.height;
        result->pitched.pitch = of->pitched.pitch;
        break;
    default: result->array = of->array;
    }
}

/* Integers of 8 and 16 bits are read as normalised floats unless the flag says otherwise, those of 32 never. */
static bool reads_normalised(const struct resource *resource, unsigned flags) {
    int bits = 0;
    if (resource->type == RESOURCE_LINEAR) bits = resource->linear.format.x;
    else if (resource->type == RESOURCE_PITCHED) bits = resource->pitched.format.x;
    else if (resource->type == RESOURCE_ARRAY && resource->array) bits = resource->array->format.x;
    else if (resource->type == RESOURCE_MIPMAPPED && resource->mipmap) bits = resource->mipmap->levels[0]->format.x;
    return !(flags & READ_INTEGERS) && bits < 32;
}

static struct sampler runtime_sampler(const struct driver_sampler *of, const struct resource *resource) {
    return (struct sampler){.modes = {of->modes[0], of->modes[1], of->modes[2]},
                            .is_linear = of->is_linear,
                            .is_normalised_read = reads_normalised(resource, of->flags),
                            .srgb = (of->flags & SRGB) != 0,
                            .border = {of->border[0], of->border[1], of->border[2], of->border[3]},
                            .is_normalised = (of->flags & NORMALISED) != 0,
                            .anisotropy = of->anisotropy,
                            .mipmap_filter = of->mipmap_filter,
                            .mipmap_bias = of->mipmap_bias,
                            .mipmap_least = of->mipmap_least,
                            .mipmap_most = of->mipmap_most,
                            .plain_trilinear = (of->flags & PLAIN_TRILINEAR) != 0,
                            .seamless_cube = (of->flags & SEAMLESS) != 0};
}

static struct driver_sampler driver_sampler(const struct sampler *of) {
    return (struct driver_sampler){.modes = {of->modes[0], of->modes[1], of->modes[2]},
                                   .is_linear = of->is_linear,
                                   .flags = (of->is_normalised_read ? 0 : READ_INTEGERS) | (of->is_normalised ? NORMALISED : 0) |
                                            (of->srgb ? SRGB : 0) | (of->plain_trilinear ? PLAIN_TRILINEAR : 0) |
                                            (of->seamless_cube ? SEAMLESS : 0),
                                   .anisotropy = of->anisotropy,
                                   .mipmap_filter = of->mipmap_filter,
                                   .mipmap_bias = of->mipmap_bias,
                                   .mipmap_least = of->mipmap_least,
                                   .mipmap_most = of->mipmap_most,
                                   .border = {of->border[0], of->border[1], of->border[2], of->border[3]}};
}

static cudaError_t create_texture(uint64_t *handle, const struct driver_resource *of, const struct driver_sampler *by,
                                  const void *view) {
    if (!of || !by || of->flags) return cudaErrorInvalidValue;
    const struct resource resource = runtime_resource(of);
    const struct sampler sampler = runtime_sampler(by, &resource);
    return cudaCreateTextureObject(handle, &resource, &sampler, view);
}

static cudaError_t create_surface(uint64_t *handle, const struct driver_resource *of) {
    if (!of || of->flags) return cudaErrorInvalidValue;
    const struct resource resource = runtime_resource(of);
    return cudaCreateSurfaceObject(handle, &resource);
}

DRIVER cuTexObjectCreate(uint64_t *handle, const struct driver_resource *resource,
                         const struct driver_sampler *sampler, const void *view) {
    return DRIVE(create_texture(handle, resource, sampler, view));
}

DRIVER cuSurfObjectCreate(uint64_t *handle, const struct driver_resource *resource) {
    return DRIVE(create_surface(handle, resource));
}

DRIVER cuTexObjectDestroy(uint64_t handle) { return DRIVE(cudaDestroyTextureObject(handle)); }
DRIVER cuSurfObjectDestroy(uint64_t handle) { return DRIVE(cudaDestroySurfaceObject(handle)); }

static cudaError_t get_resource(cudaError_t get(struct resource *, uint64_t), struct driver_resource *result,
                                uint64_t handle) {
    struct resource resource;
    cudaError_t error = result ? get(&resource, handle) : cudaErrorInvalidValue;
    if (!error) driver_resource(result, &resource);
    return error;
}

static cudaError_t get_sampler(struct driver_sampler *result, uint64_t handle) {
    struct sampler sampler;
    cudaError_t error = result ? cudaGetTextureObjectTextureDesc(&sampler, handle) : cudaErrorInvalidValue;
    if (!error) *result = driver_sampler(&sampler);
    return error;
}

DRIVER cuTexObjectGetResourceDesc(struct driver_resource *resource, uint64_t handle) {
    return DRIVE(get_resource(cudaGetTextureObjectResourceDesc, resource, handle));
}

DRIVER cuTexObjectGetTextureDesc(struct driver_sampler *sampler, uint64_t handle) {
    return DRIVE(get_sampler(sampler, handle));
}

DRIVER cuSurfObjectGetResourceDesc(struct driver_resource *resource, uint64_t handle) {
    return DRIVE(get_resource(cudaGetSurfaceObjectResourceDesc, resource, handle));
}
