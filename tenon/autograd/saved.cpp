#include "tenon/autograd/saved.h"

#include "tenon/base/error.h"

namespace tenon::autograd {

const Tensor& Saved::get(const char* saver) const {
    const Storage& storage = tensor_.storage();
    if (storage.version() != version_) {
        throw Error(Code::usage, "backward",
                    describe(tensor_) + " was saved by " + saver + " and then changed by " + storage.last_writer() +
                        "; its gradient needs the old value. Clone the tensor before writing to it");
    }
    return tensor_;
}

}  // namespace tenon::autograd
