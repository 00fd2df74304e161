#include "engine/run.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "engine/segment_bases.h"

namespace zs::engine {
Run::Run(const Config& wanted, Observer& recorder, const ProgramPlan& plan)
    : ThreadSet(recorder),
      GuestMemory(plan.layout, !wanted.native_load, static_cast<ThreadSet&>(*this)),
      config(wanted),
      moved_code(map.mappings(), config.placement),
      untouched_entries(config.first_private_fd),
      code_cache(std::make_unique<CodeCache>(plan.layout.code_cache(), config.code_cache_bytes, untouched_entries)),
      context(code_cache->context()) {
  map.exec_gain().begin(config.mdwe);
  CHECK(CodeCache::bytes_needed(config.code_cache_bytes) <= plan.layout.engine.end - plan.layout.code_cache());
}

void Run::set_fs_base(std::uint64_t base) {
  context.fs_base = base;
  if (!config.native_load) CHECK(set_real_gs_base(base) == 0, base);
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
