// A value kept for backward, with the version it had: changed since, it is an error that names both ops.
#pragma once

#include "tenon/core/tensor.h"

namespace tenon::autograd {

class Saved {
public:
    Saved() = default;
    explicit Saved(const Tensor& tensor) : tensor_(tensor), version_(tensor.storage().version()) {}

    bool empty() const { return !tensor_.defined(); }
    // Throws when an op has written the storage since; `saver` is the op that kept it.
    const Tensor& get(const char* saver) const;

private:
    Tensor tensor_;
    uint64_t version_ = 0;
};

}  // namespace tenon::autograd
