#include "session/recording/callchain.h"

#include <array>
#include <cstring>
#include <span>

namespace zs::session {
namespace {

struct Frame {
  std::uint64_t caller_bp, return_address;
};

/// Frames lie close together, so a page is fetched once and read many times.
class CachedMemory {
 public:
  explicit CachedMemory(ProgramMemory& memory) : memory_(memory) {}

  bool read(std::uint64_t address, Frame& frame) {
    if (address < start_ || address + sizeof frame > start_ + length_ || address + sizeof frame < address) {
      start_ = address;
      length_ = memory_.read(address, window_);
    }
    if (length_ < sizeof frame || address - start_ > length_ - sizeof frame) return false;
    std::memcpy(&frame, window_.data() + (address - start_), sizeof frame);
    return true;
  }

 private:
  ProgramMemory& memory_;
  std::array<std::byte, 2048> window_;
  std::uint64_t start_ = 0;
  std::size_t length_ = 0;
};

}  // namespace

std::vector<std::uint64_t> walk_frame_pointers(std::uint64_t ip, const arch::RegisterFile& registers,
                                               ProgramMemory& memory, std::size_t longest) {
  std::vector<std::uint64_t> chain{ip};
  CachedMemory stack{memory};
  Frame frame{};
  for (std::uint64_t bp = registers.bp; chain.size() < longest && bp % 8 == 0 && stack.read(bp, frame);
       bp = frame.caller_bp) {
    if (frame.return_address == 0 || frame.caller_bp == bp) break;
    chain.push_back(frame.return_address);
  }
  return chain;
}

}  // namespace zs::session
