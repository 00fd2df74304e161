#include "report/exact/pprof.h"

#include <zlib.h>

#include <algorithm>
#include <optional>
#include <span>

#include "base/check.h"

namespace zs::report {
namespace {

using profile::Location;

/// Fields of a message of Protocol Buffers, behind each other.
class Message {
 public:
  Message& number(unsigned field, std::uint64_t value) {
    if (value == 0) return *this;  // as what is not there
    varint(field << 3);
    varint(value);
    return *this;
  }
  Message& bytes(unsigned field, const std::string& bytes) {
    varint(field << 3 | 2);
    varint(bytes.size());
    bytes_ += bytes;
    return *this;
  }
  Message& numbers(unsigned field, std::span<const std::uint64_t> values) {
    Message packed;
    for (const std::uint64_t value : values) packed.varint(value);
    return bytes(field, packed.bytes_);
  }
  const std::string& all() const { return bytes_; }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

std::string gzip(std::string bytes) {
  constexpr int kGzip = 16;
  z_stream stream{};
  CHECK(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + kGzip, MAX_MEM_LEVEL,
                     Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace

std::uint64_t PprofProfile::text(const std::string& text) {
  const auto [known, fresh] = numbers_.try_emplace(text, texts_.size());
  if (fresh) texts_.push_back(text);
  return known->second;
}

/// Addresses are those that the file itself has, which pprof takes of a mapping of all addresses.
std::uint64_t PprofProfile::mapping_of(const profile::Dso& dso) {
  const auto [known, fresh] = mappings_.try_emplace(&dso, mappings_.size() + 1);
  if (!fresh) return known->second;
  const auto id = dso.image != nullptr ? dso.image->build_id() : std::nullopt;
  Message mapping;
  mapping.number(1, known->second).number(3, UINT64_MAX).number(5, text(dso.path)).number(6, text(id ? id->hex() : ""));
  for (const unsigned has : {7U, 8U, 9U, 10U}) mapping.number(has, 1);  // functions, files, lines, inlined ones
  tables_ += Message().bytes(3, mapping.all()).all();
  return known->second;
}

std::string PprofProfile::line(const Location& at, const std::string& name, const profile::SourceLine& source) {
  const auto [known, fresh] = functions_.try_emplace({text(name), text(source.file)}, functions_.size() + 1);
  if (fresh) {
    const bool whole = name == at.symbol->name();
    Message function;
    function.number(1, known->second).number(2, text(name)).number(3, text(whole ? at.symbol->linkage_name : name));
    function.number(4, text(source.file));
    const auto start = whole && at.dso->image != nullptr ? at.dso->image->line_of(at.symbol->start) : std::nullopt;
    if (start && start->file == source.file) function.number(5, static_cast<std::uint64_t>(start->line));
    tables_ += Message().bytes(5, function.all()).all();
  }
  return Message().number(1, known->second).number(2, static_cast<std::uint64_t>(source.line)).all();
}

std::uint64_t PprofProfile::location_of(std::int32_t pid, std::uint64_t address) {
  const Location at = symbolizer_.locate(spaces_.back(), pid, address);
  const std::uint64_t shown = at.dso != nullptr ? value(at.image_address) : address;
  const auto [known, fresh] = locations_.try_emplace({at.dso, shown}, locations_.size() + 1);
  if (!fresh) return known->second;
  Message location;
  location.number(1, known->second).number(3, shown);
  if (at.dso != nullptr) location.number(2, mapping_of(*at.dso));
  if (at.symbol != nullptr) {
    const std::vector<profile::InlineFrame>& inlines = symbolizer_.inlines_of(at);
    for (std::size_t i = 0; i + 1 < inlines.size(); ++i)
      location.bytes(4, line(at, inlines[i].function, inlines[i].at));
    const auto source = inlines.empty() ? symbolizer_.line_of(at) : std::optional(inlines.back().at);
    location.bytes(4, line(at, at.symbol->name(), source.value_or(profile::SourceLine{})));
  }
  tables_ += Message().bytes(4, location.all()).all();
  return known->second;
}

void PprofProfile::add(const profile::PerfDataReader& reader) {
  profile::AddressSpaces& spaces = spaces_.emplace_back();
  const bool contexts = reader.events().size() > session::kRanInContexts;
  reader.for_each(profile::PerfDataReader::Order::Time, [&](const profile::Record& record) {
    spaces.apply(record);
    const auto* const told = std::get_if<profile::SampleRecord>(&record);
    if (told == nullptr) return;
    const session::Sample& sample = told->sample;
    if (mappings_.empty()) {  // the first one is the program's
      const auto program = std::ranges::find_if(spaces.images(), [](const auto& image) { return image->code; });
      if (program != spaces.images().end()) mapping_of(*symbolizer_.dso_of(**program));
    }
    if (contexts && sample.event == session::kRanInstructions) return;  // the same once more
    Stack stack{location_of(sample.pid, sample.ip)};
    if (sample.event == session::kRanInContexts) {
      for (std::size_t i = 1; i < sample.callchain.size(); ++i)
        stack.push_back(location_of(sample.pid, sample.callchain[i] - 1));
    }
    samples_[stack][sample.event == session::kRanBranches ? 1 : 0] += sample.period;
  });
}

std::string PprofProfile::gzipped() {
  Message profile;
  const auto type = [&](unsigned field, const char* name) {
    profile.bytes(field, Message().number(1, text(name)).number(2, text("count")).all());
  };
  type(1, "instructions");
  type(1, "taken-branches");
  for (const auto& [stack, values] : samples_) profile.bytes(2, Message().numbers(1, stack).numbers(2, values).all());
  type(11, "instructions");
  profile.number(12, 1).number(14, text("instructions"));
  std::string bytes = profile.all() + tables_;
  for (const std::string& text : texts_) bytes += Message().bytes(6, text).all();
  return gzip(std::move(bytes));
}

}  // namespace zs::report
