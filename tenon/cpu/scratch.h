// Working memory of the calling thread, kept from call to call: fresh pages cost more than the packing that fills them.
#pragma once

#include <cstdint>

namespace tenon::cpu {

// At least `floats` floats at a 64-byte boundary, on huge pages from 2 MiB on. Valid until this thread's next call; the
// contents are left over from earlier ones. Throws Error(failed) when memory runs out.
float* thread_scratch(int64_t floats);

// A second block of the same kind, for what a caller prepares once and its tiles share.
float* shared_scratch(int64_t floats);

}  // namespace tenon::cpu
