// The primary IDE channel with one disk or two, programmed I/O only: IDENTIFY, reading and writing by CHS and LBA28.
// What is written goes to the image's copy in memory. Everything is ready at once; there is no DMA.
// source: ATA-4 (T13/1153), "Command Block Registers", "Command Descriptions".
#pragma once

#include <array>
#include <cstdint>
#include <functional>

#include "machine/port_map.h"

namespace zs::machine {

class DiskImage;

class IdeDisk : public PortDevice {
 public:
  static constexpr std::uint16_t kFirst = 0x1F0, kLast = 0x1F7, kControl = 0x3F6;
  /// line    IRQ14
  /// second  may be null
  IdeDisk(DiskImage& disk, std::function<void(bool up)> line, DiskImage* second = nullptr)
      : disks_{&disk, second}, line_(std::move(line)) {
    reset();
  }
  std::uint8_t in(std::uint16_t port) override;
  void out(std::uint16_t port, std::uint8_t value) override;
  bool wide_in(std::uint16_t port, unsigned bytes, std::uint32_t& value) override;
  bool wide_out(std::uint16_t port, unsigned bytes, std::uint32_t value) override;

 private:
  enum class Phase : std::uint8_t { None, ToGuest, FromGuest };
  void reset();
  void command(std::uint8_t value);
  void identify();
  void begin_transfer(Phase phase);
  void next_sector();
  void finish(std::uint8_t error);
  void signal();
  std::uint8_t take_byte();
  void give_byte(std::uint8_t value);
  std::uint64_t first_sector() const;
  /// The one that is selected; null if it is not there.
  DiskImage* disk() const { return disks_[drive_ >> 4 & 1]; }

  std::array<DiskImage*, 2> disks_;
  std::function<void(bool)> line_;
  std::uint8_t error_ = 0, count_ = 0, sector_ = 0, low_ = 0, high_ = 0, drive_ = 0, status_ = 0;
  std::uint8_t control_ = 0;
  Phase phase_ = Phase::None;
  std::array<std::uint8_t, 512> buffer_{};
  unsigned at_ = 0;
  std::uint64_t next_ = 0;
  unsigned left_ = 0;  // sectors behind the one in the buffer
};

}  // namespace zs::machine
