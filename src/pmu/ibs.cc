#include "pmu/ibs.h"

#include <algorithm>

#include "arch/events/meanings.h"

namespace zs::pmu {

using arch::IbsOpCtl;
using arch::Msr;

namespace {

constexpr std::uint64_t kLimit = std::uint64_t{1} << Counters::kOpCounterWidth;

}  // namespace

bool Ibs::runs() const {
  return control_.has(IbsOpCtl::enable) && !control_.has(IbsOpCtl::valid) && control_.maximum() != 0;
}

/// The counter's value that stands for IbsOpCurCnt 0: it wraps where that reaches IbsOpMaxCnt.
std::uint64_t Ibs::begins_at() const { return kLimit - control_.maximum(); }

void Ibs::count_from(std::uint64_t current) {
  const std::uint64_t last = control_.maximum() - 1;
  counters_.set_value(Counters::kOpCounter, begins_at() + std::min(current, last));
}

// The next event has to come with its instruction.
void Ibs::reached() {
  due_ = true;
  counters_.set_value(Counters::kOpCounter, kLimit - 1);
}

std::uint64_t Ibs::preload() {
  if (!control_.has(IbsOpCtl::counts_ops)) return 0;
  random_ = static_cast<std::uint8_t>((random_ << 1 | ((random_ >> 6 ^ random_ >> 5) & 1)) & 0x7F);
  return random_;
}

std::uint64_t Ibs::read(Msr msr) const {
  switch (msr) {
    case Msr::IbsOpCtl:
      if (!runs()) return control_.raw();
      return control_.with(IbsOpCtl::current, counters_.value(Counters::kOpCounter) - begins_at()).raw();
    case Msr::IbsOpRip: return sample_.rip;
    case Msr::IbsOpData: return sample_.data.raw();
    case Msr::IbsOpData2: return sample_.data2.raw();
    case Msr::IbsOpData3: return sample_.data3.raw();
    case Msr::IbsDcLinAd: return sample_.linear;
    case Msr::IbsDcPhysAd: return sample_.physical;
    case Msr::IbsControl: return arch::kIbsControlStart;
    case Msr::IbsBrTarget: return sample_.target;
    default: return 0;
  }
}

void Ibs::write(Msr msr, std::uint64_t value) {
  switch (msr) {
    case Msr::IbsOpCtl:
      control_ = IbsOpCtl{value};
      due_ = false;
      if (runs()) count_from(control_.get(IbsOpCtl::current));
      counters_.run_op_counter(runs(), control_.has(IbsOpCtl::counts_ops) ? &arch::kInstructions : nullptr);
      break;
    case Msr::IbsOpRip: sample_.rip = value; break;
    case Msr::IbsOpData: sample_.data = arch::IbsOpData{value}; break;
    case Msr::IbsOpData2: sample_.data2 = arch::IbsOpData2{value}; break;
    case Msr::IbsOpData3: sample_.data3 = arch::IbsOpData3{value}; break;
    case Msr::IbsDcLinAd: sample_.linear = value; break;
    case Msr::IbsDcPhysAd: sample_.physical = value; break;
    case Msr::IbsBrTarget: sample_.target = value; break;
    default: break;
  }
}

bool Ibs::tag(const arch::Retired& retired) {
  due_ = false;
  const arch::IbsOp op = arch::sampled_op(retired);
  if (control_.has(IbsOpCtl::l3_miss_only) && !arch::missed_l3(op)) {
    count_from(preload());
    return false;
  }
  sample_ = op;
  control_ = control_.with(IbsOpCtl::valid, 1).with(IbsOpCtl::current, preload());
  counters_.run_op_counter(false, nullptr);
  return true;
}

void Ibs::reset() {
  write(Msr::IbsOpCtl, 0);
  sample_ = {};
  random_ = 1;
}

}  // namespace zs::pmu
