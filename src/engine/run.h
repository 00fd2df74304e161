// What the parts of the running engine work on together. One per process; used under the engine lock, by the running
// thread, unless a comment says otherwise.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "engine/loader/program.h"
#include "engine/memory/guest_map.h"
#include "engine/observer.h"
#include "engine/run/counting_mode.h"
#include "engine/run/engine_lock.h"
#include "engine/run/shown_ids.h"
#include "engine/thread.h"
#include "engine/translate/code_cache.h"
#include "engine/translate/stubs.h"
#include "engine/translate/translator.h"
#include "engine/visits.h"

namespace zs::engine {

struct Run {
  Run(const Config& wanted, Observer& recorder, const ProgramPlan& plan);

  /// Whether the counters hear of what is modelled.
  bool in_unit() const { return !phased || *thread->cpu.phase == Phase::Unit; }
  /// Whom to tell about the running thread: the recording, or nobody.
  Observer& observer() const;
  /// The running thread, as the recording has it.
  ThreadIdentity shown() const { return ids.shown(thread->id); }
  /// Whether it is one of the tool's, which the program has not.
  bool hides_descriptor(long fd) const {
    const int number = static_cast<int>(fd), first = config.first_private_fd;
    return number >= first && number < first + kPrivateDescriptors;
  }
  int executable_fd() const { return config.first_private_fd + kPrivateDescriptors - 1; }
  std::uint64_t& gpr(Gpr reg) const { return context.gpr[reg]; }
  /// Sets the FS base of the running thread.
  void set_fs_base(std::uint64_t base);
  /// Writes to the program's memory, as the kernel does for it: a page that is write-protected only because it has
  /// translations is opened. returns the bytes before the first one that cannot be written
  std::size_t write(std::uint64_t address, const void* data, std::size_t size);
  /// Reads the program's memory. returns the bytes before the first one that cannot be read
  std::size_t read(std::uint64_t address, void* data, std::size_t size) const;
  /// Copies between here and the program without the kernel. returns how much; the kernel may be able to copy the rest
  std::size_t copy(std::uint64_t guest, void* to, std::uint64_t from, std::size_t size) const;
  template <typename T>
  std::optional<T> value_at(std::uint64_t address) const {
    T value;
    return read(address, &value, sizeof value) == sizeof value ? std::optional(value) : std::nullopt;
  }
  /// Drops every translation of code in [start, end).
  void invalidate(std::uint64_t start, std::uint64_t end);
  /// Drops every translation.
  void flush();
  /// Another number: a reference to a block, or the number of an exit, from before means nothing any more.
  std::uint64_t code_generation() const;
  /// Goes on in the other of two translations of the program: with the trace that a core model needs, or without. Not
  /// before both are there (make_other()).
  void swap_translations();
  /// One beside the one that runs, which is empty yet and is what runs from here on: `counting`, `stubs` and
  /// `translator` are to be filled.
  void make_other();
  bool has_other() const { return other_.code_cache != nullptr; }
  /// Of the code cache.
  TraceBuffer& trace() const { return code_cache->trace(); }
  /// Calls `tell` with that of each translation, whichever runs.
  void for_each_code_cache(const std::function<void(CodeCache&)>& tell) const;

  /// Of the running thread, in the program's terms.
  arch::RegisterFile registers() const;

  Config config;
  Observer& recording;  // see observer()
  UntouchedEntries untouched_entries;
  std::unique_ptr<CodeCache> code_cache;  // of the translation that runs
  Context& context;
  GuestMap map;
  LoadedProgram program;
  Stubs stubs;
  CodeSource* code = nullptr;
  CountingMode counting;
  std::unique_ptr<Translator> translator;
  /// Where samples of the program are modelled: what the run does now (engine/account/phases.h).
  Phase phase = Phase::Unit;
  bool phased = false;
  std::uint64_t phases_begun = 0;
  WatchedInsns watched;  // while nothing is modelled
  EngineLock lock;
  ShownIds ids;
  Thread* thread = nullptr;  // who is in the Context
  std::vector<std::unique_ptr<Thread>> threads;

  std::uint64_t trace_start = 0;      // first byte of the records not drained yet
  std::uint64_t indirect_target = 0;  // of the last record drained, if it ends in an indirect branch
  std::uint64_t ran = 0;              // bytes of trace since the lock was last given away
  bool wants_indirect_entry = false;  // the next block was reached by an indirect branch
  Visits visits;

 private:
  /// Each with what is its own in place.
  void for_each_translator(const std::function<void(Translator&)>& tell);

  struct Other {
    std::unique_ptr<CodeCache> code_cache;
    Stubs stubs;
    CountingMode counting;
    std::unique_ptr<Translator> translator;
  };
  Other other_;
};

}  // namespace zs::engine
