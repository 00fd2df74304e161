#!/usr/bin/env python3
"""include/zeroskid/region.h in every standard of C and C++, with and without optimisation, with the compilers that are there:
no warning, and the regions are those of the source.   header_test.py ZEROSKID INCLUDE
"""
import os
import shutil
import subprocess
import sys
import tempfile

C = r"""#include <zeroskid/region.h>
int main(void) {
  volatile int i;
  ZS_REGION_BEGIN("a b");
  for (i = 0; i < 10; ++i) {
    ZS_REGION_BEGIN("in");
    ZS_REGION_END("in");
  }
  ZS_REGION_END("a b");
  return 0;
}
"""
CPP = r"""#include <zeroskid/region.h>
template <class T>
T next(T x) {
  ZS_REGION("template");
  return x + 1;
}
struct Made {
  Made() {
    ZS_REGION("outer");
    ZS_REGION("inner");
  }
};
static inline int twice(int x) {
  ZS_REGION_BEGIN("twice");
  x = next(x) + next(x);
  ZS_REGION_END("twice");
  return x;
}
int main() {
  Made made;
  (void)made;
  for (int i = 0; i < 3; ++i) {
    ZS_REGION("loop");
    if (i == 1) continue;
  }
  return twice(1) + static_cast<int>(next(2L)) != 7;
}
"""
#: By language: source, entries by region, standards, options beside those of both.
LANGUAGES = {
    "c": (C, {"a b": "1", "in": "10"}, ("c89", "gnu89", "c99", "c11", "c17", "c2x"), ()),
    "cc": (CPP, {"outer": "1", "inner": "1", "loop": "3", "template": "3", "twice": "1"},
           ("c++98", "c++11", "c++14", "c++17", "c++20"), ("-fno-exceptions -fno-rtti",)),
}
OPTIONS = ("-O0", "-O2", "-O2 -masm=intel", "-Os -fno-pie -no-pie", "-O2 -DZS_REGION_DISABLE")
COMPILERS = (("gcc", "g++"), ("clang", "clang++"))


def main():
    zeroskid, include = (os.path.abspath(path) for path in sys.argv[1:3])
    there = [pair for pair in COMPILERS if shutil.which(pair[0]) and shutil.which(pair[1])]
    failed = tried = 0
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "program")
        for at, (suffix, (text, entries, standards, more)) in enumerate(LANGUAGES.items()):
            source = os.path.join(folder, "source." + suffix)
            with open(source, "w", encoding="ascii") as file:
                file.write(text)
            for compiler in (pair[at] for pair in there):
                for standard in standards:
                    for options in OPTIONS + more:
                        command = [compiler, "-std=" + standard, "-I", include, "-Wall", "-Wextra", "-Wpedantic", "-Wshadow",
                                   "-Werror", *options.split(), "-o", program, source]
                        built = subprocess.run(command, capture_output=True, text=True, check=False)
                        tried += 1
                        found = None
                        if built.returncode == 0:
                            said = subprocess.run([zeroskid, "stat", "-x", ";", "-e", "instructions", program],
                                                  capture_output=True, text=True, check=True).stderr
                            rows = [line.split(";") for line in said.splitlines() if line.startswith("region;")]
                            found = {row[1]: row[2] for row in rows if row[3:5] == ["0", "0"]}
                        if found != ({} if "DISABLE" in options else entries):
                            failed += 1
                            print(" ".join(command[:2]), options, found, built.stderr[:400])
    print(f"{tried} ways to compile with {', '.join(pair[0] for pair in there)}, {failed} wrong")
    return 1 if failed or not tried else 0


sys.exit(main())
