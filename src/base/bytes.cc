#include "base/bytes.h"

#include <cinttypes>
#include <cstdio>

namespace zs {

std::string hex(std::uint64_t n) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%" PRIx64, n);
  return text;
}

namespace {

std::string_view as_text(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

std::string count_of_bytes(std::uint64_t n) { return std::to_string(n) + (n == 1 ? " byte" : " bytes"); }

}  // namespace

std::string_view ByteReader::take_c_string() {
  if (failure_) return {};
  const std::string_view rest = as_text(bytes_.subspan(at_));
  const std::size_t length = rest.find('\0');
  if (length == std::string_view::npos) {
    fail("a string has no end");
    return {};
  }
  at_ += length + 1;
  return rest.substr(0, length);
}

std::string_view ByteReader::take_padded_string(std::uint64_t width) {
  const std::string_view field = as_text(take(width));
  return field.substr(0, field.find('\0'));
}

void ByteReader::seek(std::uint64_t offset) {
  if (failure_) return;
  if (offset < origin_ || offset - origin_ > bytes_.size()) {
    fail("refers to " + hex(offset) + ", outside " + hex(origin_) + " to " + hex(origin_ + bytes_.size()));
    return;
  }
  at_ = static_cast<std::size_t>(offset - origin_);
}

ByteReader ByteReader::sub(std::uint64_t count) {
  const std::uint64_t start = offset();
  ByteReader part(take(count), source_, start);
  part.failure_ = failure_;
  return part;
}

void ByteReader::fail(std::string what) {
  if (!failure_) failure_ = Failure{.offset = offset(), .what = std::move(what)};
}

void ByteReader::ends_early(std::uint64_t needed) {
  failure_ = Failure{.offset = offset(), .needed = needed, .remain = remaining()};
}

Error ByteReader::error(std::string_view thing) const {
  CHECK(failure_.has_value());
  std::string message = source_.empty() ? "" : source_ + ": ";
  message += "at " + hex(failure_->offset) + ": " + std::string(thing);
  if (failure_->what.empty()) {
    message += " ends " + count_of_bytes(failure_->needed - failure_->remain) +
               " early: " + count_of_bytes(failure_->needed) + " needed, " + std::to_string(failure_->remain) +
               (failure_->remain == 1 ? " remains" : " remain");
  } else {
    message += ": " + failure_->what;
  }
  return {message, ""};
}

void ByteWriter::write_c_string(std::string_view text, std::size_t alignment) {
  const std::size_t start = size();
  write_bytes(std::as_bytes(std::span(text)));
  write_zeros(1);
  while ((size() - start) % alignment != 0) write_zeros(1);
}

void ByteWriter::align(std::size_t alignment) {
  while (size() % alignment != 0) write_zeros(1);
}

}  // namespace zs
