#include "machine/gdb/packet.h"

#include <charconv>

namespace zs::machine::gdb {
namespace {

constexpr char kDigits[] = "0123456789abcdef";
constexpr char kInterrupt = 3;

int digit(char letter) {
  if (letter >= '0' && letter <= '9') return letter - '0';
  if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
  if (letter >= 'A' && letter <= 'F') return letter - 'A' + 10;
  return -1;
}

unsigned checksum(std::string_view data) {
  unsigned sum = 0;
  for (const char letter : data) sum += static_cast<unsigned char>(letter);
  return sum & 0xFF;
}

}  // namespace

std::string framed(std::string_view data) {
  const unsigned sum = checksum(data);
  return "$" + std::string(data) + "#" + kDigits[sum >> 4] + kDigits[sum & 15];
}

void PacketReader::add(std::string_view bytes) { pending_ += bytes; }

std::optional<PacketReader::Item> PacketReader::next() {
  std::size_t at = 0;
  while (at < pending_.size() && pending_[at] != '$' && pending_[at] != kInterrupt) ++at;  // '+', '-' and noise
  pending_.erase(0, at);
  if (pending_.empty()) return std::nullopt;
  if (pending_.front() == kInterrupt) {
    pending_.erase(0, 1);
    return Item{What::Interrupt, {}};
  }
  const std::size_t end = pending_.find('#');
  if (end == std::string::npos || end + 2 >= pending_.size()) {
    if (pending_.size() <= kLongest) return std::nullopt;
    pending_.clear();
    return Item{What::Damaged, {}};
  }
  const int high = digit(pending_[end + 1]), low = digit(pending_[end + 2]);
  Item item{What::Packet, pending_.substr(1, end - 1)};
  pending_.erase(0, end + 3);
  if (high < 0 || low < 0 || static_cast<unsigned>(high * 16 + low) != checksum(item.data)) item = {What::Damaged, {}};
  return item;
}

std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<unsigned>(byte) >> 4];
    text += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return text;
}

std::optional<std::string> bytes_of_hex(std::string_view digits) {
  if (digits.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    const int high = digit(digits[i]), low = digit(digits[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

std::optional<std::uint64_t> take_hex(std::string_view& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

}  // namespace zs::machine::gdb
