// Bytes with an owner. Views of one tensor share one storage.
#pragma once

#include <cstdint>

#include "tenon/core/device.h"
#include "tenon/core/intrusive.h"

namespace tenon {

struct RawAccess;  // defined in tenon/cpu/access.h: the one door to the bytes

class Storage : public Counted {
public:
    // Uninitialised memory of `bytes` on `device`.
    Storage(Device device, int64_t bytes);
    ~Storage();

    Device device() const noexcept { return device_; }
    int64_t bytes() const noexcept { return bytes_; }

    // Counts writes since creation, so that a saved value can tell it was changed.
    uint64_t version() const noexcept { return version_; }
    const char* last_writer() const noexcept { return last_writer_; }
    void wrote(const char* op) noexcept {
        ++version_;
        last_writer_ = op;
    }

private:
    friend struct RawAccess;
    void* block_ = nullptr;
    int64_t bytes_ = 0;
    uint64_t version_ = 0;
    const char* last_writer_ = "creation";
    Device device_ = Device::cpu;
};

}  // namespace tenon
