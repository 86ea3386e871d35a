// What training reads: numbered samples of one length, known by a digest.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace tenon::data {

// A target that is not to be predicted: cross entropy's ignore_index.
inline constexpr int64_t ignored_target = -100;

class Source {
public:
    virtual ~Source() = default;
    virtual int64_t samples() const = 0;
    virtual int64_t length() const = 0;  // T, tokens in a sample
    // Writes sample i in [0, samples()): inputs [T] and, for each, the token that follows it, targets [T]. Any number
    // of threads may read at once.
    virtual void read(int64_t i, std::span<int64_t> inputs, std::span<int64_t> targets) const = 0;
    // 64 hexadecimal digits that name the content: equal digests, equal samples at equal length.
    virtual const std::string& digest() const = 0;
};

}  // namespace tenon::data
