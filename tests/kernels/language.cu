// What the language brings: calls, recursion, pointers to functions, virtual functions, switches, local
// arrays, constants, structs, wide integers.
__device__ __noinline__ unsigned int fibonacci(unsigned int n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

extern "C" __global__ void recursion(unsigned int *out) {
    out[threadIdx.x] = fibonacci(threadIdx.x % 12);
}

__device__ __noinline__ int ackermann(int m, int n) {
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

extern "C" __global__ void deep_recursion(int *out) {
    out[threadIdx.x] = ackermann(2, threadIdx.x % 5);
}

typedef float function(float, float);
__device__ float add(float a, float b) {
    return a + b;
}
__device__ float subtract(float a, float b) {
    return a - b;
}
__device__ float multiply(float a, float b) {
    return a * b;
}
__device__ float least(float a, float b) {
    return a < b ? a : b;
}
__device__ function *const functions[] = {add, subtract, multiply, least};

extern "C" __global__ void function_pointers(const int *which, const float *a, const float *b, float *out) {
    int i = threadIdx.x;
    out[i] = functions[which[i]](a[i], b[i]);
}

struct shape {
    __device__ virtual float area() const = 0;
};
struct square : shape {
    float side;
    __device__ square(float side) : side(side) {}
    __device__ float area() const override {
        return side * side;
    }
};
struct triangle : shape {
    float base, height;
    __device__ triangle(float base, float height) : base(base), height(height) {}
    __device__ float area() const override {
        return 0.5f * base * height;
    }
};

extern "C" __global__ void virtual_functions(float *out) {
    square a(threadIdx.x);
    triangle b(threadIdx.x, 3);
    const shape *shapes[] = {&a, &b};
    out[threadIdx.x] = shapes[threadIdx.x / 2 % 2]->area();
}

extern "C" __global__ void switches(const int *in, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int x = in[i], y;
    switch (x) {
    case 0: y = 100; break;
    case 1: y = x * 7 + i; break;
    case 2: y = x - i;
    case 3: y = x << 3; break;
    case 4: y = i / 3; break;
    case 5: y = i % 5; break;
    case 6: y = i * i; break;
    case 7: y = ~i; break;
    case 1000: y = -1; break;
    default: y = x;
    }
    for (int j = 0; j < x; j++) {
        if (j == 3) continue;
        if (j == 6) break;
        y += j;
    }
    out[i] = y;
}

// An array of its own for each thread, sorted by insertion.
extern "C" __global__ void local_array(const int *in, int *out) {
    int values[16], t = threadIdx.x;
    for (int i = 0; i < 16; i++) values[i] = in[(t + i * 5) % 64];
    for (int i = 1; i < 16; i++) {
        int value = values[i], j = i;
        for (; j > 0 && values[j - 1] > value; j--) values[j] = values[j - 1];
        values[j] = value;
    }
    out[t] = values[t % 16];
}

__constant__ int primes[] = {2, 3, 5, 7, 11, 13, 17, 19};
__constant__ struct {
    short first;
    double second;
    char text[8];
} record = {-3, 0.5, "warp"};
__device__ int counter = 40;

extern "C" __global__ void constants(int *out) {
    int t = threadIdx.x;
    out[t] = primes[t % 8] * record.first + (int)(record.second * 8) + record.text[t % 5];
    if (t == 0) out[blockDim.x] = atomicAdd(&counter, 2);
}

struct argument {
    char tag;
    int n;
    double factors[3];
    unsigned char bytes[5];
};

extern "C" __global__ void by_value(argument given, double *out) {
    int t = threadIdx.x;
    out[t] = given.factors[t % 3] * given.n + given.tag + given.bytes[t % 5];
}

// Products, quotients and remainders of 64 bits.
extern "C" __global__ void wide_integers(const long long *a, const long long *b, long long *out) {
    int t = threadIdx.x;
    long long x = a[t], y = b[t];
    out[8 * t] = x / y;
    out[8 * t + 1] = x % y;
    out[8 * t + 2] = (long long)((unsigned long long)x / (unsigned long long)y);
    out[8 * t + 3] = __mul64hi(x, y);
    out[8 * t + 4] = __umul64hi(x, y);
    out[8 * t + 5] = (int)x / ((int)y | 1);
    out[8 * t + 6] = (unsigned int)x % ((unsigned int)y | 1);
    out[8 * t + 7] = x >> (t % 64) ^ y << (t % 64);
}

extern "C" __global__ void bits(const unsigned int *in, unsigned int *out) {
    int t = threadIdx.x;
    unsigned int x = in[t];
    unsigned int *row = out + 10 * t;
    row[0] = __popc(x);
    row[1] = __clz(x);
    row[2] = __ffs(x);
    row[3] = __brev(x);
    row[4] = __byte_perm(x, 0x01234567, 0x5140);
    row[5] = __funnelshift_l(x, 0xdeadbeef, t);
    row[6] = __dp4a((int)x, 0x01020304, 5);
    row[7] = __umulhi(x, x);
    row[8] = __usad(x, 1000u, 3u);
    row[9] = __vadd4(x, 0x01ff80ffu);
}

// Sums and products of 96 bits, by the carry.
extern "C" __global__ void carries(const unsigned int *a, const unsigned int *b, unsigned int *out) {
    unsigned int x[3], y[3], sum[4], difference[3], product[3], high[2], is_not_less;
    for (int i = 0; i < 3; i++) x[i] = a[3 * threadIdx.x + i], y[i] = b[3 * threadIdx.x + i];
    asm("add.cc.u32 %0, %4, %7;\n\t"
        "addc.cc.u32 %1, %5, %8;\n\t"
        "addc.cc.u32 %2, %6, %9;\n\t"
        "addc.u32 %3, 0, 0;"
        : "=&r"(sum[0]), "=&r"(sum[1]), "=&r"(sum[2]), "=r"(sum[3])
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(y[0]), "r"(y[1]), "r"(y[2]));
    asm("sub.cc.u32 %0, %3, %6;\n\t"
        "subc.cc.u32 %1, %4, %7;\n\t"
        "subc.u32 %2, %5, %8;"
        : "=&r"(difference[0]), "=&r"(difference[1]), "=r"(difference[2])
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(y[0]), "r"(y[1]), "r"(y[2]));
    asm("mul.lo.u32 %0, %3, %5;\n\t"
        "mul.hi.u32 %1, %3, %5;\n\t"
        "mad.lo.cc.u32 %1, %4, %5, %1;\n\t"
        "madc.hi.u32 %2, %4, %5, 0;"
        : "=&r"(product[0]), "=&r"(product[1]), "=r"(product[2])
        : "r"(x[0]), "r"(x[1]), "r"(y[0]));
    asm("mad.hi.cc.u32 %0, %2, %3, %4;\n\t"
        "madc.lo.cc.u32 %1, %2, %3, %4;\n\t"
        : "=&r"(high[0]), "=&r"(high[1])
        : "r"(x[0]), "r"(y[0]), "r"(y[1]));
    // The flag of a difference is the carry of adding the complement: the compilers' own division relies on
    // it.
    asm("sub.cc.u32 %0, %1, %2;\n\t"
        "addc.u32 %0, 0, 0;"
        : "=&r"(is_not_less)
        : "r"(x[1]), "r"(y[1]));
    unsigned int *row = out + 13 * threadIdx.x;
    for (int i = 0; i < 4; i++) row[i] = sum[i];
    for (int i = 0; i < 3; i++) row[4 + i] = difference[i], row[7 + i] = product[i];
    row[10] = high[0];
    row[11] = high[1];
    row[12] = is_not_less;
}

// The opposites of predicates as operands; a logic operation that gives a predicate, too.
extern "C" __global__ void predicates(const unsigned int *a, const unsigned int *b, unsigned int *out) {
    unsigned int x = a[threadIdx.x], y = b[threadIdx.x], *row = out + 4 * threadIdx.x;
    asm("{ .reg .pred p, q, r;\n\t"
        "setp.lt.u32 q, %2, %3;\n\t"
        "setp.ne.and.u32 p|r, %2, 7, !q;\n\t"
        "selp.u32 %0, 1, 0, p;\n\t"
        "selp.u32 %1, 1, 0, r; }"
        : "=r"(row[0]), "=r"(row[1])
        : "r"(x), "r"(y));
    asm("{ .reg .pred p, q;\n\t"
        "setp.lt.u32 q, %2, %3;\n\t"
        "lop3.or.b32 %0|p, %2, %3, 0xff, 0x80, q;\n\t"
        "@p add.u32 %0, %0, 1000;\n\t"
        "lop3.and.b32 _|p, %2, %3, 0, 0x3c, !q;\n\t"
        "selp.u32 %1, 1, 0, p; }"
        : "=&r"(row[2]), "=r"(row[3])
        : "r"(x), "r"(y));
}

// Moving fields and bytes of words.
extern "C" __global__ void fields(const unsigned long long *in, unsigned long long *out) {
    unsigned long long x = in[threadIdx.x], *row = out + 6 * threadIdx.x;
    unsigned int low = (unsigned int)x, high = (unsigned int)(x >> 32), at = threadIdx.x;
    asm("bfi.b64 %0, %1, %2, %3, 17;" : "=l"(row[0]) : "l"(x), "l"(~x), "r"(at));
    asm("bfe.s64 %0, %1, %2, 9;" : "=l"(row[1]) : "l"(x), "r"(at));
    unsigned int word, other;
    asm("bfe.u32 %0, %1, %2, 30;" : "=r"(word) : "r"(low), "r"(at));
    asm("prmt.b32.f4e %0, %1, %2, %3;" : "=r"(other) : "r"(low), "r"(high), "r"(at));
    row[2] = (unsigned long long)word << 32 | other;
    asm("bfind.u64 %0, %1;" : "=r"(word) : "l"(x >> at));
    asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(other) : "r"(low), "r"(high), "r"(at));
    row[3] = (unsigned long long)word << 32 | other;
    asm("shf.r.clamp.b32 %0, %1, %2, %3;" : "=r"(word) : "r"(low), "r"(high), "r"(at + 8));
    asm("shf.l.wrap.b32 %0, %1, %2, %3;" : "=r"(other) : "r"(low), "r"(high), "r"(at + 40));
    row[4] = (unsigned long long)word << 32 | other;
    asm("prmt.b32 %0, %1, %2, 0x4321;" : "=r"(word) : "r"(low), "r"(63));
    asm("mov.b64 {%0, %1}, %2;" : "=r"(other), "=r"(low) : "l"(x));
    row[5] = (unsigned long long)word << 32 | other;
}

// A parameter that a function takes the address of lies in its local memory, above its caller's.
struct table {
    unsigned value[36];
};

static __device__ __noinline__ unsigned look_up(struct table table, const unsigned *places, unsigned deep) {
    unsigned here = table.value[places[0] % 36];
    if (deep == 0) return here;
    table.value[places[1] % 36] += deep;
    return here + look_up(table, places + 1, deep - 1);
}

extern "C" __global__ void structs_by_value(const unsigned *places, unsigned *out) {
    unsigned t = threadIdx.x;
    struct table table;
    for (unsigned i = 0; i < 36; i++) table.value[i] = 1000 * t + i;
    out[t] = look_up(table, places, t % 4) + table.value[places[t] % 36];
}

// Memory of a size that each thread chooses, which the functions that it calls leave alone.
__device__ __noinline__ int weigh_backwards(const int *values, int count) {
    int *backwards = (int *)__builtin_alloca(count * sizeof(int)), sum = 0;
    for (int i = 0; i < count; i++) backwards[i] = values[count - 1 - i];
    for (int i = 0; i < count; i++) sum += (i + 1) * backwards[i];
    return sum;
}

extern "C" __global__ void taken_from_the_stack(int *out) {
    int count = 1 + threadIdx.x % 7, sum = 0;
    for (int round = 0; round < count; round++) {
        int *taken = (int *)__builtin_alloca((count - round) * sizeof(int));
        for (int i = 0; i < count - round; i++) taken[i] = threadIdx.x + i;
        sum += weigh_backwards(taken, count - round);
        sum += 1000 * taken[0];
    }
    out[threadIdx.x] = sum;
}

// 4 MiB in all, given back in each round.
extern "C" __global__ void given_back_to_the_stack(unsigned int *out) {
    unsigned int sum = 0;
    for (unsigned int round = 0; round < 4096; round++) {
        unsigned long long top, taken;
        unsigned int value;
        asm volatile("stacksave.u64 %0;" : "=l"(top));
        asm volatile("alloca.u64 %0, %1, 64;" : "=l"(taken) : "l"(1024ull));
        asm volatile("st.local.u32 [%0+1020], %1;" :: "l"(taken), "r"(round + threadIdx.x) : "memory");
        asm volatile("ld.local.u32 %0, [%1+1020];" : "=r"(value) : "l"(taken) : "memory");
        asm volatile("stackrestore.u64 %0;" :: "l"(top));
        sum += value + (taken % 64 != 0);
    }
    out[threadIdx.x] = sum;
}
