#include "report/text/skid_text.h"

#include <gtest/gtest.h>

namespace zs::report {
namespace {

using arch::SkidCause;

SkidCounts counts_of(const std::vector<std::pair<arch::SkidNote, std::uint64_t>>& samples) {
  SkidCounts counts;
  for (const auto& [note, shown] : samples) counts.add(note, shown);
  return counts;
}

TEST(SkidHistogram, HasARowForEachDoublingAndEverySampleInOne) {
  const SkidCounts counts = counts_of({{{.ip = 0x1000}, 0x1000},
                                       {{.cause = SkidCause::Interrupt, .ip = 0x1000, .instructions = 1}, 0x1004},
                                       {{.cause = SkidCause::Interrupt, .ip = 0x1000, .instructions = 6}, 0xFFF},
                                       {{.cause = SkidCause::Interrupt, .ip = 0x1000, .instructions = 7}, 0x1080}});
  EXPECT_EQ(skid_histogram(counts, 60),
            "# Instructions later   Samples     Share\n"
            "                   0         1    25.00%  ##########\n"
            "                   1         1    25.00%  ##########\n"
            "              2 to 3         0     0.00%\n"
            "              4 to 7         2    50.00%  ####################\n"
            "#\n"
            "#      Bytes further   Samples     Share\n"
            "                  -1         1    25.00%  ####################\n"
            "                   0         1    25.00%  ####################\n"
            "                   1         0     0.00%\n"
            "              2 to 3         0     0.00%\n"
            "              4 to 7         1    25.00%  ####################\n"
            "                 ...\n"
            "          128 to 255         1    25.00%  ####################\n"
            "#\n"
            "# Cause: none, the instruction itself is shown: 1 of 4\n"
            "# Cause: the interrupt came late: 3 of 4\n");
}

TEST(SkidHistogram, OfNoSamplesIsNothing) { EXPECT_EQ(skid_histogram(SkidCounts{}), ""); }

TEST(SkidHistogram, SaysHowManyEventsLayInShadows) {
  const SkidCounts counts =
      counts_of({{{.cause = SkidCause::Arming, .hidden = 3, .ip = 0x1000, .instructions = 9}, 0x1000},
                 {{.cause = SkidCause::Arming, .hidden = 2, .ip = 0x1000, .instructions = 9}, 0x1000}});
  EXPECT_NE(skid_histogram(counts).find("# Events in shadows, which no sample shows: 5\n"), std::string::npos);
}

TEST(SkidNote, IsReadBackAndNothingElseIsTakenForOne) {
  const arch::SkidNote note{.cause = SkidCause::Arming, .hidden = 2, .ip = 0x401000, .instructions = 9};
  const auto bytes = std::as_bytes(std::span(&note, 1));
  const auto read = arch::read_skid_note(bytes);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->ip, note.ip);
  EXPECT_EQ(read->instructions, note.instructions);
  EXPECT_FALSE(arch::read_skid_note(bytes.first(bytes.size() - 1)));
  std::vector<std::byte> other(bytes.begin(), bytes.end());
  other[0] = std::byte{0};
  EXPECT_FALSE(arch::read_skid_note(other)) << "another magic number";
}

}  // namespace
}  // namespace zs::report
