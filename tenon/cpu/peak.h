// The processor's f32 peak, measured in this process: what "share of the peak" divides by.
#pragma once

namespace tenon::cpu {

// FLOP/s of independent fused multiply-adds (2 FLOP each) held in registers, with the instruction set in use, summed
// over `threads` threads of their own that start together and run for about `seconds`. The plain path counts its
// software fma the same way.
double measure_peak_flops(int threads, double seconds);

}  // namespace tenon::cpu
