#include "engine/run/moved_code.h"

#include <elf.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <numeric>
#include <utility>
#include <vector>

#include "base/splitmix.h"
#include "engine/memory/guest_access.h"

namespace zs::engine {
namespace {

/// The index of a file's unwind tables, as linkers write it: behind it, for each function, its distance from the index
/// and that of its table.
struct UnwindIndex {
  std::array<std::uint8_t, 4> form;
  std::int32_t tables;
  std::uint32_t functions;
};
constexpr std::array<std::uint8_t, 4> kForm = {1, 0x1B, 0x03, 0x3B};  // version 1; all numbers have 32 bits
constexpr std::uint32_t kMostFunctions = 1U << 22;

/// Address of the index of the file that is mapped from `start` on; 0 if it has none.
std::uint64_t index_at(std::uint64_t start) {
  const auto header = read_guest_value<Elf64_Ehdr>(start);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return 0;
  std::uint64_t linked = 0, index = 0;
  for (unsigned i = 0; i < header->e_phnum; ++i) {
    const auto segment = read_guest_value<Elf64_Phdr>(start + header->e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) return 0;
    if (segment->p_type == PT_LOAD && segment->p_offset == 0) linked = segment->p_vaddr;
    if (segment->p_type == PT_GNU_EH_FRAME) index = segment->p_vaddr;
  }
  return index != 0 ? start - linked + index : 0;
}

/// Where functions of `code` begin, ascending.
std::vector<std::uint64_t> functions_of(AddressRange code, std::uint64_t at) {
  std::vector<std::uint64_t> starts;
  const auto index = read_guest_value<UnwindIndex>(at);
  if (!index || index->form != kForm || index->functions > kMostFunctions) return starts;
  std::vector<std::array<std::int32_t, 2>> entries(index->functions);
  const std::size_t bytes = entries.size() * sizeof entries[0];
  if (read_guest(at + sizeof *index, entries.data(), bytes) != bytes) return starts;
  for (const auto& entry : entries) {
    const std::uint64_t start = at + static_cast<std::uint64_t>(std::int64_t{entry[0]});
    if (code.contains(start)) starts.push_back(start);
  }
  std::ranges::sort(starts);
  starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
  return starts;
}

}  // namespace

std::uint64_t MovedCode::moved(std::uint64_t pc) {
  const auto behind = known_.upper_bound(pc);
  if (behind == known_.begin() || pc >= std::prev(behind)->second) {
    const GuestMapping* const code = mappings_.find(pc);
    if (code == nullptr || (code->prot & PROT_EXEC) == 0) return pc;
    add_functions(*code);
  }
  return pc + std::prev(shifts_.upper_bound(pc))->second;
}

std::uint64_t MovedCode::original(std::uint64_t moved) const {
  for (auto part = shifts_.begin(); part != shifts_.end(); ++part) {
    const std::uint64_t pc = moved - part->second;
    if (pc >= part->first && (std::next(part) == shifts_.end() || pc < std::next(part)->first)) return pc;
  }
  return moved;
}

// Few functions at a time change places, all of them within what they take together, so that what calls each other
// stays near. Each keeps its place within 16 bytes, as compilers align loops, and gets another one within a line.
void MovedCode::add_functions(const GuestMapping& code) {
  constexpr std::uint64_t kAlignment = 16, kTogether = 8, kPlaces = kPageSize / kAlignment;
  known_[code.start] = code.end;
  shifts_[code.start] = 0;
  shifts_.try_emplace(code.end, 0);  // or where the next one begins, if its functions were moved
  std::uint64_t begins = 0;          // where its file does
  mappings_.for_each_in({0, code.end}, [&](const GuestMapping& each) {
    if (each.file && each.offset == 0 && same_file(each.file, code.file)) begins = each.start;
  });
  std::vector<std::uint64_t> starts = functions_of(code.range(), index_at(begins));
  if (starts.empty()) return;
  std::vector<std::size_t> order(starts.size());
  std::iota(order.begin(), order.end(), 0U);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::size_t left = std::min<std::size_t>(kTogether - i % kTogether, order.size() - i);
    std::swap(order[i], order[i + splitmix64(seed_) % left]);
  }
  starts.push_back(code.end);
  std::uint64_t free = starts.front() + splitmix64(seed_) % kPlaces * kAlignment;
  for (const std::size_t number : order) {
    const std::uint64_t start = starts[number], moved = free + (start - free) % kAlignment;
    shifts_[start] = moved - start;
    free = moved + starts[number + 1] - start;
  }
}

}  // namespace zs::engine
