// Shape and dtype of an elementwise call: broadcasting, and PyTorch's promotion with its three kinds of operand.
#pragma once

#include "tenon/ops/op.h"

namespace tenon::ops {

void elementwise_rule(const Call& call, Results& results);

// The dtype that the operands meet in (torch.result_type): a number written in source code counts only when no tensor
// of its kind takes part, and a 0-d tensor only when no tensor with dimensions of its kind does.
DType promoted_dtype(std::span<const Tensor> inputs);

}  // namespace tenon::ops
