// docs/configuration.md has every key of the program, with the program's own words.
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "tenon/base/files.h"
#include "tenon/base/number.h"
#include "tenon/models/registry.h"
#include "tenon/train/config.h"

namespace tenon::tests {

namespace {

std::string type_name(base::ConfigType type) {
    switch (type) {
        case base::ConfigType::boolean:
            return "boolean";
        case base::ConfigType::integer:
            return "integer";
        case base::ConfigType::real:
            return "number";
        case base::ConfigType::string:
            return "string";
    }
    return "";
}

std::string range(const base::ConfigKey& key) {
    std::string text;
    if (key.least > -std::numeric_limits<double>::infinity()) text += "; at least " + base::shortest(key.least);
    if (key.most < std::numeric_limits<double>::infinity()) text += "; at most " + base::shortest(key.most);
    for (size_t i = 0; i < key.choices.size(); ++i) {
        text += (i == 0 ? "; one of `" : ", `") + std::string(key.choices[i]) + "`";
    }
    return text;
}

std::string table(const std::vector<base::ConfigKey>& keys) {
    std::string text = "| key | type | default | meaning |\n|---|---|---|---|\n";
    for (const base::ConfigKey& key : keys) {
        text += "| `" + std::string(key.name) + "`";
        if (!key.alias.empty()) text += " or `" + std::string(key.alias) + "`";
        text += " | " + type_name(key.type) + " | ";
        text += key.required             ? "must be given"
                : key.fallback.is_null() ? "see meaning"
                                         : "`" + key.fallback.dump() + "`";
        text += " | " + std::string(key.doc) + range(key) + " |\n";
    }
    return text;
}

class ConfigurationPage : public testing::Test {
protected:
    const std::string page_ = base::read_file(TENON_GOLDEN_DIR "/../../docs/configuration.md");

    void expect(const std::string& heading, const std::vector<base::ConfigKey>& keys) const {
        const std::string section = "## " + heading + "\n\n" + table(keys);
        EXPECT_TRUE(page_.find(section) != std::string::npos) << "docs/configuration.md should say:\n\n" << section;
    }
};

TEST_F(ConfigurationPage, HasEveryKeyOfEverySection) {
    for (const train::SectionKeys& each : train::section_keys())
        expect("[" + std::string(each.section) + "]", each.keys);
}

TEST_F(ConfigurationPage, HasEveryKeyOfEveryModelFamily) {
    for (const models::Family& family : models::families()) {
        expect("[model] with model_type = \"" + std::string(family.model_type) + "\"", family.keys);
    }
}

}  // namespace

}  // namespace tenon::tests
