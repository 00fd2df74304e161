// Questions to entries of debug information, as libdw has them. For the files that read it alone; what it says to
// everybody else is in data_types.h. Everything here bears damaged information: what is not said is nothing, or 0.
#pragma once

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace zs::profile::dwarf {

/// Debug information may be damaged, or refer to itself.
inline constexpr int kDeepest = 64;
/// chosen: beyond what processors address; no offset and size below it add up to more than 64 bits.
inline constexpr std::uint64_t kLargest = std::uint64_t{1} << 47;

std::optional<std::uint64_t> number(Dwarf_Die* die, unsigned attribute);
/// Its name, also where another entry says it.
std::string name_of(Dwarf_Die* die);
/// What DW_AT_type says. Nothing: void, or damaged
std::optional<Dwarf_Die> type_of(Dwarf_Die* die);
/// Without typedefs and qualifiers. Nothing: void, or damaged
std::optional<Dwarf_Die> peeled(Dwarf_Die die);
/// The unit that has the entries: of split DWARF the one in the other file.
Dwarf_Die whole_unit(Dwarf_Die* unit);

/// How far a walk from entry to entry has come. Entries follow each other as they lie; one that says that its sibling
/// is further in front, or within itself, would have a walk go on for ever, or go twice through each level below.
class Progress {
 public:
  /// returns  whether the entry lies behind all that were taken before
  bool take(const Dwarf_Die& die) {
    const auto at = reinterpret_cast<std::uintptr_t>(die.addr);
    if (at <= furthest_) return false;
    furthest_ = at;
    return true;
  }

 private:
  std::uintptr_t furthest_ = 0;
};

/// One for a whole walk, through the children of the children too.
template <typename Take>
void each_child(Dwarf_Die* die, Progress& progress, Take take) {
  Dwarf_Die child;
  if (dwarf_child(die, &child) != 0) return;
  do {
    if (!progress.take(child)) return;
    take(&child);
  } while (dwarf_siblingof(&child, &child) == 0);
}

template <typename Take>
void each_child(Dwarf_Die* die, Take take) {
  Progress progress;
  each_child(die, progress, take);
}

/// take(start, end) for each piece of code that an entry has, a compilation unit or a function.
template <typename Take>
void each_range(Dwarf_Die* die, Take take) {
  Dwarf_Addr base = 0;
  Dwarf_Addr start = 0;
  Dwarf_Addr end = 0;
  for (std::ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &start, &end)) > 0;) {
    if (start < end) take(start, end);
  }
}

/// 0: not said, or more than can be.
std::uint64_t bytes_of(Dwarf_Die type);
bool is_struct(int tag);  // class and union too
bool is_pointer(int tag);
/// "struct pair", "int[8]", "unsigned long".
std::string text_of(Dwarf_Die type);

inline constexpr int kNoVariant = -1;

/// A member of a struct, or a base of it.
struct Placed {
  Dwarf_Die die;
  std::uint64_t offset = 0, size = 0;
  bool bits = false;          // a bit-field
  int variant = kNoVariant;   // of an enum with data (Rust), which one has it
  bool says_variant = false;  // it says which variant there is
  bool holds(std::uint64_t byte) const { return byte >= offset && byte - offset < size; }
};
/// What its part of a value is called behind the value's name: ".count", ".(discriminant)"; "" of a base and of an
/// anonymous member.
std::string name_in(Placed& member);
inline constexpr const char* kDiscriminant = ".(discriminant)";
/// Those that lie at a place that is known beforehand, and that hold something. Of an enum with data (Rust), the
/// members of all its variants.
std::vector<Placed> members(Dwarf_Die* type);

/// One step inwards: what of a value holds its byte at `offset`.
struct Step {
  std::string name;                // "[3]", ".count"; "" of a base and of an anonymous member
  std::uint64_t at = 0, size = 0;  // where that part begins in the value
  std::optional<Dwarf_Die> type;   // of the part; nothing where it has none, as padding
};
/// Nothing: `type` has no parts, or several lie there over each other
std::optional<Step> step_in(Dwarf_Die type, std::uint64_t offset);

/// All steps inwards: visit(Dwarf_Die type, const Step&, left) is told what is entered, how, and how far into the part
/// the byte is; it returns whether to go on.
template <typename Visit>
void each_step(Dwarf_Die type, std::uint64_t offset, Visit visit) {
  std::optional<Dwarf_Die> at = type;
  for (int depth = 0; depth < kDeepest && at; ++depth) {
    const auto bare = peeled(*at);
    const auto step = bare ? step_in(*bare, offset) : std::nullopt;
    if (!step) return;
    offset -= step->at;
    if (!visit(*bare, *step, offset)) return;
    at = step->type;
  }
}

}  // namespace zs::profile::dwarf
