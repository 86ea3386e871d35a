#include "tenon/base/args.h"

#include <gtest/gtest.h>

#include "tenon/base/error.h"
#include "tests/base/thrown.h"

namespace tenon::base {

using tests::thrown;

namespace {

struct Line {
    std::string config, prompt;
    std::vector<std::string> sets, files;
    std::optional<int64_t> threads;
    int64_t seed = 7;
    double temperature = 1;
    bool json = false;
    std::string ran;
    CommandLine line{"tool", "Does things.", "tool train c.toml", "1.2.3"};

    Line() {
        line.add("train", "Trains.", "tool train c.toml --set a=1")
            .positional("CONFIG", &config, "the configuration")
            .option("--set", "KEY=VALUE", &sets, "replaces a value")
            .option("--threads", "N", &threads, "threads")
            .option("--seed", "S", &seed, "seed")
            .option("--temperature", "T", &temperature, "heat")
            .option("--prompt", "TEXT", &prompt, "text")
            .flag("--json", &json, "prints JSON")
            .action([this] {
                ran = "train";
                return 5;
            });
        Command& words = line.add("tokenizer", "Tokens.", "tool tokenizer encode a b");
        words.add("encode", "Encodes.", "tool tokenizer encode a b")
            .positional("FILES", &files, "files")
            .action([this] {
                ran = "encode";
                return 0;
            });
    }

    int run(const std::vector<std::string>& words) { return line.parse_and_run(words); }
};

std::string error_of(const std::vector<std::string>& words) {
    return thrown([&] { Line().run(words); });
}

}  // namespace

TEST(Arguments, ReachTheirVariables) {
    Line t;
    EXPECT_EQ(t.run({"train", "--set", "a=[1,2]", "c.toml", "--set=b=x y", "--threads", "2", "--temperature", "-0.5",
                     "--seed", "-3", "--json", "--prompt", ""}),
              5);
    EXPECT_EQ(t.ran, "train");
    EXPECT_EQ(t.config, "c.toml");
    EXPECT_EQ(t.sets, (std::vector<std::string>{"a=[1,2]", "b=x y"}));
    EXPECT_EQ(t.threads, 2);
    EXPECT_EQ(t.seed, -3);
    EXPECT_EQ(t.temperature, -0.5);
    EXPECT_TRUE(t.json);
}

TEST(Arguments, LeftOutKeepTheirDefaults) {
    Line t;
    EXPECT_EQ(t.run({"train", "c.toml"}), 5);
    EXPECT_FALSE(t.threads);
    EXPECT_EQ(t.seed, 7);
    EXPECT_FALSE(t.json);
}

TEST(Arguments, AreTakenLiterally) {
    for (const char* text : {"[a,b]", "[]", "{}", "a,b", "%%", "\"x\"", "'x'", " x ", "train", "--", "-", "-x",
                             "--json", "ä", "=", "a=b", "a\nb", "`x`"}) {
        Line t;
        EXPECT_EQ(t.run({"train", "c.toml", "--prompt=" + std::string(text)}), 5);
        EXPECT_EQ(t.prompt, text);
    }
    for (const char* text : {"[a,b]", "[]", "{}", "a,b", "", "\"x\"", "train", "tokenizer", "-5"}) {
        Line t;
        EXPECT_EQ(t.run({"train", "c.toml", "--prompt", text}), 5) << text;
        EXPECT_EQ(t.prompt, text);
    }
    Line t;
    EXPECT_EQ(t.run({"train", "train"}), 5);
    EXPECT_EQ(t.config, "train");
}

TEST(Arguments, CommandsNest) {
    Line t;
    EXPECT_EQ(t.run({"tokenizer", "encode", "a", "train", "[c,d]"}), 0);
    EXPECT_EQ(t.ran, "encode");
    EXPECT_EQ(t.files, (std::vector<std::string>{"a", "train", "[c,d]"}));
}

TEST(Arguments, MistakesNameTheNearest) {
    EXPECT_EQ(error_of({"trian", "c.toml"}), "[tool] unknown command \"trian\"; nearest is \"train\"; see tool --help");
    EXPECT_EQ(error_of({"train", "c.toml", "--thread", "2"}),
              "[tool train] unknown option --thread; nearest is \"--threads\"; see tool train --help");
    EXPECT_EQ(error_of({"train", "--jsn"}),
              "[tool train] unknown option --jsn; nearest is \"--json\"; see tool train --help");
    EXPECT_EQ(error_of({"train", "c.toml", "d.toml"}),
              "[tool train] \"d.toml\" is one argument too many; see tool train --help");
    EXPECT_EQ(error_of({"train", "c.toml", "--threads", "two"}),
              "[tool train] --threads must be an integer, found \"two\"; see tool train --help");
    EXPECT_EQ(error_of({"train", "c.toml", "--temperature", "hot"}),
              "[tool train] --temperature must be a number, found \"hot\"; see tool train --help");
    EXPECT_EQ(error_of({"tokenizer", "encod"}),
              "[tool tokenizer] unknown command \"encod\"; nearest is \"encode\"; see tool tokenizer --help");
    EXPECT_EQ(error_of({"tokenizer"}), "[tool tokenizer] a command is missing: encode; see tool tokenizer --help");
    EXPECT_EQ(error_of({}), "[tool] a command is missing: train, tokenizer; see tool --help");
    EXPECT_EQ(error_of({"train"}), "[tool train] CONFIG is required; see tool train --help");
    EXPECT_NE(error_of({"train", "c.toml", "--threads"}), "");
    EXPECT_NE(error_of({"train", "c.toml", "--threads", "1", "--threads", "2"}), "");
}

TEST(Arguments, HelpShowsAnExample) {
    testing::internal::CaptureStdout();
    EXPECT_EQ(Line().run({"train", "--help"}), 0);
    const std::string help = testing::internal::GetCapturedStdout();
    for (const char* part :
         {"Trains.", "CONFIG", "--set KEY=VALUE", "--seed S", "Example:\n  tool train c.toml --set a=1"}) {
        EXPECT_NE(help.find(part), std::string::npos) << part << "\n" << help;
    }
    testing::internal::CaptureStdout();
    EXPECT_EQ(Line().run({"--version"}), 0);
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "tool 1.2.3\n");
    testing::internal::CaptureStdout();
    EXPECT_EQ(Line().run({"--help"}), 0);
    EXPECT_NE(testing::internal::GetCapturedStdout().find("tokenizer"), std::string::npos);
}

TEST(Arguments, ErrorsBecomeExitCodes) {
    CommandLine line("tool", "Does things.", "tool fail", "1");
    line.add("file", "Fails.", "tool file").action([]() -> int { throw Error(Code::file, "checkpoint", "is gone"); });
    line.add("other", "Fails.", "tool other").action([]() -> int { throw std::runtime_error("odd"); });
    const auto run = [&](const char* word) {
        const char* words[] = {"tool", word};
        testing::internal::CaptureStderr();
        const int code = line.run(2, words);
        return std::to_string(code) + " " + testing::internal::GetCapturedStderr();
    };
    EXPECT_EQ(run("file"), "3 error: [checkpoint] is gone\n");
    EXPECT_EQ(run("other"), "1 error: [tool] odd\n");
    EXPECT_EQ(run("fiel").substr(0, 2), "2 ");
}

}  // namespace tenon::base
