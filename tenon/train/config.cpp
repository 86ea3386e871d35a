#include "tenon/train/config.h"

#include <array>
#include <bit>
#include <set>

#include "tenon/base/error.h"
#include "tenon/base/fault.h"
#include "tenon/base/files.h"
#include "tenon/models/registry.h"

namespace tenon::train {

namespace {

using base::ConfigKey;
using base::ConfigSection;
using base::Json;
using Type = base::ConfigType;

const std::vector<ConfigKey>& data_keys() {
    static const std::vector<ConfigKey> keys = {
        {.name = "path", .type = Type::string, .doc = "a UTF-8 text file", .required = true},
        {.name = "held_out",
         .type = Type::real,
         .fallback = 0.1,
         .doc = "share of the bytes, from the end, kept for validation",
         .least = 0,
         .most = 0.9},
    };
    return keys;
}

const std::vector<ConfigKey>& tokenizer_keys() {
    static const std::vector<ConfigKey> keys = {
        {.name = "path", .type = Type::string, .doc = "a tokenizer.json; one is trained on the text by default"},
        {.name = "vocab_size",
         .doc = "entries of the tokenizer that is trained; model.vocab_size by default",
         .least = 257,
         .most = 1 << 24},
    };
    return keys;
}

const std::vector<ConfigKey>& batch_keys() {
    static const std::vector<ConfigKey> keys = {
        {.name = "sequences", .fallback = 16, .doc = "sequences of the global batch", .least = 1, .most = 1 << 20},
        {.name = "length",
         .doc = "tokens of a sequence; the model's longest context by default",
         .least = 1,
         .most = 1 << 24},
        {.name = "leaves",
         .doc = "leaves V of the global batch, a power of two that divides sequences; by default as many as leave 512 "
                "tokens each",
         .least = 1,
         .most = 1 << 20},
        {.name = "leaf_order",
         .type = Type::string,
         .fallback = "ascending",
         .doc = "the order in which leaves run; it changes no bit",
         .choices = {"ascending", "descending", "bit-reversed"}},
    };
    return keys;
}

const std::vector<ConfigKey>& optim_keys() {
    static const std::vector<ConfigKey> keys = {
        {.name = "name", .type = Type::string, .fallback = "adamw", .doc = "the optimizer", .choices = {"adamw"}},
        {.name = "learning_rate", .type = Type::real, .fallback = 1e-3, .doc = "the highest rate", .least = 0},
        {.name = "beta1",
         .type = Type::real,
         .fallback = 0.9,
         .doc = "decay of the first moment",
         .least = 0,
         .most = 0.9999},
        {.name = "beta2",
         .type = Type::real,
         .fallback = 0.95,
         .doc = "decay of the second moment",
         .least = 0,
         .most = 0.999999},
        {.name = "eps",
         .type = Type::real,
         .fallback = 1e-8,
         .doc = "added to the root of the second moment",
         .least = 0},
        {.name = "weight_decay",
         .type = Type::real,
         .fallback = 0.1,
         .doc = "decay of matrices; vectors have none",
         .least = 0},
        {.name = "clip_norm",
         .type = Type::real,
         .fallback = 1.0,
         .doc = "the largest global gradient norm; 0 for no clipping",
         .least = 0},
    };
    return keys;
}

const std::vector<ConfigKey>& schedule_keys() {
    static const std::vector<ConfigKey> keys = {
        {.name = "kind",
         .type = Type::string,
         .fallback = "cosine",
         .doc = "how the rate falls",
         .choices = {"constant", "cosine", "wsd"}},
        {.name = "warmup_steps", .fallback = 0, .doc = "steps over which the rate rises", .least = 0},
        {.name = "final_share",
         .type = Type::real,
         .fallback = 0.1,
         .doc = "the last rate over the highest",
         .least = 0,
         .most = 1},
        {.name = "decay_share",
         .type = Type::real,
         .fallback = 0.2,
         .doc = "wsd: the share of the steps in which the rate falls",
         .least = 0,
         .most = 1},
    };
    return keys;
}

const std::vector<ConfigKey>& train_keys() {
    static const std::vector<ConfigKey> keys = {
        // A step's number is a 32-bit coordinate of every random number.
        {.name = "steps", .doc = "updates of the parameters", .least = 1, .most = 0x1p32 - 1, .required = true},
        {.name = "seed", .fallback = 0, .doc = "keys every random number of the run", .least = 0},
        {.name = "log_every", .fallback = 10, .doc = "steps between lines where there is no terminal", .least = 1},
    };
    return keys;
}

const std::vector<ConfigKey>& checkpoint_keys() {
    static const std::vector<ConfigKey> keys = {
        {.name = "every", .fallback = 0, .doc = "steps between checkpoints; 0: only at the end", .least = 0},
        {.name = "keep", .fallback = 2, .doc = "checkpoints kept", .least = 1},
    };
    return keys;
}

const std::vector<ConfigKey>& numerics_keys() {
    static const std::vector<ConfigKey> keys = {
        {.name = "tier",
         .type = Type::string,
         .fallback = "D4",
         .doc = "the least that every kernel must keep (docs/numerics.md)",
         .choices = {"D0", "D1", "D2", "D3", "D4"}},
        {.name = "k_blocks", .fallback = 1, .doc = "blocks of a contraction over features", .least = 1},
    };
    return keys;
}

constexpr std::array<std::string_view, 9> section_names = {"model",    "data",  "tokenizer",  "batch",   "optim",
                                                           "schedule", "train", "checkpoint", "numerics"};

void complete_batch(ConfigSection& batch, int64_t max_positions) {
    if (!batch.has("length")) batch.decide("length", max_positions, "the model's longest context");
    const int64_t length = batch.integer("length");
    if (length > max_positions) {
        batch.fail("length", "is " + std::to_string(length) + " and the model has " + std::to_string(max_positions) +
                                 " positions");
    }
    const int64_t sequences = batch.integer("sequences");
    if (!batch.has("leaves")) batch.decide("leaves", default_leaves(sequences, length), "512 tokens a leaf");
    const int64_t leaves = batch.integer("leaves");
    if (!std::has_single_bit(static_cast<uint64_t>(leaves)) || sequences % leaves != 0) {
        batch.fail("leaves", "is " + std::to_string(leaves) +
                                 "; it must be a power of two that divides batch.sequences, which is " +
                                 std::to_string(sequences));
    }
}

// A value that nothing would read. One that is the default may stand.
void check_schedule(const ConfigSection& schedule) {
    const std::string& kind = schedule.string("kind");
    const auto refuse_unread = [&](std::string_view name) {
        for (const ConfigKey& key : schedule_keys()) {
            if (key.name != name || key.fallback.real() == schedule.real(name)) continue;
            schedule.fail(name, "has no effect where schedule.kind is \"" + kind + "\"");
        }
    };
    if (kind != "wsd") refuse_unread("decay_share");
    if (kind == "constant") refuse_unread("final_share");
}

void check_numerics(const ConfigSection& numerics) {
    if (numerics.integer("k_blocks") != 1) {
        numerics.fail("k_blocks",
                      "is " + std::to_string(numerics.integer("k_blocks")) +
                          "; values above 1 come with tensor parallelism, which this version does not have");
    }
}

RunConfig resolve(const base::TomlTable& document) {
    document.only({section_names.begin(), section_names.end()});
    const auto section = [&](std::string_view name, const std::vector<ConfigKey>& keys) {
        return ConfigSection(name, document.section(name), keys);
    };
    RunConfig config{models::read_model_config(document.section("model")),
                     section("data", data_keys()),
                     section("tokenizer", tokenizer_keys()),
                     section("batch", batch_keys()),
                     section("optim", optim_keys()),
                     section("schedule", schedule_keys()),
                     section("train", train_keys()),
                     section("checkpoint", checkpoint_keys()),
                     section("numerics", numerics_keys())};
    const models::CausalLMSizes sizes = models::config_sizes(config.model);
    complete_batch(config.batch, sizes.max_positions);
    if (!config.tokenizer.has("vocab_size") && !config.tokenizer.has("path")) {
        config.tokenizer.decide("vocab_size", sizes.vocabulary, "model.vocab_size");
    }
    if (config.tokenizer.has("vocab_size") && config.tokenizer.has("path")) {
        config.tokenizer.fail("vocab_size", "is the size of a tokenizer to train, and tokenizer.path gives one");
    }
    if (config.tokenizer.has("vocab_size") && config.tokenizer.integer("vocab_size") > sizes.vocabulary) {
        config.tokenizer.fail("vocab_size", "is " + std::to_string(config.tokenizer.integer("vocab_size")) +
                                                " and model.vocab_size only " + std::to_string(sizes.vocabulary));
    }
    check_schedule(config.schedule);
    check_numerics(config.numerics);
    return config;
}

base::TomlValue to_toml(const Json& json, const base::Place& place, const std::string& path) {
    switch (json.kind()) {
        case Json::Kind::boolean:
            return {json.boolean(), place, path};
        case Json::Kind::integer:
            return {json.integer(), place, path};
        case Json::Kind::real:
            return {json.real(), place, path};
        case Json::Kind::string:
            return {json.string(), place, path};
        case Json::Kind::null:
        case Json::Kind::array:
        case Json::Kind::object:
            break;
    }
    base::fail_at(place, path + " is no value of a configuration");
}

// Gives the full keys that were set.
std::set<std::string> apply(const std::vector<std::string>& overrides, base::TomlTable& document) {
    std::set<std::string> keys;
    for (const std::string& text : overrides) {
        base::TomlOverride each = base::parse_override(text);
        keys.insert(each.value.path());
        document.set(each.keys, std::move(each.value));
    }
    return keys;
}

}  // namespace

std::vector<ConfigSection*> RunConfig::sections() {
    return {&model, &data, &tokenizer, &batch, &optim, &schedule, &train, &checkpoint, &numerics};
}
std::vector<const ConfigSection*> RunConfig::sections() const {
    return {&model, &data, &tokenizer, &batch, &optim, &schedule, &train, &checkpoint, &numerics};
}

Json RunConfig::values_json() const {
    Json tree = Json::object();
    for (const ConfigSection* each : sections()) tree.set(each->name(), each->values_json());
    return tree;
}

Json RunConfig::origins_json() const {
    Json tree = Json::object();
    for (const ConfigSection* each : sections()) tree.set(each->name(), each->origins_json());
    return tree;
}

std::vector<SectionKeys> section_keys() {
    return {{"data", data_keys()},
            {"tokenizer", tokenizer_keys()},
            {"batch", batch_keys()},
            {"optim", optim_keys()},
            {"schedule", schedule_keys()},
            {"train", train_keys()},
            {"checkpoint", checkpoint_keys()},
            {"numerics", numerics_keys()}};
}

RunConfig read_run_config(const std::string& path, const std::vector<std::string>& overrides) {
    base::TomlTable document = base::read_toml(path);
    apply(overrides, document);
    return resolve(document);
}

RunConfig recorded_run_config(const Json& record, const std::string& where, const std::vector<std::string>& overrides) {
    const base::Place place{where, 0, 0};
    base::TomlTable document(place, "");
    for (const auto& [section, keys] : record.at("config").object_value()) {
        for (const auto& [key, value] : keys.object_value()) {
            if (value.is_null()) continue;
            document.set({section, key}, to_toml(value, place, section + "." + key));
        }
    }
    const std::set<std::string> replaced = apply(overrides, document);
    RunConfig config = resolve(document);
    // Where each value came from when the run began.
    const base::JsonReader origins = base::JsonReader(record, where, "run")["origins"];
    for (ConfigSection* section : config.sections()) {
        for (const auto& [key, value] : section->values()) {
            if (replaced.count(section->name() + "." + key) != 0) continue;
            section->decide(key, value.value, origins[section->name()][key].string());
        }
    }
    return config;
}

ConfigSection recorded_model_config(const Json& values, const std::string& where) {
    const base::Place place{where, 0, 0};
    base::TomlTable table(place, "model");
    for (const auto& [key, value] : values.object_value()) {
        if (!value.is_null()) table.set({key}, to_toml(value, place, "model." + key));
    }
    return models::read_model_config(table);
}

int64_t default_leaves(int64_t sequences, int64_t length) {
    int64_t leaves = 1;
    const int64_t least = TENON_FAULT(leaves_above_512) ? 513 : 512;
    while (sequences % (2 * leaves) == 0 && sequences / (2 * leaves) * length >= least) leaves *= 2;
    return leaves;
}

}  // namespace tenon::train
