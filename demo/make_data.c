/* Writes raw f32 numbers to standard output.
 *
 *   make_data ones COUNT        1, 1, 1, ...
 *   make_data noise COUNT       between -1 and 1, evenly spread
 *   make_data wide COUNT        of both signs and of sizes from 2^-20 to 2^20, each about as frequent
 *   make_data wide COUNT SEED   the same numbers in another order; the seed says which
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t random_next(uint64_t *state) { /* splitmix64 */
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

static float one(uint64_t *state) {
    (void)state;
    return 1;
}

static float noise(uint64_t *state) {
    return (float)((int64_t)random_next(state) >> 40) * 0x1p-23f;
}

static float wide(uint64_t *state) {
    float number = noise(state);
    return ldexpf(number, (int)(random_next(state) % 41) - 20);
}

static void shuffle(float *data, size_t count, uint64_t seed) {
    for (size_t i = count; i > 1; i--) {
        size_t other = random_next(&seed) % i;
        float kept = data[i - 1];
        data[i - 1] = data[other];
        data[other] = kept;
    }
}

/* Writes the numbers in blocks: count may be far more than memory holds. */
static int write_stream(float (*next)(uint64_t *), size_t count) {
    static float block[1 << 16];
    uint64_t state = 1;
    while (count > 0) {
        size_t size = count < sizeof block / sizeof *block ? count : sizeof block / sizeof *block;
        for (size_t i = 0; i < size; i++) block[i] = next(&state);
        if (fwrite(block, sizeof *block, size, stdout) != size) return 1;
        count -= size;
    }
    return 0;
}

static int write_shuffled(float (*next)(uint64_t *), size_t count, uint64_t seed) {
    float *data = malloc(count * sizeof *data);
    if (!data) return 1;
    uint64_t state = 1;
    for (size_t i = 0; i < count; i++) data[i] = next(&state);
    shuffle(data, count, seed);
    int failed = fwrite(data, sizeof *data, count, stdout) != count;
    free(data);
    return failed;
}

int main(int argc, char **argv) {
    const char *kind = argc > 2 ? argv[1] : "";
    float (*next)(uint64_t *) = strcmp(kind, "ones") == 0    ? one
                                : strcmp(kind, "noise") == 0 ? noise
                                : strcmp(kind, "wide") == 0  ? wide
                                                             : NULL;
    if (!next) {
        fprintf(stderr, "make_data: usage: make_data ones|noise|wide COUNT [SEED]\n");
        return 2;
    }
    size_t count = strtoull(argv[2], NULL, 10);
    int failed =
        argc > 3 ? write_shuffled(next, count, strtoull(argv[3], NULL, 10)) : write_stream(next, count);
    if (failed || fflush(stdout) != 0) {
        perror("make_data");
        return 1;
    }
    return 0;
}
