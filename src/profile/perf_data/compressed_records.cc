#include "profile/perf_data/compressed_records.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>

#include "profile/perf_data/file_bytes.h"
#include "profile/perf_data/perf_data.h"

namespace zs::profile {
namespace {

using perf::RecordType;

bool is_compressed(std::uint32_t type) {
  return type == static_cast<std::uint32_t>(RecordType::Compressed) ||
         type == static_cast<std::uint32_t>(RecordType::Compressed2);
}

/// The piece of the stream in the body of a record.
Result<Bytes> piece_of(ByteReader& body, std::uint32_t type) {
  if (type == static_cast<std::uint32_t>(RecordType::Compressed)) return body.take(body.remaining());
  const auto size = body.read<std::uint64_t>();  // COMPRESSED2: padding to 8 bytes follows
  const Bytes piece = body.take(size);
  if (!body.ok()) return body.error("compressed record");
  return piece;
}

class Stream {
 public:
  /// Appends what `piece` holds to `out`. returns what is wrong with it, nullptr if nothing is
  const char* add(Bytes piece, std::vector<std::byte>& out) {
    ZSTD_inBuffer from{piece.data(), piece.size(), 0};
    while (true) {
      if (out.size() > most_) return "holds more than half of the memory";
      const std::size_t before = out.size();
      out.resize(before + kChunk);
      ZSTD_outBuffer to{out.data() + before, kChunk, 0};
      const std::size_t wanted = ZSTD_decompressStream(stream_.get(), &to, &from);
      out.resize(before + to.pos);
      if (ZSTD_isError(wanted) != 0) return ZSTD_getErrorName(wanted);
      if (from.pos == from.size && to.pos < kChunk) return nullptr;
    }
  }

 private:
  static constexpr std::size_t kChunk = std::size_t{1} << 16;
  std::unique_ptr<ZSTD_DStream, std::size_t (*)(ZSTD_DStream*)> stream_{ZSTD_createDStream(), ZSTD_freeDStream};
  std::uint64_t most_ = most_unpacked_bytes();
};

void append(std::vector<std::byte>& to, Bytes bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }

/// Bytes at the front of `bytes` that are whole records; all, if what follows can be none.
std::size_t whole_records(Bytes bytes) {
  std::size_t at = 0;
  while (bytes.size() - at >= sizeof(perf::RecordHeader)) {
    perf::RecordHeader head;
    std::memcpy(&head, bytes.data() + at, sizeof head);
    if (head.size < sizeof head) return bytes.size();  // damaged: who reads the records will say where
    if (head.size > bytes.size() - at) break;
    const std::uint64_t behind = bytes_behind_record(bytes.subspan(at, head.size));
    if (behind > bytes.size() - at - head.size) break;
    at += head.size + behind;
  }
  return at;
}

}  // namespace

std::uint64_t bytes_behind_record(Bytes record) {
  ByteReader in(record);
  const auto type = static_cast<RecordType>(in.read<perf::RecordHeader>().type);
  if (type == RecordType::Auxtrace) return in.read<std::uint64_t>();
  if (type != RecordType::TracingData) return 0;
  const std::uint64_t bytes = in.read<std::uint32_t>();
  return bytes <= in.remaining() ? 0 : (bytes + 7) & ~std::uint64_t{7};  // simpleperf counts them in the record's size
}

bool has_compressed_records(Bytes records) {
  for (std::uint64_t at = 0; records.size() - at >= sizeof(perf::RecordHeader);) {
    perf::RecordHeader head;
    std::memcpy(&head, records.data() + at, sizeof head);
    if (is_compressed(head.type)) return true;
    if (head.size < sizeof head || head.size > records.size() - at) return false;
    const std::uint64_t step = head.size + bytes_behind_record(records.subspan(at, head.size));
    if (step > records.size() - at) return false;
    at += step;
  }
  return false;
}

UnpackedRecords unpack_records(const std::string& name, Bytes records, std::uint64_t origin) {
  UnpackedRecords result;
  Stream stream;
  std::vector<std::byte> open;  // came out of the stream, and is no whole record yet
  std::uint64_t at = 0;
  const auto damage = [&](std::string what) {
    result.damage = Error{fmt::format("{}: at {:#x}: {}", name, origin + at, what), ""};
  };
  while (at < records.size() && !result.damage) {
    ByteReader in(records.subspan(at), name, origin + at);
    const auto head = in.read<perf::RecordHeader>();
    if (!in.ok()) {
      result.damage = in.error("record header");
      break;
    }
    if (head.size < sizeof head) {
      damage(fmt::format("a record of type {} says it has {} bytes, fewer than its header's {}", head.type, head.size,
                         sizeof head));
      break;
    }
    ByteReader body = in.sub(head.size - sizeof head);
    if (!in.ok()) {
      result.damage =
          in.error(is_compressed(head.type) ? "compressed record" : fmt::format("record of type {}", head.type));
      break;
    }
    if (is_compressed(head.type)) {
      const auto piece = piece_of(body, head.type);
      if (!piece) {
        result.damage = piece.error();
        break;
      }
      if (const char* wrong = stream.add(*piece, open)) {
        damage(fmt::format("a compressed record does not unpack: {}", wrong));
      }
      const std::size_t whole = whole_records(open);
      append(result.records, std::span(open).first(whole));
      open.erase(open.begin(), open.begin() + static_cast<std::ptrdiff_t>(whole));
    } else {
      const Bytes record = records.subspan(at, head.size);
      append(result.records, record);
      const Bytes behind = in.take(bytes_behind_record(record));
      if (!in.ok()) result.damage = in.error("trace behind a record");
      append(result.records, behind);
    }
    at += head.size + (in.ok() ? bytes_behind_record(records.subspan(at, head.size)) : 0);
  }
  if (!result.damage && !open.empty()) {
    damage(fmt::format("the compressed records end in the middle of one: {} bytes of it are here", open.size()));
  }
  return result;
}

}  // namespace zs::profile
