// Random tokens with a little structure, from Philox: a source that needs no text. For benchmarks, tests and
// self-checks.
#pragma once

#include <string>
#include <vector>

#include "tenon/core/random.h"
#include "tenon/data/source.h"

namespace tenon::data {

class SyntheticTokens final : public Source {
public:
    SyntheticTokens(int64_t vocabulary, int64_t length, int64_t samples)
        : vocabulary_(vocabulary), length_(length), samples_(samples) {}
    int64_t samples() const override { return samples_; }
    int64_t length() const override { return length_; }
    const std::string& digest() const override { return digest_; }

    void read(int64_t i, std::span<int64_t> inputs, std::span<int64_t> targets) const override {
        for (int64_t t = 0; t < length_; ++t) {
            inputs[static_cast<size_t>(t)] = token(i * length_ + t);
            targets[static_cast<size_t>(t)] = token(i * length_ + t + 1);
        }
    }

private:
    int64_t token(int64_t at) const {
        const uint32_t word = random_word({99, 0, 0}, at);
        // Half the tokens come from a small set: something to learn.
        return static_cast<int64_t>(word % 2 == 0 ? word / 2 % 7 : word / 2 % static_cast<uint32_t>(vocabulary_));
    }

    int64_t vocabulary_, length_, samples_;
    std::string digest_ = "synthetic tokens";
};

}  // namespace tenon::data
