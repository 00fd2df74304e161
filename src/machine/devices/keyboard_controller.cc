#include "machine/devices/keyboard_controller.h"

#include "machine/devices/system_ports.h"

namespace zs::machine {
namespace {

enum Command : std::uint8_t {
  kReadCommandByte = 0x20,
  kWriteCommandByte = 0x60,
  kTest = 0xAA,
  kTestKeyboard = 0xAB,
  kDisableKeyboard = 0xAD,
  kEnableKeyboard = 0xAE,
  kReadInputPort = 0xC0,
  kReadOutputPort = 0xD0,
  kWriteOutputPort = 0xD1,
  kWriteKeyboardBuffer = 0xD2,
  kWriteMouse = 0xD4,
  kCloseA20 = 0xDD,
  kOpenA20 = 0xDF,
  kPulseReset = 0xFE,
};
enum Status : std::uint8_t { kHasAnswer = 1, kTested = 4, kLastWasCommand = 8, kNotLocked = 0x10 };
constexpr std::uint8_t kInterrupts = 1, kHoldsKeyboard = 0x10;  // of the command byte: IRQ1
constexpr std::uint8_t kNotReset = 1, kOutputA20 = 2;           // of the output port
constexpr std::uint8_t kAcknowledge = 0xFA;

}  // namespace

std::uint8_t KeyboardController::in(std::uint16_t port) {
  if (port == kStatus) {
    return static_cast<std::uint8_t>(kTested | kNotLocked | (answers_.empty() ? 0 : kHasAnswer) |
                                     (last_was_command_ ? kLastWasCommand : 0));
  }
  if (answers_.empty()) return last_;
  last_ = answers_.front();
  answers_.pop_front();
  if (!answers_.empty() && (command_byte_ & kInterrupts) != 0) pins_.request_irq(1);
  return last_;
}

void KeyboardController::out(std::uint16_t port, std::uint8_t value) {
  last_was_command_ = port == kStatus;
  port == kStatus ? command(value) : data(value);
}

/// Of the controller's own: loaders poll for it with interrupts on, and no handler of IRQ1 is to take it from them.
void KeyboardController::hold(std::uint8_t value) {
  constexpr std::size_t kMostAnswers = 16;
  if (answers_.size() < kMostAnswers) answers_.push_back(value);
}

/// Of the keyboard's.
void KeyboardController::answer(std::uint8_t value) {
  hold(value);
  if ((command_byte_ & kInterrupts) != 0) pins_.request_irq(1);
}

void KeyboardController::command(std::uint8_t value) {
  parameter_of_ = 0;
  switch (value) {
    case kReadCommandByte: hold(command_byte_); return;
    case kTest: hold(0x55); return;
    case kTestKeyboard: hold(0x00); return;
    case kReadInputPort: hold(0x80); return;  // not locked
    case kReadOutputPort: hold(static_cast<std::uint8_t>(kNotReset | (pins_.a20() ? kOutputA20 : 0))); return;
    case kWriteCommandByte:
    case kWriteOutputPort:
    case kWriteKeyboardBuffer:
    case kWriteMouse: parameter_of_ = value; return;
    case kDisableKeyboard:
    case kEnableKeyboard: disabled_ = value == kDisableKeyboard; return;
    case kCloseA20:
    case kOpenA20: pins_.set_a20(value == kOpenA20); return;
    case kPulseReset: pins_.pulse_reset(); return;
    default: return;  // interfaces on and off, tests of a mouse that is not there
  }
}

void KeyboardController::data(std::uint8_t value) {
  const std::uint8_t of = parameter_of_;
  parameter_of_ = 0;
  switch (of) {
    case kWriteCommandByte:
      command_byte_ = value;
      disabled_ = (value & kHoldsKeyboard) != 0;
      return;
    case kWriteOutputPort:
      pins_.set_a20((value & kOutputA20) != 0);
      if ((value & kNotReset) == 0) pins_.pulse_reset();
      return;
    case kWriteKeyboardBuffer: answer(value); return;
    case kWriteMouse: return;  // no mouse: nobody answers
    default: to_keyboard(value); return;
  }
}

void KeyboardController::to_keyboard(std::uint8_t value) {
  enum Keyboard : std::uint8_t {
    kLights = 0xED,
    kEcho = 0xEE,
    kScanCodes = 0xF0,
    kIdentify = 0xF2,
    kRate = 0xF3,
    kReset = 0xFF
  };
  if (keyboard_parameter_) {
    keyboard_parameter_ = false;
    answer(kAcknowledge);
    return;
  }
  switch (value) {
    case kEcho: answer(kEcho); return;
    case kIdentify:
      for (const std::uint8_t byte : {kAcknowledge, std::uint8_t{0xAB}, std::uint8_t{0x83}}) answer(byte);
      return;
    case kReset:
      answer(kAcknowledge);
      answer(0xAA);  // its own test is passed
      return;
    case kLights:
    case kScanCodes:
    case kRate: keyboard_parameter_ = true; [[fallthrough]];
    default: answer(kAcknowledge);
  }
}

}  // namespace zs::machine
