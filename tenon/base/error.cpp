#include "tenon/base/error.h"

namespace tenon {

Error::Error(Code code, std::string_view op, std::string_view message)
    : std::runtime_error("[" + std::string(op) + "] " + std::string(message)), code_(code), op_(op) {}

int exit_code(Code code) noexcept {
    switch (code) {
        case Code::failed:
            return 1;
        case Code::usage:
            return 2;
        case Code::file:
            return 3;
        case Code::refused:
            return 4;
    }
    return 1;
}

}  // namespace tenon
