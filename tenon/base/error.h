// The one error type. Thrown where the fact is known, caught only at the edge (CLI, Python, server).
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace tenon {

// Decides the exit code (docs/first-run.md, Exit codes): failed 1, usage 2, file 3, refused 4.
enum class Code { failed, usage, file, refused };

// what() reads "[op] message". `op` is the operation a user knows: an op's name, "config", "checkpoint", …
class Error : public std::runtime_error {
public:
    Error(Code code, std::string_view op, std::string_view message);
    Code code() const noexcept { return code_; }
    const std::string& op() const noexcept { return op_; }

private:
    Code code_;
    std::string op_;
};

int exit_code(Code code) noexcept;

}  // namespace tenon
