// check_layers ROOT [FOLDER...]: holds the sources of each folder against the table in docs/layers.md.
//
// Fails, with file:line, on an include of a folder that stands lower in the table, on raw element access where the
// table does not allow it, and on the name of a model family or data set outside tenon/models. Warns of files over 600
// lines. It is a step of every build, so it is plain C++ with nothing to install.

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace fs = std::filesystem;

namespace {

constexpr size_t longest_file = 600;  // lines

struct Layer {
    std::string folder;  // "tenon/core" or "cli"
    bool raw_elements;
};

struct Checker {
    fs::path root;
    std::vector<Layer> layers;  // top to bottom
    int errors = 0;

    void error(const fs::path& file, size_t line, const std::string& message) {
        std::cerr << file.generic_string() << ":" << line << ": error: " << message << "\n";
        ++errors;
    }
};

// Rows are "| `folder` | holds | yes or nothing |".
std::vector<Layer> read_table(const fs::path& file) {
    std::ifstream in(file);
    std::vector<Layer> layers;
    for (std::string line; std::getline(in, line);) {
        if (line.rfind("| `", 0) != 0) continue;
        const size_t end = line.find('`', 3);
        if (end == std::string::npos) continue;
        const size_t last_column = line.rfind('|', line.size() - 2);
        layers.push_back({line.substr(3, end - 3), line.find("yes", last_column) != std::string::npos});
    }
    return layers;
}

std::optional<size_t> find_layer(const std::vector<Layer>& layers, const std::string& path) {
    for (size_t i = 0; i < layers.size(); ++i) {
        if (path.rfind(layers[i].folder + "/", 0) == 0) return i;
    }
    return std::nullopt;
}

// The text with comments blanked; strings and line breaks stay, so that positions do too.
std::string without_comments(const std::string& text) {
    std::string code = text;
    size_t i = 0;
    auto blank_until = [&](size_t end) {
        for (; i < std::min(end, text.size()); ++i) {
            if (text[i] != '\n') code[i] = ' ';
        }
    };
    auto skip_quoted = [&](char quote) {
        for (++i; i < text.size() && text[i] != quote && text[i] != '\n'; ++i) {
            if (text[i] == '\\') ++i;
        }
        ++i;
    };
    while (i < text.size()) {
        if (text.compare(i, 2, "//") == 0) {
            blank_until(text.find('\n', i));
        } else if (text.compare(i, 2, "/*") == 0) {
            const size_t end = text.find("*/", i + 2);
            blank_until(end == std::string::npos ? end : end + 2);
        } else if (text.compare(i, 2, "R\"") == 0 &&
                   (i == 0 || !std::isalnum(static_cast<unsigned char>(text[i - 1])))) {
            const size_t open = text.find('(', i);
            if (open == std::string::npos) return code;
            const size_t end = text.find(")" + text.substr(i + 2, open - i - 2) + "\"", open);
            i = end == std::string::npos ? text.size() : end + 1;
        } else if (text[i] == '"') {
            skip_quoted('"');
        } else if (text[i] == '\'' && (i == 0 || !std::isalnum(static_cast<unsigned char>(text[i - 1])))) {
            skip_quoted('\'');  // not the digit separator of 1'000
        } else {
            ++i;
        }
    }
    return code;
}

// What stands between the quotes of #include "..." or the brackets of #include <tenon/...>; empty for any other line.
std::string included(const std::string& line) {
    size_t at = line.find_first_not_of(" \t");
    if (at == std::string::npos || line[at] != '#') return "";
    at = line.find_first_not_of(" \t", at + 1);
    if (at == std::string::npos || line.compare(at, 7, "include") != 0) return "";
    at = line.find_first_of("\"<", at + 7);
    if (at == std::string::npos) return "";
    const size_t end = line.find_first_of("\">", at + 1);
    const std::string path = line.substr(at + 1, end - at - 1);
    return line[at] == '"' || path.rfind("tenon/", 0) == 0 ? path : "";
}

std::string allowed(const std::vector<Layer>& layers, size_t own) {
    std::string text = "itself";
    for (size_t i = 0; i < own; ++i) text += ", " + layers[i].folder;
    return text;
}

void check_include(Checker& checker, size_t own, const fs::path& file, size_t number, const std::string& path) {
    const std::vector<Layer>& layers = checker.layers;
    const std::string what = layers[own].folder + " includes \"" + path + "\"";
    const std::optional<size_t> other = find_layer(layers, path);
    if (!other) {
        checker.error(file, number, what + ", which is in no folder of docs/layers.md; write the path from the root");
    } else if (*other > own) {
        checker.error(file, number, what + ", which stands below it; it may include: " + allowed(layers, own));
    } else if (fs::path(path).filename() == "access.h" && layers[*other].raw_elements && !layers[own].raw_elements) {
        checker.error(file, number,
                      what + ": raw element access is for the folders that docs/layers.md marks; use an op");
    }
}

bool names_data_template(const std::string& line) {
    for (size_t at = line.find("data<"); at != std::string::npos; at = line.find("data<", at + 1)) {
        const char before = at == 0 ? ' ' : line[at - 1];
        if (!std::isalnum(static_cast<unsigned char>(before)) && before != '_') return true;
    }
    return false;
}

// The name of a model family or data set in the line, or nothing. A data set may be named in the program's help texts,
// whose examples run as they stand.
std::string product_name(const Layer& layer, std::string line) {
    static const std::vector<std::string> models = {"llama",   "gpt2", "gpt_2", "gptneox",  "gpt_neox", "mistral",
                                                    "mixtral", "qwen", "gemma", "deepseek", "falcon"};
    static const std::vector<std::string> data_sets = {"bible", "shakespeare", "wikitext", "openwebtext"};
    std::transform(line.begin(), line.end(), line.begin(), [](unsigned char c) { return std::tolower(c); });
    if (layer.folder == "tenon/models") return "";
    for (const std::string& name : models) {
        if (line.find(name) != std::string::npos) return name;
    }
    for (const std::string& name : data_sets) {
        if (layer.folder != "cli" && line.find(name) != std::string::npos) return name;
    }
    return "";
}

void check_file(Checker& checker, size_t own, const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    const fs::path file = path.lexically_relative(checker.root);
    const Layer& layer = checker.layers[own];
    std::istringstream lines(without_comments(text.str()));
    size_t number = 0;
    for (std::string line; std::getline(lines, line);) {
        ++number;
        const std::string path_included = included(line);
        if (!path_included.empty()) check_include(checker, own, file, number, path_included);
        if (!layer.raw_elements && names_data_template(line)) {
            checker.error(file, number,
                          layer.folder + " reads raw elements with data<T>; docs/layers.md says who may; use an op");
        }
        const std::string name = product_name(layer, line);
        if (!name.empty()) {
            checker.error(file, number,
                          "\"" + name + "\" is named here; only tenon/models and configs name models and data sets");
        }
    }
    if (number > longest_file) {
        std::cerr << file.generic_string() << ":" << number << ": warning: over " << longest_file
                  << " lines; which concept in it wants a file of its own?\n";
    }
}

void check_folder(Checker& checker, size_t own) {
    const fs::path folder = checker.root / checker.layers[own].folder;
    if (!fs::exists(folder)) return;
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        const std::string extension = entry.path().extension().string();
        if (extension == ".h" || extension == ".cpp" || extension == ".inc") files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    for (const fs::path& file : files) check_file(checker, own, file);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) {
        std::cerr << "usage: check_layers ROOT [FOLDER...]      for example: check_layers . tenon/core\n";
        return 2;
    }
    Checker checker{argv[1], read_table(fs::path(argv[1]) / "docs/layers.md")};
    if (checker.layers.empty()) {
        std::cerr << "check_layers: no table in " << argv[1] << "/docs/layers.md\n";
        return 2;
    }
    std::vector<std::string> folders(argv + 2, argv + argc);
    if (folders.empty()) {
        for (const Layer& layer : checker.layers) folders.push_back(layer.folder);
    }
    for (const std::string& folder : folders) {
        const std::optional<size_t> own = find_layer(checker.layers, folder + "/");
        if (!own) {
            std::cerr << "check_layers: " << folder << " has no row in docs/layers.md\n";
            return 1;
        }
        check_folder(checker, *own);
    }
    return checker.errors == 0 ? 0 : 1;
}
