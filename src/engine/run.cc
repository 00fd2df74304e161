#include "engine/run.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "engine/memory/copy_code.h"
#include "engine/memory/guest_access.h"
#include "engine/segment_bases.h"

namespace zs::engine {
namespace {

/// For a process that is not recorded.
class Nobody final : public Observer {
 public:
  VirtualCpu thread_started(const ThreadIdentity&) override { return {}; }
  void thread_exited(const ThreadIdentity&) override {}
  void pmi(const ThreadIdentity&, const arch::RegisterFile&) override {}
  void forked(const ThreadIdentity&, bool) override {}
  void in_forked_child() override {}
  void renamed(const ThreadIdentity&, const std::string&, bool) override {}
  void mapped(const ThreadIdentity&, const Mapping&) override {}
  void flush(const ThreadIdentity&) override {}
  void notice(const std::string&) override {}
  void refused(const std::string&) override {}
};

}  // namespace

Run::Run(const Config& wanted, Observer& recorder, const ProgramPlan& plan)
    : config(wanted),
      recording(recorder),
      untouched_entries(config.first_private_fd),
      code_cache(std::make_unique<CodeCache>(plan.layout.code_cache(), config.code_cache_bytes, untouched_entries)),
      context(code_cache->context()),
      map(plan.layout, !config.native_load) {
  map.exec_gain().begin(config.mdwe);
  CHECK(CodeCache::bytes_needed(config.code_cache_bytes) <= plan.layout.engine.end - plan.layout.code_cache());
}

Observer& Run::observer() const {
  static Nobody nobody;
  return thread->process->recorded ? recording : nobody;
}

void Run::set_fs_base(std::uint64_t base) {
  context.fs_base = base;
  if (!config.native_load) CHECK(set_real_gs_base(base) == 0, base);
}

std::size_t Run::write(std::uint64_t address, const void* data, std::size_t size) {
  if (map.code().protected_pages() != 0) map.code().open({address, address + size});
  const std::size_t copied =
      copy(address, reinterpret_cast<void*>(address), reinterpret_cast<std::uint64_t>(data), size);
  return copied + write_guest(address + copied, static_cast<const std::byte*>(data) + copied, size - copied);
}

std::size_t Run::read(std::uint64_t address, void* data, std::size_t size) const {
  const std::size_t copied = copy(address, data, address, size);
  return copied + read_guest(address + copied, static_cast<std::byte*>(data) + copied, size - copied);
}

// Two system calls less than when the kernel copies (guest_access.h). A tracer would be stopped by the fault.
std::size_t Run::copy(std::uint64_t guest, void* to, std::uint64_t from, std::size_t size) const {
  const bool answers = thread != nullptr && thread->takes_faults && !thread->process->traced;
  const bool is_guests = size != 0 && !is_out_of_reach(guest) && !is_out_of_reach(guest + size - 1);
  return answers && is_guests && size <= kTaskSize && guest <= kTaskSize - size ? zs_copy_code(to, from, size) : 0;
}

void Run::make_other() {
  CHECK(!has_other());
  const std::uint64_t first = CodeCache::bytes_needed(config.code_cache_bytes);
  // What is left of the engine's addresses, a mebibyte aligned; units run little code.
  constexpr std::size_t kMost = std::size_t{32} << 20, kUnit = std::size_t{1} << 20;
  const std::uint64_t start = page_up(map.layout().code_cache() + first);
  const std::uint64_t room = map.layout().engine.end - start, fixed = CodeCache::bytes_needed(0);
  CHECK(room > fixed + 4 * kUnit, room, fixed);
  other_.code_cache = std::make_unique<CodeCache>(start, std::min<std::uint64_t>(kMost, (room - fixed) & ~(kUnit - 1)),
                                                  untouched_entries, code_cache.get());
  swap_translations();
}

void Run::swap_translations() {
  std::swap(code_cache, other_.code_cache);
  std::swap(stubs, other_.stubs);
  std::swap(counting, other_.counting);
  std::swap(translator, other_.translator);
}

void Run::for_each_code_cache(const std::function<void(CodeCache&)>& tell) const {
  for (const auto* each : {&code_cache, &other_.code_cache}) {
    if (*each) tell(**each);
  }
}

void Run::for_each_translator(const std::function<void(Translator&)>& tell) {
  for (int i = 0; i < (has_other() ? 2 : 1); ++i) {
    if (translator) tell(*translator);
    if (has_other()) swap_translations();
  }
}

void Run::invalidate(std::uint64_t start, std::uint64_t end) {
  for_each_translator([start, end](Translator& each) { each.invalidate(start, end); });
}

void Run::flush() {
  for_each_translator([](Translator& each) { each.flush(); });
}

std::uint64_t Run::code_generation() const {
  return phases_begun + translator->flushes() + (other_.translator ? other_.translator->flushes() : 0);
}

arch::RegisterFile Run::registers() const { return arch::register_file(context.gpr, context.flags, thread->pc); }

}  // namespace zs::engine
