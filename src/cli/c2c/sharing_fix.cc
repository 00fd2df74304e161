// What a line is, and what would keep its threads apart.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "base/number.h"
#include "cli/c2c/shared_lines.h"
#include "uarch/sharing/line_replay.h"

namespace zs::cli {
namespace {

using report::PredictedCounts;
using report::SharedField;
using report::SharedLine;
using report::Sharing;
using report::SharingFix;
using uarch::kLineBytes;
using uarch::LineLayout;

/// chosen: a thread that has less than one in so many of the accesses of a field, and of the line's hand-overs, does
/// not use it: it made it, or looked at it when all was over.
constexpr std::uint64_t kOneIn = 100;
/// chosen: hand-overs of the other kind that a line may have and still be called true or false.
constexpr double kOtherKind = 0.05;
/// chosen: a layout must save a tenth of the hand-overs to be worth its bytes; a finer one a twentieth of what a
/// simpler one leaves.
constexpr double kWorthIt = 0.9, kWorthMore = 0.95;
/// And a hundredth of them all.
constexpr double kWorthOfAll = 0.01;
/// chosen: a sentence names so many fields at most.
constexpr std::size_t kMostNames = 4;

Sharing sharing_of(const uarch::LineLog& log) {
  const std::uint64_t known = log.hand_overs - std::min(log.hand_overs, log.unknown);
  if (known == 0) return Sharing::Once;
  const double meant = static_cast<double>(log.meant) / static_cast<double>(known);
  if (meant >= 1 - kOtherKind) return Sharing::True;
  return meant <= kOtherKind ? Sharing::False : Sharing::Mixed;
}

/// Who uses a field, as far as it matters.
struct Users {
  std::set<std::uint16_t> threads;
  bool written = false;
  auto operator<=>(const Users&) const = default;
};

std::vector<Users> users_of(const SharedLine& line) {
  struct Share {
    std::uint64_t accesses = 0, hand_overs = 0;
    bool writes = false;
  };
  std::vector<std::map<std::uint16_t, Share>> shares(line.fields.size());
  std::vector<std::uint64_t> accesses(line.fields.size());
  for (std::size_t i = 0; i < line.log->uses.size(); ++i) {
    const uarch::LineUse& use = line.log->uses[i];
    const std::uint32_t field = line.field_of_use[i];
    Share& share = shares[field][use.thread];
    share.accesses += use.accesses;
    share.hand_overs += use.hand_overs;
    share.writes = share.writes || use.writes();
    accesses[field] += use.accesses;
  }
  std::vector<Users> users(line.fields.size());
  for (std::size_t field = 0; field < users.size(); ++field) {
    for (const auto& [thread, share] : shares[field]) {
      const bool matters =
          share.accesses * kOneIn >= accesses[field] || share.hand_overs * kOneIn >= line.log->hand_overs;
      if (!matters) continue;
      users[field].threads.insert(thread);
      users[field].written = users[field].written || share.writes;
    }
  }
  return users;
}

/// Groups of fields that lie in lines of their own, each by number of the field.
using Groups = std::vector<std::vector<std::size_t>>;

template <typename Key>
Groups grouped(const SharedLine& line, Key key_of) {
  Groups groups;
  std::map<decltype(key_of(std::size_t{0})), std::size_t> group_of;
  for (std::size_t field = 0; field < line.fields.size(); ++field) {
    const auto [known, fresh] = group_of.try_emplace(key_of(field), groups.size());
    if (fresh) groups.emplace_back();
    groups[known->second].push_back(field);
  }
  return groups;
}

LineLayout layout_of(const SharedLine& line, const Groups& groups) {
  LineLayout layout{};
  for (std::size_t group = 0; group < groups.size(); ++group) {
    for (const std::size_t field : groups[group]) {
      const SharedField& one = line.fields[field];
      for (std::uint64_t byte = 0; byte < kLineBytes; ++byte) {
        const std::uint64_t at = line.log->linear + byte;
        if (at >= one.start && at - one.start < one.size) layout[byte] = static_cast<std::uint8_t>(group);
      }
    }
  }
  return layout;
}

/// Several blocks of the heap, and nothing else but what the allocator keeps between them.
bool is_of_blocks(const SharedLine& line) {
  std::set<std::uint64_t> starts;
  for (const SharedField& field : line.fields) {
    if (field.block) {
      starts.insert(field.object_start);
    } else if (field.object != "[heap]") {
      return false;
    }
  }
  return starts.size() > 1;
}

std::uint64_t padded(std::uint64_t bytes) { return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes; }

/// Padding behind each group but the last; behind each block of the heap, if that is what the groups are.
std::uint64_t padding_of(const SharedLine& line, const Groups& groups) {
  std::uint64_t padding = 0;
  if (is_of_blocks(line)) {
    std::map<std::uint64_t, std::uint64_t> sizes;
    for (const SharedField& field : line.fields) {
      if (field.block) sizes[field.object_start] = field.object_size;
    }
    for (const auto& [start, size] : sizes) padding += padded(size) - size;
    return padding;
  }
  for (std::size_t group = 0; group + 1 < groups.size(); ++group) {
    std::uint64_t bytes = 0;
    for (const std::size_t field : groups[group]) bytes += line.fields[field].size;
    padding += padded(bytes) - bytes;
  }
  return padding;
}

bool is_one_array(const SharedLine& line) {
  return std::ranges::all_of(line.fields, [&](const SharedField& field) {
    return field.element && field.object == line.fields.front().object;
  });
}

/// Whether the fields of each group lie side by side already.
bool keeps_order(const Groups& groups) {
  return std::ranges::all_of(
      groups, [](const std::vector<std::size_t>& group) { return group.back() - group.front() + 1 == group.size(); });
}

std::string names_of(const SharedLine& line, const std::vector<std::size_t>& group) {
  std::string names;
  for (std::size_t i = 0; i < std::min(group.size(), kMostNames); ++i)
    names += (names.empty() ? "" : ", ") + line.fields[group[i]].name();
  return group.size() > kMostNames ? names + ", ..." : names;
}

std::string text_of(const SharedLine& line, const Groups& groups) {
  if (is_of_blocks(line)) {
    std::set<std::string> sites;
    for (const SharedField& field : line.fields) {
      if (field.block) sites.insert(field.object);
    }
    std::string text = "each block in lines of its own, aligned_alloc(64, ...):";
    for (const std::string& site : sites) text += (site == *sites.begin() ? " " : ", ") + site;
    return text;
  }
  if (is_one_array(line)) return "alignas(64) on the elements of " + line.fields.front().object + ", one line for each";
  if (groups.size() > kMostNames) return fmt::format("each of {} parts in a line of its own", groups.size());
  std::string text;
  if (!keeps_order(groups)) {
    for (const auto& group : groups) text += (text.empty() ? "order {" : ", {") + names_of(line, group) + "}";
    text += "; ";
  }
  std::string firsts;
  for (std::size_t group = 1; group < groups.size(); ++group)
    firsts += (firsts.empty() ? "" : ", ") + line.fields[groups[group].front()].name();
  return text + "alignas(64) on " + firsts;
}

PredictedCounts predict(const SharedLine& line, const LineLayout& layout, const uarch::MemoryParameters& parameters) {
  const uarch::SharingCounts counts = uarch::predicted(*line.log, layout, parameters);
  return {.hand_overs = counts.hand_overs, .hitm = counts.hitm};
}

}  // namespace

void find_fix(SharedLine& line, const uarch::MemoryParameters& parameters) {
  line.sharing = sharing_of(*line.log);
  if (line.fields.size() < 2 || line.sharing == Sharing::Once) return;
  const std::vector<Users> users = users_of(line);
  // Simplest first: one block for each set of users; what is written apart from what is only read, too; each field for
  // itself.
  if (is_of_blocks(line)) {
    const Groups blocks = grouped(line, [&](std::size_t field) { return line.fields[field].object_start; });
    const PredictedCounts left = predict(line, layout_of(line, blocks), parameters);
    if (static_cast<double>(left.hand_overs) <= static_cast<double>(line.log->hand_overs) * kWorthIt)
      line.fix = SharingFix{.text = text_of(line, blocks), .left = left, .bytes = padding_of(line, blocks)};
    return;
  }
  const Groups candidates[] = {grouped(line, [&](std::size_t field) { return users[field].threads; }),
                               grouped(line, [&](std::size_t field) { return users[field]; }),
                               grouped(line, [](std::size_t field) { return field; })};
  const auto before = static_cast<double>(line.log->hand_overs);
  double least = before * kWorthIt;
  std::size_t groups_before = 1;
  for (const Groups& groups : candidates) {
    if (groups.size() == groups_before) continue;
    groups_before = groups.size();
    const PredictedCounts left = predict(line, layout_of(line, groups), parameters);
    if (static_cast<double>(left.hand_overs) > least) continue;
    line.fix = SharingFix{.text = text_of(line, groups), .left = left, .bytes = padding_of(line, groups)};
    if (left.hand_overs == 0) return;
    least = std::min(static_cast<double>(left.hand_overs) * kWorthMore,
                     static_cast<double>(left.hand_overs) - before * kWorthOfAll);
  }
}

Result<Alignment> parse_alignment(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  if (equals != std::string::npos && equals != 0) {
    const auto bytes = whole_number<decltype(Alignment::bytes)>(std::string_view(text).substr(equals + 1));
    if (bytes && std::has_single_bit(*bytes) && *bytes <= 4096)
      return Alignment{.field = text.substr(0, equals), .bytes = *bytes};
  }
  return Error{"--whatif " + text + ": not FIELD=BYTES",
               "BYTES is a power of two up to 4096: --whatif shared.setting=64"};
}

bool try_alignments(SharedLine& line, const std::vector<Alignment>& alignments,
                    const uarch::MemoryParameters& parameters) {
  std::array<std::uint64_t, kLineBytes> place{};  // of each byte
  for (std::uint64_t byte = 0; byte < kLineBytes; ++byte) place[byte] = line.log->linear + byte;
  std::string text;
  std::uint64_t moved = 0;
  for (const Alignment& alignment : alignments) {
    const auto field = std::ranges::find_if(line.fields, [&](const SharedField& one) {
      return one.name() == alignment.field || one.member == alignment.field || one.member == "." + alignment.field;
    });
    if (field == line.fields.end()) continue;
    const std::uint64_t first = std::max(field->start, line.log->linear) - line.log->linear;
    const std::uint64_t at = place[first];
    const std::uint64_t by = (at + alignment.bytes - 1) / alignment.bytes * alignment.bytes - at;
    for (std::uint64_t byte = first; byte < kLineBytes; ++byte) place[byte] += by;
    moved += by;
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", field->name(), alignment.bytes);
  }
  if (text.empty()) return false;
  LineLayout layout{};
  std::map<std::uint64_t, std::uint8_t> numbers;  // of new lines
  for (std::uint64_t byte = 0; byte < kLineBytes; ++byte) {
    const auto number = static_cast<std::uint8_t>(numbers.size());
    layout[byte] = numbers.try_emplace(place[byte] / kLineBytes, number).first->second;
  }
  line.what_if.push_back({.text = text, .left = predict(line, layout, parameters), .bytes = moved});
  return true;
}

}  // namespace zs::cli
