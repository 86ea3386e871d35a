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
    int64_t steps = 60;  // that its golden file holds
};

// 132 wide: no multiple of any register.
const std::vector<TinyModel>& tiny_models();
// Long enough for the code that cuts long things: 640 rows a leaf (linear_cross_entropy takes 512 at a time), 320 keys
// (attention takes 128 at a time forward and 112 backward), products deeper than 384 forward and backward.
const TinyModel& long_model();
// At most 0.25 GFLOP a step: for the plain path.
const TinyModel& plain_model();

struct TinyRun {
    int64_t steps = 0;  // 0: the model's
    int64_t leaves = 4;
    train::LeafOrder order = train::LeafOrder::ascending;
    int threads = 2;
};

// The records of a whole run, record 0 first.
std::vector<run::DigestRecord> train_tiny(const TinyModel& model, const TinyRun& options);
using run::to_text;
void prepare();

}  // namespace tenon::tests
