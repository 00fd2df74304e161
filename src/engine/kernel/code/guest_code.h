// The program's code as the translator gets it, and what happens when it changes: the translations of what was there
// go.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "engine/account/probes.h"
#include "engine/kernel/code/written_files.h"
#include "engine/memory/code_protection.h"
#include "engine/run.h"
#include "isa/decode.h"

namespace zs::engine {

using isa::kLongestInstruction;

class GuestCode final : public CodeSource, public CodeListener {
 public:
  GuestCode(Run& run, Probes& probes, WrittenFiles& written) : run_(run), probes_(probes), written_(written) {}

  // ---- CodeSource
  std::span<const std::uint8_t> fetch(std::uint64_t pc) override;
  Probe probe(const Insn& insn) override {
    if (steps_rdtsc_ && is_rdtsc_or_rdtscp(insn)) return {.time = ProbeTime::Before, .stepped = true};
    return probes_.at(insn);
  }
  bool may_change_unseen(std::uint64_t pc) override;
  void translated(std::uint64_t page) override;

  // ---- CodeListener
  void code_changed(std::uint64_t start, std::uint64_t end) override;
  void give_way() override;

  /// A fault at `address`. returns whether it was a store into a page that has translations: they are dropped, and it
  /// is to run alone
  bool handle_write(std::uint64_t address);
  /// A store into code runs alone next, with the page writable.
  bool page_is_open() const { return open_page_ != 0; }
  /// That page, which is closed again as soon as its code is translated; 0: none. What ran meanwhile may be stale.
  std::uint64_t take_open_page() { return std::exchange(open_page_, 0); }
  /// Mappings may be others now.
  void forget_mapping() { fetch_range_ = {}; }
  /// From now on RDTSC and RDTSCP run alone.
  void step_rdtsc() { translates_anew_ |= !std::exchange(steps_rdtsc_, true); }
  /// returns whether what was translated must not run any more, since this was asked last
  bool take_translates_anew() { return std::exchange(translates_anew_, false); }

 private:
  Run& run_;
  Probes& probes_;
  WrittenFiles& written_;
  std::uint64_t open_page_ = 0;
  bool translates_anew_ = false;
  bool steps_rdtsc_ = false;
  bool fetch_shared_ = false;
  AddressRange fetch_range_{};              // last executable mapping fetched from
  std::array<std::uint8_t, 16> fetched_{};  // what was fetched last
};

}  // namespace zs::engine
