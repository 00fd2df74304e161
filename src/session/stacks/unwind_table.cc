#include "session/stacks/unwind_table.h"

#include <iterator>

namespace zs::session {
namespace {

struct IndexHead {
  std::uint8_t version, frames_encoding, count_encoding, entries_encoding;
};
struct IndexEntry {
  std::int32_t code, function;
};

constexpr std::uint8_t kSignedDistances = 0x3B;  // from the index itself, 32 bits: what linkers write
constexpr std::size_t kLongestEntry = std::size_t{1} << 20;
constexpr std::uint32_t kLongLength = 0xFFFF'FFFF;

}  // namespace

UnwindTable::UnwindTable(TableBytes& bytes, Expressions& expressions, const TablePlaces& places)
    : bytes_(bytes), expressions_(expressions) {
  if (places.index != 0) open_index(places.index);
  if (index_.count == 0 && places.frames != 0) read_through(places);
  if (places.go != 0) go_ = GoTable::open(bytes, places.go);
}

void UnwindTable::open_index(std::uint64_t address) {
  std::vector<std::byte> head(64);
  head.resize(bytes_.read(address, head));
  ByteReader in(head, {}, address);
  const auto fixed = in.read<IndexHead>();
  if (fixed.version != 1 || fixed.entries_encoding != kSignedDistances) return;
  read_pointer(in, {fixed.frames_encoding}, address);
  const std::uint64_t count = read_pointer(in, {fixed.count_encoding}, address);
  if (in.ok()) index_ = {.base = address, .entries = in.offset(), .count = count};
}

void UnwindTable::read_through(const TablePlaces& places) {
  std::vector<std::byte> content;
  std::uint64_t at = places.frames;
  while (at < places.frames + places.frames_length) {
    const auto entry = entry_at(at);
    if (!entry) return;
    at = entry->end;
    if (entry->common == 0) continue;
    const CommonFrameInfo* const common = common_at(entry->common);
    if (common == nullptr) continue;
    const auto function = read_function(bytes_of(*entry, content), *common);
    if (function) by_start_.emplace(function->start, entry->address);
  }
}

/// The entry whose length lies at `address`. Entry::address is then that of the length, as the index has it.
std::optional<UnwindTable::Entry> UnwindTable::entry_at(std::uint64_t address) {
  const auto length = bytes_.read<std::uint32_t>(address);
  // Lengths of 64 bits are for tables of 4 GB.
  if (!length || *length < 4 || *length == kLongLength || *length > kLongestEntry) return std::nullopt;
  const auto distance = bytes_.read<std::uint32_t>(address + 4);
  if (!distance) return std::nullopt;
  return Entry{
      .address = address, .end = address + 4 + *length, .common = *distance == 0 ? 0 : address + 4 - *distance};
}

ByteReader UnwindTable::bytes_of(const Entry& entry, std::vector<std::byte>& into) {
  constexpr std::uint64_t kHead = 8;  // length, and distance or zero
  into.resize(static_cast<std::size_t>(entry.end - entry.address - kHead));
  into.resize(bytes_.read(entry.address + kHead, into));
  return ByteReader(into, {}, entry.address + kHead);
}

const CommonFrameInfo* UnwindTable::common_at(std::uint64_t address) {
  const auto [found, added] = common_.try_emplace(address);
  if (added) {
    const auto entry = entry_at(address);
    std::vector<std::byte> content;
    if (entry && entry->common == 0) found->second = read_common(bytes_of(*entry, content));
  }
  return found->second ? &*found->second : nullptr;
}

std::optional<std::uint64_t> UnwindTable::function_by_index(std::uint64_t pc) {
  std::uint64_t first = 0, last = index_.count;
  const auto code_of = [&](std::uint64_t i) -> std::optional<IndexEntry> {
    return bytes_.read<IndexEntry>(index_.entries + i * sizeof(IndexEntry));
  };
  const auto distance = static_cast<std::int64_t>(pc - index_.base);
  while (last - first > 1) {
    const std::uint64_t middle = first + (last - first) / 2;
    const auto entry = code_of(middle);
    if (!entry) return std::nullopt;
    (entry->code <= distance ? first : last) = middle;
  }
  const auto entry = code_of(first);
  if (!entry || entry->code > distance) return std::nullopt;
  return index_.base + static_cast<std::uint64_t>(std::int64_t{entry->function});
}

std::optional<std::uint64_t> UnwindTable::function_by_start(std::uint64_t pc) const {
  const auto behind = by_start_.upper_bound(pc);
  if (behind == by_start_.begin()) return std::nullopt;
  return std::prev(behind)->second;
}

std::optional<FrameRule> UnwindTable::rule_at(std::uint64_t pc) {
  const auto address = index_.count != 0 ? function_by_index(pc) : function_by_start(pc);
  if (address) {
    const auto entry = entry_at(*address);
    const CommonFrameInfo* const common = entry && entry->common != 0 ? common_at(entry->common) : nullptr;
    std::vector<std::byte> content;
    if (common != nullptr) {
      const auto function = read_function(bytes_of(*entry, content), *common);
      if (function && pc - function->start < function->length)
        return session::rule_at(*common, *function, pc, expressions_);
    }
  }
  return go_ ? go_->rule_at(pc) : std::nullopt;
}

}  // namespace zs::session
