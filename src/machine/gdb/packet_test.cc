#include "machine/gdb/packet.h"

#include <gtest/gtest.h>

namespace zs::machine::gdb {
namespace {

TEST(GdbPacket, FramesWithItsChecksum) { EXPECT_EQ(framed("OK"), "$OK#9a"); }

TEST(GdbPacket, ReadsPacketsInAnyPieces) {
  PacketReader reader;
  reader.add("+$g#6");
  EXPECT_FALSE(reader.next());
  reader.add("7+\x03$m0,1#00");
  EXPECT_EQ(reader.next()->data, "g");
  EXPECT_EQ(reader.next()->what, PacketReader::What::Interrupt);
  EXPECT_EQ(reader.next()->what, PacketReader::What::Damaged);
  EXPECT_FALSE(reader.next());
}

TEST(GdbPacket, HexadecimalBothWays) {
  EXPECT_EQ(bytes_of_hex("41ff"), "A\xFF");
  EXPECT_FALSE(bytes_of_hex("4"));
  EXPECT_FALSE(bytes_of_hex("4x"));
  std::string_view text = "1f,2";
  EXPECT_EQ(take_hex(text), 0x1Fu);
  EXPECT_EQ(text, ",2");
  EXPECT_FALSE(take_hex(text));
}

}  // namespace
}  // namespace zs::machine::gdb
