// Clipping by the global norm. Pascanu et al. 2013, arXiv:1211.5063.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tenon/core/tensor.h"

namespace tenon::optim {

// sqrt of the sum of squares over all gradients: an f32 sum per parameter, then an f64 chain in order of full names.
// 0 on meta, where there are no values.
double global_norm(std::vector<std::pair<std::string, Tensor>> named_grads);

// min(1, most / (norm + 1e-6)); 1 where most is 0: no clipping.
double clip_factor(double norm, double most);

}  // namespace tenon::optim
