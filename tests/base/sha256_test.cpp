#include "tenon/base/sha256.h"

#include <gtest/gtest.h>

#include "tenon/base/files.h"
#include "tests/base/temporary_folder.h"

namespace tenon::base {

// FIPS 180-2, appendix B, and NIST's example for the empty message.
TEST(Sha256, GivesThePublishedDigests) {
    EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(sha256_hex(std::string(1000000, 'a')),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotDependOnHowTheBytesAreCut) {
    const std::string text(1000, 'a');
    for (size_t piece : {1u, 7u, 63u, 64u, 65u, 999u}) {
        Sha256 sha;
        for (size_t at = 0; at < text.size(); at += piece) sha.update(std::string_view(text).substr(at, piece));
        EXPECT_EQ(sha.finish_hex(), sha256_hex(text)) << piece;
    }
}

TEST(Sha256, OfAFileIsThatOfItsBytes) {
    const tests::TemporaryFolder folder;
    write_file_atomically(folder / "a", "abc");
    write_file_atomically(folder / "empty", "");
    EXPECT_EQ(sha256_hex_of_file(folder / "a"), sha256_hex("abc"));
    EXPECT_EQ(sha256_hex_of_file(folder / "empty"), sha256_hex(""));
}

}  // namespace tenon::base
