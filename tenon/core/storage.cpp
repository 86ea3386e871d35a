#include "tenon/core/storage.h"

#include <utility>

#include "tenon/core/allocator.h"

namespace tenon {

Storage::Storage(Device device, int64_t bytes)
    : block_(tenon::allocate(device, bytes)), bytes_(bytes), device_(device) {}

Storage::Storage(void* block, int64_t bytes, std::function<void()> release)
    : block_(block), bytes_(bytes), foreign_release_(std::move(release)) {}

Storage::~Storage() {
    if (foreign_release_) {
        foreign_release_();
        return;
    }
    tenon::release(device_, block_, bytes_);
}

}  // namespace tenon
