#include "tenon/run/digest_ledger.h"

#include <bit>
#include <limits>
#include <string_view>

#include "tenon/base/error.h"
#include "tenon/base/fault.h"
#include "tenon/base/little_endian.h"
#include "tenon/base/number.h"

namespace tenon::run {

namespace {

constexpr std::string_view magic = "TENONDIG";
constexpr uint32_t version = 1;
constexpr size_t record_bytes = 48;
constexpr size_t header_bytes = 16;

using base::append_little_endian;
using base::little_endian_at;

std::string header() {
    std::string bytes(magic);
    append_little_endian(bytes, version);
    append_little_endian(bytes, static_cast<uint32_t>(record_bytes));
    return bytes;
}

}  // namespace

std::string to_hex(const Digest& digest) {
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (const uint64_t word : digest) {
        for (int shift = 60; shift >= 0; shift -= 4) text += digits[word >> shift & 15];
    }
    return text;
}

DigestLedger::DigestLedger(const std::string& path, int64_t length) : file_(path) {
    if (length >= 0 && !TENON_FAULT(digests_not_cut)) file_.truncate(length);
    if (file_.size() == 0) file_.append(header());
}

void DigestLedger::append(const DigestRecord& record) {
    std::string bytes;
    append_little_endian(bytes, static_cast<uint64_t>(record.step));
    append_little_endian(bytes, std::bit_cast<uint32_t>(record.loss));
    append_little_endian(bytes, uint32_t{0});
    for (const uint64_t word : record.gradients) append_little_endian(bytes, word);
    for (const uint64_t word : record.parameters) append_little_endian(bytes, word);
    file_.append(bytes);
    file_.flush();
}

std::vector<DigestRecord> read_digests(const std::string& path) {
    const std::string bytes = base::read_file(path);
    if (bytes.size() < header_bytes || bytes.substr(0, magic.size()) != magic) {
        throw Error(Code::file, "digests", path + ": is no digest file");
    }
    if (little_endian_at<uint32_t>(bytes, 8) != version) {
        throw Error(
            Code::file, "digests",
            path + ": has version " + std::to_string(little_endian_at<uint32_t>(bytes, 8)) + "; this program reads 1");
    }
    std::vector<DigestRecord> records;
    for (size_t at = header_bytes; at + record_bytes <= bytes.size(); at += record_bytes) {
        DigestRecord record;
        record.step = static_cast<int64_t>(little_endian_at<uint64_t>(bytes, at));
        record.loss = std::bit_cast<float>(little_endian_at<uint32_t>(bytes, at + 8));
        record.gradients = {little_endian_at<uint64_t>(bytes, at + 16), little_endian_at<uint64_t>(bytes, at + 24)};
        record.parameters = {little_endian_at<uint64_t>(bytes, at + 32), little_endian_at<uint64_t>(bytes, at + 40)};
        records.push_back(record);
    }
    return records;
}

std::string to_text(const std::vector<DigestRecord>& records) {
    std::string text;
    for (const DigestRecord& record : records) {
        const bool has_loss = record.step > 0;
        text += std::to_string(record.step) + "\t" + (has_loss ? base::shortest(record.loss) : "-") + "\t" +
                (has_loss ? to_hex(record.gradients) : "-") + "\t" + to_hex(record.parameters) + "\n";
    }
    return text;
}

}  // namespace tenon::run
