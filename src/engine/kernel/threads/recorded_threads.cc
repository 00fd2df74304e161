#include "engine/kernel/threads/recorded_threads.h"

#include "engine/kernel/threads/robust_list.h"

namespace zs::engine {

void RecordedThreads::announce(Thread& thread) {
  if (!thread.process->recorded) return;
  thread.cpu = threads_.observer().thread_started(threads_.ids.shown(thread.id));
  thread.core = thread.cpu.core;
  std::size_t accumulators = 0;
  for (const pmu::Pmu* pmu : thread.cpu.pmus) accumulators += pmu->accumulators().size();
  thread.accumulators_reported.assign(accumulators, 0);
  if (thread.core != nullptr) {
    thread.time_reported = thread.core->signals();
    thread.core->wait_until(thread.core_time);
  }
  thread.announced = true;
  CoreFeeder::pass_wishes(thread.cpu);
  accountant_.phases.place(thread);
  accountant_.core.begin(thread);
}

void RecordedThreads::forget(Thread& thread) {
  if (thread.announced) {
    thread.announced = false;
    accountant_.core.settle(thread);
    accountant_.exits.end(thread);
    threads_.recording.thread_exited(threads_.ids.shown(thread.id));  // not always the running thread
    thread.cpu = {};
    thread.core = nullptr;
  }
}

// Of this process: a vfork child ends alone.
void RecordedThreads::end_all() {
  const Process* process = threads_.thread->process.get();
  for (const auto& thread : threads_.threads) {
    if (thread->process.get() != process) continue;
    leave_robust_list(memory_, threads_, *thread);
    forget(*thread);
  }
}

}  // namespace zs::engine
