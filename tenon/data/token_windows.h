// Samples cut from one long row of tokens: one set of windows to train on, one to measure on.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/data/source.h"
#include "tenon/text/tokenizer.h"

namespace tenon::data {

// Training: sample i is tokens [iT, iT+T]: inputs the first T, targets the last T. samples() = (tokens − 1) / T; what
// is left at the end is not used.
class TextSource final : public Source {
public:
    // Error(file, "data") where the text is not UTF-8 or gives fewer than T + 1 tokens (the message says how many it
    // gives and needs), Error(usage, "data") for T < 1.
    TextSource(std::string_view text, const text::Tokenizer& tokenizer, int64_t length);

    int64_t samples() const override { return (static_cast<int64_t>(tokens_.size()) - 1) / length_; }
    int64_t length() const override { return length_; }
    void read(int64_t i, std::span<int64_t> inputs, std::span<int64_t> targets) const override;
    const std::string& digest() const override { return digest_; }

private:
    std::vector<text::Token> tokens_;
    int64_t length_;
    std::string digest_;
};

// Validation: every token but the first is the target of exactly one place. The last window is filled up with ignored
// targets over inputs of 0.
class HeldOut final : public Source {
public:
    // Error(file, "data") where the text is not UTF-8 or gives fewer than 2 tokens, Error(usage, "data") for T < 1.
    HeldOut(std::string_view text, const text::Tokenizer& tokenizer, int64_t length);

    int64_t samples() const override { return (predictions() + length_ - 1) / length_; }
    int64_t length() const override { return length_; }
    void read(int64_t i, std::span<int64_t> inputs, std::span<int64_t> targets) const override;
    const std::string& digest() const override { return digest_; }

    int64_t predictions() const noexcept { return static_cast<int64_t>(tokens_.size()) - 1; }  // targets in all
    int64_t bytes() const noexcept { return bytes_; }  // that the targets stand for

    // bits/byte = nats / (ln 2 · bytes), for the sum of the losses over all predictions.
    double bits_per_byte(double nats) const noexcept;

private:
    std::vector<text::Token> tokens_;
    int64_t length_;
    int64_t bytes_ = 0;
    std::string digest_;
};

}  // namespace tenon::data
