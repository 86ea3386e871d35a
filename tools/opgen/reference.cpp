// tenon-opgen-reference [PAGE]: prints docs/ops.md, the reference page of every op, from the op table. With PAGE it
// compares that file with what it would print and fails with the first line that differs.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "tenon/ops/schema.h"
#include "tenon/ops/table.h"

namespace {

using tenon::ops::AttributeType;
using tenon::ops::Op;
using tenon::ops::Schema;

std::string type_name(AttributeType type) {
    switch (type) {
        case AttributeType::integer:
            return "int";
        case AttributeType::boolean:
            return "bool";
        case AttributeType::real:
            return "real";
        case AttributeType::dims:
            return "dims";
        case AttributeType::dtype:
            return "dtype";
        case AttributeType::device:
            return "device";
    }
    return "";
}

// The schema as its entry spells it; a single result named `out` is left out there too.
std::string spell(const Schema& schema) {
    std::vector<std::string> parts;
    for (const auto& input : schema.inputs) {
        parts.push_back(input.name + (input.list ? "[]" : "") + (input.mutated ? "!" : "") +
                        (input.optional ? "?" : ""));
    }
    for (const auto& attribute : schema.attributes) {
        parts.push_back(attribute.name + ": " + type_name(attribute.type) +
                        (attribute.fallback ? " = " + *attribute.fallback : ""));
    }
    std::string text = schema.name + "(";
    for (size_t i = 0; i < parts.size(); ++i) text += (i > 0 ? ", " : "") + parts[i];
    text += ")";
    if (schema.list_output) return text + " -> tensors";
    if (schema.outputs.empty()) return text + " -> none";
    if (schema.outputs.size() == 1) return schema.outputs[0] == "out" ? text : text + " -> " + schema.outputs[0];
    text += " -> (";
    for (size_t i = 0; i < schema.outputs.size(); ++i) text += (i > 0 ? ", " : "") + schema.outputs[i];
    return text + ")";
}

std::string kind(const Op& op) {
    if (op.is_elementwise()) return "Elementwise";
    if (op.view_rule() != nullptr) return "A view";
    return op.composite_rule() != nullptr ? "A composite" : "A kernel";
}

std::string derivative(const Op& op) {
    if (!op.is_differentiable()) return "no derivative: " + op.why_no_derivative();
    if (op.derivative_rule() != nullptr) return "a derivative of its own";
    return op.is_elementwise() ? "differentiated from its formula" : "differentiated through the ops it is made of";
}

std::string entry(const Op& op) {
    std::string text = "## " + std::string(op.name()) + "\n\n`" + spell(op.schema()) + "`\n\n" + op.doc_text() + "\n\n";
    text += kind(op) + "; " + derivative(op) + ".";
    if (!op.like_text().empty()) text += " Like `" + op.like_text() + "`.";
    return text + "\n";
}

std::string page() {
    std::vector<const Op*> ops;
    for (const Op& op : tenon::ops::table().all()) ops.push_back(&op);
    std::sort(ops.begin(), ops.end(), [](const Op* a, const Op* b) { return a->schema().name < b->schema().name; });

    std::string text =
        "# Which ops are there?\n\n"
        "```\n"
        "cmake --build build --target tenon-opgen-reference && build/tools/opgen/tenon-opgen-reference      # prints "
        "this "
        "page\n"
        "```\n\n"
        "Generated from the op table in `tenon/ops`; `make test` compares. Each is a C++ function in `tenon::ops`\n"
        "(`tenon/ops/functions.h`) with these arguments in this order.\n\n"
        "In a signature a plain name is a tensor, `x?` may be left out, `x[]` is a list of tensors, and the op writes "
        "`x!`.\n"
        "After `->` stand the results: one, named `out`, where nothing is said. How an entry is written:\n"
        "[adding-an-op.md](adding-an-op.md). What its bits depend on: [numerics.md](numerics.md).\n\n";
    for (size_t i = 0; i < ops.size(); ++i) {
        const std::string& name = ops[i]->schema().name;
        text += (i == 0 ? "[" : i % 6 == 0 ? " ·\n[" : " · [") + name + "](#" + name + ")";
    }
    text += "\n";
    for (const Op* op : ops) text += "\n" + entry(*op);
    return text;
}

std::string read(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot read " + path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

int compare(const std::string& path) {
    std::istringstream expected(page()), found(read(path));
    std::string should, is;
    for (int64_t number = 1;; ++number) {
        const bool more = static_cast<bool>(std::getline(expected, should));
        const bool has = static_cast<bool>(std::getline(found, is));
        if (!more && !has) return 0;
        if (more && has && should == is) continue;
        std::cerr << path << ":" << number << ": is not what the op table says\n  page:  " << (has ? is : "(ends)")
                  << "\n  table: " << (more ? should : "(ends)")
                  << "\nwrite it anew: tenon-opgen-reference > docs/ops.md\n";
        return 1;
    }
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc > 2) {
        std::cerr << "usage: tenon-opgen-reference [PAGE]\n";
        return 2;
    }
    if (argc == 2) return compare(argv[1]);
    std::cout << page();
    return 0;
} catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
}
