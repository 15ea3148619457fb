/* The layout that DLPack 1.x fixes for tensors that are handed from one library to another, and for the table of
 * functions that a type may have as __dlpack_c_exchange_api__.  Only what is read here has a name of its own. */
#ifndef WARPFOLD_PYTHON_DLPACK_H
#define WARPFOLD_PYTHON_DLPACK_H

#include <stdint.h>

enum dl_device_type { DL_CPU = 1, DL_CUDA = 2, DL_CUDA_HOST = 3, DL_CUDA_MANAGED = 13 };
enum dl_type_code { DL_INT = 0, DL_UINT = 1, DL_FLOAT = 2, DL_BFLOAT = 4, DL_BOOL = 6 };
enum { DL_READ_ONLY = 1 };

struct dl_version {
    uint32_t major, minor;
};

struct dl_tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides; /* in elements; NULL: C order */
    uint64_t byte_offset;
};

/* The form before version 1, of capsules named "dltensor". */
struct dl_managed {
    struct dl_tensor tensor;
    void *context;
    void (*deleter)(struct dl_managed *);
};

/* The form of capsules named "dltensor_versioned". */
struct dl_managed_versioned {
    struct dl_version version;
    void *context;
    void (*deleter)(struct dl_managed_versioned *);
    uint64_t flags;
    struct dl_tensor tensor;
};

struct dl_exchange {
    struct dl_version version;
    const struct dl_exchange *previous;
    void *allocate;
    int (*managed_of_object)(void *object, struct dl_managed_versioned **managed);
    void *object_of_managed;
    void *tensor_of_object;
    int (*current_stream)(int32_t device_type, int32_t device_id, void **stream);
};

#endif
