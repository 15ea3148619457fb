// What the programs of several files share: a call that must succeed ends the program with its text and the error's name.
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                                \
    do {                                                                                                           \
        cudaError_t error = (call);                                                                                \
        if (error != cudaSuccess) {                                                                                \
            printf("%s: %s\n", #call, cudaGetErrorName(error));                                                    \
            exit(9);                                                                                               \
        }                                                                                                          \
    } while (0)
