// The keys that wait for INT 16H, in the BIOS data area, where programs look for them too, and what makes them of scan
// codes.
// source: IBM PS/2 and PC BIOS Interface Technical Reference, "INT 09H", "Keyboard Data Area".
#pragma once

#include <cstdint>

namespace zs::machine {

class PhysicalMemory;

/// A key is its scan code above and its character below, as INT 16H says it.
class KeyBuffer {
 public:
  explicit KeyBuffer(PhysicalMemory& memory) : memory_(memory) {}
  bool empty() const;
  bool full() const;
  void put(std::uint16_t key);
  /// Of a buffer that is not empty.
  std::uint16_t front() const;
  void pop();
  /// A byte of the keyboard: a key more in the buffer, or another that is held.
  void take(std::uint8_t code);

 private:
  std::uint16_t behind(std::uint16_t place) const;
  PhysicalMemory& memory_;
};

}  // namespace zs::machine
