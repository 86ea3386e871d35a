"""other_compiler_test.py SOURCE BUILD COMPILER: the whole project built by the other compiler, warnings being errors, passes
the same tests: the digest files that both compilers' programs must give among them.

Run by ctest under the label `long`.
"""

import os
import pathlib
import shutil
import subprocess
import sys


def main():
    source, build, compiler = sys.argv[1:]
    if shutil.which(compiler) is None:
        sys.exit(f"other_compiler_test: {compiler} is not installed (tools/setup.sh tests)")
    configure = ["cmake", "-S", source, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DTENON_WERROR=ON"]
    tests = ["ctest", "--test-dir", build, "--label-exclude", "long", "--output-on-failure", "--parallel", str(os.cpu_count())]
    # The results of tests that no longer exist must not be read again.
    shutil.rmtree(pathlib.Path(build) / "test-results", ignore_errors=True)
    for command in ([*configure, f"-DCMAKE_CXX_COMPILER={compiler}"], ["cmake", "--build", build], tests):
        status = subprocess.run(command, check=False).returncode
        if status != 0:
            sys.exit(f"other_compiler_test: failed with exit code {status}: {' '.join(command)}")


if __name__ == "__main__":
    main()
