#include "value_at.h"

#include <stdbool.h>
#include <string.h>

wf_value value_at(const void *elements, wf_type type, int64_t i) {
    const size_t nbytes = wf_type_nbytes(type);
    const unsigned unused_bits = 64 - 8 * (unsigned)nbytes;
    const bool is_little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    wf_value value = {.type = type};
    uint64_t bits = 0;
    memcpy((unsigned char *)&bits + (is_little ? 0 : sizeof bits - nbytes), (const unsigned char *)elements + (size_t)i * nbytes, nbytes);
    if (type >= WF_I8 && type <= WF_I64) value.v.i = (int64_t)(bits << unused_bits) >> unused_bits;
    else if (type == WF_F32) memcpy(&value.v.f32, &(uint32_t){(uint32_t)bits}, sizeof value.v.f32);
    else if (type == WF_F16 || type == WF_BF16) value.v.f16 = (uint16_t)bits;
    else value.v.u = bits;
    return value;
}
