// digests.bin: one record a step.
//
//   8 bytes "TENONDIG", u32 version = 1, u32 record size = 48, then records, little-endian:
//   u64 step, f32 loss, u32 0, u64 gradients[2], u64 parameters[2]
//
// Record 0 holds the initial parameters; its loss is NaN and its gradients are 0. An unfinished last record is ignored.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tenon/base/files.h"

namespace tenon::run {

using Digest = std::array<uint64_t, 2>;

struct DigestRecord {
    int64_t step = 0;
    float loss = 0;
    Digest gradients{};
    Digest parameters{};
};

std::string to_hex(const Digest& digest);
// A line a record: step, loss, gradients, parameters, by tabs; "-" for what record 0 does not have.
std::string to_text(const std::vector<DigestRecord>& records);

class DigestLedger {
public:
    // Opens or creates; with a length, cuts back to it first.
    explicit DigestLedger(const std::string& path, int64_t length = -1);
    void append(const DigestRecord& record);
    void sync() { file_.sync(); }
    int64_t size() const { return file_.size(); }

private:
    base::AppendFile file_;
};

std::vector<DigestRecord> read_digests(const std::string& path);

}  // namespace tenon::run
