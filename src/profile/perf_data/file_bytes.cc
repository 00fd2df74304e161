#include "profile/perf_data/file_bytes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <lzma.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

namespace zs::profile {
namespace {

using Output = std::vector<std::byte>;

constexpr std::size_t kChunk = std::size_t{1} << 18;

enum class Step { More, End, Cut, Damaged };

/// One packing: takes from `in` what it can, appends what came of it.
class Unpacker {
 public:
  Unpacker() = default;
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;
  virtual ~Unpacker() = default;
  /// Takes from the front of `in`, puts into `out`; `done` is how many bytes it put there.
  virtual Step step(Bytes& in, std::span<std::byte> out, std::size_t& done) = 0;
};

class Gzip final : public Unpacker {
 public:
  Gzip() { inflateInit2(&stream_, 15 + 16); }  // the largest window, with the header of gzip
  ~Gzip() override { inflateEnd(&stream_); }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  Step step(Bytes& in, std::span<std::byte> out, std::size_t& done) override {
    const auto give = static_cast<uInt>(std::min<std::size_t>(in.size(), std::numeric_limits<uInt>::max()));
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));  // zlib does not write there
    stream_.avail_in = give;
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    const int result = inflate(&stream_, Z_NO_FLUSH);
    in = in.subspan(give - stream_.avail_in);
    done = out.size() - stream_.avail_out;
    if (result == Z_STREAM_END) {  // pigz and `cat a.gz b.gz` write several, one after another
      inflateReset(&stream_);
      return in.size() >= 2 && in[0] == std::byte{0x1F} && in[1] == std::byte{0x8B} ? Step::More : Step::End;
    }
    if (result == Z_OK) return Step::More;
    return result == Z_BUF_ERROR && in.empty() ? Step::Cut : Step::Damaged;
  }

 private:
  z_stream stream_{};
};

class Xz final : public Unpacker {
 public:
  Xz() : ready_(lzma_stream_decoder(&stream_, UINT64_MAX, LZMA_CONCATENATED) == LZMA_OK) {}
  ~Xz() override { lzma_end(&stream_); }
  Xz(const Xz&) = delete;
  Xz& operator=(const Xz&) = delete;

  Step step(Bytes& in, std::span<std::byte> out, std::size_t& done) override {
    if (!ready_) return Step::Damaged;
    stream_.next_in = reinterpret_cast<const std::uint8_t*>(in.data());
    stream_.avail_in = in.size();
    stream_.next_out = reinterpret_cast<std::uint8_t*>(out.data());
    stream_.avail_out = out.size();
    const lzma_ret result = lzma_code(&stream_, LZMA_FINISH);
    in = in.subspan(in.size() - stream_.avail_in);
    done = out.size() - stream_.avail_out;
    if (result == LZMA_STREAM_END) return Step::End;
    if (result == LZMA_OK) return Step::More;
    return result == LZMA_BUF_ERROR ? Step::Cut : Step::Damaged;
  }

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
  bool ready_;
};

class Zstd final : public Unpacker {
 public:
  Step step(Bytes& in, std::span<std::byte> out, std::size_t& done) override {
    ZSTD_inBuffer from{in.data(), in.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    const std::size_t wanted = ZSTD_decompressStream(stream_.get(), &to, &from);
    in = in.subspan(from.pos);
    done = to.pos;
    if (ZSTD_isError(wanted) != 0) return Step::Damaged;
    if (wanted == 0) return in.empty() ? Step::End : Step::More;  // the end of a frame; others may follow
    return in.empty() && done < out.size() ? Step::Cut : Step::More;
  }

 private:
  std::unique_ptr<ZSTD_DStream, std::size_t (*)(ZSTD_DStream*)> stream_{ZSTD_createDStream(), ZSTD_freeDStream};
};

template <typename T>
std::unique_ptr<Unpacker> make() {
  return std::make_unique<T>();
}

struct Packing {
  std::string_view name;
  std::string_view magic;
  std::unique_ptr<Unpacker> (*make)();
};
constexpr Packing kPackings[] = {
    {"gzip", "\x1F\x8B", make<Gzip>},
    {"xz",
     "\xFD"
     "7zXZ",
     make<Xz>},
    {"zstd", "\x28\xB5\x2F\xFD", make<Zstd>},
};
/// What is not unpacked here, and what does it.
struct OtherPacking {
  std::string_view name, magic, remedy;
};
constexpr OtherPacking kOtherPackings[] = {
    {"bzip2", "BZh", "bunzip2 FILE"},
    {"lz4", "\x04\x22\x4D\x18", "lz4 -d FILE OTHER"},
    {"zip", "PK\x03\x04", "unzip FILE"},
};

bool begins_with(Bytes bytes, std::string_view magic) {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

struct Mapped {
  void* address;
  std::size_t size;
  Mapped(void* at, std::size_t bytes) : address(at), size(bytes) {}
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  ~Mapped() { munmap(address, size); }
};

/// All that comes from a pipe. returns false and leaves errno where reading fails
bool read_to_end(int fd, Output& out, bool& too_much) {
  std::vector<std::byte> chunk(kChunk);
  while (true) {
    const ssize_t got = read(fd, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    too_much = out.size() > most_unpacked_bytes();
    if (too_much) return false;
    out.insert(out.end(), chunk.begin(), chunk.begin() + got);
  }
}

FileBytes of_vector(Output bytes) {
  FileBytes file;
  auto kept = std::make_shared<const Output>(std::move(bytes));
  file.bytes = *kept;
  file.storage = std::move(kept);
  return file;
}

}  // namespace

std::uint64_t most_unpacked_bytes() {
  const auto pages = static_cast<std::uint64_t>(std::max(1L, sysconf(_SC_PHYS_PAGES)));
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) / 2;
}

Result<FileBytes> unpacked(const std::string& name, Bytes bytes) {
  for (const OtherPacking& other : kOtherPackings) {
    if (!begins_with(bytes, other.magic)) continue;
    return Error{fmt::format("{}: packed by {}, which is not unpacked here: gzip, xz and zstd are", name, other.name),
                 fmt::format("unpack it first: {}", other.remedy)};
  }
  const auto* const packing = std::find_if(std::begin(kPackings), std::end(kPackings),
                                           [&](const Packing& one) { return begins_with(bytes, one.magic); });
  if (packing == std::end(kPackings)) {
    FileBytes file;
    file.bytes = bytes;
    return file;
  }
  const std::unique_ptr<Unpacker> unpacker = packing->make();
  const std::uint64_t most = most_unpacked_bytes();
  Output out;
  Bytes in = bytes;
  Step step = Step::More;
  while (step == Step::More) {
    if (out.size() > most) {
      return Error{fmt::format("{}: more than {} MiB when unpacked, which is half of the memory", name, most >> 20),
                   fmt::format("unpack it to a file: {} -dc {} > FILE", packing->name, name)};
    }
    const std::size_t before = out.size();
    out.resize(before + kChunk);
    std::size_t done = 0;
    step = unpacker->step(in, std::span(out).subspan(before), done);
    out.resize(before + done);
  }
  FileBytes file = of_vector(std::move(out));
  file.packed_by = packing->name;
  if (step != Step::End) {
    file.damage = Error{fmt::format("{}: at {:#x}: the {} file {}", name, bytes.size() - in.size(), packing->name,
                                    step == Step::Cut ? "ends early" : "is damaged"),
                        ""};
  }
  return file;
}

Result<FileBytes> read_file_bytes(const std::string& path) {
  const bool standard_input = path == "-";
  const std::string name = standard_input ? "standard input" : path;
  const auto cannot = [&name](std::string_view what, std::string hint) {
    return Error{fmt::format("{}: {}", name, what), std::move(hint)};
  };
  const int fd = standard_input ? dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return cannot(
        fmt::format("cannot open: {}", std::strerror(errno)),
        errno == ENOENT ? "make a recording first: zeroskid record -- PROGRAM; or name another with -i FILE" : "");
  }
  struct Closed {
    int fd;
    ~Closed() { close(fd); }
  } const closed{fd};
  struct stat status {};
  if (fstat(fd, &status) != 0) return cannot(fmt::format("cannot read: {}", std::strerror(errno)), "");
  if (S_ISDIR(status.st_mode)) {
    // perf record --threads: a file for each thread of perf's, and one that says what they are.
    if (access((path + "/data").c_str(), F_OK) == 0 && access((path + "/data.0").c_str(), F_OK) == 0) {
      return cannot("a recording in a directory (perf record --threads), which is not read",
                    "record without --threads");
    }
    return cannot("is a directory, not a perf.data file", "name a recording with -i FILE");
  }
  const bool stream = S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode);
  if (standard_input && isatty(fd) != 0) {
    return cannot("is a terminal, from which no recording can come", "zeroskid report -i - < FILE");
  }
  if (!stream && !S_ISREG(status.st_mode)) return cannot("is not a regular file", "name a recording with -i FILE");

  FileBytes raw;
  if (stream || standard_input) {
    Output all;
    bool too_much = false;
    if (!read_to_end(fd, all, too_much)) {
      if (too_much) return cannot("gives more than half of the memory", "write it to a file and name that with -i");
      return cannot(fmt::format("cannot read: {}", std::strerror(errno)), "");
    }
    if (all.empty()) return cannot("is empty: nothing came from it", "");
    raw = of_vector(std::move(all));
  } else {
    const auto size = static_cast<std::size_t>(status.st_size);
    if (size == 0) return cannot("is empty: it was created, and nothing was written to it", "record again");
    void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (address == MAP_FAILED) return cannot(fmt::format("cannot read: {}", std::strerror(errno)), "");
    raw.storage = std::make_shared<const Mapped>(address, size);
    raw.bytes = {static_cast<const std::byte*>(address), size};
  }
  auto file = unpacked(name, raw.bytes);
  if (!file) return file;
  if (file->packed_by.empty()) file->storage = std::move(raw.storage);
  file->modified_at = stream ? 0 : status.st_mtime;
  return file;
}

}  // namespace zs::profile
