// What the units of a run bring, and what follows from it for the whole run: estimates with an interval.
//
// Units are dealt out to groups in turn. A total is estimated as a ratio: what the units brought, per instruction of
// theirs, times the instructions of the run; those are counted exactly. How sure that is follows from leaving out one
// group after the other (the jackknife), which holds for whatever is computed from several totals, too.
// source: Quenouille 1956, Tukey 1958; Wolter, "Introduction to Variance Estimation" (2007), ch. 4.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace zs::session {

/// A unit, or what is complete in front of all units.
struct Unit {
  std::uint64_t number = 0;
  std::uint64_t weight = 1;  // of each of its instructions
  bool complete = false;     // it stands for itself
  bool operator==(const Unit&) const = default;
};

/// What a thread has counted by some time.
struct UnitCounts {
  std::uint64_t instructions = 0;
  std::vector<std::uint64_t> events;  // that are estimated
};

/// Of one thread, or of all together.
class UnitSums {
 public:
  static constexpr std::size_t kGroups = 32;
  using Groups = std::array<double, kGroups>;

  UnitSums() = default;
  explicit UnitSums(std::size_t events) : in_pieces_(events), complete_(events, 0), seen_(events, 0), groups_(events) {}

  /// A unit, or a part of it: what its thread counted from one time to another.
  void add(const Unit& unit, const UnitCounts& from, const UnitCounts& to);
  /// One that stands for more.
  void add_unit(std::uint64_t number, std::uint64_t weight, std::uint64_t instructions,
                std::span<const std::uint64_t> events);
  /// What stands for itself.
  void add_complete(std::uint64_t instructions, std::span<const std::uint64_t> events);
  /// Of the whole run, exact.
  void set_instructions(std::uint64_t instructions) { instructions_ = instructions; }
  /// Another thread's.
  void add(const UnitSums& other);

  std::size_t events() const { return groups_.size(); }
  std::uint64_t instructions() const { return instructions_; }
  /// That were modelled: those of units, without their warm-up, and what was complete.
  std::uint64_t in_detail() const { return in_detail_; }
  std::uint64_t units() const { return units_; }
  /// Nothing but what was complete: then the totals are no estimates.
  bool all_complete() const { return complete_instructions_ == instructions_; }
  /// What was complete of an event; and the instructions that were not.
  double complete(std::size_t event) const { return complete_[event]; }
  double sampled() const;
  /// Of the units: as often has the event happened there.
  double seen(std::size_t event) const { return units_ == 0 ? complete_[event] : seen_[event]; }

  double total(std::size_t event) const { return total_without(event, kGroups); }
  /// All totals, each in the place of its event among `values`.
  /// events  the places, in their order here
  void put_totals(std::span<const std::uint32_t> events, std::span<std::uint64_t> values) const;

  /// Of something that is computed from the totals of all events.
  struct Estimate {
    double value = 0;
    double half_width = 0;  // of the 95 % interval
    bool known = false;     // there are groups enough for an interval
  };
  using Function = std::function<double(std::span<const double> totals)>;
  Estimate estimate(const Function& function) const;
  Estimate estimate(std::size_t event) const;
  /// Half of the 95 % interval of an event's total, if units differ as much as the pieces of what was complete did:
  /// units that are few may all have missed what comes seldom. Nothing where no piece was complete.
  double half_width_by_complete(std::size_t event) const;

  /// As bytes for the wire, and back.
  std::vector<double> packed() const;
  static constexpr std::size_t packed_size(std::size_t events) { return kHead + kGroups + events * (3 + kGroups); }
  /// returns whether they were such bytes, of so many events
  bool unpack(std::span<const double> packed, std::size_t events);

 private:
  static constexpr std::size_t kHead = 6;  // numbers in front, packed

  /// Of pieces of what is complete: events, and their squares an instruction.
  struct Pieces {
    double events = 0, squares = 0;
  };

  double total_without(std::size_t event, std::size_t group) const;
  double rate_at_first(std::size_t event) const;
  double variance_of_pieces(std::size_t event) const;  // of its rate
  double half_width_of_few(const Function& function, std::span<double> totals, double value) const;

  std::uint64_t instructions_ = 0, complete_instructions_ = 0, in_detail_ = 0, units_ = 0;
  Groups weights_{};               // instructions, times what each stands for
  double weight_squares_ = 0;      // of units, each of its weight
  double pieces_ = 0;              // instructions of those behind the first of what is complete
  std::vector<Pieces> in_pieces_;  // by event
  std::vector<double> complete_;   // by event
  std::vector<double> seen_;       // likewise, unweighted
  std::vector<Groups> groups_;     // likewise, weighted
};

}  // namespace zs::session
