/* What a plain loop gives, for comparison.
 *
 *   plain_loop stats FILE SKIP  of the numbers after SKIP lines of text: mean and standard deviation
 *                               (denominator n - 1, one pass, as the textbook has it); a line for
 *                               double, then one for float
 *   plain_loop f32 FILE         the sum of a raw file of floats, in a float: hexadecimal, decimal
 *   plain_loop i8 FILE          the sum of a raw file of bytes, in a byte
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char *what) {
    fprintf(stderr, "plain_loop: %s\n", what);
    return 1;
}

/* Prints the fewest digits that read back as the number. */
static void print_number(double number, int is_float, char end) {
    char text[40];
    for (int digits = is_float ? 6 : 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, number);
        if (is_float ? strtof(text, NULL) == (float)number : strtod(text, NULL) == number) break;
    }
    printf("%s%c", isnan(number) ? "nan" : text, end);
}

static void stats_f64(const double *data, size_t count) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        sum += data[i];
        squares += data[i] * data[i];
    }
    double n = (double)count;
    print_number(sum / n, 0, ' ');
    print_number(sqrt((squares - sum * sum / n) / (n - 1)), 0, '\n');
}

static void stats_f32(const double *data, size_t count) {
    float sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        float x = (float)data[i];
        sum += x;
        squares += x * x;
    }
    float n = (float)count;
    print_number(sum / n, 1, ' ');
    print_number(sqrtf((squares - sum * sum / n) / (n - 1)), 1, '\n');
}

static int stats(FILE *file, long skip) {
    char line[256];
    for (long i = 0; i < skip; i++) {
        if (!fgets(line, sizeof line, file)) return fail("the file is shorter than what is skipped");
    }
    double data[8192];
    size_t count = 0;
    while (count < sizeof data / sizeof *data && fscanf(file, "%lf", &data[count]) == 1) count++;
    stats_f64(data, count);
    stats_f32(data, count);
    return 0;
}

static int sum_f32(FILE *file) {
    float block[4096], sum = 0;
    for (size_t count; (count = fread(block, sizeof *block, 4096, file)) > 0;) {
        for (size_t i = 0; i < count; i++) sum += block[i];
    }
    printf("%a ", sum);
    print_number(sum, 1, '\n');
    return 0;
}

static int sum_i8(FILE *file) {
    int8_t sum = 0;
    for (int c; (c = getc(file)) != EOF;) sum = (int8_t)(sum + (int8_t)c);
    printf("%d\n", sum);
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 3) return fail("usage: plain_loop stats FILE SKIP | f32 FILE | i8 FILE");
    FILE *file = fopen(argv[2], "rb");
    if (!file) return fail("the file cannot be opened");
    int status = strcmp(argv[1], "f32") == 0                  ? sum_f32(file)
                 : strcmp(argv[1], "i8") == 0                 ? sum_i8(file)
                 : strcmp(argv[1], "stats") == 0 && argc == 4 ? stats(file, atol(argv[3]))
                                                              : fail("unknown arguments");
    fclose(file);
    return status;
}
