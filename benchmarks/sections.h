// The parts of tenon_bench, one file each.
#pragma once

#include <string>

#include "benchmarks/measure.h"

namespace tenon::bench {

void gemm(Bench& bench);
void attention(Bench& bench);
void norms(Bench& bench);
void adamw(Bench& bench);
void linear_cross_entropy(Bench& bench);
// The training step of a configuration, on tokens that need no text.
void step(Bench& bench, const std::string& config_path);

// Median seconds of `steps` steps of the configuration after two that warm up; each step waits for its batch as
// `tenon train` does.
double step_seconds(const std::string& config_path, int steps);

}  // namespace tenon::bench
