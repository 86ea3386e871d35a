#include "tenon/base/sha256.h"

#include <openssl/evp.h>

#include "tenon/base/error.h"
#include "tenon/base/files.h"

namespace tenon::base {

namespace {

void check(int done) {
    if (done != 1) throw Error(Code::failed, "sha256", "OpenSSL refused the digest; is its FIPS provider set up?");
}

}  // namespace

struct Sha256::State {
    EVP_MD_CTX* context = EVP_MD_CTX_new();
    ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
    check(state_->context != nullptr);
    check(EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr));
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

Sha256& Sha256::update(std::string_view bytes) {
    return update(bytes.data(), static_cast<int64_t>(bytes.size()));
}

Sha256& Sha256::update(const void* bytes, int64_t count) {
    if (count > 0) check(EVP_DigestUpdate(state_->context, bytes, static_cast<size_t>(count)));
    return *this;
}

Sha256Digest Sha256::finish() {
    Sha256Digest digest{};
    unsigned int length = 0;
    check(EVP_DigestFinal_ex(state_->context, digest.data(), &length));
    return digest;
}

std::string Sha256::finish_hex() {
    return hex(finish());
}

Sha256Digest sha256(std::string_view bytes) {
    return Sha256().update(bytes).finish();
}

std::string sha256_hex(std::string_view bytes) {
    return hex(sha256(bytes));
}

std::string sha256_hex_of_file(const std::string& path) {
    const MappedFile file(path);
    return Sha256().update(file.data(), file.size()).finish_hex();
}

std::string hex(const uint8_t* bytes, int64_t count) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string text;
    text.reserve(static_cast<size_t>(count) * 2);
    for (int64_t i = 0; i < count; ++i) {
        text.push_back(digits[bytes[i] >> 4]);
        text.push_back(digits[bytes[i] & 15]);
    }
    return text;
}

}  // namespace tenon::base
