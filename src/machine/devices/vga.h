// VGA's registers as far as they tell what the screen shows: text of 80 or 40 columns, mode 13H (320 x 200 in 256
// colours), or graphics that this PC does not draw; and the 256 colours. Registers of timing and fonts are kept and
// without effect. source: IBM VGA XGA Technical Reference, "VGA Function", "Register Descriptions", "Video BIOS Modes".
#pragma once

#include <array>
#include <cstdint>

#include "machine/port_map.h"

namespace zs::machine {

class Vga : public PortDevice {
 public:
  static constexpr unsigned kWidth = 320, kHeight = 200;  // of mode 13H

  Vga() { set_mode(3); }
  /// 3CxH, 3D4H, 3D5H and 3DAH.
  void add_to(PortMap& map);
  std::uint8_t in(std::uint16_t port) override;
  void out(std::uint16_t port, std::uint8_t value) override;

  /// As the video BIOS sets modes 1, 3, 4, 6 and 13H.
  void set_mode(std::uint8_t mode);

  enum class Shows : std::uint8_t { Text, Linear256, OtherGraphics };
  Shows shows() const;
  unsigned text_columns() const;

  /// Six bits each.
  struct Colour {
    std::uint8_t red = 0, green = 0, blue = 0;
    bool operator==(const Colour&) const = default;
  };
  Colour colour(unsigned number) const { return colours_[number & 0xFF]; }
  /// What a pixel of this value shows: the mask at 3C6H leaves out bits.
  Colour shown_colour(unsigned value) const { return colours_[value & mask_]; }
  void set_colour(unsigned number, Colour colour) { colours_[number & 0xFF] = colour; }
  /// Where in the 64 KiB at A0000H the picture of mode 13H begins.
  unsigned first_byte() const;

 private:
  template <unsigned Count>
  struct Indexed {
    std::uint8_t index = 0;
    std::array<std::uint8_t, Count> values{};
    std::uint8_t get() const { return index < Count ? values[index] : std::uint8_t{0}; }
    void set(std::uint8_t value) {
      if (index < Count) values[index] = value;
    }
  };

  Indexed<256> crt_;
  Indexed<5> sequencer_;
  Indexed<9> graphics_;
  Indexed<21> attributes_;
  bool attribute_data_comes_ = false;
  std::uint8_t misc_ = 0, mask_ = 0xFF;
  std::uint8_t read_colour_ = 0, write_colour_ = 0, read_part_ = 0, write_part_ = 0;
  std::array<Colour, 256> colours_{};
  bool retrace_ = false;
};

}  // namespace zs::machine
