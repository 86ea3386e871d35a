#include "tenon/core/storage.h"

#include "tenon/core/allocator.h"

namespace tenon {

Storage::Storage(Device device, int64_t bytes)
    : block_(tenon::allocate(device, bytes)), bytes_(bytes), device_(device) {}

Storage::~Storage() {
    tenon::release(device_, block_, bytes_);
}

}  // namespace tenon
