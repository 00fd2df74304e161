#include "report/text/class_text.h"

#include <gtest/gtest.h>

namespace zs::report {
namespace {

using session::ChainEnd;

TEST(ClassText, SaysHowManyChainsEndShortAndWhy) {
  profile::Dso program;
  program.short_name = "loopy";
  profile::Frame spin, other;
  spin.name = "spin";
  spin.dso = &program;
  profile::Histogram histogram;
  EXPECT_EQ(chains_text(histogram, 0), "");
  histogram.chain_ends = {{ChainEnd::NotSaid, 7}, {ChainEnd::Outermost, 90}};
  EXPECT_EQ(chains_text(histogram, 0), "");
  histogram.chain_ends[ChainEnd::NoRule] = 8;
  histogram.no_rule = {{&spin, 5}, {&other, 3}};
  histogram.chain_ends[ChainEnd::Limit] = 2;
  EXPECT_EQ(chains_text(histogram, 0),
            "# Chains: 10 of 100 (10.0 %) end short: 8 without a rule for the code, 5 of them in spin (loopy); 2 at "
            "the limit "
            "of their length\n");
}

}  // namespace
}  // namespace zs::report
