#include "engine/kernel/threads/thread_turns.h"

#include <algorithm>
#include <utility>

#include "engine/one_processor.h"

namespace zs::engine {

void ThreadTurns::save(Thread& thread) {
  copy_registers(thread, run_.context);
  const auto* const area = reinterpret_cast<const std::byte*>(&run_.context) + kXsaveOffset;
  thread.xsave.assign(area, area + xsave_bytes());
}

void ThreadTurns::load(Thread& thread) {
  copy_registers(run_.context, thread);
  run_.context.host_rsp = thread.host_rsp;
  std::ranges::copy(thread.xsave, reinterpret_cast<std::byte*>(&run_.context) + kXsaveOffset);
  run_.thread = &thread;
  thread.interrupted = true;
  if (run_.lock.owner_died()) forget_dead_processes();
}

// A process that shared this memory was killed in the middle of its program, or of the engine. What it was about is
// forgotten; the counts of its last stretch are lost with it.
void ThreadTurns::forget_dead_processes() {
  entry_.end();
  entry_.untrip();
  run_.context.forget_passed_stops();
  accountant_.logged.leave();
  if (const std::uint64_t lifted = code_.take_open_page(); lifted != 0) run_.invalidate(lifted, lifted + kPageSize);
  for (auto at = run_.threads.begin(); at != run_.threads.end();) {
    Thread& thread = **at;
    if (&thread == run_.thread || thread.process == run_.thread->process || !EngineLock::is_gone(thread.process->pid)) {
      ++at;
      continue;
    }
    recorded_.forget(thread);
    stacks_.take_from(thread);
    dead_.push_back(std::move(*at));
    at = run_.threads.erase(at);
  }
}

void ThreadTurns::prepare_to_wait() {
  note_core_time();
  save(*run_.thread);
}

void ThreadTurns::note_core_time() {
  if (run_.counting.models) latest_core_time_ = std::max(latest_core_time_, CoreFeeder::time_of(*run_.thread));
}

void ThreadTurns::give_up() {
  prepare_to_wait();
  run_.lock.let_go(*run_.thread);
  run_.lock.release();
}

void ThreadTurns::give_up_to_wait() {
  prepare_to_wait();
  run_.lock.release_and_wait(*run_.thread);
}

void ThreadTurns::come_back(Thread& thread) {
  run_.lock.acquire(thread);
  load(thread);
}

void ThreadTurns::let_go_of_processors() {
  for (const auto& thread : run_.threads) run_.lock.let_go(*thread);
}

void ThreadTurns::yield() {
  Thread& thread = *run_.thread;
  Thread* next = nullptr;
  if (thread.cpu.core != nullptr) {
    next = accountant_.core.next_by_time();
    if (next == nullptr) return;
  }
  note_core_time();
  save(thread);
  run_.lock.take_turns(thread, next);
  come_back(thread);
}

}  // namespace zs::engine
