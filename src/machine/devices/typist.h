// Who types on the PC's keyboard: strokes prepared beforehand, byte after byte, each when the last one has been taken.
// So nothing is lost on software that looks seldom, and a run stays a function of its input.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "machine/clock.h"
#include "machine/devices/keys.h"

namespace zs::machine {

class KeyboardController;

class Typist : public TimedDevice {
 public:
  Typist(const Clock& clock, KeyboardController& keyboard) : clock_(clock), keyboard_(keyboard) {}
  /// Begins half a second after now.
  void type(std::vector<KeyStroke> strokes);
  /// Whether a byte is still to come, or waits to be taken.
  bool typing() const;

  std::uint64_t deadline() const override;
  void clock_moved() override;

 private:
  const Clock& clock_;
  KeyboardController& keyboard_;
  std::vector<KeyStroke> strokes_;
  std::size_t stroke_ = 0, code_ = 0;  // the next byte
  std::uint64_t due_ = 0;
};

}  // namespace zs::machine
