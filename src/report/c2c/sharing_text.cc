#include "report/c2c/sharing_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/units.h"

namespace zs::report {
namespace {

constexpr unsigned kLineBytes = 64;
/// chosen: of a line's instructions, those that matter fill no more than half a screen.
constexpr std::size_t kMostUses = 16;

std::string title() {
  constexpr std::string_view kTitleRule = "=================================================\n";
  return fmt::format("{}{:^49}\n{}", kTitleRule, "Lines that Change Hands", kTitleRule);
}

std::int32_t tid_of(const SharedLine& line, std::uint16_t thread) { return (*line.threads)[thread]; }

/// 64 letters for each thread: R read, W written, B both.
std::string map_text(const SharedLine& line) {
  std::map<std::int32_t, std::string> maps;
  for (const uarch::LineUse& use : line.log->uses) {
    std::string& map = maps.try_emplace(tid_of(line, use.thread), kLineBytes, '.').first->second;
    for (unsigned byte = use.offset; byte < unsigned{use.offset} + use.bytes; ++byte) {
      const bool reads = use.reads() || map[byte] == 'R' || map[byte] == 'B';
      const bool writes = use.writes() || map[byte] == 'W' || map[byte] == 'B';
      map[byte] = reads && writes ? 'B' : reads ? 'R' : 'W';
    }
  }
  std::string text = fmt::format("    {:>8}  0       8       16      24      32      40      48      56\n", "Thread");
  for (const auto& [tid, map] : maps) text += fmt::format("    {:>8}  {}\n", tid, map);
  return text;
}

std::string bytes_text(const SharedLine& line, const SharedField& field) {
  const std::uint64_t first = std::max(field.start, line.log->linear) - line.log->linear;
  const std::uint64_t last = std::min(field.start + field.size, line.log->linear + kLineBytes) - 1 - line.log->linear;
  return first == last ? std::to_string(first) : fmt::format("{}-{}", first, last);
}

std::string uses_text(const SharedLine& line) {
  const std::vector<uarch::LineUse>& uses = line.log->uses;
  std::vector<std::size_t> order(uses.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    if (uses[a].hand_overs != uses[b].hand_overs) return uses[a].hand_overs > uses[b].hand_overs;
    return uses[a].accesses > uses[b].accesses;
  });
  const std::size_t left = order.size() - std::min(order.size(), kMostUses);
  order.resize(order.size() - left);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return line.field_of_use[i]; });
  std::size_t width = 5;
  for (const std::size_t i : order) width = std::max(width, line.fields[line.field_of_use[i]].name().size());
  std::string text = fmt::format("    {:<{}}  {:>5}  {:>8}  {:>10}  {:>10}  {:>10}  {:>8}  {:>12}  Instruction\n",
                                 "Field", width, "Bytes", "Thread", "Reads", "Writes", "Hand-overs", "HITM", "Waited");
  for (const std::size_t i : order) {
    const uarch::LineUse& use = uses[i];
    const SharedField& field = line.fields[line.field_of_use[i]];
    text += fmt::format("    {:<{}}  {:>5}  {:>8}  {:>10}  {:>10}  {:>10}  {:>8}  {:>12}  {}{}\n", field.name(), width,
                        bytes_text(line, field), tid_of(line, use.thread),
                        with_thousands(use.reads() ? use.accesses : 0), with_thousands(use.writes() ? use.accesses : 0),
                        with_thousands(use.hand_overs), with_thousands(use.hitm), with_thousands(use.waited),
                        line.instructions[i], (use.access & uarch::kLocks) != 0 ? " (locked)" : "");
  }
  if (left != 0) text += fmt::format("    and {} more with fewer hand-overs\n", left);
  return text;
}

std::string outcome_text(const SharedLine& line, const SharingFix& fix) {
  return fmt::format("{}: hand-overs {} -> {}, HITM {} -> {}, +{} bytes\n", fix.text,
                     with_thousands(line.log->hand_overs), with_thousands(fix.left.hand_overs),
                     with_thousands(line.log->hitm), with_thousands(fix.left.hitm), with_thousands(fix.bytes));
}

std::string fix_text(const SharedLine& line) {
  std::string text;
  if (line.fix) {
    text = "    fix: " + outcome_text(line, *line.fix);
  } else if (line.sharing == Sharing::True) {
    text = "    fix: none by layout: the threads mean the same bytes, and padding gains nothing\n";
  } else if (line.sharing != Sharing::Once) {
    text = "    fix: none found: with its fields apart the line changes hands as often\n";
  }
  for (const SharingFix& one : line.what_if) text += "    what if " + outcome_text(line, one);
  return text;
}

std::string log_text(const uarch::LineLog& log) {
  if (log.stints_left_out == 0) return fmt::format("log in full, {} stints", with_thousands(log.stints.size()));
  return fmt::format("log of the first {} stints of {}, the rest in sums", with_thousands(log.stints.size()),
                     with_thousands(log.stints.size() + log.stints_left_out));
}

std::string line_text(const SharedLine& line, std::size_t number) {
  const uarch::LineLog& log = *line.log;
  const std::uint64_t unmeant = log.hand_overs - std::min(log.hand_overs, log.meant + log.unknown);
  std::string text =
      fmt::format("  Line {}  {:#x}  {}: {}\n", number, log.linear, line.objects(), word_of(line.sharing));
  text += fmt::format("    hand-overs {}: {} meant, {} not, {} unknown; HITM {}; {} cycles waited; {}\n",
                      with_thousands(log.hand_overs), with_thousands(log.meant), with_thousands(unmeant),
                      with_thousands(log.unknown), with_thousands(log.hitm), with_thousands(log.waited), log_text(log));
  return text + map_text(line) + uses_text(line) + fix_text(line) + "\n";
}

/// "1,190 to 1,214"; one number where they agree.
std::string range_of(const ObjectRange& object, std::uint64_t ObjectCounts::*count) {
  const auto [least, most] = std::ranges::minmax(object.recordings, {}, count);
  if (least.*count == most.*count) return with_thousands(least.*count);
  return fmt::format("{} to {}", with_thousands(least.*count), with_thousands(most.*count));
}

/// "false sharing in 3"
std::string kinds_of(const ObjectRange& object) {
  std::map<Sharing, std::size_t> recordings;
  std::size_t none = 0;
  for (const ObjectCounts& one : object.recordings) {
    for (const Sharing kind : one.kinds) ++recordings[kind];
    none += one.kinds.empty() ? 1 : 0;
  }
  std::string text;
  for (const auto& [kind, count] : recordings)
    text += fmt::format("{}{} in {}", text.empty() ? "" : ", ", word_of(kind), count);
  return none == 0 ? text : fmt::format("{}, seldom handed over in {}", text, none);
}

}  // namespace

std::string_view word_of(Sharing sharing) {
  static constexpr std::string_view kWords[] = {"true sharing", "false sharing", "mixed: true and false sharing",
                                                "handed over once"};
  return kWords[static_cast<std::size_t>(sharing)];
}

std::string SharedLine::objects() const {
  std::vector<std::string> names;
  for (const SharedField& field : fields) {
    if (std::ranges::find(names, field.object) == names.end()) names.push_back(field.object);
  }
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string no_sharing_text(const profile::AccessCounts& samples) {
  std::string text = title() +
                     "  the recording has samples alone: `zeroskid c2c record` keeps what happens to whole lines, and "
                     "says it when a\n"
                     "  program ends\n";
  const std::uint64_t accesses = samples.loads + samples.stores;
  if (samples.unparsed != 0)
    text += fmt::format("  {} of {} samples are of no load or store\n", samples.unparsed, samples.entries);
  if (accesses != 0 && samples.no_address() == accesses) {
    text +=
        "  no sample has the address of its data, so no line can be named: perf c2c record keeps it, perf record -d "
        "too\n";
  } else if (accesses != 0 && samples.hitm() == 0 && samples.peer() == 0) {
    text +=
        "  no load is said to have found its line in another core: nobody fights over lines, or the processor does not "
        "say\n"
        "  it; --show-all lists all lines that were sampled, with their threads' loads and stores\n";
  } else if (samples.hitm() == 0 && samples.peer() != 0) {
    text +=
        "  the processor says that another core had the line (peer), but not whether it was modified: lines that are "
        "only\n"
        "  read are among them\n";
  }
  return text;
}

std::string sharing_text(const std::vector<SharedLine>& lines, const SharingStyle& style) {
  std::string text = title();
  text += fmt::format(
      "# Class: modelled by {}; what would be left: the line's log, played again with its fields apart\n", style.model);
  text +=
      "# Meant: the thread that takes the line uses bytes that another one wrote, or writes those that another "
      "used\n#\n";
  if (lines.empty()) return text + "  no line changed hands: threads shared nothing that one of them wrote\n";
  const std::size_t shown = std::min(lines.size(), style.lines);
  for (std::size_t number = 0; number < shown; ++number) text += line_text(lines[number], number);
  if (shown != lines.size())
    text += fmt::format("  and {} lines with fewer hand-overs, at most {} each; --show-all shows them\n",
                        lines.size() - shown, with_thousands(lines[shown].log->hand_overs));
  if (style.left_out != 0)
    text += fmt::format("  {} hand-overs were of other lines, each with few\n", with_thousands(style.left_out));
  return text;
}

std::string range_text(const std::vector<ObjectRange>& objects, std::size_t recordings) {
  std::string text = fmt::format("# Over {} recordings, least to most; all lines of an object together\n", recordings);
  text += fmt::format("    {:>20}  {:>20}  Object\n", "Hand-overs", "HITM");
  for (const ObjectRange& object : objects) {
    text += fmt::format("    {:>20}  {:>20}  {}: {}\n", range_of(object, &ObjectCounts::hand_overs),
                        range_of(object, &ObjectCounts::hitm), object.name, kinds_of(object));
  }
  return text;
}

}  // namespace zs::report
