#!/bin/sh
# fuzz_fatbin.sh FOLDER: makes inputs for fuzz_fatbin to begin with: what nvcc makes of a small kernel, with PTX as it is, compressed by
# LZ4 and by zstd, for several GPUs, and with machine code alone; and a library with such a section that needs another library.
# Without nvcc, none: the fuzzer then hardly gets beyond the header.
set -eu
cd "$1"
command -v nvcc >/dev/null || exit 0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo 'extern "C" __global__ void twice(int *x) { x[threadIdx.x] *= 2; }' >"$work/twice.cu"

fatbin() {
    name=$1
    shift
    nvcc -fatbin "$@" -o "$name.fatbin" "$work/twice.cu"
}

fatbin plain -compress-mode=none -gencode arch=compute_80,code=compute_80
fatbin lz4 -compress-mode=speed -gencode arch=compute_80,code=compute_80
fatbin zstd -compress-mode=size -gencode arch=compute_80,code=compute_80
fatbin several -compress-mode=size -gencode arch=compute_80,code=compute_80 -gencode arch=compute_90,code=compute_90
fatbin machine -compress-mode=size -gencode arch=compute_90,code=sm_90

printf '.section .nv_fatbin, "a"\n.incbin "%s/zstd.fatbin"\n' "$PWD" >"$work/section.s"
echo 'void needed(void) {}' | "${CC:-cc}" -shared -nostdlib -Wl,-soname,libneeded.so -x c - -o "$work/libneeded.so"
"${CC:-cc}" -shared -nostdlib -s -Wl,--no-as-needed -Wl,--build-id=none -o needed.elf "$work/section.s" "$work/libneeded.so"
