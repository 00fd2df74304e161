#include "uarch/coherence/line_log.h"

namespace zs::uarch {
namespace {

struct Head {
  std::uint64_t linear, hand_overs, meant, unknown, hitm, waited, stints_left_out, uses_left_out;
  std::uint32_t uses, stints, parts;
  std::uint16_t first_holder, first_owned;  // the thread plus one; 0: nobody is known
};
static_assert(WireLayout<Head>);

template <typename T>
void write_list(ByteWriter& out, const std::vector<T>& list) {
  out.write_bytes(std::as_bytes(std::span(list)));
}

bool is_sound(const LineLog& log) {
  for (const LineUse& use : log.uses) {
    if (use.bytes == 0 || use.offset + use.bytes > 64) return false;
  }
  for (const StintPart& part : log.parts) {
    if (part.use >= log.uses.size()) return false;
  }
  for (const Stint& stint : log.stints) {
    if (stint.parts == 0 || stint.end < stint.begin || std::size_t{stint.first_part} + stint.parts > log.parts.size())
      return false;
  }
  return true;
}

}  // namespace

void encode(const LineLog& log, ByteWriter& out) {
  out.write(Head{.linear = log.linear,
                 .hand_overs = log.hand_overs,
                 .meant = log.meant,
                 .unknown = log.unknown,
                 .hitm = log.hitm,
                 .waited = log.waited,
                 .stints_left_out = log.stints_left_out,
                 .uses_left_out = log.uses_left_out,
                 .uses = static_cast<std::uint32_t>(log.uses.size()),
                 .stints = static_cast<std::uint32_t>(log.stints.size()),
                 .parts = static_cast<std::uint32_t>(log.parts.size()),
                 .first_holder = static_cast<std::uint16_t>(log.first_holder + 1),
                 .first_owned = log.first_owned});
  write_list(out, log.uses);
  write_list(out, log.stints);
  write_list(out, log.parts);
}

std::optional<LineLog> decode_line_log(ByteReader& in) {
  const auto head = in.read<Head>();
  LineLog log{.linear = head.linear,
              .hand_overs = head.hand_overs,
              .meant = head.meant,
              .unknown = head.unknown,
              .hitm = head.hitm,
              .waited = head.waited,
              .stints_left_out = head.stints_left_out,
              .uses_left_out = head.uses_left_out,
              .first_holder = static_cast<std::uint16_t>(head.first_holder - 1),
              .first_owned = head.first_owned != 0,
              .uses = in.read_array<LineUse>(head.uses),
              .stints = in.read_array<Stint>(head.stints),
              .parts = in.read_array<StintPart>(head.parts)};
  if (in.ok() && !is_sound(log)) in.fail("it speaks of bytes or accesses that it does not have");
  if (!in.ok()) return std::nullopt;
  return log;
}

}  // namespace zs::uarch
