// Small models with everything that could go wrong: odd widths, grouped heads, dropout, tied and untied heads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tenon/run/digest_ledger.h"
#include "tenon/train/trainer.h"

namespace tenon::tests {

struct TinyModel {
    std::string name;
    std::string config;  // [model] in TOML
    int64_t sequences = 8;
    int64_t length = 64;
};

// 132 wide: no multiple of any register.
const std::vector<TinyModel>& tiny_models();
// At most 0.25 GFLOP a step: for the plain path.
const TinyModel& plain_model();

struct TinyRun {
    int64_t steps = 60;
    int64_t leaves = 4;
    train::LeafOrder order = train::LeafOrder::ascending;
    int threads = 2;
};

// The records of a whole run, record 0 first.
std::vector<run::DigestRecord> train_tiny(const TinyModel& model, const TinyRun& options);
std::string to_text(const std::vector<run::DigestRecord>& records);
void prepare();

}  // namespace tenon::tests
