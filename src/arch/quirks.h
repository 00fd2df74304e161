// Quirks and errata: where a processor, or one printing of its manual, departs from the rule. Each is a row with a
// name, so that a run can say which it has; a CPU model lists those that are part of it, and a name adds one. Off
// otherwise.
// To add one: an enumerator, a row in quirks.cc, and the case named in the row, which shows it on and off.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

namespace zs::arch {

enum class Quirk : std::uint8_t {
  Ds32,
  PebsFormat5,
  GlobalCtrlStartsAt0,
  OutOfBoundsSetsOvfBuf,
  FencesCountAsStores,
  InterruptsCountOnce,
  BtsFlagsAreZero,
  FreezeLbrsClearsTr,
  InitClearsDsArea,
  DebugExceptionClearsTr,
};

class QuirkSet {
 public:
  constexpr QuirkSet() = default;
  constexpr QuirkSet(std::initializer_list<Quirk> quirks) {
    for (const Quirk quirk : quirks) bits_ |= bit(quirk);
  }
  constexpr bool has(Quirk quirk) const { return (bits_ & bit(quirk)) != 0; }
  constexpr QuirkSet with(Quirk quirk) const {
    QuirkSet set = *this;
    set.bits_ |= bit(quirk);
    return set;
  }
  constexpr bool empty() const { return bits_ == 0; }
  friend constexpr bool operator==(QuirkSet, QuirkSet) = default;

 private:
  static constexpr std::uint64_t bit(Quirk quirk) { return std::uint64_t{1} << static_cast<unsigned>(quirk); }
  std::uint64_t bits_ = 0;
};

struct QuirkFact {
  Quirk quirk;
  std::string_view name;         // what --quirk takes
  std::string_view description;  // for people: what is different
  std::string_view source;
  std::string_view test;  // the case that holds it
};

/// Every row, in the order of the enumeration.
std::span<const QuirkFact> quirks();

/// The row of that name; null if there is none.
const QuirkFact* find_quirk(std::string_view name);

}  // namespace zs::arch
