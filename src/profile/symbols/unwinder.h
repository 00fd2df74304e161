// Call chains from DWARF call frame information: the registers and the copied piece of stack that a sample carries,
// and the unwind tables of the files that were mapped. Where the stack copy or the tables end, so does the chain.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "profile/perf_data/address_space.h"
#include "profile/symbols/symbolizer.h"

namespace zs::profile {

class Unwinder {
 public:
  /// `symbolizer` opens the images: a file of another build must not unwind either. It must outlive this.
  explicit Unwinder(Symbolizer& symbolizer);
  ~Unwinder();

  /// Innermost first, at most `longest` entries; the first is registers.ip, the others are one less than the return
  /// address, so that they lie in the calling instruction.
  std::vector<std::uint64_t> unwind(const AddressSpaces& spaces, const session::Sample& sample, std::size_t longest);

 private:
  struct Process;
  Symbolizer& symbolizer_;
  std::unordered_map<std::int32_t, std::unique_ptr<Process>> processes_;
};

}  // namespace zs::profile
