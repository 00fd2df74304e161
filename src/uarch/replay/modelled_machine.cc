#include "uarch/replay/modelled_machine.h"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "uarch/memory/memory_system.h"
#include "uarch/replay/code_book.h"
#include "uarch/replay/quantum_scheduler.h"
#include "uarch/replay/thread_replay.h"
#include "uarch/timing/core_clock.h"
#include "uarch/timing/throughput_clock.h"

namespace zs::uarch {

class ModelledMachine::Impl {
 public:
  virtual ~Impl() = default;
  virtual std::unique_ptr<arch::CoreFeed> attach(std::optional<unsigned> core) = 0;
  virtual unsigned cores() const = 0;
  virtual SharingLog* sharing() = 0;
  virtual SimulationWork work() const = 0;
};

namespace {

CoreModel as_asked(CoreModel model, const MachineOptions& options) {
  if (options.depth == Depth::Fast && !options.reports_branches) model.branch = without_path(model.branch);
  return model;
}

template <typename Clock>
class MachineOf final : public ModelledMachine::Impl {
 public:
  MachineOf(const CoreModel& model, const MachineOptions& options)
      : model_(as_asked(model, options)),
        book_(model_, std::is_same_v<Clock, ThroughputClock> ? TimingDetail::Bounds : TimingDetail::All,
              options.kept_bytes),
        seed_(options.seed),
        sharing_(options.logs_sharing ? std::make_unique<SharingLog>() : nullptr),
        memory_(MemorySystem::make(model.memory, {.cores = options.cores,
                                                  .seed = options.seed,
                                                  .store_buffer = options.depth == Depth::Full,
                                                  .sampled = options.sampled,
                                                  .sharing = sharing_.get()})) {
    const std::size_t share = options.code_bytes / options.cores;
    const std::size_t code_bytes = std::max(share, std::min(options.code_bytes, MachineOptions::kLeastCode));
    for (unsigned core = 0; core < options.cores; ++core) {
      cores_.push_back(std::make_unique<ReplayCore<Clock>>(model_, core, code_bytes));
    }
    scheduler_ = std::make_unique<QuantumScheduler<Clock>>(cores_, options.quantum_cycles);
  }

  std::unique_ptr<arch::CoreFeed> attach(std::optional<unsigned> core) override {
    const unsigned where = core ? *core : std::exchange(next_, (next_ + 1) % cores());
    CHECK(where < cores_.size(), where);
    return std::make_unique<ThreadReplay<Clock>>(model_, book_, *memory_, *cores_[where], *scheduler_, threads_++,
                                                 seed_);
  }
  unsigned cores() const override { return static_cast<unsigned>(cores_.size()); }
  SharingLog* sharing() override { return sharing_.get(); }
  SimulationWork work() const override {
    SimulationWork all;
    for (const auto& core : cores_) all += core->work_so_far();
    return all;
  }

 private:
  CoreModel model_;
  CodeBook book_;
  std::uint64_t seed_;
  std::uint64_t threads_ = 0;  // so far
  std::unique_ptr<SharingLog> sharing_;
  std::unique_ptr<MemorySystem> memory_;
  std::vector<std::unique_ptr<ReplayCore<Clock>>> cores_;
  std::unique_ptr<QuantumScheduler<Clock>> scheduler_;
  unsigned next_ = 0;
};

}  // namespace

bool covers(Depth depth, arch::CoreSignal signal) {
  using enum arch::CoreSignal;
  if (depth == Depth::Full) return true;
  switch (signal) {
    case FillBufferPending:
    case FillBufferFull:
    case ForwardedLoads:
    case ForwardBlocked:
    case AddressAlias:
    case LatencyLoads: return false;
    default: return !arch::is_time(signal);
  }
}

ModelledMachine::ModelledMachine(const CoreModel& model, const MachineOptions& options) {
  CHECK(inconsistency(model) == nullptr);
  if (options.depth == Depth::Full) {
    impl_ = std::make_unique<MachineOf<CoreClock>>(model, options);
  } else {
    impl_ = std::make_unique<MachineOf<ThroughputClock>>(model, options);
  }
}
ModelledMachine::~ModelledMachine() = default;

std::unique_ptr<arch::CoreFeed> ModelledMachine::attach_thread(std::optional<unsigned> core) {
  return impl_->attach(core);
}
unsigned ModelledMachine::cores() const { return impl_->cores(); }
SharingLog* ModelledMachine::sharing() { return impl_->sharing(); }
SimulationWork ModelledMachine::work() const { return impl_->work(); }

}  // namespace zs::uarch
