#include "pmu/ibs.h"

#include <algorithm>

#include "arch/events/meanings.h"

namespace zs::pmu {

using arch::IbsFetchCtl;
using arch::IbsOpCtl;
using arch::Msr;

namespace {

constexpr std::uint64_t kOpLimit = std::uint64_t{1} << Counters::kOpCounterWidth,
                        kFetchLimit = std::uint64_t{1} << Counters::kFetchCounterWidth;

/// The counter's value that stands for 0: it wraps where the maximum is reached.
std::uint64_t begins_at(IbsOpCtl control) { return kOpLimit - control.maximum(); }
std::uint64_t begins_at(IbsFetchCtl control) { return kFetchLimit - control.maximum(); }

}  // namespace

// The next event has to come with its instruction.
void Ibs::reached(std::uint64_t counters) {
  due_ |= counters;
  if ((counters & kOps) != 0) counters_.set_value(Counters::kOpCounter, kOpLimit - 1);
  if ((counters & kFetches) != 0) counters_.set_value(Counters::kFetchCounter, kFetchLimit - 1);
}

bool Ibs::counts_ops() const {
  return control_.has(IbsOpCtl::enable) && !control_.has(IbsOpCtl::valid) && control_.maximum() != 0;
}

void Ibs::count_ops_from(std::uint64_t current) {
  const std::uint64_t last = control_.maximum() - 1;
  counters_.set_value(Counters::kOpCounter, begins_at(control_) + std::min(current, last));
}

std::uint64_t Ibs::preload() { return control_.has(IbsOpCtl::counts_ops) ? random_.next() : 0; }

bool Ibs::counts_fetches() const {
  return fetch_control_.has(IbsFetchCtl::enable) && !fetch_control_.has(IbsFetchCtl::valid) &&
         fetch_control_.maximum() != 0;
}

void Ibs::count_fetches_from(std::uint64_t current) {
  constexpr std::uint64_t kHidden = 0xF;
  const std::uint64_t last = fetch_control_.maximum() - 1;
  if (fetch_control_.has(IbsFetchCtl::random)) current += fetch_random_.next() & kHidden;
  counters_.set_value(Counters::kFetchCounter, begins_at(fetch_control_) + std::min(current, last));
}

std::uint64_t Ibs::read(Msr msr) const {
  switch (msr) {
    case Msr::IbsFetchCtl: {
      if (!counts_fetches()) return fetch_control_.raw();
      const std::uint64_t counted = counters_.value(Counters::kFetchCounter) - begins_at(fetch_control_);
      return fetch_control_.with(IbsFetchCtl::current, counted >> 4).raw();
    }
    case Msr::IbsFetchLinAd: return fetch_.linear;
    case Msr::IbsFetchPhysAd: return fetch_.physical;
    case Msr::IbsFetchCtlExtd: return fetch_.extended.raw();
    case Msr::IbsOpCtl:
      if (!counts_ops()) return control_.raw();
      return control_.with(IbsOpCtl::current, counters_.value(Counters::kOpCounter) - begins_at(control_)).raw();
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
    case Msr::IbsFetchCtl:
      fetch_control_ = IbsFetchCtl{value};
      due_ &= ~kFetches;
      if (counts_fetches()) count_fetches_from(fetch_control_.counted());
      counters_.run_sampling(Counters::kFetchCounter, counts_fetches(), &arch::kInstructions);
      break;
    case Msr::IbsFetchLinAd: fetch_.linear = value; break;
    case Msr::IbsFetchPhysAd: fetch_.physical = value; break;
    case Msr::IbsFetchCtlExtd: fetch_.extended = arch::IbsFetchCtlExtd{value}; break;
    case Msr::IbsOpCtl:
      control_ = IbsOpCtl{value};
      due_ &= ~kOps;
      if (counts_ops()) count_ops_from(control_.get(IbsOpCtl::current));
      counters_.run_sampling(Counters::kOpCounter, counts_ops(),
                             control_.has(IbsOpCtl::counts_ops) ? &arch::kInstructions : nullptr);
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
  const std::uint64_t due = due_;
  due_ = 0;
  const bool fetch = (due & kFetches) != 0 && tag_fetch(retired);
  const bool op = (due & kOps) != 0 && tag_op(retired);
  return fetch || op;
}

bool Ibs::tag_op(const arch::Retired& retired) {
  const arch::IbsOp op = arch::sampled_op(retired);
  if (control_.has(IbsOpCtl::l3_miss_only) && !arch::missed_l3(op)) {
    count_ops_from(preload());
    return false;
  }
  sample_ = op;
  control_ = control_.with(IbsOpCtl::valid, 1).with(IbsOpCtl::current, preload());
  counters_.run_sampling(Counters::kOpCounter, false, nullptr);
  return true;
}

bool Ibs::tag_fetch(const arch::Retired& retired) {
  constexpr std::uint64_t kWritten =
      IbsFetchCtl::max.mask | IbsFetchCtl::enable.mask | IbsFetchCtl::random.mask | IbsFetchCtl::l3_miss_only.mask;
  const arch::IbsFetch fetch = arch::sampled_fetch(retired);
  if (fetch_control_.has(IbsFetchCtl::l3_miss_only) && !fetch.control.has(IbsFetchCtl::l3_miss)) {
    count_fetches_from(0);
    return false;
  }
  fetch_ = fetch;
  fetch_control_ = IbsFetchCtl{(fetch_control_.raw() & kWritten) | fetch.control.raw()}
                       .with(IbsFetchCtl::valid, 1)
                       .with(IbsFetchCtl::current, fetch_control_.get(IbsFetchCtl::max));
  counters_.run_sampling(Counters::kFetchCounter, false, nullptr);
  return true;
}

void Ibs::reset() {
  write(Msr::IbsOpCtl, 0);
  write(Msr::IbsFetchCtl, 0);
  sample_ = {};
  fetch_ = {};
  random_ = fetch_random_ = {};
}

}  // namespace zs::pmu
