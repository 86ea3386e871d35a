// SHA-256 (FIPS 180-4).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace tenon::base {

using Sha256Digest = std::array<uint8_t, 32>;

class Sha256 {
public:
    Sha256();
    ~Sha256();
    Sha256(Sha256&&) noexcept;
    Sha256& operator=(Sha256&&) noexcept;

    Sha256& update(std::string_view bytes);
    Sha256& update(const void* bytes, int64_t count);
    // The digest of all bytes so far; ends the object's use.
    Sha256Digest finish();
    std::string finish_hex();

private:
    struct State;
    std::unique_ptr<State> state_;
};

Sha256Digest sha256(std::string_view bytes);
std::string sha256_hex(std::string_view bytes);  // 64 lower-case digits
std::string sha256_hex_of_file(const std::string& path);

std::string hex(const uint8_t* bytes, int64_t count);
template <size_t N>
std::string hex(const std::array<uint8_t, N>& bytes) {
    return hex(bytes.data(), static_cast<int64_t>(N));
}

}  // namespace tenon::base
