#include "pmu/recorded_access.h"

namespace zs::pmu {

using arch::CounterSet;

void RecordedAccess::set_event(unsigned n, arch::PerfEvtSel select, const arch::Event* row) {
  const auto put = [bit = arch::only(n).bits](CounterSet& set, bool in) {
    set.bits = in ? set.bits | bit : set.bits & ~bit;
  };
  put(with_address_, row != nullptr && row->data_address);
  put(of_stores_, row != nullptr && row->of_store);
  put(facility_stores_, arch::is_precise_store(model_, select));
  source_words_[n] = arch::source_word(model_, row);
}

arch::SourceWord RecordedAccess::source_word(CounterSet counters) const {
  using arch::SourceWord;
  SourceWord store = SourceWord::None;
  bool only_stores = true;
  for (CounterSet rest = counters; !rest.empty(); rest.bits &= rest.bits - 1) {
    const unsigned n = rest.first();
    const SourceWord word = n < source_words_.size() ? source_words_[n] : SourceWord::None;
    switch (word) {
      case SourceWord::LoadLatency:
        if (latency_.has(n)) return word;
        only_stores = false;
        break;
      case SourceWord::PreciseStore:
        only_stores = only_stores && precise_stores_.has(n);
        store = word;
        break;
      case SourceWord::StoreHit:
      case SourceWord::StoreLatency: store = word; break;
      case SourceWord::None:
      case SourceWord::PlainLoad: only_stores = false; break;
    }
  }
  return only_stores ? store : SourceWord::None;
}

}  // namespace zs::pmu
