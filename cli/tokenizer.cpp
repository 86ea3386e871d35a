// tenon tokenizer train | encode | decode.
#include <cstdio>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "tenon/base/error.h"
#include "tenon/base/files.h"
#include "tenon/base/log.h"
#include "tenon/base/number.h"
#include "tenon/text/tokenizer.h"
#include "tenon/text/trainer.h"

namespace tenon::cli {

namespace {

std::string standard_input() {
    return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
}

std::string text_or_input(const std::optional<std::string>& text) {
    return text ? *text : standard_input();
}

void add_tokenizer_train(base::Command& tokenizer) {
    struct Arguments {
        std::string text;
        std::string out = "tokenizer.json";
        int64_t vocab_size = 2048;
        std::vector<std::string> specials;
    };
    const auto arguments = std::make_shared<Arguments>();
    tokenizer
        .add("train", "Learn a byte-level BPE vocabulary from a text.",
             "tenon tokenizer train my.txt --vocab-size 2048")
        .positional("TEXT", &arguments->text, "a UTF-8 text file")
        .option("--out", "FILE", &arguments->out, "where to save it")
        .option("--vocab-size", "N", &arguments->vocab_size, "entries: specials, 256 bytes, merges")
        .option("--special", "TOKEN", &arguments->specials, "a special token; may be repeated")
        .action([arguments] {
            text::TrainerOptions options;
            options.vocab_size = arguments->vocab_size;
            options.specials = arguments->specials;
            options.progress = [](int64_t done, int64_t all) {
                base::set_progress_line("merges " + std::to_string(done) + "/" + std::to_string(all));
            };
            const std::string text = base::read_file(arguments->text, int64_t{16} << 30);
            const text::Tokenizer made = text::train_tokenizer(text, options);
            base::set_progress_line("");
            made.save(arguments->out);
            std::printf("%s: %lld entries, digest %s\n", arguments->out.c_str(), static_cast<long long>(made.size()),
                        made.digest().c_str());
            return 0;
        });
}

void add_tokenizer_encode(base::Command& tokenizer) {
    struct Arguments {
        std::string file;
        std::optional<std::string> text;
        bool specials = false;
    };
    const auto arguments = std::make_shared<Arguments>();
    tokenizer
        .add("encode", "Print the token ids of a text.",
             "tenon tokenizer encode tokenizer.json --text \"In the beginning\"")
        .positional("TOKENIZER", &arguments->file, "a tokenizer.json")
        .option("--text", "TEXT", &arguments->text, "the text; standard input by default")
        .flag("--specials", &arguments->specials, "special tokens in the text count as such")
        .action([arguments] {
            const text::Tokenizer tokens = text::Tokenizer::load(arguments->file);
            const auto mode = arguments->specials ? text::SpecialInput::as_token : text::SpecialInput::as_text;
            std::string line;
            for (const text::Token id : tokens.encode(text_or_input(arguments->text), mode)) {
                line += (line.empty() ? "" : " ") + std::to_string(id);
            }
            std::printf("%s\n", line.c_str());
            return 0;
        });
}

std::vector<text::Token> parse_ids(const std::string& text) {
    std::vector<text::Token> ids;
    size_t at = 0;
    while ((at = text.find_first_not_of(" \t\r\n,", at)) != std::string::npos) {
        const size_t end = std::min(text.find_first_of(" \t\r\n,", at), text.size());
        const std::string word = text.substr(at, end - at);
        const auto id = base::parse_integer(word);
        if (!id || *id < 0 || *id > INT32_MAX) throw Error(Code::usage, "tokenizer", "\"" + word + "\" is no token id");
        ids.push_back(static_cast<text::Token>(*id));
        at = end;
    }
    return ids;
}

void add_tokenizer_decode(base::Command& tokenizer) {
    struct Arguments {
        std::string file;
        std::optional<std::string> ids;
    };
    const auto arguments = std::make_shared<Arguments>();
    tokenizer.add("decode", "Print the text of token ids.", "tenon tokenizer decode tokenizer.json --ids \"319 257\"")
        .positional("TOKENIZER", &arguments->file, "a tokenizer.json")
        .option("--ids", "IDS", &arguments->ids, "ids separated by spaces; standard input by default")
        .action([arguments] {
            const text::Tokenizer tokens = text::Tokenizer::load(arguments->file);
            const std::string text = tokens.decode(parse_ids(text_or_input(arguments->ids)));
            std::fwrite(text.data(), 1, text.size(), stdout);
            return 0;
        });
}

}  // namespace

void add_tokenizer(base::CommandLine& line) {
    base::Command& tokenizer =
        line.add("tokenizer", "Learn a tokenizer, or use one.", "tenon tokenizer train my.txt --out tokenizer.json");
    add_tokenizer_train(tokenizer);
    add_tokenizer_encode(tokenizer);
    add_tokenizer_decode(tokenizer);
}

}  // namespace tenon::cli
