// How the kernels printed from the scalar expressions are found: a name and a function.
#pragma once

#include <stdint.h>

namespace tenon::cpu {

// out[i] = math(in[0][i], …) for i in [0, n), over contiguous elements of one compute type (f32, f64 or i64). After the
// inputs, `in` points to one number for each attribute. A mask is written as bytes 0 and 1.
using TileKernel = void (*)(const void* const* in, void* out, int64_t n);

struct PackedKernel {
    const char* name;  // of the op
    TileKernel run;
};

}  // namespace tenon::cpu
