#include "profile/symbols/demangle.h"

#include <gtest/gtest.h>

namespace zs::profile {
namespace {

// Each is what `c++filt -p` prints; so were all but one of 44,000 names of libstdc++ and libLLVM, abbreviations of
// std::string and its like apart.
TEST(Demangle, LeavesOutParametersReturnTypeAndCloneSuffix) {
  EXPECT_EQ(demangle("_Z3fooi"), "foo");
  EXPECT_EQ(demangle("_Z3fooi.constprop.0"), "foo");
  EXPECT_EQ(demangle("_ZNK6Ledger4postERK5Order"), "Ledger::post");
  EXPECT_EQ(demangle("_ZN2ns3sumIiEET_RKNS_3BoxIS1_EES1_"), "ns::sum<int>");
  EXPECT_EQ(demangle("_ZN12_GLOBAL__N_14anonEi"), "(anonymous namespace)::anon");
  EXPECT_EQ(demangle("_ZZ4mainENKUliE_clEi"), "main::{lambda(int)#1}::operator()");
  EXPECT_EQ(demangle("_ZN1A3fooB5cxx11Ev"), "A::foo[abi:cxx11]");
  EXPECT_EQ(demangle("_ZZ3foovE1x"), "foo()::x");
}

TEST(Demangle, KeepsTheWholeNameOfAnOperator) {
  EXPECT_EQ(demangle("_ZN1AcvlEv"), "A::operator long");
  EXPECT_EQ(demangle("_ZdlPv"), "operator delete");
  EXPECT_EQ(demangle("_ZlsIcERSoS0_T_"), "operator<< <char>");
  EXPECT_EQ(demangle("_ZN2ns2OpclEi"), "ns::Op::operator()");
  EXPECT_EQ(demangle("_ZNKSt15__exception_ptr13exception_ptrcvMS0_FvvEEv"),
            "std::__exception_ptr::exception_ptr::operator void (std::__exception_ptr::exception_ptr::*)()");
}

TEST(Demangle, ReadsRustOfBothManglingsWithoutItsHash) {
  EXPECT_EQ(demangle("_ZN4core3ptr13drop_in_place17h0a1b2c3d4e5f6071E"), "core::ptr::drop_in_place");
  EXPECT_EQ(
      demangle("_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar17h930b740aa94f1d3aE"),
      "<Test + 'static as foo::Bar<Test>>::bar");
  EXPECT_EQ(demangle("_RNvCs1234_7mycrate3foo"), "mycrate::foo");
  EXPECT_EQ(demangle("_RINvNtC3std3mem8align_ofdE"), "std::mem::align_of::<f64>");
}

TEST(Demangle, ReadsDAndLeavesGo) {
  EXPECT_EQ(demangle("_D3std5stdio7writelnFAyaZv"), "std.stdio.writeln(immutable(char)[])");
  EXPECT_EQ(demangle("_Dmain"), "D main");
  EXPECT_EQ(demangle("_DYNAMIC"), "_DYNAMIC");
  EXPECT_EQ(demangle("main.(*Table).Insert"), "main.(*Table).Insert");
}

TEST(Demangle, LeavesWhatIsNoFunctionInFull) {
  EXPECT_EQ(demangle("_ZThn8_N1A1fEv"), "non-virtual thunk to A::f()");
  EXPECT_EQ(demangle("_ZTV1A"), "vtable for A");
  EXPECT_EQ(demangle("main"), "main");
  EXPECT_EQ(demangle("_Zfoo"), "_Zfoo");
  EXPECT_EQ(demangle(""), "");
}

}  // namespace
}  // namespace zs::profile
