// tenon-opgen-schemas OUTPUT_FOLDER SOURCE...: reads the schema literals of the op families, `op("name(…)")`, and
// writes functions.h and functions.cpp: the typed C++ API, and register_families. It reads text, so that the op files
// need not be compiled before the header that they include.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "tenon/base/error.h"
#include "tenon/ops/schema.h"

namespace {

using tenon::ops::AttributeSchema;
using tenon::ops::AttributeType;
using tenon::ops::InputSchema;
using tenon::ops::Schema;

std::string read(const std::string& path) {
    std::ifstream in(path);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}

// The C string literals, adjacent ones joined, that start at `at`.
std::string literal(const std::string& text, size_t at) {
    std::string joined;
    while (at < text.size() && text[at] == '"') {
        const size_t end = text.find('"', at + 1);
        joined += text.substr(at + 1, end - at - 1);
        at = text.find_first_not_of(" \n", end + 1);
    }
    return joined;
}

std::vector<Schema> schemas_in(const std::string& text) {
    std::vector<Schema> schemas;
    const std::string opening = ".op(";
    for (size_t at = text.find(opening); at != std::string::npos; at = text.find(opening, at + 1)) {
        const size_t quote = text.find_first_not_of(" \n", at + opening.size());
        if (quote != std::string::npos && text[quote] == '"') {
            schemas.push_back(tenon::ops::parse_schema(literal(text, quote)));
        }
    }
    return schemas;
}

// "register_<stem>" where the file defines it: a family is named for its file.
std::string family_in(const std::string& path, const std::string& text) {
    const std::string family = "register_" + std::filesystem::path(path).stem().string();
    return text.find("void " + family + "(Table") == std::string::npos ? "" : family;
}

std::string parameter_type(const AttributeSchema& attribute) {
    switch (attribute.type) {
        case AttributeType::integer:
            return "int64_t ";
        case AttributeType::boolean:
            return "bool ";
        case AttributeType::real:
            return "double ";
        case AttributeType::dims:
            return "const Dims& ";
        case AttributeType::dtype:
            return "DType ";
        case AttributeType::device:
            return "Device ";
    }
    return "";
}

std::string default_value(const AttributeSchema& attribute) {
    if (attribute.type == AttributeType::device) return " = default_device()";
    if (!attribute.fallback) return "";
    const std::string prefix = attribute.type == AttributeType::dtype ? "DType::" : "";
    return " = " + prefix + *attribute.fallback;
}

std::string return_type(const Schema& schema) {
    if (schema.list_output) return "std::vector<Tensor>";
    if (schema.outputs.empty()) return "void";
    if (schema.outputs.size() == 1) return "Tensor";
    std::string type = "std::tuple<Tensor";
    for (size_t i = 1; i < schema.outputs.size(); ++i) type += ", Tensor";
    return type + ">";
}

// Trailing optional inputs and attributes with defaults may be left out.
std::string parameters(const Schema& schema, bool with_defaults) {
    std::string text;
    const auto separate = [&] { text += text.empty() ? "" : ", "; };
    bool defaults_follow = true;
    for (const AttributeSchema& attribute : schema.attributes) {
        if (default_value(attribute).empty()) defaults_follow = false;
    }
    // From here on every input is optional.
    size_t all_optional = schema.inputs.size();
    while (all_optional > 0 && schema.inputs[all_optional - 1].optional) --all_optional;
    for (size_t i = 0; i < schema.inputs.size(); ++i) {
        separate();
        text += schema.inputs[i].list ? "std::span<const Tensor> " : "const Tensor& ";
        text += schema.inputs[i].name;
        if (with_defaults && defaults_follow && i >= all_optional) text += " = {}";
    }
    for (const AttributeSchema& attribute : schema.attributes) {
        separate();
        text += parameter_type(attribute) + attribute.name;
        if (with_defaults) text += default_value(attribute);
    }
    return text;
}

std::string body(const Schema& schema) {
    std::string text = "    static const Op& op = lookup(\"" + schema.name + "\");\n";
    std::string inputs = "{}";
    if (schema.inputs.size() == 1 && schema.inputs[0].list) {
        inputs = schema.inputs[0].name;
    } else if (!schema.inputs.empty()) {
        text += "    const Tensor inputs[] = {";
        for (size_t i = 0; i < schema.inputs.size(); ++i) text += (i > 0 ? ", " : "") + schema.inputs[i].name;
        text += "};\n";
        inputs = "inputs";
    }
    text += "    Attributes attributes;\n";
    for (const AttributeSchema& attribute : schema.attributes) {
        const std::string slot = "[" + std::to_string(attribute.slot) + "] = ";
        if (attribute.type == AttributeType::dims) {
            text += "    attributes.dims = " + attribute.name + ";\n";
        } else if (attribute.type == AttributeType::real) {
            text += "    attributes.reals" + slot + attribute.name + ";\n";
        } else {
            text += "    attributes.integers" + slot + "static_cast<int64_t>(" + attribute.name + ");\n";
        }
    }
    const std::string arguments = "(op, " + inputs + ", attributes)";
    if (schema.list_output) return text + "    return dispatch_all" + arguments + ";\n";
    if (schema.outputs.empty()) return text + "    dispatch" + arguments + ";\n";
    if (schema.outputs.size() == 1) return text + "    return dispatch" + arguments + ";\n";
    text += "    std::vector<Tensor> outputs = dispatch_all" + arguments + ";\n    return {";
    for (size_t i = 0; i < schema.outputs.size(); ++i) {
        text += (i > 0 ? ", " : "") + std::string("std::move(outputs[") + std::to_string(i) + "])";
    }
    return text + "};\n";
}

void write_if_changed(const std::string& path, const std::string& text) {
    if (read(path) == text) return;
    std::ofstream(path) << text;
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc < 3) {
        std::cerr << "usage: tenon-opgen-schemas OUTPUT_FOLDER SOURCE...\n";
        return 2;
    }
    const std::string folder = argv[1];
    std::string header =
        "// Generated from the schemas in tenon/ops by tenon-opgen-schemas.\n#pragma once\n\n#include <span>\n"
        "#include <tuple>\n#include <vector>\n\n#include \"tenon/core/tensor.h\"\n#include \"tenon/ops/dispatch.h\"\n\n"
        "namespace tenon::ops {\n\n";
    std::string source =
        "// Generated from the schemas in tenon/ops by tenon-opgen-schemas.\n#include \"tenon/ops/functions.h\"\n\n"
        "#include <utility>\n\n#include \"tenon/ops/families.h\"\n#include \"tenon/ops/table.h\"\n\n"
        "namespace tenon::ops {\n\n";
    std::vector<std::string> families;
    for (int i = 2; i < argc; ++i) {
        const std::string text = read(argv[i]);
        const std::string family = family_in(argv[i], text);
        if (family.empty()) continue;
        families.push_back(family);
        for (const Schema& schema : schemas_in(text)) {
            header += return_type(schema) + " " + schema.name + "(" + parameters(schema, true) + ");\n";
            source += return_type(schema) + " " + schema.name + "(" + parameters(schema, false) + ") {\n" +
                      body(schema) + "}\n\n";
        }
    }
    std::sort(families.begin(), families.end());
    for (const std::string& family : families) source += "void " + family + "(Table& table);\n";
    source += "\nvoid register_families(Table& table) {\n";
    for (const std::string& family : families) source += "    " + family + "(table);\n";
    source += "}\n\n}  // namespace tenon::ops\n";
    header += "\n}  // namespace tenon::ops\n";
    write_if_changed(folder + "/functions.h", header);
    write_if_changed(folder + "/functions.cpp", source);
    return 0;
} catch (const tenon::Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
}
