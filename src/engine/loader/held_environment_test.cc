#include "engine/loader/held_environment.h"

#include <gtest/gtest.h>

namespace zs::engine {
namespace {

TEST(HeldEnvironment, EveryVariableComesBackAsItWas) {
  for (const char* variable :
       {"LD_PRELOAD=/x.so", "LD_DEBUG=", "LD_", "GLIBC_TUNABLES=glibc.malloc.check=3", "PATH=/bin", "", "=",
        "no equals sign", "MALLOC_PERTURB_=7", "ZEROSKID_HELD_LD_X=1", "ZEROSKID_HELD_", "ZEROSKID_HELD_ZEROSKID_HELD_",
        "ZEROSKID_RUN=/bin/x", "XLD_PRELOAD=1"}) {
    EXPECT_EQ(released(held(variable)), variable);
  }
}

TEST(HeldEnvironment, NoLoaderVariableReachesTheRunner) {
  for (const char* variable : {"LD_PRELOAD=/x.so", "LD_TRACE_LOADED_OBJECTS=1", "LD_BIND_NOW=1", "LD_LIBRARY_PATH=/x",
                               "GLIBC_TUNABLES=glibc.malloc.check=3", "MALLOC_ARENA_MAX=1"}) {
    EXPECT_EQ(held(variable), "ZEROSKID_HELD_" + std::string(variable));
  }
}

TEST(HeldEnvironment, OtherVariablesAreNotTouched) {
  for (const char* variable : {"PATH=/bin", "HOLD_=LD_PRELOAD=1", "ld_preload=1", "LDFLAGS=-g"}) {
    EXPECT_EQ(held(variable), variable);
  }
}

}  // namespace
}  // namespace zs::engine
