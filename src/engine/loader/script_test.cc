#include "engine/loader/script.h"

#include <gtest/gtest.h>

namespace zs::engine {
namespace {

/// "interpreter|argument", "interpreter", or "ENOEXEC".
std::string parsed(std::string_view head) {
  const auto line = parse_script_line(head);
  if (!line) return "ENOEXEC";
  return line->interpreter + (line->argument ? "|" + *line->argument : "");
}

TEST(Script, NamesAnInterpreterAndAtMostOneArgument) {
  EXPECT_EQ(parsed("#!/bin/sh\n"), "/bin/sh");
  EXPECT_EQ(parsed("#! \t/bin/sh \t\n"), "/bin/sh");
  EXPECT_EQ(parsed("#!/usr/bin/env python3\n"), "/usr/bin/env|python3");
  EXPECT_EQ(parsed("#!/usr/bin/env  -S a  b \t\nrest"), "/usr/bin/env|-S a  b");
  EXPECT_EQ(parsed("#!relative\n"), "relative");
}

TEST(Script, MayEndWithoutANewline) {
  EXPECT_EQ(parsed("#!/bin/sh"), "/bin/sh");
  EXPECT_EQ(parsed("#!/bin/sh -x"), "/bin/sh|-x");
}

TEST(Script, IsRefusedWithoutAnInterpreter) {
  EXPECT_EQ(parsed(""), "ENOEXEC");
  EXPECT_EQ(parsed("#"), "ENOEXEC");
  EXPECT_EQ(parsed("# /bin/sh\n"), "ENOEXEC");
  EXPECT_EQ(parsed("#!\n/bin/sh\n"), "ENOEXEC");
  EXPECT_EQ(parsed("#! \t \n"), "ENOEXEC");
  EXPECT_EQ(parsed("#!" + std::string(300, ' ')), "ENOEXEC");
}

TEST(Script, IsRefusedWhenTheInterpretersNameMayBeCutOff) {
  const std::string name(252, 'x');  // with #! and / the 255 bytes that the kernel looks at
  EXPECT_EQ(parsed("#!/" + name + "yz\n"), "ENOEXEC");
  EXPECT_EQ(parsed("#!/" + name + "\n"), "/" + name);
  EXPECT_EQ(parsed("#!/" + name.substr(1) + " y\n"), "/" + name.substr(1));
}

TEST(Script, CutsALongArgumentAtTheEndOfTheKernelsBuffer) {
  EXPECT_EQ(parsed("#!/bin/echo " + std::string(300, 'y') + "\n"), "/bin/echo|" + std::string(243, 'y'));
}

}  // namespace
}  // namespace zs::engine
