#include "session/ibs_sampler.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/check.h"

namespace zs::session {
namespace {

using arch::IbsOpCtl;

constexpr std::uint64_t kGranule = 16;

std::uint64_t nearest_period(std::uint64_t wanted) {
  return std::clamp(wanted / kGranule * kGranule, kShortestIbsPeriod, kLongestIbsPeriod);
}

}  // namespace

Result<void> check_ibs_period(const std::string& event, std::uint64_t period) {
  const std::string what = event + ": period " + std::to_string(period);
  if (period < kShortestIbsPeriod)
    return Error{what + " is too short for instruction-based sampling",
                 "at least " + std::to_string(kShortestIbsPeriod)};
  if (period > kLongestIbsPeriod)
    return Error{what + " is longer than IbsOpMaxCnt can hold", "at most " + std::to_string(kLongestIbsPeriod)};
  if (period % kGranule != 0)
    return Error{what + " is no multiple of 16: IbsOpMaxCnt has no lower bits",
                 std::to_string(nearest_period(period)) + ", for instance"};
  return {};
}

void tell_op(const arch::IbsOp& op, Sample& sample) {
  sample.ip = op.rip;
  sample.exact_ip = true;
  sample.address = op.linear;
  sample.data_source = arch::perf_data_src(op);
  const arch::IbsLatency latency = arch::perf_latency(op);
  sample.latency = latency.cycles;
  sample.instruction_latency = static_cast<std::uint16_t>(latency.instruction_cycles);
}

std::vector<std::byte> raw_data(const IbsSample& sample, const arch::CpuModel& model) {
  ByteWriter out;
  out.write(arch::ibs_capabilities(model));
  for (const std::uint64_t value : {sample.control.raw(), sample.op.rip, sample.op.data.raw(), sample.op.data2.raw(),
                                    sample.op.data3.raw(), sample.op.linear, sample.op.physical, sample.op.target})
    out.write(value);
  return out.release();
}

IbsSampler::IbsSampler(const arch::CpuModel& model, const EventSpec& event, std::uint32_t index,
                       const std::optional<AdaptivePeriod>& adaptive, pmu::Clock& clock, bool& pmi_requested)
    : event_(index),
      wanted_(IbsOpCtl{event.select}.with(IbsOpCtl::enable, 1)),
      any_(pmi_requested),
      period_(adaptive ? nearest_period(adaptive->period()) : event.period),
      adaptive_(adaptive),
      pmu_(model, *this, *this, clock) {
  start(0);
}

void IbsSampler::start(std::uint64_t from) {
  started_at_ = from;
  const IbsOpCtl control = wanted_.with_maximum(period_).with(IbsOpCtl::current, from);
  CHECK(pmu_.wrmsr(IbsOpCtl::msr, control.raw()), control.raw());
}

std::optional<IbsSample> IbsSampler::take_interrupt() {
  if (!mine_) return std::nullopt;
  mine_ = false;
  ++interrupts_;
  const IbsOpCtl control{rdmsr(IbsOpCtl::msr)};
  if (!control.has(IbsOpCtl::valid)) return std::nullopt;
  counted_ += period_ - started_at_;
  started_at_ = period_;  // nothing is counted until it starts again
  random_ = control.get(IbsOpCtl::current);
  return IbsSample{.control = control,
                   .op = {.rip = rdmsr(arch::kIbsOpRip),
                          .data = arch::IbsOpData{rdmsr(arch::IbsOpData::msr)},
                          .data2 = arch::IbsOpData2{rdmsr(arch::IbsOpData2::msr)},
                          .data3 = arch::IbsOpData3{rdmsr(arch::IbsOpData3::msr)},
                          .linear = rdmsr(arch::kIbsDcLinAd),
                          .physical = rdmsr(arch::kIbsDcPhysAd),
                          .target = rdmsr(arch::kIbsBrTarget)},
                   .period = period_};
}

void IbsSampler::go_on(std::uint64_t instructions) {
  if (adaptive_) period_ = nearest_period(adaptive_->sampled_at(instructions));
  start(random_);
}

std::uint64_t IbsSampler::total() const {
  const IbsOpCtl control{rdmsr(IbsOpCtl::msr)};
  if (control.has(IbsOpCtl::valid)) return counted_ + (mine_ ? period_ - started_at_ : 0);
  return counted_ + control.get(IbsOpCtl::current) - started_at_;
}

std::uint64_t IbsSampler::rdmsr(std::uint32_t msr) const {
  std::uint64_t value = 0;
  CHECK(pmu_.rdmsr(msr, value), msr);
  return value;
}

}  // namespace zs::session
