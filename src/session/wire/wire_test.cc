#include "session/wire/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace zs::session {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class Datagrams : public Channel {
 public:
  void send(std::span<const std::byte> datagram) override { all.emplace_back(datagram.begin(), datagram.end()); }
  std::vector<std::vector<std::byte>> all;
};

std::vector<Message> decoded(const std::vector<std::byte>& datagram) {
  std::vector<Message> out;
  const auto result = decode_datagram(datagram, [&](Message&& m) { out.push_back(std::move(m)); });
  EXPECT_TRUE(result) << (result ? "" : result.error().message);
  return out;
}

Sample full_sample() {
  Sample s;
  s.event = 3;
  s.pid = 100;
  s.tid = 101;
  s.cpu = 1;
  s.time_ns = 123456789;
  s.ip = 0x401000;
  s.exact_ip = true;
  s.chain_end = ChainEnd::Limit;
  s.address = 0x7FFFFFFFE000;
  s.data_source = 0x106'6820'0842;
  s.latency = 300;
  s.instruction_latency = 301;
  s.period = 997;
  s.has_registers = true;
  s.registers.ip = 0x401004;
  s.registers.r15 = 15;
  s.branches = {{.from = 1, .to = 2, .mispredicted = true, .cycles = 7, .kind = arch::BranchKind::Return},
                {.from = 3, .to = 4, .speculation = arch::BranchSpeculation::NonSpeculative}};
  s.callchain = {0x401000, 0x400500};
  s.user_stack = {std::byte{1}, std::byte{2}, std::byte{3}};
  s.raw = {std::byte{4}, std::byte{5}};
  s.heap_block = std::make_shared<const HeapBlock>(
      HeapBlock{.number = 77, .start = 0x2000'0000'0010, .size = 48, .site = {0x401234, 0x401500}});
  return s;
}

TEST(Wire, EveryKindOfMessageComesBackUnchanged) {
  const Origin who{.pid = 7, .tid = 8, .time_ns = 9};
  const std::vector<Message> sent = {
      Hello{.origin = who, .exec = true},
      Comm{.origin = who, .exec = true, .comm = "gzip"},
      Mmap{.origin = who,
           .start = 0x400000,
           .length = 0x1000,
           .file_offset = 0x2000,
           .protection = 5,
           .flags = 2,
           .device_major = 8,
           .device_minor = 1,
           .inode = 42,
           .identified = true,
           .build_id = "\x01\x02",
           .path = "/usr/bin/gzip"},
      Fork{.origin = who, .parent_pid = 1, .parent_tid = 2, .by_parent = true},
      Exit{.origin = who, .parent_pid = 1, .parent_tid = 2},
      Counts{.origin = who, .final = true, .values = {1, 1ULL << 63, 3}},
      Units{.origin = who, .final = true, .sums = {1.5, 0, 1e12}},
      Lost{.origin = who, .event = 1, .samples = 12},
      Statistics{.origin = who, .pmis = 1, .records = 64, .lost = 2, .filtered = 9},
      Notice{.origin = who, .text = "not followed"},
      Notice{.origin = who, .text = "cannot run", .refusal = true},
      Window{.origin = who, .begin = 50'000, .end = 100'000, .ended_by = 5, .values = {50'000, 0, 7}},
      Window{.origin = who, .begin = 0, .end = 3, .values = {3}, .units = {0.5, 1e18}},
      Region{.origin = who,
             .final = true,
             .name = "sort",
             .entries = 3,
             .cut = 1,
             .ends_alone = 2,
             .sum = {30, 1},
             .least = {9, 0},
             .most = {11, 1}},
      RegionSpan{.origin = who, .name = "sort", .begin = 10, .end = 21},
      Branches{.origin = who, .records = std::vector<std::byte>(3 * 24, std::byte{5})},
  };
  Datagrams channel;
  MessageWriter writer{channel, 7};
  for (const Message& m : sent) writer.write(m);
  writer.flush();
  ASSERT_THAT(channel.all, SizeIs(1));
  const auto back = decoded(channel.all[0]);
  ASSERT_EQ(back.size(), sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) {
    ASSERT_EQ(back[i].index(), sent[i].index());
    std::visit(
        [&](const auto& m) {
          using T = std::decay_t<decltype(m)>;
          if constexpr (!std::is_same_v<T, Sample>) {
            EXPECT_EQ(std::get<T>(back[i]), m) << "message " << i;
          }
        },
        sent[i]);
  }
}

template <typename T>
void expect_same_either_way(const T& message) {
  Datagrams channel;
  MessageWriter writer{channel, 7};
  writer.write(message);
  writer.flush();
  writer.write(Message{message});
  writer.flush();
  EXPECT_EQ(channel.all.at(0), channel.all.at(1));
}

TEST(Wire, AWindowIsTheSameMessageEitherWay) {
  const Window bare{
      .origin = {.pid = 1, .tid = 2, .time_ns = 3}, .begin = 4, .end = 5, .ended_by = 6, .values = {7, 8}};
  Window estimated = bare;
  estimated.units = {9.5, 10};
  for (const Window& window : {bare, estimated}) expect_same_either_way(window);
}

TEST(Wire, ASampleIsTheSameMessageEitherWay) {
  Sample bare;
  bare.ip = 1;
  for (const Sample& sample : {full_sample(), bare}) expect_same_either_way(sample);
}

TEST(Wire, ASampleHasNothingOfTheOneBeforeIt) {
  Sample bare;
  bare.ip = 1;
  Datagrams channel;
  MessageWriter writer{channel, 7};
  writer.write(full_sample());
  writer.write(bare);
  writer.flush();
  std::vector<Sample> back;
  // Left where they are, so that the second is read into the first.
  ASSERT_TRUE(decode_datagram(channel.all.at(0), [&](Message&& m) { back.push_back(std::get<Sample>(m)); }));
  ASSERT_THAT(back, SizeIs(2));
  EXPECT_EQ(back[1].ip, 1U);
  EXPECT_FALSE(back[1].exact_ip || back[1].has_registers);
  EXPECT_EQ(back[1].registers.r15, 0U);
  EXPECT_EQ(back[1].address | back[1].data_source | back[1].latency | back[1].instruction_latency, 0U);
  EXPECT_TRUE(back[1].branches.empty() && back[1].callchain.empty());
  EXPECT_TRUE(back[1].user_stack.empty() && back[1].raw.empty());
  EXPECT_EQ(back[1].heap_block, nullptr);
}

TEST(Wire, ASampleKeepsAllItsParts) {
  Datagrams channel;
  MessageWriter writer{channel, 7};
  const Sample sent = full_sample();
  writer.write(sent);
  writer.flush();
  const auto back = std::get<Sample>(decoded(channel.all.at(0)).at(0));
  EXPECT_EQ(back.event, sent.event);
  EXPECT_EQ(back.pid, sent.pid);
  EXPECT_EQ(back.tid, sent.tid);
  EXPECT_EQ(back.cpu, sent.cpu);
  EXPECT_EQ(back.time_ns, sent.time_ns);
  EXPECT_EQ(back.ip, sent.ip);
  EXPECT_TRUE(back.exact_ip);
  EXPECT_EQ(back.chain_end, sent.chain_end);
  EXPECT_EQ(back.address, sent.address);
  EXPECT_EQ(back.data_source, sent.data_source);
  EXPECT_EQ(back.latency, sent.latency);
  EXPECT_EQ(back.instruction_latency, sent.instruction_latency);
  EXPECT_EQ(back.period, sent.period);
  ASSERT_TRUE(back.has_registers);
  EXPECT_EQ(std::memcmp(&back.registers, &sent.registers, sizeof sent.registers), 0);
  EXPECT_EQ(back.callchain, sent.callchain);
  EXPECT_EQ(back.user_stack, sent.user_stack);
  EXPECT_EQ(back.raw, sent.raw);
  ASSERT_NE(back.heap_block, nullptr);
  EXPECT_EQ(*back.heap_block, *sent.heap_block);
  ASSERT_THAT(back.branches, SizeIs(2));
  EXPECT_EQ(back.branches[0].kind, arch::BranchKind::Return);
  EXPECT_EQ(back.branches[0].cycles, 7);
  EXPECT_TRUE(back.branches[0].mispredicted);
  EXPECT_FALSE(back.branches[1].mispredicted);
  EXPECT_EQ(back.branches[1].speculation, arch::BranchSpeculation::NonSpeculative);
}

TEST(Wire, NoMessageIsSplitOverTwoDatagramsAndNoDatagramIsTooLong) {
  Datagrams channel;
  MessageWriter writer{channel, 7};
  Sample s = full_sample();
  s.user_stack.resize(25'000);
  for (int i = 0; i < 10; ++i) writer.write(s);
  writer.flush();
  std::size_t messages = 0;
  for (const auto& datagram : channel.all) {
    EXPECT_LE(datagram.size(), kMaxDatagram);
    messages += decoded(datagram).size();
  }
  EXPECT_EQ(messages, 10U);
  EXPECT_EQ(channel.all.size(), 5U);  // two of 25 kB fit, a third does not
}

TEST(Wire, TheLongestPossibleSampleFitsADatagram) {
  Datagrams channel;
  MessageWriter writer{channel, 7};
  Sample s = full_sample();
  s.user_stack.resize(1 << 20);
  s.callchain.resize(5000);
  s.branches.resize(300);
  s.raw.resize(kMaxRaw);
  s.heap_block = std::make_shared<const HeapBlock>(HeapBlock{.site = std::vector<std::uint64_t>(100)});
  writer.write(s);
  writer.flush();
  ASSERT_THAT(channel.all, SizeIs(1));
  const auto back = std::get<Sample>(decoded(channel.all[0]).at(0));
  EXPECT_EQ(back.user_stack.size(), kMaxUserStack);
  EXPECT_EQ(back.callchain.size(), kMaxCallchain);
  EXPECT_EQ(back.branches.size(), kMaxBranches);
  EXPECT_EQ(back.raw.size(), kMaxRaw);
  EXPECT_EQ(back.heap_block->site.size(), kMaxHeapSite);
}

// The worked example of docs/formats/wire.md.
TEST(Wire, ACountsMessageIsTheseBytes) {
  Datagrams channel;
  MessageWriter writer{channel, 7};
  writer.write(Counts{.origin = {.pid = 7, .tid = 8, .time_ns = 9}, .final = true, .values = {1, 2}});
  writer.flush();
  const unsigned char expected[] = {0x5a, 0x53, 0x4b, 0x31, 7, 0, 0, 0, 6, 0, 0, 0, 0x28, 0, 0, 0, 7, 0, 0,
                                    0,    8,    0,    0,    0, 9, 0, 0, 0, 0, 0, 0, 0,    1, 0, 0, 0, 2, 0,
                                    0,    0,    1,    0,    0, 0, 0, 0, 0, 0, 2, 0, 0,    0, 0, 0, 0, 0};
  ASSERT_EQ(channel.all.at(0).size(), sizeof expected);
  EXPECT_EQ(std::memcmp(channel.all[0].data(), expected, sizeof expected), 0);
}

TEST(Wire, AFlushWithNothingBufferedSendsNothing) {
  Datagrams channel;
  MessageWriter writer{channel, 7};
  writer.flush();
  EXPECT_THAT(channel.all, SizeIs(0));
}

TEST(Wire, AForkedChildForgetsWhatItsParentWillSend) {
  Datagrams channel;
  MessageWriter writer{channel, 7};
  writer.write(Notice{.origin = {}, .text = "the parent's"});
  writer.restart(8);
  writer.write(Notice{.origin = {}, .text = "the child's"});
  writer.flush();
  ASSERT_THAT(channel.all, SizeIs(1));
  const auto back = decoded(channel.all[0]);
  ASSERT_THAT(back, SizeIs(1));
  EXPECT_EQ(std::get<Notice>(back[0]).text, "the child's");
}

TEST(Wire, EveryShorterDatagramIsRefusedOrEndsBetweenMessages) {
  Datagrams channel;
  MessageWriter writer{channel, 7};
  writer.write(full_sample());
  writer.write(Counts{.origin = {}, .final = false, .values = {1, 2, 3}});
  writer.flush();
  const auto& whole = channel.all.at(0);
  int accepted = 0;
  for (std::size_t n = 0; n < whole.size(); ++n) {
    accepted += decode_datagram(std::span(whole).first(n), [](Message&&) {}).has_value() ? 1 : 0;
  }
  EXPECT_EQ(accepted, 2);  // the bare header, and after the sample
}

TEST(Wire, ALengthThatLiesIsNamedWithItsPlace) {
  Datagrams channel;
  MessageWriter writer{channel, 7};
  writer.write(Counts{.origin = {}, .final = false, .values = {1, 2, 3}});
  writer.flush();
  auto bytes = channel.all.at(0);
  const std::uint32_t huge = 0xFFFF'FFFF;
  std::memcpy(bytes.data() + 8 + 8 + 16 + 4, &huge, sizeof huge);  // the number of values
  const auto result = decode_datagram(bytes, [](Message&&) { FAIL() << "delivered"; });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message,
            "message from the profiled program: at byte 8: a message whose fields do not fill it");
  EXPECT_THAT(result.error().hint, HasSubstr("what arrived before is kept"));
}

}  // namespace
}  // namespace zs::session
