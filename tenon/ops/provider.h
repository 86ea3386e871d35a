// A provider: one kernel for an op on a device. An op has an ordered list of them; the first that supports the call and
// keeps the tier runs. The last is the reference.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/core/tensor.h"

namespace tenon::ops {

struct Call;

// What stays equal; see docs/numerics.md.
enum class Tier : uint8_t { d0, d1, d2, d3, d4 };
std::string_view name_of(Tier tier) noexcept;

// Why a provider does not take a call; `ok` where it does.
enum class Reason : uint8_t { ok, layout, dtype, shape };
std::string_view name_of(Reason reason) noexcept;

using Supports = Reason (*)(const Call&);
using Kernel = void (*)(const Call&, std::span<Tensor> outputs);

struct Provider {
    const char* name = "";
    Tier tier = Tier::d4;
    Supports supports = nullptr;  // null: every call
    Kernel run = nullptr;
    // Relaxed everywhere: a count for the record, ordering nothing.
    std::atomic<uint64_t> calls{0};

    Provider(const char* provider_name, Tier kept, Supports accepts, Kernel kernel)
        : name(provider_name), tier(kept), supports(accepts), run(kernel) {}
};

class Providers {
public:
    // Adds behind those that are there: register the best first, the reference last.
    void add(const char* name, Tier tier, Kernel run, Supports supports = nullptr) {
        list_.emplace_back(name, tier, supports, run);
    }
    bool empty() const { return list_.empty(); }
    std::deque<Provider>& list() { return list_; }

private:
    std::deque<Provider> list_;  // a deque: providers do not move once counted
};

// While it lives, `op` runs on the provider named, on this thread. Throws when there is none of that name.
class ForceProvider {
public:
    ForceProvider(std::string_view op, std::string_view provider);
    ~ForceProvider();
    ForceProvider(const ForceProvider&) = delete;
    ForceProvider& operator=(const ForceProvider&) = delete;
};

}  // namespace tenon::ops
