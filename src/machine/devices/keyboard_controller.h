// The 8042 at ports 60H and 64H, with a keyboard that answers commands and that a typist may type on (typist.h). It
// also holds the A20 gate and the reset line, as PCs have it.
// source: Intel 8042 and IBM AT Technical Reference, "Keyboard Controller", "Keyboard: Commands from the System".
#pragma once

#include <cstdint>
#include <deque>

#include "machine/port_map.h"

namespace zs::machine {

class SystemPins;

class KeyboardController : public PortDevice {
 public:
  static constexpr std::uint16_t kData = 0x60, kStatus = 0x64;
  explicit KeyboardController(SystemPins& pins) : pins_(pins) {}
  std::uint8_t in(std::uint16_t port) override;
  void out(std::uint16_t port, std::uint8_t value) override;
  /// A byte of the keyboard's, when there is room for it.
  bool takes_key() const { return answers_.empty() && !disabled_; }
  void key(std::uint8_t code) { answer(code); }
  /// Whether port 60H has something that was not read yet.
  bool has_byte() const { return !answers_.empty(); }

 private:
  void command(std::uint8_t value);
  void data(std::uint8_t value);
  void to_keyboard(std::uint8_t value);
  void hold(std::uint8_t value);
  void answer(std::uint8_t value);

  SystemPins& pins_;
  std::deque<std::uint8_t> answers_;
  std::uint8_t command_byte_ = 0x61;  // translation, mouse off, IRQ1
  std::uint8_t parameter_of_ = 0;     // the controller command whose parameter comes to port 60H
  std::uint8_t last_ = 0;             // what port 60H gave: it stays there
  bool disabled_ = false;             // the keyboard's clock is held
  bool keyboard_parameter_ = false;   // a keyboard command's parameter comes
  bool last_was_command_ = false;
};

}  // namespace zs::machine
