// The op table. Families fill it by explicit calls (families.cpp); layers below add their kernels by explicit calls
// too.
#pragma once

#include <deque>
#include <string_view>
#include <unordered_map>

#include "tenon/ops/op.h"

namespace tenon::ops {

class Table {
public:
    // A new entry. Throws when the name is taken.
    Op& op(std::string_view schema);
    // Throws Error(usage) with the nearest name.
    const Op& find(std::string_view name) const;
    const std::deque<Op>& all() const { return ops_; }

private:
    std::deque<Op> ops_;  // a deque: entries do not move
    std::unordered_map<std::string_view, Op*> by_name_;
};

// The one table of this process, filled on first use.
Table& table();
inline const Op& lookup(std::string_view name) {
    return table().find(name);
}

}  // namespace tenon::ops
