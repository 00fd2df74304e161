// Keeps what the coherence model sees of lines that cores fight over (line_log.h). Its memory is bounded: of the lines
// with the most hand-overs, all is kept up to a number of stints; the lightest lines go when there are too many, and
// are only counted.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "uarch/coherence/directory.h"
#include "uarch/coherence/line_log.h"

namespace zs::uarch {

/// One access of a line that cores fight over.
struct SharedAccess {
  std::uint64_t linear = 0;  // of its first byte in the line
  std::uint64_t now = 0;     // core cycle
  std::uint64_t instruction = 0;
  std::uint32_t waited = 0;  // cycles beyond those of an L1 hit
  std::uint32_t held_up =
      0;  // of a store: cycles before it had room in the store buffer; of a locked one: until it was empty
  std::uint8_t bytes = 0;    // in the line
  std::uint8_t access = 0;   // LineAccess
  bool fetched = false;      // it did not hit, nor wait for a fetch that was under way
  bool handed_over = false;  // a write moved the line, or the right to write it
  bool hitm = false;         // a load that found it modified in another core
  CoreMask from = 0;         // handed over: the cores that had it,
  bool owned = false;        // and whether it was the only one that did
};

struct SharingLimits {
  // chosen: some 25 MiB together; a line that is fought over all the time has as many stints after half a second of a
  // processor
  std::size_t lines = 512, stints = 400'000, stints_of_line = 65'536, parts_of_stint = 64, uses_of_line = 512;
};

class SharingLog {
 public:
  explicit SharingLog(const SharingLimits& limits = {});
  ~SharingLog();
  SharingLog(const SharingLog&) = delete;
  SharingLog& operator=(const SharingLog&) = delete;

  /// From now on what `core` does is that thread's.
  void set_thread(unsigned core, std::uint16_t thread);
  void accessed(unsigned core, const SharedAccess& access);

  /// All lines kept, those with the most hand-overs first; of equals, the lower address.
  std::vector<LineLog> lines() const;
  /// Addresses of lines that are new since this was asked for the last time.
  std::vector<std::uint64_t> take_new_lines();
  std::uint64_t hand_overs_left_out() const { return left_out_; }
  void forget();

 private:
  struct Kept;
  Kept& line_of(std::uint64_t linear);
  void drop_light_lines();
  void begin_stint(Kept& line, unsigned core, const SharedAccess& access);
  void note_bytes(Kept& line, unsigned core, const SharedAccess& access);
  static void end_stint(Kept& line, unsigned core);
  void add_to_stint(Kept& line, unsigned core, const SharedAccess& access, std::uint32_t use);

  SharingLimits limits_;
  std::map<std::uint64_t, std::unique_ptr<Kept>> lines_;  // by number of the line
  std::uint64_t last_number_ = 0;
  Kept* last_ = nullptr;
  std::vector<std::uint16_t> threads_;  // by core
  std::vector<std::uint64_t> new_;
  std::size_t stints_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace zs::uarch
