"""A gate that has never failed proves nothing: each check of tools/ meets a planted fault and must name it.

Run by ctest, which sets CXX, CMAKE, CHECK_LAYERS and KERNELS_OF_ENTRY_WITHOUT_SAMPLES (built programs).
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CXX = os.environ.get("CXX", "g++")


def run(*command, **options):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)
    return result.returncode, result.stdout + result.stderr


class Planted(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def library(self, text, *flags):
        source = self.write("part.cpp", text)
        self.assertEqual(run(CXX, "-std=c++20", "-O2", "-fno-math-errno", *flags, "-c", source, "-o", self.folder / "part.o")[0], 0)
        self.assertEqual(run("ar", "rcs", self.folder / "libpart.a", self.folder / "part.o")[0], 0)
        return self.folder / "libpart.a"


class LayerTable(Planted):
    """check_layers over a small tree that uses the real table."""

    def check(self, folder):
        shutil.copytree(ROOT / "docs", self.folder / "docs", dirs_exist_ok=True)
        return run(os.environ["CHECK_LAYERS"], self.folder, folder)

    def test_an_include_of_a_lower_layer_is_named_with_its_line(self):
        self.write("tenon/core/tensor.h", '#pragma once\n#include "tenon/base/error.h"\n#include "tenon/ops/table.h"\n')
        status, text = self.check("tenon/core")
        self.assertEqual(status, 1)
        self.assertIn('tenon/core/tensor.h:3: error: tenon/core includes "tenon/ops/table.h"', text)
        self.assertIn("it may include: itself, tenon/base\n", text)

    def test_angle_brackets_and_paths_not_from_the_root_do_not_escape(self):
        self.write("tenon/base/a.cpp", '#include <tenon/core/tensor.h>\n#include "../core/tensor.h"\n')
        status, text = self.check("tenon/base")
        self.assertEqual(status, 1)
        self.assertIn("a.cpp:1: error", text)
        self.assertIn("a.cpp:2: error", text)

    def test_raw_element_access_above_ops_is_refused(self):
        self.write("tenon/nn/a.cpp", '#include "tenon/cpu/access.h"\nfloat* p = data<float>(t);\n')
        status, text = self.check("tenon/nn")
        self.assertEqual(status, 1)
        self.assertIn("a.cpp:1: error", text)
        self.assertIn("a.cpp:2: error", text)

    def test_raw_element_access_is_allowed_where_the_table_says_so(self):
        self.write("tenon/io/a.cpp", '#include "tenon/cpu/access.h"\nfloat* p = data<float>(t);\n')
        self.assertEqual(self.check("tenon/io"), (0, ""))

    def test_a_model_family_is_named_in_models_only(self):
        text = 'if (model_type == "llama") start();\n'
        self.write("tenon/train/a.cpp", text)
        self.write("tenon/models/a.cpp", text)
        self.assertEqual(self.check("tenon/train")[0], 1)
        self.assertEqual(self.check("tenon/models"), (0, ""))

    def test_a_data_set_is_named_in_models_and_help_texts_only(self):
        text = 'auto example = "runs/bible-1";\n'
        self.write("tenon/data/a.cpp", text)
        self.write("cli/a.cpp", text)
        self.assertEqual(self.check("tenon/data")[0], 1)
        self.assertEqual(self.check("cli"), (0, ""))

    def test_comments_may_name_sources_and_strings_may_hold_slashes(self):
        self.write("tenon/text/a.cpp", '// as llama does\nauto url = "https://x"; /* gpt2 */ auto y = R"(// llama)";\n')
        status, text = self.check("tenon/text")
        self.assertEqual(status, 1)  # only the name inside the raw string is code
        self.assertEqual(text.count("error"), 1)
        self.assertIn('"llama" is named here', text)

    def test_a_long_file_is_a_warning(self):
        self.write("tenon/base/a.cpp", "\n" * 601)
        status, text = self.check("tenon/base")
        self.assertEqual(status, 0)
        self.assertIn("a.cpp:601: warning: over 600 lines", text)


class Build(Planted):
    """The project's own CMake functions over two layers with a fault."""

    def build(self, core_links, base_source):
        shutil.copytree(ROOT / "cmake", self.folder / "cmake")
        shutil.copytree(ROOT / "tools", self.folder / "tools")
        shutil.copytree(ROOT / "docs", self.folder / "docs")
        self.write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.25)\nproject(small LANGUAGES CXX)\n"
                   "set(CMAKE_CXX_STANDARD 20)\ninclude(cmake/TenonLayer.cmake)\n"
                   "add_subdirectory(tenon/base)\nadd_subdirectory(tenon/core)\n")  # fmt: skip
        self.write("tenon/base/CMakeLists.txt", "tenon_layer(base)\n")
        self.write("tenon/core/CMakeLists.txt", f"tenon_layer(core LINKS {core_links})\n")
        self.write("tenon/base/base.cpp", base_source)
        self.write("tenon/core/core.h", "#pragma once\nint core();\n")
        self.write("tenon/core/core.cpp", '#include "tenon/core/core.h"\nint core() { return 1; }\n')
        status, text = run(os.environ["CMAKE"], "-S", self.folder, "-B", self.folder / "b", "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={CXX}")
        if status:
            return status, text
        return run(os.environ["CMAKE"], "--build", self.folder / "b")

    def test_a_right_tree_builds(self):
        status, text = self.build("base", "int base() { return 1; }\n")
        self.assertEqual(status, 0, text)

    def test_a_wrong_include_fails_to_build(self):
        status, text = self.build("base", '#include "tenon/core/core.h"\nint base() { return core(); }\n')
        self.assertNotEqual(status, 0)
        self.assertIn('tenon/base/base.cpp:1: error: tenon/base includes "tenon/core/core.h"', text)

    def test_a_link_to_a_lower_layer_does_not_configure(self):
        status, text = self.build("ops", "int base() { return 1; }\n")
        self.assertNotEqual(status, 0)
        self.assertIn("tenon/core may not link tenon/ops", text)


class OpTable(Planted):
    def test_an_entry_without_samples_does_not_build(self):
        status, text = run(os.environ["KERNELS_OF_ENTRY_WITHOUT_SAMPLES"], self.folder)
        self.assertEqual(status, 1)
        self.assertEqual(text, "[bare] its entry has no samples: no generated test would try it\n")


class LibraryContents(Planted):
    def test_a_call_of_libm_is_named(self):
        library = self.library("#include <cmath>\nfloat f(float x) { return std::exp(x) + std::sqrt(x) + std::floor(x); }\n")
        status, text = run(sys.executable, ROOT / "tools/check_symbols.py", library)
        self.assertEqual(status, 1)
        self.assertIn("(part.o): calls expf of libm", text)
        self.assertIn("1 calls", text)  # sqrt is an instruction and floor is exact

    def test_the_file_for_f64_math_is_excepted_by_name(self):
        library = self.library("#include <cmath>\ndouble f(double x) { return std::exp(x); }\n")
        self.assertEqual(run(sys.executable, ROOT / "tools/check_symbols.py", "--except", "part", library)[0], 0)

    AVX = "#include <immintrin.h>\nnamespace {} {{ __m256 f(__m256 a) {{ return _mm256_add_ps(a, a); }} }}\n"
    WIDE = "#include <immintrin.h>\nnamespace {} {{ __m512 f(__m512 a) {{ return _mm512_add_ps(a, a); }} }}\n"

    def isa(self, text, flag):
        return run(sys.executable, ROOT / "tools/check_isa.py", self.library(text, flag))

    def test_avx_outside_its_namespace_is_named(self):
        status, text = self.isa(self.AVX.format("tenon::cpu::plain"), "-mavx2")
        self.assertEqual(status, 1)
        self.assertIn("_ZN5tenon3cpu5plain1f", text)

    def test_avx_in_its_namespace_passes(self):
        self.assertEqual(self.isa(self.AVX.format("tenon::cpu::avx2"), "-mavx2")[0], 0)
        self.assertEqual(self.isa(self.WIDE.format("tenon::cpu::avx512"), "-mavx512f")[0], 0)

    def test_avx512_in_the_namespace_of_avx2_is_named(self):
        self.assertEqual(self.isa(self.WIDE.format("tenon::cpu::avx2"), "-mavx512f")[0], 1)

    def test_a_standard_template_compiled_in_a_set_is_named(self):
        text = "#include <vector>\nnamespace tenon::cpu::avx2 { void f(std::vector<float>& v) { v.resize(v.size() + 3, 2.0f); } }\n"
        self.assertEqual(self.isa(text, "-mavx2")[0], 1)


class Skips(Planted):
    XML = (
        '<testsuites><testsuite name="A"><testcase name="Ran" status="run" classname="A"/>'
        '<testcase name="Wide" status="run" result="skipped" classname="A"><skipped message="a_test.cpp:3&#x0A;no AVX-512 here"/></testcase>'
        "</testsuite></testsuites>"
    )

    def check(self, expected):
        self.write("results/a.xml", self.XML)
        file = self.write("skips.txt", expected)
        return run(sys.executable, ROOT / "tools/check_skips.py", self.folder / "results", "--expected", file)

    def test_the_expected_skip_passes_with_its_reason(self):
        self.assertEqual(self.check("# a comment\nA.Wide\n"), (0, "SKIPPED: A.Wide: no AVX-512 here\n"))

    def test_a_new_skip_fails(self):
        self.assertEqual(self.check("")[0], 1)

    def test_a_listed_test_that_ran_fails(self):
        self.assertEqual(self.check("A.Wide\nA.Ran\n")[0], 1)

    def test_a_listed_test_that_was_not_chosen_passes(self):
        self.assertEqual(self.check("A.Wide\nB.Long\n")[0], 0)


class Dependencies(Planted):
    def test_an_undocumented_library_header_and_package_are_named(self):
        program = self.write("main.cpp", "int main() {}\n")
        run(CXX, program, "-o", self.folder / "main")
        self.write("docs/dependencies.md", "| library | package | header | linked as |\n|---|---|---|---|\n| x | `libx-dev` | `x/` | `libx.so.1` |\n")
        self.write("tenon/base/a.cpp", "#include <vector>\n#include <unistd.h>\n#include <y/y.hpp>\n")
        self.write("tools/packages-program.txt", "# list\nliby-dev  1.0  why\n")
        status, text = run(sys.executable, ROOT / "tools/check_dependencies.py", self.folder / "main", "--root", self.folder)
        self.assertEqual(status, 1)
        for fault in ("libx.so.1 has a row and is not linked", "<y/y.hpp>, included by tenon/base/a.cpp, has no row", "header x/ has a row",
                      "package liby-dev is installed and has no row", "package libx-dev has a row"):  # fmt: skip
            self.assertIn(fault, text)
        self.assertIn("5 differences", text)


if __name__ == "__main__":
    unittest.main()
