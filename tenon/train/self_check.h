// Golden steps: a few steps of a small model on synthetic tokens, whose digests are known beforehand.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/run/digest_ledger.h"
#include "tenon/train/leaf_tree.h"

namespace tenon::train {

struct GoldenRun {
    std::string model;  // a [model] section in TOML
    int64_t sequences = 8;
    int64_t length = 32;
    int64_t steps = 5;
    int64_t leaves = 4;
    LeafOrder leaf_order = LeafOrder::ascending;
};

// Trains with dropout, clipping and a cosine schedule on the default device. The records of all steps, record 0 first.
std::vector<run::DigestRecord> golden_records(const GoldenRun& golden);

// What models::self_check_model() gives in five steps, as run::to_text: on every machine that keeps D4.
std::string_view self_check_digests();

// The first line of `actual` that differs from the expected one, with both; "" where none does.
std::string first_difference(std::string_view expected, std::string_view actual);

}  // namespace tenon::train
