// What the guest kernel is made of, each part of those before it. Threads, execve and system calls work on several at
// once, and stand above them (guest_kernel.h).
#pragma once

#include "engine/account/accountant.h"
#include "engine/cache/translation_cache.h"
#include "engine/kernel/calls/code_files.h"
#include "engine/kernel/calls/host_kernel.h"
#include "engine/kernel/calls/shared_tracing.h"
#include "engine/kernel/calls/turn_calls.h"
#include "engine/kernel/code/code_entry.h"
#include "engine/kernel/code/guest_code.h"
#include "engine/kernel/code/written_files.h"
#include "engine/kernel/signals/signal_entry.h"
#include "engine/kernel/signals/signal_frames.h"
#include "engine/kernel/signals/signal_gate.h"
#include "engine/kernel/signals/signals.h"
#include "engine/kernel/threads/awaited_memory.h"
#include "engine/kernel/threads/futexes.h"
#include "engine/kernel/threads/recorded_threads.h"
#include "engine/kernel/threads/thread_stacks.h"
#include "engine/kernel/threads/thread_turns.h"
#include "engine/kernel/virtual_time/process_turns.h"
#include "engine/kernel/virtual_time/virtual_clock.h"
#include "engine/run.h"

namespace zs::engine {

struct KernelParts {
  KernelParts(Run& running, Accountant& accounting)
      : run(running), accountant(accounting), clock(running.config.random_seed.value_or(running.config.seed)) {}

  Run& run;
  Accountant& accountant;
  GuestMemory& memory = run;
  ThreadSet& thread_set = run;
  VirtualClock clock;
  ProcessTurns process_turns;
  TranslationCache cache{run};
  WrittenFiles written_files{run.map.mappings()};
  GuestCode code{run, accountant.probes, written_files};
  CodeFiles code_files{memory, thread_set, code, written_files};
  CodeEntry entry{run};
  SignalEntry signal_entry{run, entry};
  SignalGate gate{thread_set};
  SignalFrames frames{memory, thread_set, run.context, run.config.cpu_level};
  RecordedThreads recorded{memory, thread_set, accountant};
  Signals signals{run, gate, frames, recorded, process_turns, accountant.exits};
  ThreadStacks stacks;
  ThreadTurns turns{run, accountant, entry, code, recorded, stacks};
  AwaitedMemory awaited{run, accountant, turns};
  Futexes futexes{memory, thread_set, run.config, accountant.core, turns};
  TurnCalls turn_calls{memory, run.counting, process_turns};
  HostKernel host{memory, thread_set, turns, turn_calls, awaited, code_files};
  SharedTracing tracing{memory, thread_set};
};

}  // namespace zs::engine
