// The text of the tenon::Error that a call throws; "" where it throws none.
#pragma once

#include <string>

#include "tenon/base/error.h"

namespace tenon::tests {

template <class Call>
std::string thrown(Call call) {
    try {
        call();
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

}  // namespace tenon::tests
