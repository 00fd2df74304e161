// The program's threads in this process. One of them runs at a time; the others wait, or are in system calls.
#pragma once

#include <memory>
#include <vector>

#include "engine/observer.h"
#include "engine/run/engine_lock.h"
#include "engine/run/shown_ids.h"
#include "engine/thread.h"

namespace zs::engine {

struct ThreadSet {
  explicit ThreadSet(Observer& recorder) : recording(recorder) {}

  /// Whom to tell about the running thread: the recording, or nobody.
  Observer& observer() const;
  /// The running thread, as the recording has it.
  ThreadIdentity shown() const { return ids.shown(thread->id); }

  Observer& recording;  // see observer()
  EngineLock lock;
  ShownIds ids;
  Thread* thread = nullptr;  // who is in the Context
  std::vector<std::unique_ptr<Thread>> threads;
};

}  // namespace zs::engine
