#include "tenon/cpu/host_copies.h"

#include "tenon/cpu/copy.h"
#include "tenon/ops/host.h"

namespace tenon::cpu {

namespace {

void read(const Tensor& from, void* to) {
    copy_strided(from.shape(), strided(from), {to, contiguous_strides(from.shape()), from.dtype()});
}

void write(Tensor& to, const void* from) {
    // copy_strided reads through `from` only.
    copy_strided(to.shape(), {const_cast<void*>(from), contiguous_strides(to.shape()), to.dtype()}, strided(to));
}

}  // namespace

void register_host_copies() {
    ops::host_copies(Device::cpu) = {read, write};
}

}  // namespace tenon::cpu
