#include "uarch/coherence/sharing_log.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

namespace zs::uarch {
namespace {

constexpr std::uint32_t kNoUse = ~std::uint32_t{0};
constexpr unsigned kBytes = 64;

/// Which thread did something to a byte last, and when, in accesses of the line.
struct Mark {
  std::uint64_t time = 0;  // 0: never
  std::uint16_t thread = 0;
};

}  // namespace

struct SharingLog::Kept {
  LineLog log;
  std::uint64_t time = 0;  // accesses so far
  std::array<Mark, kBytes> written{}, read{};
  struct Holder {
    bool open = false;        // a stint is under way,
    bool in_full = false;     // and is kept:
    std::size_t stint = 0;    // here
    std::uint64_t since = 0;  // time of the last access of the stint before
    std::uint64_t last = 0;   // and of this one
    std::uint16_t thread = 0;
    std::uint8_t flags = 0;
    std::vector<StintPart> parts;
  };
  std::vector<Holder> holders;  // by core

  Holder& holder(unsigned core) {
    if (core >= holders.size()) holders.resize(core + 1);
    return holders[core];
  }
};

SharingLog::SharingLog(const SharingLimits& limits) : limits_(limits) {}
SharingLog::~SharingLog() = default;

void SharingLog::set_thread(unsigned core, std::uint16_t thread) {
  if (core >= threads_.size()) threads_.resize(core + 1);
  threads_[core] = thread;
}

void SharingLog::forget() {
  lines_.clear();
  new_.clear();
  last_ = nullptr;
  stints_ = 0;
  left_out_ = 0;
}

SharingLog::Kept& SharingLog::line_of(std::uint64_t linear) {
  const std::uint64_t number = linear / kBytes;
  if (last_ != nullptr && last_number_ == number) return *last_;
  auto found = lines_.find(number);
  if (found == lines_.end()) {
    if (lines_.size() >= limits_.lines) drop_light_lines();
    found = lines_.emplace(number, std::make_unique<Kept>()).first;
    found->second->log.linear = number * kBytes;
    new_.push_back(number * kBytes);
  }
  last_number_ = number;
  last_ = found->second.get();
  return *last_;
}

/// The half that has changed hands least.
void SharingLog::drop_light_lines() {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> by_weight;  // hand-overs, number
  for (const auto& [number, line] : lines_) by_weight.emplace_back(line->log.hand_overs, number);
  std::ranges::sort(by_weight);
  by_weight.resize((by_weight.size() + 1) / 2);
  for (const auto& [hand_overs, number] : by_weight) {
    left_out_ += hand_overs;
    const auto found = lines_.find(number);
    stints_ -= found->second->log.stints.size();
    lines_.erase(found);
  }
  last_ = nullptr;
}

void SharingLog::accessed(unsigned core, const SharedAccess& access) {
  if (core >= threads_.size()) threads_.resize(core + 1);
  Kept& line = line_of(access.linear);
  LineLog& log = line.log;
  ++line.time;
  Kept::Holder& holder = line.holder(core);
  if (access.fetched || access.handed_over || !holder.open || holder.thread != threads_[core])
    begin_stint(line, core, access);
  note_bytes(line, core, access);

  const std::uint16_t thread = threads_[core];
  const auto offset = static_cast<std::uint8_t>(access.linear % kBytes);
  const auto is_same = [&](const LineUse& use) {
    return use.instruction == access.instruction && use.thread == thread && use.offset == offset &&
           use.bytes == access.bytes && use.access == access.access;
  };
  std::uint32_t number = kNoUse;
  for (const StintPart& part : holder.parts) {
    if (is_same(log.uses[part.use])) number = part.use;
  }
  for (std::uint32_t i = 0; i < log.uses.size() && number == kNoUse; ++i) {
    if (is_same(log.uses[i])) number = i;
  }
  if (number == kNoUse && log.uses.size() < limits_.uses_of_line) {
    number = static_cast<std::uint32_t>(log.uses.size());
    log.uses.push_back({.instruction = access.instruction,
                        .thread = thread,
                        .offset = offset,
                        .bytes = access.bytes,
                        .access = access.access});
  }
  log.hand_overs += access.handed_over ? 1 : 0;
  log.hitm += access.hitm ? 1 : 0;
  log.waited += access.waited;
  if (number == kNoUse) {
    ++log.uses_left_out;
    return;
  }
  LineUse& use = log.uses[number];
  ++use.accesses;
  use.hand_overs += access.handed_over ? 1 : 0;
  use.hitm += access.hitm ? 1 : 0;
  use.waited += access.waited;
  add_to_stint(line, core, access, number);
}

void SharingLog::begin_stint(Kept& line, unsigned core, const SharedAccess& access) {
  end_stint(line, core);
  Kept::Holder& holder = line.holder(core);
  const bool first = access.handed_over && line.log.stints.empty() && line.log.stints_left_out == 0;
  if (first && std::has_single_bit(access.from)) {
    const auto from = static_cast<unsigned>(std::countr_zero(access.from));
    line.log.first_holder = from < threads_.size() ? threads_[from] : kNobody;
    line.log.first_owned = access.owned;
  }
  holder.open = true;
  holder.thread = threads_[core];
  holder.flags = static_cast<std::uint8_t>((access.handed_over ? kHandedOver : 0) | (first ? kFirst : 0));
  holder.in_full = stints_ < limits_.stints && line.log.stints.size() < limits_.stints_of_line;
  if (!holder.in_full) {
    ++line.log.stints_left_out;
    return;
  }
  ++stints_;
  holder.stint = line.log.stints.size();
  line.log.stints.push_back({.begin = access.now, .end = access.now, .waited = access.waited, .thread = holder.thread});
}

void SharingLog::end_stint(Kept& line, unsigned core) {
  Kept::Holder& holder = line.holder(core);
  if (!holder.open) return;
  if ((holder.flags & kHandedOver) != 0) {
    line.log.unknown += (holder.flags & kFirst) != 0 ? 1 : 0;
    line.log.meant += (holder.flags & (kFirst | kMeant)) == kMeant ? 1 : 0;
  }
  if (holder.in_full) {
    Stint& stint = line.log.stints[holder.stint];
    stint.flags = holder.flags;
    stint.first_part = static_cast<std::uint32_t>(line.log.parts.size());
    stint.parts = static_cast<std::uint16_t>(holder.parts.size());
    line.log.parts.insert(line.log.parts.end(), holder.parts.begin(), holder.parts.end());
  }
  holder.parts.clear();
  holder.since = holder.last;
  holder.open = false;
}

/// Whether another thread did something to these bytes since this one had the line before that makes the access more
/// than a neighbour's.
void SharingLog::note_bytes(Kept& line, unsigned core, const SharedAccess& access) {
  Kept::Holder& holder = line.holder(core);
  const auto first = static_cast<unsigned>(access.linear % kBytes);
  for (unsigned byte = first; byte < first + access.bytes; ++byte) {
    Mark& written = line.written[byte];
    Mark& read = line.read[byte];
    const auto by_another = [&](const Mark& mark) { return mark.time > holder.since && mark.thread != holder.thread; };
    const bool writes = (access.access & kWrites) != 0;
    if (by_another(written) || (writes && by_another(read))) holder.flags |= kMeant;
    if (writes) written = {.time = line.time, .thread = holder.thread};
    if ((access.access & kReads) != 0) read = {.time = line.time, .thread = holder.thread};
  }
  holder.last = line.time;
}

void SharingLog::add_to_stint(Kept& line, unsigned core, const SharedAccess& access, std::uint32_t use) {
  Kept::Holder& holder = line.holder(core);
  const auto known = std::ranges::find(holder.parts, use, &StintPart::use);
  if (known != holder.parts.end()) {
    ++known->count;
  } else if (holder.parts.size() < limits_.parts_of_stint) {
    holder.parts.push_back({.use = use, .count = 1});
  }
  // A load may be dispatched before one that is older.
  if (holder.in_full) {
    Stint& stint = line.log.stints[holder.stint];
    stint.end = std::max(stint.end, access.now + access.held_up);
    constexpr std::uint32_t kMost = std::numeric_limits<std::uint16_t>::max();
    stint.held_up = static_cast<std::uint16_t>(std::min(kMost, stint.held_up + access.held_up));
  }
}

std::vector<LineLog> SharingLog::lines() const {
  std::vector<LineLog> all;
  for (const auto& [number, kept] : lines_) {
    Kept line = *kept;
    for (unsigned core = 0; core < line.holders.size(); ++core) end_stint(line, core);
    // A first access that had no room among the uses leaves a stint without parts.
    std::erase_if(line.log.stints, [](const Stint& stint) { return stint.parts == 0; });
    if (line.log.hand_overs != 0) all.push_back(std::move(line.log));
  }
  std::ranges::stable_sort(all, [](const LineLog& a, const LineLog& b) { return a.hand_overs > b.hand_overs; });
  return all;
}

std::vector<std::uint64_t> SharingLog::take_new_lines() { return std::exchange(new_, {}); }

}  // namespace zs::uarch
