#include "profile/perf_data/data_source_text.h"

#include <fmt/format.h>

#include <iterator>
#include <span>
#include <string_view>

#include "arch/records/perf_mem.h"

namespace zs::profile {
namespace {

namespace mem = arch::perf_mem;

/// The names of the bits that are set, by bit; the second and third are left out: they say hit or miss.
class NameList {
 public:
  void add(std::string_view name) {
    if (!text_.empty() && joined_) text_ += " or ";
    text_ += name;
    joined_ = true;
  }
  void add_bits(std::uint64_t bits, std::span<const std::string_view> names) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if ((bits >> i & 1) != 0) add(names[i]);
    }
  }
  /// Stands before the names without being one of them.
  void lead(std::string_view text) { text_ += text; }
  std::string text() const { return text_.empty() ? "N/A" : text_; }

 private:
  std::string text_;
  bool joined_ = false;
};

constexpr std::uint64_t kHitBit = 2, kMissBit = 4;

std::string with_outcome(std::string text, std::uint64_t bits) {
  if ((bits & kHitBit) != 0) text += " hit";
  if ((bits & kMissBit) != 0) text += " miss";
  return text;
}

constexpr std::string_view kLevels[] = {"N/A",
                                        "",
                                        "",
                                        "L1",
                                        "LFB/MAB",
                                        "L2",
                                        "L3",
                                        "Local RAM",
                                        "Remote RAM (1 hop)",
                                        "Remote RAM (2 hops)",
                                        "Remote Cache (1 hop)",
                                        "Remote Cache (2 hops)",
                                        "I/O",
                                        "Uncached"};
constexpr std::string_view kHops[] = {"N/A", "core, same node", "node, same socket", "socket, same board", "board"};
constexpr std::string_view kTlbs[] = {"N/A", "", "", "L1", "L2", "Walker", "Fault"};
constexpr std::string_view kSnoops[] = {"N/A", "None", "Hit", "Miss", "HitM"};
constexpr std::string_view kMoreSnoops[] = {"Fwd", "Peer"};
constexpr std::string_view kOperations[] = {"N/A", "LOAD", "STORE", "PFETCH", "EXEC"};

std::string number_text(std::uint64_t number) {
  switch (number) {
    case 0xB: return "Any cache";
    case 0xC: return "LFB/MAB";
    case 0xD: return "RAM";
    case 0xE: return "PMEM";
    case 0xF: return "N/A";
    default: return fmt::format("L{}", number);
  }
}

}  // namespace

bool is_store(std::uint64_t data_source) {
  return mem::kOperation.of({data_source}) == mem::kOperation.of(mem::kStore);
}

std::string operation_text(std::uint64_t data_source) {
  const std::uint64_t bits = mem::kOperation.of({data_source});
  for (std::size_t i = 0; i < std::size(kOperations); ++i) {
    if ((bits >> i & 1) != 0) return std::string(kOperations[i]);
  }
  return "No";
}

std::string level_text(std::uint64_t data_source) {
  const mem::Word word{data_source};
  const std::uint64_t levels = mem::kLevel.of(word), number = mem::kLevelNumber.of(word), hops = mem::kHops.of(word);
  NameList names;
  if (mem::kRemoteFlag.of(word) != 0) names.lead("Remote ");
  if (hops != 0) {
    names.lead(hops < std::size(kHops) ? fmt::format("{} ", kHops[hops]) : "");
  } else {
    names.add_bits(levels & ~(kHitBit | kMissBit), kLevels);
  }
  if (number != 0) names.add(number_text(number));
  return with_outcome(names.text(), levels);
}

std::string snoop_text(std::uint64_t data_source) {
  NameList names;
  names.add_bits(mem::kSnoop.of({data_source}), kSnoops);
  names.add_bits(mem::kSnoopMore.of({data_source}), kMoreSnoops);
  return names.text();
}

std::string tlb_text(std::uint64_t data_source) {
  const std::uint64_t bits = mem::kTlb.of({data_source});
  NameList names;
  names.add_bits(bits & ~(kHitBit | kMissBit), kTlbs);
  return with_outcome(names.text(), bits);
}

std::string lock_text(std::uint64_t data_source) {
  const mem::Word word{data_source};
  if (word.has(mem::kLockNa)) return "N/A";
  return word.has(mem::kLocked) ? "Yes" : "No";
}

std::string block_text(std::uint64_t data_source) {
  const mem::Word word{data_source};
  std::string text;
  if (word.has(mem::kBlockedByData)) text += " Data";
  if (word.has(mem::kBlockedByAddress)) text += " Addr";
  return text.empty() || word.has(mem::kBlockNa) ? " N/A" : text;
}

std::optional<SourceKind> source_kind(std::uint64_t data_source) {
  const mem::Word word{data_source};
  if (mem::kLevel.of(word) == 0 || word.has(mem::kLevelNa)) return std::nullopt;
  const bool snooped = word.has(mem::kSnoopHit) || word.has(mem::kSnoopHitm) || word.has(mem::kForwarded);
  // A store that missed L1D says no more.
  if (word.has(mem::kL1)) return word.has(mem::kMiss) ? SourceKind::Other : SourceKind::L1;
  switch (mem::kLevelNumber.of(word)) {
    case 0x2: return SourceKind::L2;
    case 0x3: return word.has(mem::kMiss) ? SourceKind::Other : snooped ? SourceKind::OtherCore : SourceKind::L3;
    case 0xB: return SourceKind::OtherCore;
    case 0xC: return SourceKind::FillBuffer;
    case 0xD:
    case 0xE: return SourceKind::Memory;
    default: return SourceKind::Other;
  }
}

std::string data_source_text(std::uint64_t data_source) {
  return fmt::format("|OP {}|LVL {}|SNP {}|TLB {}|LCK {}|BLK {}", operation_text(data_source), level_text(data_source),
                     snoop_text(data_source), tlb_text(data_source), lock_text(data_source), block_text(data_source));
}

}  // namespace zs::profile
