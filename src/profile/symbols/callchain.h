// The call chain of a sample as reports show it: from frame pointers, from the LBR call stack, or unwound by DWARF
// tables, each address with its frame.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/perf_data/perf_data_reader.h"
#include "profile/symbols/frames.h"
#include "profile/symbols/unwinder.h"

namespace zs::profile {

/// Whether chains show inlined functions as frames of their own. perf does so in all chains since version 6.4; before,
/// in those
/// that it unwound itself.
enum class Inlines { Always, Never };

struct ChainEntry {
  const Frame* frame = nullptr;
  Location location;
};

class Callchains {
 public:
  Callchains(Symbolizer& symbolizer, Frames& frames, Inlines inlines, std::size_t longest = 127)
      : symbolizer_(symbolizer), frames_(frames), unwinder_(symbolizer), inlines_(inlines), longest_(longest) {}

  /// Innermost first. Empty if the event's samples have none. Valid until the next call.
  const std::vector<ChainEntry>& of(const AddressSpaces& spaces, const PerfDataReader::Event& event,
                                    const SampleRecord& record);

 private:
  void add(const AddressSpaces& spaces, const SampleRecord& record, std::uint64_t address, std::uint16_t cpumode,
           bool with_inlines);

  Symbolizer& symbolizer_;
  Frames& frames_;
  Unwinder unwinder_;
  Inlines inlines_;
  std::size_t longest_;
  std::vector<ChainEntry> chain_;
};

}  // namespace zs::profile
