#include "machine/devices/vga.h"

#include <algorithm>

namespace zs::machine {
namespace {

enum Port : std::uint16_t {
  kAttribute = 0x3C0,
  kAttributeRead = 0x3C1,
  kMiscWrite = 0x3C2,
  kSequencerIndex = 0x3C4,
  kSequencerData = 0x3C5,
  kColourMask = 0x3C6,
  kColourReadIndex = 0x3C7,
  kColourWriteIndex = 0x3C8,
  kColourData = 0x3C9,
  kMiscRead = 0x3CC,
  kGraphicsIndex = 0x3CE,
  kGraphicsData = 0x3CF,
  kCrtIndex = 0x3D4,
  kCrtData = 0x3D5,
  kInputStatus = 0x3DA,
};

/// Registers as the video BIOS loads them; those of the CRT controller up to 18H.
struct ModeRegisters {
  std::uint8_t misc;
  std::array<std::uint8_t, 5> sequencer;
  std::array<std::uint8_t, 25> crt;
  std::array<std::uint8_t, 9> graphics;
  std::array<std::uint8_t, 21> attributes;
};
constexpr ModeRegisters kMode3{0x67,
                               {0x03, 0x00, 0x03, 0x00, 0x02},
                               {0x5F, 0x4F, 0x50, 0x82, 0x55, 0x81, 0xBF, 0x1F, 0x00, 0x4F, 0x0D, 0x0E, 0x00,
                                0x00, 0x00, 0x00, 0x9C, 0x8E, 0x8F, 0x28, 0x1F, 0x96, 0xB9, 0xA3, 0xFF},
                               {0x00, 0x00, 0x00, 0x00, 0x00, 0x10, 0x0E, 0x00, 0xFF},
                               {0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x14, 0x07, 0x38, 0x39, 0x3A,
                                0x3B, 0x3C, 0x3D, 0x3E, 0x3F, 0x0C, 0x00, 0x0F, 0x08, 0x00}};
constexpr ModeRegisters kMode1{0x67,
                               {0x03, 0x08, 0x03, 0x00, 0x02},
                               {0x2D, 0x27, 0x28, 0x90, 0x2B, 0xA0, 0xBF, 0x1F, 0x00, 0x4F, 0x0D, 0x0E, 0x00,
                                0x00, 0x00, 0x00, 0x9C, 0x8E, 0x8F, 0x14, 0x1F, 0x96, 0xB9, 0xA3, 0xFF},
                               kMode3.graphics,
                               kMode3.attributes};
constexpr ModeRegisters kMode4{0x63,
                               {0x03, 0x09, 0x03, 0x00, 0x02},
                               {0x2D, 0x27, 0x28, 0x90, 0x2B, 0x80, 0xBF, 0x1F, 0x00, 0xC1, 0x00, 0x00, 0x00,
                                0x00, 0x00, 0x00, 0x9C, 0x8E, 0x8F, 0x14, 0x00, 0x96, 0xB9, 0xA2, 0xFF},
                               {0x00, 0x00, 0x00, 0x00, 0x00, 0x30, 0x0F, 0x00, 0xFF},
                               {0x00, 0x13, 0x15, 0x17, 0x02, 0x04, 0x06, 0x07, 0x10, 0x11, 0x12,
                                0x13, 0x14, 0x15, 0x16, 0x17, 0x01, 0x00, 0x03, 0x00, 0x00}};
constexpr ModeRegisters kMode6{0x63,
                               {0x03, 0x01, 0x01, 0x00, 0x06},
                               {0x5F, 0x4F, 0x50, 0x82, 0x54, 0x80, 0xBF, 0x1F, 0x00, 0xC1, 0x00, 0x00, 0x00,
                                0x00, 0x00, 0x00, 0x9C, 0x8E, 0x8F, 0x28, 0x00, 0x96, 0xB9, 0xC2, 0xFF},
                               {0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0D, 0x00, 0xFF},
                               {0x00, 0x17, 0x17, 0x17, 0x17, 0x17, 0x17, 0x17, 0x17, 0x17, 0x17,
                                0x17, 0x17, 0x17, 0x17, 0x17, 0x01, 0x00, 0x01, 0x00, 0x00}};
constexpr ModeRegisters kMode13{0x63,
                                {0x03, 0x01, 0x0F, 0x00, 0x0E},
                                {0x5F, 0x4F, 0x50, 0x82, 0x54, 0x80, 0xBF, 0x1F, 0x00, 0x41, 0x00, 0x00, 0x00,
                                 0x00, 0x00, 0x00, 0x9C, 0x8E, 0x8F, 0x28, 0x40, 0x96, 0xB9, 0xA3, 0xFF},
                                {0x00, 0x00, 0x00, 0x00, 0x00, 0x40, 0x05, 0x0F, 0xFF},
                                {0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0A,
                                 0x0B, 0x0C, 0x0D, 0x0E, 0x0F, 0x41, 0x00, 0x0F, 0x00, 0x00}};

/// Two bits of each part: the low one of 21, the high one of 42, as EGA's six-bit colours are shown.
constexpr Vga::Colour ega_colour(unsigned n) {
  const auto part = [n](unsigned high, unsigned low) {
    return static_cast<std::uint8_t>((n >> high & 1) * 42 + (n >> low & 1) * 21);
  };
  return {part(2, 5), part(1, 4), part(0, 3)};
}

/// The colours of mode 13H: EGA's sixteen, sixteen greys, then 24 hues in three saturations of three intensities.
std::array<Vga::Colour, 256> colours_of_mode_13() {
  constexpr std::uint8_t kGreys[] = {0, 5, 8, 11, 14, 17, 20, 24, 28, 32, 36, 40, 45, 50, 56, 63};
  // From the least to the greatest value of a part, in five steps.
  constexpr std::uint8_t kSteps[9][5] = {{0, 16, 31, 47, 63}, {31, 39, 47, 55, 63}, {45, 49, 54, 58, 63},
                                         {0, 7, 14, 21, 28},  {14, 17, 21, 24, 28}, {20, 22, 24, 26, 28},
                                         {0, 4, 8, 12, 16},   {8, 10, 12, 14, 16},  {11, 12, 13, 15, 16}};
  std::array<Vga::Colour, 256> colours{};
  for (unsigned n = 0; n < 16; ++n) {
    const unsigned bright = n < 8 ? 0u : 0x38u;
    colours[n] = ega_colour(n == 6 ? 0x14u : (n & 7u) | bright);  // 6 is brown
    colours[16 + n] = {kGreys[n], kGreys[n], kGreys[n]};
  }
  for (unsigned group = 0; group < 9; ++group) {
    for (unsigned hue = 0; hue < 24; ++hue) {
      // Blue, then red rises, blue falls, green rises, red falls, blue rises, green falls: four steps each.
      const auto part = [&](unsigned rises, unsigned falls) {
        const unsigned from_rise = (hue + 24 - rises) % 24, from_fall = (hue + 24 - falls) % 24;
        unsigned step = from_rise < (falls + 24 - rises) % 24 ? std::min(from_rise, 4u) : 4 - std::min(from_fall, 4u);
        return kSteps[group][step];
      };
      colours[32 + group * 24 + hue] = {part(0, 12), part(8, 20), part(16, 4)};
    }
  }
  return colours;
}

}  // namespace

void Vga::add_to(PortMap& map) {
  map.add(*this, kAttribute, kGraphicsData);
  map.add(*this, kCrtIndex, kCrtData);
  map.add(*this, kInputStatus, kInputStatus);
}

void Vga::set_mode(std::uint8_t mode) {
  const ModeRegisters& registers = mode == 0x13 ? kMode13
                                   : mode == 1  ? kMode1
                                   : mode == 4  ? kMode4
                                   : mode == 6  ? kMode6
                                                : kMode3;
  misc_ = registers.misc;
  sequencer_.values = registers.sequencer;
  std::copy(registers.crt.begin(), registers.crt.end(), crt_.values.begin());
  graphics_.values = registers.graphics;
  attributes_.values = registers.attributes;
  mask_ = 0xFF;
  colours_ = colours_of_mode_13();
  if (mode != 0x13) {
    for (unsigned n = 0; n < colours_.size(); ++n) colours_[n] = n < 64 ? ega_colour(n) : Colour{};
  }
}

Vga::Shows Vga::shows() const {
  constexpr std::uint8_t kGraphics = 1, kChain4 = 8, kManyColours = 0x40;
  if ((graphics_.values[6] & kGraphics) == 0) return Shows::Text;
  const bool linear = (graphics_.values[5] & kManyColours) != 0 && (sequencer_.values[4] & kChain4) != 0;
  return linear ? Shows::Linear256 : Shows::OtherGraphics;
}

/// The CRT controller's offset from row to row is in units of four bytes, two cells.
unsigned Vga::text_columns() const { return crt_.values[0x13] == 0x14 ? 40 : 80; }

/// In units of four bytes in this mode.
unsigned Vga::first_byte() const { return (unsigned{crt_.values[0x0C]} << 8 | crt_.values[0x0D]) * 4 & 0xFFFF; }

std::uint8_t Vga::in(std::uint16_t port) {
  switch (port) {
    case kAttribute: return attributes_.index;
    case kAttributeRead: return attributes_.get();
    case kMiscWrite: return 0x10;  // a display is connected
    case kSequencerIndex: return sequencer_.index;
    case kSequencerData: return sequencer_.get();
    case kColourMask: return mask_;
    case kColourReadIndex: return 3;
    case kColourWriteIndex: return write_colour_;
    case kColourData: {
      const Colour& c = colours_[read_colour_];
      const std::uint8_t value = read_part_ == 0 ? c.red : read_part_ == 1 ? c.green : c.blue;
      if (++read_part_ == 3) read_part_ = 0, ++read_colour_;
      return value;
    }
    case kMiscRead: return misc_;
    case kGraphicsIndex: return graphics_.index;
    case kGraphicsData: return graphics_.get();
    case kCrtIndex: return crt_.index;
    case kCrtData: return crt_.get();
    case kInputStatus:
      attribute_data_comes_ = false;
      retrace_ = !retrace_;
      return retrace_ ? 9 : 0;
    default: return 0xFF;
  }
}

void Vga::out(std::uint16_t port, std::uint8_t value) {
  switch (port) {
    case kAttribute:
      if (attribute_data_comes_) {
        attributes_.set(value);
      } else {
        attributes_.index = value & 0x1F;
      }
      attribute_data_comes_ = !attribute_data_comes_;
      return;
    case kMiscWrite: misc_ = value; return;
    case kSequencerIndex: sequencer_.index = value; return;
    case kSequencerData: sequencer_.set(value); return;
    case kColourMask: mask_ = value; return;
    case kColourReadIndex: read_colour_ = value, read_part_ = 0; return;
    case kColourWriteIndex: write_colour_ = value, write_part_ = 0; return;
    case kColourData: {
      Colour& c = colours_[write_colour_];
      (write_part_ == 0 ? c.red : write_part_ == 1 ? c.green : c.blue) = value & 63;
      if (++write_part_ == 3) write_part_ = 0, ++write_colour_;
      return;
    }
    case kGraphicsIndex: graphics_.index = value; return;
    case kGraphicsData: graphics_.set(value); return;
    case kCrtIndex: crt_.index = value; return;
    case kCrtData: crt_.set(value); return;
    default: return;
  }
}

}  // namespace zs::machine
