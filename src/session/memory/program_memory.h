// Reads the profiled program's memory, which is our own process's, at addresses that may not be mapped at all: register
// contents. Nothing faults; what cannot be read is not read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/observer.h"

namespace zs::session {

class ProgramMemory {
 public:
  virtual ~ProgramMemory() = default;
  /// What the engine offers: an implementation may ask it first.
  virtual void copies_by([[maybe_unused]] const engine::CopyOfProgram& copy) {}
  /// returns how many bytes from `address` on could be read; they are in `into`
  virtual std::size_t read(std::uint64_t address, std::span<std::byte> into) = 0;
};

/// The memory of this process: what the engine cannot copy through process_vm_readv, or through a memfd where a sandbox
/// refuses that.
class OwnProcessMemory final : public ProgramMemory {
 public:
  ~OwnProcessMemory() override;
  OwnProcessMemory(const OwnProcessMemory&) = delete;
  OwnProcessMemory& operator=(const OwnProcessMemory&) = delete;

  /// descriptor  the number of the fallback's, whatever is there until then; -1: any
  explicit OwnProcessMemory(int descriptor = -1) : descriptor_(descriptor) {}

  void copies_by(const engine::CopyOfProgram& copy) override { copy_ = copy; }
  std::size_t read(std::uint64_t address, std::span<std::byte> into) override;

 private:
  std::size_t read_by_kernel(std::uint64_t address, std::span<std::byte> into);
  std::size_t read_by_file(std::uint64_t address, std::span<std::byte> into);

  engine::CopyOfProgram copy_;
  int descriptor_;
  bool refused_ = false;
  int file_ = -1;
};

}  // namespace zs::session
