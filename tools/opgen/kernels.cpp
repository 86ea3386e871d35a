// tenon-opgen-kernels FOLDER: prints the kernel pack from the math of the op table: FOLDER/sets/elementwise_pack.cpp
// (f32, compiled per instruction set), FOLDER/elementwise_pack_f64.cpp and FOLDER/elementwise_pack_i64.cpp. A kernel
// for each elementwise op and for each of its first derivatives; second derivatives run on the evaluator.
#include <iostream>
#include <string>
#include <vector>

#include "tenon/ops/table.h"
#include "tenon/scalar/print.h"
#include "tools/opgen/write_if_changed.h"

namespace {

using tenon::ops::Op;
using tenon::scalar::Target;

std::vector<const Op*> elementwise_ops() {
    std::vector<const Op*> ops;
    for (const Op& op : tenon::ops::table().all()) {
        if (!op.is_elementwise()) continue;
        ops.push_back(&op);
        if (!op.is_differentiable()) continue;
        for (size_t i = 0; i < op.schema().inputs.size(); ++i) ops.push_back(&op.gradient(static_cast<int>(i)));
    }
    return ops;
}

int reals(const Op& op) {
    int count = 0;
    for (const auto& attribute : op.schema().attributes)
        count += attribute.type == tenon::ops::AttributeType::real ? 1 : 0;
    return count;
}

std::string print_pack(const std::vector<const Op*>& ops, Target target, const std::string& function) {
    std::string kernels, table;
    for (const Op* op : ops) {
        const std::string name = op->name();
        // Gradients of integers do not exist.
        if (target == Target::i64 && name.find("_grad") != std::string::npos) continue;
        if (!tenon::scalar::can_print(op->expression(), target)) continue;
        const int inputs = static_cast<int>(op->schema().inputs.size());
        kernels += "// " + op->doc_text() + "\n";
        kernels += tenon::scalar::print_kernel("tile_" + name, op->expression(), inputs, reals(*op), target) + "\n";
        table += "    {\"" + name + "\", tile_" + name + "},\n";
    }
    return kernels + "static const PackedKernel packed_list[] = {\n" + table + "};\n\nconst PackedKernel* " + function +
           "(int64_t* count);\nconst PackedKernel* " + function +
           "(int64_t* count) {\n    *count = sizeof packed_list / sizeof packed_list[0];\n    return packed_list;\n}\n";
}

std::string file(const std::string& includes, const std::string& space, const std::string& body) {
    return "// Printed by tenon-opgen-kernels from the math of the op table; do not edit.\n" + includes +
           "\nnamespace " + space + " {\n\n" + body + "\n}  // namespace " + space + "\n";
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc != 2) {
        std::cerr << "usage: tenon-opgen-kernels FOLDER\n";
        return 2;
    }
    const std::string folder = argv[1];
    const std::vector<const Op*> ops = elementwise_ops();
    const std::string kernel_type = "#include \"tenon/cpu/sets/packed_kernel.h\"\n";
    write_if_changed(folder + "/sets/elementwise_pack.cpp",
                     file("#include \"tenon/cpu/sets/functions.h\"\n" + kernel_type, "tenon::cpu::TENON_CPU_SET",
                          print_pack(ops, Target::f32_vector, "packed_kernels")));
    write_if_changed(folder + "/elementwise_pack_f64.cpp",
                     file("#include \"tenon/cpu/f64_math.h\"\n" + kernel_type, "tenon::cpu",
                          print_pack(ops, Target::f64, "packed_kernels_f64")));
    write_if_changed(folder + "/elementwise_pack_i64.cpp",
                     file(kernel_type + "#include \"tenon/scalar/integer.h\"\n", "tenon::cpu",
                          "using namespace scalar;\n\n" + print_pack(ops, Target::i64, "packed_kernels_i64")));
    return 0;
} catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
}
