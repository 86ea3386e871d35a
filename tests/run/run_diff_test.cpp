#include "tenon/run/run_diff.h"

#include <gtest/gtest.h>

#include <limits>

namespace tenon::tests {

namespace {

using base::Json;
using run::ComparedRun;
using run::DigestRecord;
using run::Effect;

constexpr const char* record_text = R"({
  "config": {"model": {"model_type": "llama", "vocab_size": 300}, "data": {"path": "text.txt", "held_out": 0.1},
             "tokenizer": {"path": null, "vocab_size": 300},
             "batch": {"sequences": 8, "leaves": 4, "leaf_order": "ascending"},
             "optim": {"learning_rate": 0.004}, "train": {"steps": 3, "seed": 3}, "checkpoint": {"every": 5}},
  "origins": {"model": {"model_type": "a.toml:3", "vocab_size": "a.toml:4"},
              "data": {"path": "a.toml:7", "held_out": "default"},
              "tokenizer": {"path": "default", "vocab_size": "model.vocab_size"},
              "batch": {"sequences": "a.toml:9", "leaves": "512 tokens a leaf", "leaf_order": "default"},
              "optim": {"learning_rate": "a.toml:11"}, "train": {"steps": "--set", "seed": "a.toml:13"},
              "checkpoint": {"every": "default"}},
  "inputs": {"text": "t", "tokenizer": "k", "data": "d", "samples": 70, "pattern_engine": "own, Unicode 15"},
  "contract": {"leaves": 4, "k_blocks": 1, "tier": "D4"},
  "build": {"version": "0.1.0", "commit": "c1", "sources": "s1", "compiler": "GNU 12.2.0", "flags": "-O2 -g",
            "type": "Release", "identity": "i1"},
  "providers": [{"op": "matmul", "device": "cpu", "provider": "gemm", "tier": "D4", "calls": 9},
                {"op": "exp", "device": "cpu", "provider": "pack", "tier": "D4", "calls": 3}],
  "resumes": [],
  "outcome": {"state": "completed", "step": 3},
  "host": {"name": "h", "kernel": "Linux 6", "libc": "glibc 2.36", "processor": "p", "instruction_set": "avx512",
           "processors": 2, "threads": 2, "memory_bytes": 9, "environment": {"LANG": "C.UTF-8"}, "run": "runs/a",
           "started": "2025-01-31T23:59:59.123Z", "ended": "2025-01-31T23:59:59.123Z"}
})";

ComparedRun some_run() {
    ComparedRun run;
    run.record = base::parse_json(record_text, "test");
    run.has_digests = true;
    run.digests = {{0, std::numeric_limits<float>::quiet_NaN(), {}, {7, 8}},
                   {1, 5.5F, {1, 2}, {3, 4}},
                   {2, 5.25F, {5, 6}, {7, 9}},
                   {3, 5.0F, {9, 6}, {7, 1}}};
    run.samples = {{Json(1), Json(2)}, {Json(3), Json(4)}, {Json(5), Json(6)}};
    run.validation = Json::object({{"nats_per_token", 4.5}});
    return run;
}

// Sets the value at "build.flags", "config.optim.learning_rate" or the like.
void set(Json& record, std::string path, Json value) {
    Json* at = &record;
    for (size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.')) {
        at = &(*at)[path.substr(0, dot)];
        path.erase(0, dot + 1);
    }
    at->set(path, std::move(value));
}

struct Change {
    std::vector<std::pair<std::string, Json>> sets;  // the first is the cause, the others follow from it
    std::string kind, name;
    Effect effect;
};

TEST(RunDiff, EqualRunsDoNotDiffer) {
    ComparedRun b = some_run();
    // Where and when a run was, how much memory its machine had, and how often a kernel ran, is no difference.
    set(b.record, "host.run", "elsewhere");
    set(b.record, "host.started", "2026-01-31T23:59:59.123Z");
    set(b.record, "host.memory_bytes", 10);
    set(b.record, "origins.optim.learning_rate", "--set");
    b.record["providers"].array_value()[0].set("calls", 1);
    EXPECT_TRUE(diff_runs(some_run(), b).same());
}

TEST(RunDiff, TheCauseOfASingleChangeComesFirst) {
    const std::vector<Change> changes = {
        {{{"config.optim.learning_rate", 0.002}}, "config", "optim.learning_rate", Effect::may_change_bits},
        {{{"config.train.seed", 4}}, "config", "train.seed", Effect::may_change_bits},
        {{{"config.batch.sequences", 16}, {"config.batch.leaves", 8}, {"contract.leaves", 8}},
         "config",
         "batch.sequences",
         Effect::may_change_bits},
        {{{"config.model.vocab_size", 310},
          {"config.tokenizer.vocab_size", 310},
          {"inputs.tokenizer", "x"},
          {"inputs.data", "x"},
          {"inputs.samples", 60}},
         "config",
         "model.vocab_size",
         Effect::may_change_bits},
        {{{"config.data.held_out", 0.2},
          {"origins.data.held_out", "--set"},
          {"inputs.tokenizer", "x"},
          {"inputs.data", "x"},
          {"inputs.samples", 60}},
         "config",
         "data.held_out",
         Effect::may_change_bits},
        {{{"inputs.text", "x"}, {"inputs.tokenizer", "x"}, {"inputs.data", "x"}, {"inputs.samples", 71}},
         "input",
         "text",
         Effect::may_change_bits},
        {{{"inputs.tokenizer", "x"},
          {"inputs.data", "x"},
          {"config.tokenizer.path", "t.json"},
          {"origins.tokenizer.path", "--set"},
          {"config.tokenizer.vocab_size", nullptr}},
         "input",
         "tokenizer",
         Effect::may_change_bits},
        {{{"build.sources", "s2"}, {"build.commit", "c1+"}, {"build.identity", "i2"}},
         "build",
         "sources",
         Effect::may_change_bits},
        {{{"build.flags", "-O2 -g -ffast-math"}, {"build.identity", "i2"}}, "build", "flags", Effect::may_change_bits},
        {{{"build.compiler", "Clang 14"}, {"build.identity", "i2"}}, "build", "compiler", Effect::no_bit_at_d4},
        {{{"build.commit", "c2"}, {"build.identity", "i2"}}, "build", "commit", Effect::no_bit},
        {{{"build.identity", "i2"}}, "build", "identity", Effect::may_change_bits},
        {{{"host.environment.TENON_CPU", "avx2"}, {"host.instruction_set", "avx2"}},
         "environment",
         "TENON_CPU",
         Effect::no_bit_at_d4},
        {{{"host.environment.LANG", "de_DE.UTF-8"}}, "environment", "LANG", Effect::no_bit_at_d4},
        {{{"host.environment.LD_PRELOAD", "libfast.so"}}, "environment", "LD_PRELOAD", Effect::may_change_bits},
        {{{"host.environment.TENON_LOG", "silent"}}, "environment", "TENON_LOG", Effect::no_bit},
        {{{"host.processor", "q"}, {"host.name", "other"}, {"host.processors", 4}, {"host.threads", 4}},
         "host",
         "processor",
         Effect::no_bit_at_d4},
        {{{"host.libc", "glibc 2.39"}}, "host", "libc", Effect::no_bit_at_d4},
        {{{"host.threads", 1}}, "kernels", "threads", Effect::no_bit},
        {{{"config.batch.leaf_order", "descending"}}, "config", "batch.leaf_order", Effect::no_bit},
        {{{"config.data.path", "moved.txt"}}, "config", "data.path", Effect::no_bit},
    };
    for (const Change& change : changes) {
        SCOPED_TRACE(change.kind + " " + change.name);
        ComparedRun b = some_run();
        for (const auto& [path, value] : change.sets) set(b.record, path, value);
        const run::RunDiff diff = diff_runs(some_run(), b);
        ASSERT_FALSE(diff.differences.empty());
        EXPECT_EQ(diff.differences.front().kind, change.kind);
        EXPECT_EQ(diff.differences.front().name, change.name);
        EXPECT_EQ(diff.differences.front().effect, change.effect);
    }
}

TEST(RunDiff, AnotherProviderComesFirst) {
    ComparedRun b = some_run();
    b.record["providers"].array_value()[0].set("provider", "reference");
    run::RunDiff diff = diff_runs(some_run(), b);
    ASSERT_EQ(diff.differences.size(), 1);
    EXPECT_EQ(diff.differences[0].name, "matmul on cpu");
    EXPECT_EQ(diff.differences[0].effect, Effect::no_bit_at_d4);
    b.record["providers"].array_value()[0].set("tier", "D0");
    diff = diff_runs(some_run(), b);
    EXPECT_EQ(diff.differences[0].effect, Effect::may_change_bits);
    EXPECT_EQ(diff.differences[0].b.string(), "reference D0");
}

TEST(RunDiff, WhatFollowsNamesItsCauseAndComesAfterEveryCause) {
    ComparedRun b = some_run();
    set(b.record, "inputs.text", "x");
    set(b.record, "inputs.data", "x");
    set(b.record, "build.flags", "-O3");
    set(b.record, "host.threads", 1);
    std::vector<std::string> found;
    for (const auto& each : diff_runs(some_run(), b).differences) found.push_back(each.name + "<" + each.follows);
    EXPECT_EQ(found, (std::vector<std::string>{"text<", "flags<", "data<text", "threads<"}));
}

TEST(RunDiff, TheFirstStepThatDiffersIsNamedWithItsParts) {
    struct Case {
        size_t record;
        void (*change)(DigestRecord&);
        std::vector<std::string> parts;
    };
    const std::vector<Case> cases = {
        {0, [](DigestRecord& each) { each.parameters[1] ^= 1; }, {"parameters"}},
        {2, [](DigestRecord& each) { each.loss = -each.loss; }, {"loss"}},
        {2, [](DigestRecord& each) { each.gradients[0] ^= 1, each.parameters[0] ^= 1; }, {"gradients", "parameters"}},
        {3, [](DigestRecord& each) { each.gradients[1] ^= uint64_t{1} << 63; }, {"gradients"}},
    };
    for (const Case& each : cases) {
        ComparedRun b = some_run();
        each.change(b.digests[each.record]);
        const auto first = diff_runs(some_run(), b).first;
        ASSERT_TRUE(first);
        EXPECT_EQ(first->a.step, static_cast<int64_t>(each.record));
        EXPECT_EQ(first->parts, each.parts);
    }
}

TEST(RunDiff, OtherSamplesAreTheFirstPartOfAStep) {
    ComparedRun b = some_run();
    b.samples[1] = {Json(4), Json(3)};
    b.digests[1].gradients[0] ^= 1;
    b.digests[2].loss = 1;
    EXPECT_EQ(diff_runs(some_run(), b).first->a.step, 1);
    b.digests[1] = some_run().digests[1];
    EXPECT_EQ(diff_runs(some_run(), b).first->parts, (std::vector<std::string>{"samples", "loss"}));
}

TEST(RunDiff, AZeroHasASignAndALossThatIsNoNumberEqualsItself) {
    ComparedRun a = some_run(), b = some_run();
    a.digests[2].loss = b.digests[2].loss = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(diff_runs(a, b).same());
    a.digests[2].loss = 0.0F;
    b.digests[2].loss = -0.0F;
    EXPECT_EQ(diff_runs(a, b).first->parts, std::vector<std::string>{"loss"});
}

TEST(RunDiff, AShorterRunWithTheSameBitsDiffersInItsOutcomeOnly) {
    ComparedRun b = some_run();
    b.digests.pop_back();
    b.samples.pop_back();
    b.validation = Json();
    set(b.record, "outcome.state", "interrupted");
    const run::RunDiff diff = diff_runs(some_run(), b);
    EXPECT_TRUE(diff.differences.empty());
    EXPECT_FALSE(diff.first);
    EXPECT_EQ(diff.common_steps, 2);
    std::vector<std::string> names;
    for (const auto& each : diff.outcome) names.push_back(each.name);
    EXPECT_EQ(names, (std::vector<std::string>{"state", "steps", "loss", "validation"}));
}

TEST(RunDiff, AResumeThatAllowedAChangeMayChangeBitsAndOneThatDidNotCannot) {
    ComparedRun b = some_run();
    Json resume = base::parse_json(R"({"step": 2, "allowed": []})", "test");
    b.record["resumes"].push(resume);
    run::RunDiff diff = diff_runs(some_run(), b);
    ASSERT_EQ(diff.differences.size(), 1);
    EXPECT_EQ(diff.differences[0].effect, Effect::no_bit);
    b.record["resumes"].array_value()[0].set("allowed", Json::array({"data"}));
    diff = diff_runs(some_run(), b);
    EXPECT_EQ(diff.differences[0].name, "allowed");
    EXPECT_EQ(diff.differences[0].effect, Effect::may_change_bits);
}

TEST(RunDiff, ARecordOfAnOlderProgramIsComparedAsFarAsItGoes) {
    const ComparedRun a = some_run();
    ComparedRun b = a;
    Json build = Json::object(), host = Json::object();
    for (const auto& [key, value] : a.record.at("build").object_value()) {
        if (key != "sources") build.set(key, value);
    }
    for (const auto& [key, value] : a.record.at("host").object_value()) {
        if (key != "environment") host.set(key, value);
    }
    b.record.set("build", build);
    b.record.set("host", host);
    EXPECT_TRUE(diff_runs(some_run(), b).same());
    set(b.record, "build.commit", "c0");
    EXPECT_EQ(diff_runs(some_run(), b).differences.front().effect, Effect::may_change_bits);
}

}  // namespace

}  // namespace tenon::tests
