"""reproducible_test.py SOURCE BUILD COMPILER: two clean builds in different folders give byte-equal programs.

Run by ctest under the label `long`. What is built is SOURCE's last commit.
"""

import filecmp
import pathlib
import shutil
import subprocess
import sys


def main():
    source, build, compiler = sys.argv[1:]
    folder = pathlib.Path(build)
    shutil.rmtree(folder, ignore_errors=True)
    programs = []
    for name in ("one", "another/deeper folder"):
        clone = folder / name
        clone.parent.mkdir(parents=True, exist_ok=True)
        for command in (
            ["git", "clone", "--quiet", source, clone],
            ["cmake", "-S", clone, "-B", clone / "build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DTENON_TESTS=OFF", f"-DCMAKE_CXX_COMPILER={compiler}"],
            ["cmake", "--build", clone / "build", "--target", "tenon"],
        ):
            if subprocess.run([str(part) for part in command], stdout=subprocess.DEVNULL, check=False).returncode != 0:
                sys.exit(f"reproducible_test: failed: {command}")
        programs.append(clone / "build/tenon")
    if not filecmp.cmp(*programs, shallow=False):
        sys.exit(f"reproducible_test: {programs[0]} and {programs[1]} differ")
    print("byte-equal")


if __name__ == "__main__":
    main()
