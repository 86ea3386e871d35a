// tenon-opgen-functions OUTPUT: prints tenon/cpu/sets/functions.h, the elementary functions over the vector type, from
// their one definition in tenon/scalar/polynomials.h.
#include <iostream>
#include <string>

#include "tenon/scalar/expand.h"
#include "tenon/scalar/print.h"
#include "tools/opgen/write_if_changed.h"

using tenon::scalar::Kind;

int main(int argc, char** argv) try {
    if (argc != 2) {
        std::cerr << "usage: tenon-opgen-functions OUTPUT\n";
        return 2;
    }
    std::string text =
        "// Printed by tenon-opgen-functions from tenon/scalar/polynomials.h; do not edit.\n"
        "// The elementary functions, 16 lanes at a time: the same bits on every set, lane by lane.\n"
        "#pragma once\n\n#include \"tenon/cpu/sets/scalar_primitives.h\"\n\nnamespace tenon::cpu::TENON_CPU_SET {\n\n";
    for (const Kind kind :
         {Kind::exp, Kind::log, Kind::sin, Kind::cos, Kind::tanh, Kind::erf, Kind::sigmoid, Kind::pow}) {
        text += tenon::scalar::print_vector_function(tenon::scalar::name(kind), tenon::scalar::expansion(kind),
                                                     tenon::scalar::operand_count(kind)) +
                "\n";
    }
    text += "}  // namespace tenon::cpu::TENON_CPU_SET\n";
    write_if_changed(argv[1], text);
    return 0;
} catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
}
