/* libcuda.so.1: the functions are those of libcudart.so.13, which this library needs (CMakeLists.txt). */
typedef int warpfold_nothing_else;
