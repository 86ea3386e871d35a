// Adds the CPU's kernels to the op table and fills the CPU's slots. Called once at start-up, by programs and tests.
#pragma once

namespace tenon::cpu {

// Idempotent, thread-safe.
void register_kernels();

}  // namespace tenon::cpu
