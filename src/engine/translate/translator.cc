#include "engine/translate/translator.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/own_image.h"
#include "engine/memory/populate.h"
#include "engine/translate/snapshot_check.h"

namespace zs::engine {
namespace {

/// All pages of the program that are looked at soon, and the few between them.
void populate_code(std::span<const StoredPage> pages) {
  constexpr std::uint64_t kFew = 16;
  for (std::size_t first = 0, next = 1; first < pages.size(); first = next++) {
    while (next < pages.size() && pages[next].page - pages[next - 1].page <= kFew) ++next;
    populate({pages[first].page * kPageSize, (pages[next - 1].page + 1) * kPageSize}, Populate::ForReading);
  }
}

}  // namespace

Translator::Translator(CodeCache& cache, const Stubs& stubs, CodeSource& source, const AccumulatorSet& accumulators,
                       std::span<const std::uint32_t> units, const TranslationOptions& options)
    : cache_(cache),
      stubs_(stubs),
      source_(source),
      accumulators_(accumulators),
      units_(units.begin(), units.end()),
      options_(options),
      space_(cache, options.has_near()),
      store_(accumulators, units, options.tallies(), space_.begin(), space_.near_begin()),
      fact_counts_(accumulators),
      tables_(cache.untouched(), cache.layout().hashed_tables, stubs.hashed_miss),
      records_(cache.trace(), store_, options_),
      builder_(source, accumulators, options_, store_, fact_counts_),
      replay_(store_, builder_, accumulators, fact_counts_),
      emitter_(cache, stubs, store_, space_, tables_, fact_counts_, records_, options_),
      linker_(cache.direct_table(), stubs, store_, space_, tables_, records_) {}

const Block& Translator::get(std::uint64_t pc, Variant variant, std::uint32_t from) {
  if (const Block* block = store_.find(pc, variant)) {
    const auto is_current = [&] {
      return builder_.replay(*block, std::max<unsigned>(block->instructions, 1)).checksum() == block->checksum;
    };
    if (!block->unseen_changes || is_current()) return *block;
    if (options_.history != nullptr) options_.history->block_dies(store_.index_of(*block));
    linker_.kill(store_.index_of(*block));
  }
  if (nearly_full() || flush_soon_ || store_.mostly_dead()) {
    flush();
    from = kNone;
  }
  return translate(pc, variant, from);
}

const Block& Translator::translate(std::uint64_t pc, Variant variant, std::uint32_t from) {
  // Bytes, of blocks that nothing falls into: a line of the host's. Measured: with 16, an interpreter of bytecode takes
  // a third longer, gzip and a shell a twentieth to a tenth.
  constexpr std::uint64_t kEntryAlignment = 64;
  const Path& path = builder_.collect(pc, variant, variant == Variant::Step ? 1 : options_.max_instructions);
  Block block;
  block.pc = pc;
  block.variant = variant;
  block.unseen_changes = source_.may_change_unseen(pc);
  if (block.unseen_changes) block.checksum = path.checksum();
  const std::uint32_t index = store_.begin(block);
  const bool directly = variant == Variant::Full && linker_.looks_up_directly(pc);
  const bool falls_in = from != kNone && linker_.may_lead(from, variant);
  Emitter out = space_.open(variant, falls_in ? 1 : kEntryAlignment);
  if (falls_in)
    linker_.approach_from(from, out);
  else
    linker_.approach(block, out);
  emitter_.emit(path, block, index, directly, out);
  space_.close(variant, out);

  store_.add(block);
  if (options_.wants_retirements && block.unseen_changes) replay_.keep(index, path);
  note_pages(path, index);
  linker_.link_end(block, path);
  if (options_.history != nullptr && block.unseen_changes) options_.history->made(index);
  return store_.block(index);
}

void Translator::note_pages(const Path& path, std::uint32_t block) {
  std::uint64_t listed = ~std::uint64_t{0};  // no page
  path.for_each_page([&](std::uint64_t page) {
    note_page(page);
    if (page != std::exchange(listed, page)) store_.pages().add(page, block);
  });
}

// There is code of that page, which is watched from now on.
void Translator::note_page(std::uint64_t page) {
  if (store_.pages().add_page(page)) source_.translated(page);
}

void Translator::stop_counting_elements() {
  options_.count_elements = false;
  flush();
}

void Translator::flush() {
  if (options_.history != nullptr) options_.history->all_blocks_die();
  ++flushes_;
  flush_soon_ = false;
  store_.clear();
  space_.clear();
  replay_.clear();
  linker_.clear();
}

// ---- over the life of the process -----------------------------------------------------------------------------

std::vector<std::uint64_t> Translator::key() const {
  const TranslationOptions& o = options_;
  const DirectTable& direct = cache_.direct_table();
  std::vector<std::uint64_t> key = {
      o.max_instructions, o.processor.virtual_time, std::uint64_t(o.processor.level), o.wants_retirements,
      o.count_elements, o.brakes, std::uint64_t(o.form), o.addresses, o.risks, o.logs, o.stack_pointers,
      accumulators_.size(),
      // where everything lies
      cache_.context_address(), cache_.trace().end(), cache_.layout().code, cache_.layout().code_end,
      cache_.trace().pointer_bias(), direct.bias(), direct.is_mapped(), direct.fixed_code().start,
      direct.fixed_code().end, stubs_.enter, stubs_.unlinked, stubs_.step_done, stubs_.indirect_miss,
      stubs_.direct_miss, stubs_.hashed_miss, stubs_.guard, stubs_.fault, stubs_.at_stop, stubs_.choose_stop};
  for (std::size_t accumulator = 0; accumulator < accumulators_.size(); ++accumulator) {
    const arch::EventMeaning& meaning = accumulators_[accumulator];
    // Functions of this program, wherever it lies.
    const auto function = [](auto* address) {
      return address == nullptr ? 0 : reinterpret_cast<std::uint64_t>(address) - own_bias();
    };
    key.insert(key.end(), {function(meaning.count), meaning.memory, meaning.addresses, function(meaning.of_signals),
                           units_[accumulator]});
  }
  return key;
}

bool Translator::restore(const Snapshot& from) {
  if (take_over(from)) return true;
  flush();
  return false;
}

bool Translator::take_over(const Snapshot& from) {
  std::vector<SnapshotFacts> facts;
  if (!from.read(Part::Facts, facts) || facts.size() != 1) return false;
  if (!space_.restore(from) || !store_.restore(from, facts[0], space_.filled())) return false;
  linker_.restore(facts[0]);
  return true;
}

void Translator::wake(AddressRange code, CodePages& pages, bool checks) {
  StoredCode& stored = store_.stored();
  for (std::size_t number = 1; number <= stored.modules(); ++number) {
    const StoredModule& module = stored.module(number);
    if (!stored.sleeps(number) ||
        !code.contains(AddressRange{module.first_page * kPageSize, module.end_page * kPageSize}))
      continue;
    stored.wake(number);
    const bool known =
        !checks && module.version != 0 && module.version == pages.version({module.first_page, module.end_page});
    if (!known) compare(stored.pages_of(number), pages);
    linker_.restore_entries({module.first_page * kPageSize, module.end_page * kPageSize});
    if (checks) check(static_cast<std::uint16_t>(number));
  }
}

void Translator::compare(std::span<const StoredPage> stored, CodePages& pages) {
  populate_code(stored);
  for (const StoredPage& page : stored) {
    if (pages.hash(page.page) != page.hash) invalidate(page.page * kPageSize, (page.page + 1) * kPageSize);
  }
}

void Translator::check(std::uint16_t module) {
  SnapshotCheck check(cache_, stubs_, store_, tables_, builder_, accumulators_, units_, fact_counts_, options_);
  for (std::uint32_t index = 1; index < store_.size(); ++index) {
    const Block& block = store_.block(index);
    if (!block.dead && block.module == module)
      CHECK(check.is_good(index), index, block.pc, static_cast<unsigned>(block.variant));
  }
}

}  // namespace zs::engine
