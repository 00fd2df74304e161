#include "machine/devices/typist.h"

#include <utility>

#include "machine/devices/keyboard_controller.h"

namespace zs::machine {
namespace {

constexpr std::uint64_t kFirstKey = kTscHz / 2;
constexpr std::uint64_t kBetweenBytes = kTscHz / 1'000;  // what a byte takes on a keyboard's wire

}  // namespace

void Typist::type(std::vector<KeyStroke> strokes) {
  strokes_ = std::move(strokes);
  stroke_ = code_ = 0;
  due_ = clock_.now() + kFirstKey;
}

bool Typist::typing() const { return stroke_ != strokes_.size() || keyboard_.has_byte(); }

std::uint64_t Typist::deadline() const { return stroke_ == strokes_.size() || !keyboard_.takes_key() ? kNever : due_; }

void Typist::clock_moved() {
  if (deadline() > clock_.now()) return;
  const KeyStroke& stroke = strokes_[stroke_];
  due_ = clock_.now() + kBetweenBytes;
  if (code_ < stroke.codes.size()) keyboard_.key(stroke.codes[code_++]);
  if (code_ < stroke.codes.size()) return;
  due_ = clock_.now() + stroke.pause;
  code_ = 0;
  ++stroke_;
}

}  // namespace zs::machine
