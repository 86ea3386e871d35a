// From a call to a node: the dispatcher's record slot.
#pragma once

#include <span>

#include "tenon/ops/op.h"

namespace tenon::autograd {

void record(const ops::Call& call, std::span<Tensor> outputs);

}  // namespace tenon::autograd
