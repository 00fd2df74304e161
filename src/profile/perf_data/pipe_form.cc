#include "profile/perf_data/pipe_form.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "profile/perf_data/file_bytes.h"
#include "profile/perf_data/perf_data.h"

namespace zs::profile {
namespace {

/// Records say it; and where traces lie in the file.
constexpr perf::Feature kOfFiles[] = {perf::Feature::BuildId, perf::Feature::Auxtrace};

template <typename T>
std::string_view as_text(const T& object) {
  return {reinterpret_cast<const char*>(&object), sizeof object};
}

/// A record of that type; one without features has no number in front.
std::string record(perf::RecordType type, std::string_view number, std::string_view content) {
  perf::RecordHeader header{.type = static_cast<std::uint32_t>(type)};
  const std::size_t size = sizeof header + number.size() + content.size(), padded = (size + 7) / 8 * 8;
  header.size = static_cast<std::uint16_t>(padded);
  std::string text(as_text(header));
  text.append(number).append(content).append(padded - size, '\0');
  return text;
}

}  // namespace

Result<void> write_pipe_form(const std::string& path, const std::function<bool(std::string_view)>& out) {
  const auto file = read_file_bytes(path);
  if (!file) return file.error();
  const std::string_view all(reinterpret_cast<const char*>(file->bytes.data()), file->bytes.size());
  perf::FileHeader header;
  const auto section = [&](const perf::Section& at) { return all.substr(std::min(at.offset, all.size()), at.size); };
  const auto fits = [&](const perf::Section& at) {
    return at.offset <= all.size() && at.size <= all.size() - at.offset;
  };
  if (all.size() < sizeof header) return Error{path + ": is no recording", ""};
  std::memcpy(&header, all.data(), sizeof header);
  constexpr std::size_t kMostOfFeature = perf::kMaxRecordBytes - sizeof(perf::RecordHeader) - sizeof(std::uint64_t);
  if (!fits(header.attrs) || !fits(header.data) || header.attr_entry_bytes <= sizeof(perf::Section))
    return Error{path + ": is not whole", ""};

  std::string first;
  first.append(as_text(perf::kMagic)).append(as_text(perf::kPipeHeaderBytes));
  for (std::string_view rest = section(header.attrs); rest.size() >= header.attr_entry_bytes;
       rest.remove_prefix(header.attr_entry_bytes)) {
    const std::size_t attr_bytes = header.attr_entry_bytes - sizeof(perf::Section);
    perf::Section ids;
    std::memcpy(&ids, rest.data() + attr_bytes, sizeof ids);
    first += record(perf::RecordType::HeaderAttr, rest.substr(0, attr_bytes), section(ids));
  }
  std::string_view table = all.substr(header.data.end());
  for (std::uint64_t bit = 0; bit < 256 && table.size() >= sizeof(perf::Section); ++bit) {
    if ((header.features[bit / 64] >> (bit % 64) & 1) == 0) continue;
    perf::Section at;
    std::memcpy(&at, table.data(), sizeof at);
    table.remove_prefix(sizeof at);
    const bool of_files = std::ranges::find(kOfFiles, static_cast<perf::Feature>(bit)) != std::end(kOfFiles);
    if (!of_files && fits(at) && at.size <= kMostOfFeature)
      first += record(perf::RecordType::HeaderFeature, as_text(bit), section(at));
  }
  if (!out(first) || !out(section(header.data))) return Error{"the pipe was closed before the recording was in it", ""};
  return {};
}

}  // namespace zs::profile
