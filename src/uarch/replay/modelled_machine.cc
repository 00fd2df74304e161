#include "uarch/replay/modelled_machine.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "uarch/memory/memory_system.h"
#include "uarch/replay/code_book.h"
#include "uarch/replay/quantum_scheduler.h"
#include "uarch/replay/thread_replay.h"
#include "uarch/timing/core_clock.h"

namespace zs::uarch {

class ModelledMachine::Impl {
 public:
  Impl(const CoreModel& model, const MachineOptions& options)
      : model_(model),
        book_(model_, options.kept_bytes),
        seed_(options.seed),
        sharing_(options.logs_sharing ? std::make_unique<SharingLog>() : nullptr),
        memory_(MemorySystem::make(
            model.memory,
            {.cores = options.cores, .seed = options.seed, .sampled = options.sampled, .sharing = sharing_.get()})) {
    const std::size_t share = options.code_bytes / options.cores;
    const std::size_t code_bytes = std::max(share, std::min(options.code_bytes, MachineOptions::kLeastCode));
    for (unsigned core = 0; core < options.cores; ++core) {
      cores_.push_back(std::make_unique<ReplayCore>(model_, core, code_bytes));
    }
    scheduler_ = std::make_unique<QuantumScheduler>(cores_, options.quantum_cycles);
  }

  std::unique_ptr<arch::CoreFeed> attach(std::optional<unsigned> core) {
    const unsigned where = core ? *core : std::exchange(next_, (next_ + 1) % cores());
    CHECK(where < cores_.size(), where);
    return std::make_unique<ThreadReplay>(model_, book_, *memory_, *cores_[where], *scheduler_, threads_++, seed_);
  }
  unsigned cores() const { return static_cast<unsigned>(cores_.size()); }
  SharingLog* sharing() { return sharing_.get(); }
  SimulationWork work() const {
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
  std::vector<std::unique_ptr<ReplayCore>> cores_;
  std::unique_ptr<QuantumScheduler> scheduler_;
  unsigned next_ = 0;
};

ModelledMachine::ModelledMachine(const CoreModel& model, const MachineOptions& options) {
  CHECK(inconsistency(model) == nullptr);
  impl_ = std::make_unique<Impl>(model, options);
}
ModelledMachine::~ModelledMachine() = default;

std::unique_ptr<arch::CoreFeed> ModelledMachine::attach_thread(std::optional<unsigned> core) {
  return impl_->attach(core);
}
unsigned ModelledMachine::cores() const { return impl_->cores(); }
SharingLog* ModelledMachine::sharing() { return impl_->sharing(); }
SimulationWork ModelledMachine::work() const { return impl_->work(); }

}  // namespace zs::uarch
