// What the parts of the running engine work on together; who needs the threads or the memory alone takes those. One per
// process; used under the engine lock, by the running thread, unless a comment says otherwise.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "engine/loader/program.h"
#include "engine/observer.h"
#include "engine/run/counting_mode.h"
#include "engine/run/guest_memory.h"
#include "engine/run/moved_code.h"
#include "engine/run/thread_set.h"
#include "engine/translate/code_cache.h"
#include "engine/translate/stubs.h"
#include "engine/translate/translator.h"
#include "engine/visits.h"

namespace zs::engine {

struct Run : ThreadSet, GuestMemory {
  Run(const Config& wanted, Observer& recorder, const ProgramPlan& plan);

  /// Whether the counters hear of what is modelled.
  bool in_unit() const { return !phased || *thread->cpu.phase == Phase::Unit; }
  std::uint64_t& gpr(Gpr reg) const { return context.gpr[reg]; }
  /// Sets the FS base of the running thread.
  void set_fs_base(std::uint64_t base);
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
  MovedCode moved_code;  // as core models see it
  UntouchedEntries untouched_entries;
  std::unique_ptr<CodeCache> code_cache;  // of the translation that runs
  Context& context;
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
