#include "session/driver/ibs_sampler.h"

#include <algorithm>
#include <initializer_list>

#include "base/bytes.h"
#include "base/check.h"

namespace zs::session {
namespace {

using arch::IbsFetchCtl;
using arch::IbsOpCtl;

constexpr std::uint64_t kGranule = 16;

std::uint64_t nearest(std::uint64_t wanted, const IbsPeriods& periods) {
  return std::clamp(wanted / kGranule * kGranule, periods.shortest, periods.longest);
}

}  // namespace

Result<void> check_ibs_period(const std::string& event, EventKind kind, std::uint64_t period) {
  const IbsPeriods& periods = ibs_periods(kind);
  const std::string what = event + ": period " + std::to_string(period);
  if (period < periods.shortest)
    return Error{what + " is too short for instruction-based sampling", "at least " + std::to_string(periods.shortest)};
  if (period > periods.longest)
    return Error{what + " is longer than " + std::string(periods.holds) + " can hold",
                 "at most " + std::to_string(periods.longest)};
  if (period % kGranule != 0)
    return Error{what + " is no multiple of 16: " + std::string(periods.holds) + " has no lower bits",
                 std::to_string(nearest(period, periods)) + ", for instance"};
  return {};
}

void tell(const IbsSample& found, Sample& sample) {
  const bool is_op = found.kind == EventKind::IbsOp;
  sample.ip = is_op ? found.op.rip : found.fetch.linear;
  sample.exact_ip = true;
  sample.address = is_op ? found.op.linear : 0;
  const arch::IbsOp op = is_op ? found.op : arch::IbsOp{};  // a fetch has no data
  sample.data_source = arch::perf_data_src(op);
  const arch::IbsLatency latency = arch::perf_latency(op);
  sample.latency = latency.cycles;
  sample.instruction_latency = static_cast<std::uint16_t>(latency.instruction_cycles);
}

std::vector<std::byte> raw_data(const IbsSample& sample, const arch::CpuModel& model) {
  ByteWriter out;
  out.write(arch::ibs_capabilities(model));
  const auto write = [&out](std::initializer_list<std::uint64_t> registers) {
    for (const std::uint64_t value : registers) out.write(value);
  };
  if (sample.kind == EventKind::IbsFetch) {
    const arch::IbsFetch& fetch = sample.fetch;
    write({fetch.control.raw(), fetch.linear, fetch.physical, fetch.extended.raw()});
  } else {
    const arch::IbsOp& op = sample.op;
    write({sample.control.raw(), op.rip, op.data.raw(), op.data2.raw(), op.data3.raw(), op.linear, op.physical,
           op.target});
  }
  return out.release();
}

IbsSampler::IbsSampler(const arch::CpuModel& model, const EventSpec& event, std::uint32_t index,
                       const std::optional<AdaptivePeriod>& adaptive, pmu::Clock& clock, bool& pmi_requested)
    : event_(index),
      kind_(event.kind),
      wanted_(event.select | (event.kind == EventKind::IbsFetch ? IbsFetchCtl::enable.mask : IbsOpCtl::enable.mask)),
      any_(pmi_requested),
      period_(adaptive ? nearest_period(adaptive->period()) : event.period),
      adaptive_(adaptive),
      pmu_(model, *this, *this, clock) {
  start(0);
}

std::uint64_t IbsSampler::nearest_period(std::uint64_t wanted) const { return nearest(wanted, ibs_periods(kind_)); }

void IbsSampler::start(std::uint64_t from) {
  started_at_ = from;
  if (kind_ == EventKind::IbsFetch) {
    const IbsFetchCtl control = IbsFetchCtl{wanted_}.with_maximum(period_);
    CHECK(pmu_.wrmsr(IbsFetchCtl::msr, control.raw()), control.raw());
  } else {
    const IbsOpCtl control = IbsOpCtl{wanted_}.with_maximum(period_).with(IbsOpCtl::current, from);
    CHECK(pmu_.wrmsr(IbsOpCtl::msr, control.raw()), control.raw());
  }
}

IbsSampler::Progress IbsSampler::progress() const {
  if (kind_ == EventKind::IbsFetch) {
    const IbsFetchCtl control{rdmsr(IbsFetchCtl::msr)};
    return {.valid = control.has(IbsFetchCtl::valid), .current = control.counted()};
  }
  const IbsOpCtl control{rdmsr(IbsOpCtl::msr)};
  return {.valid = control.has(IbsOpCtl::valid), .current = control.get(IbsOpCtl::current)};
}

IbsSample IbsSampler::read_sample() const {
  IbsSample found{.kind = kind_, .period = period_};
  if (kind_ == EventKind::IbsFetch) {
    found.fetch = {.control = IbsFetchCtl{rdmsr(IbsFetchCtl::msr)},
                   .linear = rdmsr(arch::kIbsFetchLinAd),
                   .physical = rdmsr(arch::kIbsFetchPhysAd),
                   .extended = arch::IbsFetchCtlExtd{rdmsr(arch::IbsFetchCtlExtd::msr)}};
    return found;
  }
  found.control = IbsOpCtl{rdmsr(IbsOpCtl::msr)};
  found.op = {.rip = rdmsr(arch::kIbsOpRip),
              .data = arch::IbsOpData{rdmsr(arch::IbsOpData::msr)},
              .data2 = arch::IbsOpData2{rdmsr(arch::IbsOpData2::msr)},
              .data3 = arch::IbsOpData3{rdmsr(arch::IbsOpData3::msr)},
              .linear = rdmsr(arch::kIbsDcLinAd),
              .physical = rdmsr(arch::kIbsDcPhysAd),
              .target = rdmsr(arch::kIbsBrTarget)};
  return found;
}

std::optional<IbsSample> IbsSampler::take_interrupt() {
  if (!mine_) return std::nullopt;
  mine_ = false;
  ++interrupts_;
  const Progress now = progress();
  if (!now.valid) return std::nullopt;
  counted_ += period_ - started_at_;
  started_at_ = period_;  // nothing is counted until it starts again
  random_ = kind_ == EventKind::IbsOp ? now.current : 0;
  return read_sample();
}

void IbsSampler::go_on(std::uint64_t instructions) {
  if (adaptive_) period_ = nearest_period(adaptive_->sampled_at(instructions));
  start(random_);
}

std::uint64_t IbsSampler::total() const {
  const Progress now = progress();
  if (now.valid) return counted_ + (mine_ ? period_ - started_at_ : 0);
  return counted_ + now.current - started_at_;
}

std::uint64_t IbsSampler::rdmsr(std::uint32_t msr) const {
  std::uint64_t value = 0;
  CHECK(pmu_.rdmsr(msr, value), msr);
  return value;
}

}  // namespace zs::session
