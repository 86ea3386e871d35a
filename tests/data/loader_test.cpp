#include "tenon/data/loader.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <atomic>
#include <chrono>
#include <map>

#include "tenon/base/error.h"

namespace tenon::data {

namespace {

// Sample i is i·T, i·T + 1, …; reading can be made slow, or fail at one sample.
class Counting final : public Source {
public:
    explicit Counting(int64_t samples, int64_t length = 3) : samples_(samples), length_(length) {}
    int64_t samples() const override { return samples_; }
    int64_t length() const override { return length_; }
    void read(int64_t i, std::span<int64_t> inputs, std::span<int64_t> targets) const override {
        std::this_thread::sleep_for(delay);
        if (i == bad.load()) throw Error(Code::file, "data", "sample " + std::to_string(i) + " is unreadable");
        for (int64_t t = 0; t < length_; ++t) {
            inputs[static_cast<size_t>(t)] = i * length_ + t;
            targets[static_cast<size_t>(t)] = i % 5 == 0 && t == 0 ? ignored_target : i * length_ + t + 1;
        }
        ++reads;
    }
    const std::string& digest() const override { return digest_; }

    std::chrono::microseconds delay{0};
    std::atomic<int64_t> bad{-1};
    mutable std::atomic<int64_t> reads{0};

private:
    int64_t samples_, length_;
    std::string digest_ = "counting";
};

// What the loader must give, by reading directly.
void expect_batch(const Batch& batch, const Counting& source, const LoaderOptions& options, int64_t place) {
    Order order(options.seed, source.samples());
    auto length = static_cast<size_t>(source.length());
    int64_t rows = options.rows ? options.rows : options.batch - options.first, valid = 0;
    ASSERT_EQ(batch.place, place);
    ASSERT_EQ(batch.rows, rows);
    ASSERT_EQ(batch.length, source.length());
    ASSERT_EQ(batch.inputs.size(), static_cast<size_t>(rows) * length);
    ASSERT_EQ(batch.targets.size(), static_cast<size_t>(rows) * length);
    for (int64_t row = 0; row < rows; ++row) {
        int64_t sample = order.at(place + options.first + row);
        ASSERT_EQ(batch.samples[static_cast<size_t>(row)], sample);
        std::vector<int64_t> inputs(length), targets(length);
        source.read(sample, inputs, targets);
        for (size_t t = 0; t < length; ++t) {
            ASSERT_EQ(batch.inputs[static_cast<size_t>(row) * length + t], inputs[t]);
            ASSERT_EQ(batch.targets[static_cast<size_t>(row) * length + t], targets[t]);
            valid += targets[t] != ignored_target;
        }
    }
    ASSERT_EQ(batch.valid_targets, valid);
}

}  // namespace

RC_GTEST_PROP(Loader, GivesWhatDirectReadsGiveAtAnyPrefetchAndSeek, ()) {
    auto source = std::make_shared<Counting>(*rc::gen::inRange<int64_t>(1, 40));
    LoaderOptions options;
    options.seed = *rc::gen::arbitrary<uint64_t>();
    options.batch = *rc::gen::inRange<int64_t>(1, 9);
    options.first = *rc::gen::inRange<int64_t>(0, options.batch);
    options.rows = *rc::gen::inRange<int64_t>(0, options.batch - options.first + 1);
    options.prefetch = *rc::gen::inRange<int64_t>(1, 6);
    Loader loader(source, options);
    int64_t place = 0;
    auto seeks = *rc::gen::container<std::vector<int64_t>>(rc::gen::inRange<int64_t>(-60, 500));
    seeks.resize(std::min<size_t>(seeks.size(), 20));
    for (int64_t seek : seeks) {
        if (seek >= 0) {  // negative: read on
            loader.seek(seek);
            place = seek;
        }
        RC_ASSERT(loader.place() == place);
        expect_batch(loader.next(), *source, options, place);
        RC_ASSERT(!testing::Test::HasFatalFailure());
        place += options.batch;
    }
}

TEST(Loader, RanksTogetherReadTheGlobalBatch) {
    auto source = std::make_shared<Counting>(23);
    Loader whole(source, {.seed = 4, .batch = 6});
    Loader first(source, {.seed = 4, .batch = 6, .first = 0, .rows = 2});
    Loader rest(source, {.seed = 4, .batch = 6, .first = 2});
    for (int step = 0; step < 12; ++step) {
        Batch all = whole.next(), a = first.next(), b = rest.next();
        a.inputs.insert(a.inputs.end(), b.inputs.begin(), b.inputs.end());
        EXPECT_EQ(a.inputs, all.inputs);
        EXPECT_EQ(a.valid_targets + b.valid_targets, all.valid_targets);
    }
}

TEST(Loader, EveryEpochReadsEverySampleOnceAlsoAcrossBatches) {
    auto source = std::make_shared<Counting>(10);
    Loader loader(source, {.seed = 1, .batch = 4});
    std::vector<int64_t> row;
    while (row.size() < 100) {
        Batch batch = loader.next();
        row.insert(row.end(), batch.samples.begin(), batch.samples.end());
    }
    for (size_t epoch = 0; epoch < 10; ++epoch) {
        std::map<int64_t, int> seen;
        for (size_t i = 0; i < 10; ++i) ++seen[row[epoch * 10 + i]];
        EXPECT_EQ(seen.size(), 10u);
    }
}

TEST(Loader, ResumesFromItsPlaceAlone) {
    auto source = std::make_shared<Counting>(31);
    Loader unbroken(source, {.seed = 9, .batch = 5});
    for (int step = 0; step < 7; ++step) unbroken.next();
    int64_t place = unbroken.place();
    EXPECT_EQ(place, 35);
    Loader resumed(source, {.seed = 9, .batch = 5, .prefetch = 1});
    resumed.seek(place);
    for (int step = 0; step < 7; ++step) EXPECT_EQ(resumed.next().inputs, unbroken.next().inputs);
}

TEST(Loader, ReadsAheadNoFurtherThanAsked) {
    auto source = std::make_shared<Counting>(1000);
    Loader loader(source, {.batch = 2, .prefetch = 3});
    loader.next();
    const int64_t reads = 2 * (1 + 3);  // one batch taken, three waiting
    for (int i = 0; i < 1000 && source->reads < reads; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(source->reads.load(), reads);
}

TEST(Loader, AFailureComesOutInItsPlaceAndOnEveryCallUntilSought) {
    auto source = std::make_shared<Counting>(50);
    LoaderOptions options{.seed = 2, .batch = 3};
    source->bad = Order(2, 50).at(7);  // in the third batch
    Loader loader(source, options);
    EXPECT_EQ(loader.next().place, 0);
    EXPECT_EQ(loader.next().place, 3);
    for (int again = 0; again < 2; ++again) {
        try {
            loader.next();
            FAIL();
        } catch (const Error& error) {
            EXPECT_NE(std::string(error.what()).find("is unreadable"), std::string::npos);
        }
        EXPECT_EQ(loader.place(), 6);
    }
    source->bad = -1;
    loader.seek(6);
    expect_batch(loader.next(), *source, options, 6);
}

TEST(Loader, StopsAtOnceAtAnyMoment) {
    for (int i = 0; i < 50; ++i) {
        auto source = std::make_shared<Counting>(50);
        source->delay = std::chrono::microseconds(i * 10);
        Loader loader(source, {.batch = 2, .prefetch = 1 + i % 3});
        if (i % 2) loader.next();
        if (i % 5 == 0) loader.seek(i);
    }
}

TEST(Loader, SaysHowLongAStepWaited) {
    auto slow = std::make_shared<Counting>(50);
    slow->delay = std::chrono::milliseconds(300);
    Loader loader(slow, {.batch = 1, .prefetch = 1});
    EXPECT_GT(loader.next().waited, 0.1);
    while (slow->reads < 2) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_LT(loader.next().waited, 0.1);  // it was there already
}

TEST(Loader, RefusesOptionsThatCannotBe) {
    auto source = std::make_shared<Counting>(5);
    for (LoaderOptions options :
         {LoaderOptions{.batch = 0}, LoaderOptions{.batch = -1}, LoaderOptions{.batch = 4, .first = 4},
          LoaderOptions{.batch = 4, .first = -1}, LoaderOptions{.batch = 4, .first = 2, .rows = 3},
          LoaderOptions{.batch = 4, .rows = -1}, LoaderOptions{.batch = 4, .prefetch = 0}})
        EXPECT_THROW(Loader(source, options), Error);
    EXPECT_THROW(Loader(std::make_shared<Counting>(0), {}), Error);
    EXPECT_THROW(Loader(source, {}).seek(-1), Error);
}

}  // namespace tenon::data
