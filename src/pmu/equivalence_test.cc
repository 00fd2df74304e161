// count() and retire() must be two ways to say the same: a random program is retired instruction by instruction in one
// Pmu, and in another as an engine does it, in bulk as far as headroom() allows, and with the instruction that
// overflows where only_adds() says so. Registers and memory must not differ.
// Software interferes as a driver would: it rewinds at PMIs, reprograms counters, stops and restarts them.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "arch/msr_map.h"
#include "pmu/fakes.h"

namespace zs::pmu {
namespace {

using arch::BranchKind;
using Random = std::mt19937_64;

std::uint64_t below(Random& random, std::uint64_t bound) { return random() % bound; }

/// Reports to a Pmu what an engine would.
class Reporter {
 public:
  virtual ~Reporter() = default;
  explicit Reporter(TestPmu& t) : t_(t) {}
  virtual void retire(const arch::Retired& r, const arch::RegisterFile& after) = 0;
  virtual void flush() {}  // before software looks at registers

 protected:
  TestPmu& t_;
};

class StepByStep : public Reporter {
 public:
  using Reporter::Reporter;
  void retire(const arch::Retired& r, const arch::RegisterFile& after) override { t_.pmu.retire(r, after); }
};

class InBulk : public Reporter {
 public:
  using Reporter::Reporter;
  void retire(const arch::Retired& r, const arch::RegisterFile& after) override {
    if (t_.pmu.accumulators_generation() != generation_ || pending_.size() != t_.pmu.accumulators().size()) {
      generation_ = t_.pmu.accumulators_generation();
      pending_.assign(t_.pmu.accumulators().size(), 0);
    }
    bool fits = true;
    for (std::size_t accumulator = 0; accumulator < pending_.size(); ++accumulator) {
      const std::uint32_t events = t_.pmu.accumulators()[accumulator].count(r);
      if (events != 0 && pending_[accumulator] + events > t_.pmu.headroom(accumulator)) fits = false;
    }
    if (!fits && !t_.pmu.only_adds()) {
      flush();
      t_.pmu.retire(r, after);
      return;
    }
    for (std::size_t accumulator = 0; accumulator < pending_.size(); ++accumulator)
      pending_[accumulator] += t_.pmu.accumulators()[accumulator].count(r);
    if (!fits) {
      t_.pmu.pass(std::exchange(pending_, std::vector<std::uint64_t>(pending_.size(), 0)));
      ++overflows_in_sums;
      return;
    }
    if (r.taken && t_.pmu.wants_branches()) {
      t_.pmu.enter_branch({.from = r.ip, .to = r.next_ip, .kind = r.branch, .cpl_from = r.cpl, .cpl_to = r.cpl});
    }
    ++in_bulk;
  }
  void flush() override {
    for (std::size_t accumulator = 0; accumulator < pending_.size(); ++accumulator) {
      if (pending_[accumulator] == 0) continue;  // and after a PMI that froze counters the accumulator may be gone
      t_.pmu.count(accumulator, pending_[accumulator]);
      pending_[accumulator] = 0;
    }
  }
  std::uint64_t in_bulk = 0, overflows_in_sums = 0;

 private:
  std::uint32_t generation_ = ~0U;
  std::vector<std::uint64_t> pending_;
};

/// Tells of overflows that repeat some time later, as an engine does that puts their states aside.
class Later : public Reporter {
 public:
  using Reporter::Reporter;
  void retire(const arch::Retired& r, const arch::RegisterFile& after) override {
    if (times_ == 0) begin();
    if (times_ == 0) return t_.pmu.retire(r, after);
    const std::uint32_t events = t_.pmu.accumulators()[0].count(r);
    if (events <= room_) {
      room_ -= events;
      passed_ += events;
      return;
    }
    held_.push_back({std::exchange(passed_, 0), r, after});
    room_ = events_ - 1;
    if (--times_ == 0) flush();
  }
  void flush() override {
    for (const Held& held : held_) {
      t_.pmu.count(0, held.before);
      t_.pmu.retire(held.retired, held.after);
      ++reported_late;
    }
    if (const std::uint64_t rest = std::exchange(passed_, 0); rest != 0) t_.pmu.count(0, rest);
    held_.clear();
    times_ = 0;
  }
  std::uint64_t reported_late = 0;

 private:
  void begin() {
    if (t_.pmu.accumulators().size() != 1) return;
    const Pmu::Repeating repeating = t_.pmu.repeating(0);
    events_ = repeating.events;
    times_ = repeating.times;
    room_ = t_.pmu.headroom(0);
  }
  struct Held {
    std::uint64_t before;
    arch::Retired retired;
    arch::RegisterFile after;
  };
  std::vector<Held> held_;
  std::uint64_t events_ = 0, times_ = 0, room_ = 0, passed_ = 0;
};

arch::Retired any_instruction(Random& random, std::uint64_t ip) {
  arch::Retired r;
  r.ip = ip;
  r.next_ip = ip + 1 + below(random, 15);
  switch (below(random, 8)) {
    case 0:
    case 1: {
      constexpr BranchKind kinds[] = {BranchKind::Conditional,  BranchKind::RelativeJump, BranchKind::IndirectJump,
                                      BranchKind::RelativeCall, BranchKind::IndirectCall, BranchKind::Return,
                                      BranchKind::Far};
      r.branch = kinds[below(random, std::size(kinds))];
      r.taken = r.branch != BranchKind::Conditional || below(random, 2) == 0;
      if (r.taken) r.next_ip = 0x40'0000 + below(random, 0x1000);
      break;
    }
    case 2:
    case 3:
      r.loads = 1;
      r.load_count = 1;
      r.data_address = 0x7000'0000 + below(random, 0x10000);
      r.split_loads = below(random, 10) == 0;
      break;
    case 4:
      r.stores = r.loads = 1;
      r.store_count = r.load_count = 1;
      r.locked = below(random, 4) == 0;
      r.data_address = 0x7000'0000 + below(random, 0x10000);
      break;
    case 5:
      r.rep_string = true;
      r.loads = r.stores = 1;
      r.load_count = r.store_count = below(random, 200);
      r.data_address = 0x7000'0000;
      break;
    case 6:
      r.fp = static_cast<arch::FpArith>(1 + below(random, 8));
      r.fp_weight = static_cast<std::uint8_t>(1 + below(random, 2));
      break;
    default: r.nop = below(random, 4) == 0;
  }
  return r;
}

constexpr std::uint64_t kSelects[] = {0x41'00C0, 0x41'01C0, 0x41'02C0, 0x41'00C4,   0x41'01C4,   0x41'02C4,  0x41'04C4,
                                      0x41'08C4, 0x41'10C4, 0x41'20C4, 0x41'40C4,   0x41'80C4,   0x41'81C4,  0x41'81D0,
                                      0x41'82D0, 0x41'83D0, 0x41'21D0, 0x41'41D0,   0x41'03C7,   0x41'FCC7,  0x41'20D1,
                                      0x43'00C0, 0x42'00C0, 0x00'00C0, 0x0241'81D0, 0x1145'81D0, 0x01C5'00C4};
constexpr std::size_t kConditionalSelects = 3;  // the last ones

/// What drivers use: everything, or what only_adds() lets through.
enum class Use { Everything, CountersOnly };

/// One driver action, the same on every Pmu it is given.
void reprogram(Random& random, std::vector<TestPmu*> pmus, Use use = Use::Everything) {
  const bool everything = use == Use::Everything;
  const std::uint64_t action = below(random, 12);
  const auto n = static_cast<std::uint32_t>(below(random, 4));
  const std::uint64_t select = kSelects[below(random, std::size(kSelects) - (everything ? 0 : kConditionalSelects))] |
                               (below(random, 3) == 0 ? kInt : 0);
  const std::uint64_t value = random();
  const std::uint64_t start = minus(1 + value % (1U << below(random, 12)));
  for (TestPmu* t : pmus) {
    switch (action) {
      case 0:
      case 1: t->wr(kSelect0 + n, select); break;
      case 2:
      case 3: t->wr(kPmc0 + n, start); break;
      case 4: t->wr(kGlobal, value & t->model.counters().bits); break;
      case 5: t->wr(kGlobal, t->model.counters().bits); break;
      case 6: t->wr(kPebsEnable, everything ? value & 0xF : 0); break;
      case 7: t->wr(kFixedCtrl, value & 0xB); break;
      case 8: t->wr(kFixed0, start); break;
      case 9: t->wr(kDebugCtl, value & (everything ? 0x1801 : 0x1000)); break;
      case 10: t->wr(kLbrSelect, value % 4 == 0 && t->model.lbr_call_stack ? 0x3C4 : value & 0x1FC); break;
      case 11: t->set_reset(n, start); break;
    }
  }
}

/// What a driver does at a PMI: acknowledge, take the records away, thaw, restart.
void handle_pmi(TestPmu& t) {
  t.rewind();
  t.wr(kOvfCtrl, t.rd(kStatus));
  t.wr(kGlobal, t.model.counters().bits);
}

void expect_same_registers(const TestPmu& a, const TestPmu& b) {
  for (const arch::MsrFact& fact : arch::msr_facts()) {
    for (unsigned i = 0; i < fact.count(a.model); ++i) {
      ASSERT_EQ(a.rd(fact.first + i), b.rd(fact.first + i)) << fact.name << i;
    }
  }
}

class Equivalence : public ::testing::TestWithParam<const char*> {
 protected:
  void compare(Use use);
  std::uint64_t instructions_ = 0, in_bulk_ = 0, overflows_in_sums_ = 0, pmis_ = 0, records_ = 0;
};

void Equivalence::compare(Use use) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Random random{seed};
    TestPmu stepped{GetParam()}, bulked{GetParam()};
    StepByStep by_step{stepped};
    InBulk by_bulk{bulked};
    const std::uint64_t threshold = 1 + below(random, 4);
    for (TestPmu* t : {&stepped, &bulked}) t->set_up_ds(6, threshold, minus(1 + seed));
    for (int i = 0; i < 12; ++i) reprogram(random, {&stepped, &bulked}, use);

    std::uint64_t ip = 0x40'0000;
    int seen = 0;
    for (int i = 0; i < 3000; ++i, ++instructions_) {
      if (below(random, use == Use::Everything ? 100 : 10) == 0) {
        by_bulk.flush();
        reprogram(random, {&stepped, &bulked}, use);
      }
      const arch::Retired r = any_instruction(random, ip);
      const arch::RegisterFile after{.flags = random() & 0xCD5, .ip = r.next_ip, .ax = random(), .r15 = random()};
      ip = r.next_ip;
      by_step.retire(r, after);
      by_bulk.retire(r, after);
      ASSERT_EQ(stepped.pmi.requested, bulked.pmi.requested) << "instruction " << i;
      if (stepped.pmi.requested != seen) {
        seen = stepped.pmi.requested;
        by_bulk.flush();
        ASSERT_NO_FATAL_FAILURE(expect_same_registers(stepped, bulked)) << "at the PMI of instruction " << i;
        ASSERT_EQ(stepped.memory.bytes(), bulked.memory.bytes());
        records_ += stepped.records();
        handle_pmi(stepped);
        handle_pmi(bulked);
        ++pmis_;
      }
    }
    by_bulk.flush();
    ASSERT_NO_FATAL_FAILURE(expect_same_registers(stepped, bulked));
    ASSERT_EQ(stepped.memory.bytes(), bulked.memory.bytes());
    in_bulk_ += by_bulk.in_bulk;
    overflows_in_sums_ += by_bulk.overflows_in_sums;
  }
}

// The tests are worth something only if all ways were walked.
TEST_P(Equivalence, OfBulkCountsAndRetirementsHoldsForRandomProgramsUnderRandomDrivers) {
  ASSERT_NO_FATAL_FAILURE(compare(Use::Everything));
  EXPECT_GT(in_bulk_, instructions_ / 4);
  EXPECT_LT(in_bulk_, instructions_);
  EXPECT_GT(pmis_, 100U);
  EXPECT_GT(records_, 100U);
}

TEST_P(Equivalence, OfSumsWithTheirOverflowAndRetirementsHoldsWhereCountersOnlyAdd) {
  ASSERT_NO_FATAL_FAILURE(compare(Use::CountersOnly));
  EXPECT_GT(in_bulk_, instructions_ / 2);
  EXPECT_GT(overflows_in_sums_, 1000U);
  EXPECT_GT(pmis_, 100U);
}

TEST(Equivalence, OfOverflowsToldLaterHoldsWhereTheyRepeat) {
  std::uint64_t reported_late = 0, pmis = 0, records = 0;
  for (const char* model : {"skylake-server", "icelake-server"}) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      SCOPED_TRACE(std::string(model) + " " + std::to_string(seed));
      Random random{seed};
      TestPmu stepped{model}, late{model};
      StepByStep by_step{stepped};
      Later later{late};
      const std::uint64_t period = minus(1 + below(random, 40));
      const std::uint64_t threshold = 1 + below(random, 12), others = below(random, 3);
      const std::uint64_t other_start = minus(below(random, 1000));
      for (TestPmu* t : {&stepped, &late}) {
        t->set_up_ds(6 + threshold, threshold, period);
        t->set_reset(1, period);
        t->wr(kSelect0 + 1, 0x41'01C0);  // INST_RETIRED.PREC_DIST
        t->wr(kPmc0 + 1, period);
        t->wr(kPebsEnable, 2);
        if (others != 0) t->wr(kFixedCtrl, others == 1 ? 0x2 : 0xA);  // instructions too, without and with an interrupt
        if (others != 0) t->wr(kFixed0, other_start);
        t->wr(kGlobal, t->model.counters().bits);
      }
      std::uint64_t ip = 0x40'0000;
      int seen = 0;
      for (int i = 0; i < 3000; ++i) {
        if (below(random, 600) == 0) {
          later.flush();
          reprogram(random, {&stepped, &late});
        }
        const arch::Retired r = any_instruction(random, ip);
        const arch::RegisterFile after{.flags = random() & 0xCD5, .ip = r.next_ip, .ax = random(), .r15 = random()};
        ip = r.next_ip;
        by_step.retire(r, after);
        later.retire(r, after);
        ASSERT_EQ(stepped.pmi.requested, late.pmi.requested) << "instruction " << i;
        if (below(random, 50) == 0 || stepped.pmi.requested != seen) {
          later.flush();
          ASSERT_NO_FATAL_FAILURE(expect_same_registers(stepped, late)) << "instruction " << i;
          ASSERT_EQ(stepped.memory.bytes(), late.memory.bytes());
        }
        if (stepped.pmi.requested == seen) continue;
        seen = stepped.pmi.requested;
        records += stepped.records();
        handle_pmi(stepped);
        handle_pmi(late);
        ++pmis;
      }
      reported_late += later.reported_late;
    }
  }
  EXPECT_GT(reported_late, 2000U);
  EXPECT_GT(pmis, 1000U);
  EXPECT_GT(records, 5000U);
}

INSTANTIATE_TEST_SUITE_P(EveryModel, Equivalence, ::testing::Values("skylake-server", "haswell", "westmere"),
                         [](const auto& parameter) {
                           std::string name = parameter.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace zs::pmu
