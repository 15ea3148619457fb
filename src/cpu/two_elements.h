/* Two elements of one type, their sum or their mean: included for each type, whose REAL, WORD, LARGEST (the bits of its largest
 * number) and NAME(name) are defined.  Where types are alike but for these, so are their loops. */

/* IEEE addition is right for zeros, infinities and subnormals, too; of NaNs only the canonical one, NAN, is returned. */
static void NAME(add_some)(const unsigned char *x, const unsigned char *y, unsigned char *results, size_t count) {
    REAL a, b;
    for (size_t i = 0; i < count; i++) {
        memcpy(&a, x + i * sizeof a, sizeof a);
        memcpy(&b, y + i * sizeof b, sizeof b);
        a += b;
        a = a == a ? a : (REAL)NAN;
        memcpy(results + i * sizeof a, &a, sizeof a);
    }
}

/* The mean is half of the sum, which is exact where that is subnormal.  Where the sum is not finite halves, which are exact if it has
 * overflowed, are added: in a loop of its own, since few are so. */
static void NAME(halve_some)(const unsigned char *x, const unsigned char *y, unsigned char *results, size_t count) {
    const REAL half = (REAL)0.5;
    const WORD top = ~((WORD)-1 >> 1);
    REAL a, b, found;
    WORD magnitude, any_above = 0;
    for (size_t i = 0; i < count; i++) {
        memcpy(&a, x + i * sizeof a, sizeof a);
        memcpy(&b, y + i * sizeof b, sizeof b);
        found = a + b;
        memcpy(&magnitude, &found, sizeof found);
        any_above |= LARGEST - (magnitude & ~top);
        found *= half;
        memcpy(results + i * sizeof found, &found, sizeof found);
    }
    for (size_t i = 0; any_above & top && i < count; i++) {
        memcpy(&found, results + i * sizeof found, sizeof found);
        if (found - found == 0) continue;
        memcpy(&a, x + i * sizeof a, sizeof a);
        memcpy(&b, y + i * sizeof b, sizeof b);
        found = a * half + b * half;
        if (found != found) found = (REAL)NAN;
        memcpy(results + i * sizeof found, &found, sizeof found);
    }
}

#undef REAL
#undef WORD
#undef LARGEST
#undef NAME
