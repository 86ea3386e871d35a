// Cases of tests/golden/ops (its README has the format): inputs, and what PyTorch makes of them in float64.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tenon/base/json.h"
#include "tenon/ops/functions.h"
#include "tenon/ops/host.h"

namespace tenon::golden {

inline std::string read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    EXPECT_TRUE(in.good()) << path;
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}

class Family {
public:
    explicit Family(const std::string& name) {
        const std::string path = std::string(TENON_GOLDEN_DIR) + "/ops/" + name;
        cases_ = base::parse_json(read_file(path + ".json"), path);
        bytes_ = read_file(path + ".safetensors");
        uint64_t header = 0;
        std::memcpy(&header, bytes_.data(), 8);
        start_ = 8 + header;
        index_ = base::parse_json(bytes_.substr(8, header), path);
    }

    // check(case name, case) for each case; of one op, where it is named.
    template <class Check>
    void over(const std::string& op, Check check) const {
        int count = 0;
        for (const auto& [name, entry] : cases_.at("cases").object_value()) {
            if (!op.empty() && entry.at("op").string() != op) continue;
            SCOPED_TRACE(name);
            check(name, entry);
            ++count;
        }
        EXPECT_GT(count, 0) << op;
    }
    template <class Check>
    void over_all(Check check) const {
        over("", check);
    }

    std::set<std::string> tensor_names() const {
        std::set<std::string> names;
        for (const auto& [name, entry] : index_.object_value()) {
            if (name != "__metadata__") names.insert(name);
        }
        return names;
    }
    bool has_tensor(const std::string& name) const { return index_.find(name) != nullptr; }

    Tensor tensor(const std::string& name) const {
        const base::Json& entry = index_.at(name);
        Shape shape;
        for (const base::Json& size : entry.at("shape").array_value()) shape.push_back(size.integer());
        const int64_t from = entry.at("data_offsets").at(int64_t{0}).integer();
        const std::string& type = entry.at("dtype").string();
        const DType dtype = type == "F32"    ? DType::f32
                            : type == "BF16" ? DType::bf16
                            : type == "F16"  ? DType::f16
                            : type == "I32"  ? DType::i32
                            : type == "U8"   ? DType::u8
                            : type == "BOOL" ? DType::boolean
                                             : DType::i64;
        return ops::from_bytes(bytes_.data() + start_ + from, numel(shape), shape, dtype);
    }

private:
    base::Json cases_, index_;
    std::string bytes_;
    size_t start_ = 0;
};

// Equal within `tolerance` of the greatest magnitude (1e-12 where that is 0), taken as `least` at least; 16-bit results
// within one rounding besides. NaN equals NaN.
inline void expect_near(const Tensor& ours, const Tensor& truth, double tolerance, double least = 0) {
    ASSERT_EQ(ours.shape(), truth.shape());
    const bool rounded = ours.dtype() == DType::bf16 || ours.dtype() == DType::f16;
    const std::vector<double> a = ops::to_vector<double>(ops::cast(ours, DType::f64));
    const std::vector<double> b = ops::to_vector<double>(ops::cast(truth, DType::f64));
    double scale = least;
    for (const double v : b) scale = std::isfinite(v) ? std::max(scale, std::abs(v)) : scale;
    for (size_t i = 0; i < a.size(); ++i) {
        if (std::isnan(b[i]) || std::isinf(b[i])) {
            EXPECT_TRUE(std::isnan(b[i]) ? std::isnan(a[i]) : a[i] == b[i]) << i << ": " << a[i] << " " << b[i];
            continue;
        }
        EXPECT_NEAR(a[i], b[i], 1e-12 + tolerance * scale + (rounded ? std::abs(b[i]) / 256 : 0)) << i;
    }
}

}  // namespace tenon::golden
