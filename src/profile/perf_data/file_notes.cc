#include "profile/perf_data/file_notes.h"

#include <algorithm>
#include <utility>

#include "profile/perf_data/perf_data.h"

namespace zs::profile {

std::optional<Error> FileNotes::read(ByteReader& body, std::uint64_t samples) {
  const auto head = body.read_if<perf::NoteBody>(body.remaining() >= sizeof(perf::NoteBody));
  if (!head || head->magic != perf::NoteBody::kNoteMagic) return std::nullopt;  // an event type of an old perf
  if (head->stage == perf::NoteBody::kHeapBlock) return read_heap_block(body);
  if (head->stage == perf::NoteBody::kBlocksOfSamples) return read_blocks_of_samples(body, samples);
  if (head->stage == perf::NoteBody::kSharing) return read_part(body, "log of shared lines", sharing_);
  if (head->stage == perf::NoteBody::kJitMap) return read_part(body, "names of compiled code", jit_maps_);
  ByteReader text = body.sub(head->text_bytes);
  Note note;
  note.key = text.take_c_string();
  note.value = text.take_padded_string(text.remaining());
  if (!text.ok()) return text.error("note");
  (head->stage == 0 ? of_beginning_ : of_end_).push_back(std::move(note));
  return std::nullopt;
}

std::optional<Error> FileNotes::read_part(ByteReader& body, const char* what, std::vector<ProcessBytes>& into) {
  const auto head = body.read<perf::ProcessPartBody>();
  const Bytes bytes = body.take(head.bytes);
  if (!body.ok()) return body.error(what);
  const auto pid = static_cast<std::int32_t>(head.pid);
  if (head.part == 0) into.push_back({.pid = pid});
  const auto all = std::find_if(into.rbegin(), into.rend(), [&](const ProcessBytes& one) { return one.pid == pid; });
  if (all == into.rend() || all->complete) {
    body.fail("a part without the one before");
    return body.error(what);
  }
  all->bytes.insert(all->bytes.end(), bytes.begin(), bytes.end());
  all->complete = head.part + 1 == head.parts;
  return std::nullopt;
}

std::optional<Error> FileNotes::read_heap_block(ByteReader& body) {
  const auto head = body.read<perf::HeapBlockBody>();
  session::HeapBlock block{.number = head.number, .start = head.start, .size = head.size};
  block.site = body.read_array<std::uint64_t>(head.site);
  if (!body.ok()) return body.error("block of the heap");
  heap_blocks_.push_back(std::make_shared<const session::HeapBlock>(std::move(block)));
  return std::nullopt;
}

std::optional<Error> FileNotes::read_blocks_of_samples(ByteReader& body, std::uint64_t samples) {
  const auto head = body.read<perf::BlocksOfSamplesBody>();
  const std::vector<std::uint32_t> numbers = body.read_array<std::uint32_t>(head.count);
  if (body.ok() && (head.first > samples || numbers.size() > samples - head.first))
    body.fail("samples that do not exist");
  const auto is_known = [this](std::uint32_t number) { return number <= heap_blocks_.size(); };
  if (body.ok() && !std::ranges::all_of(numbers, is_known)) body.fail("a block that is not described");
  if (!body.ok()) return body.error("blocks of samples");
  blocks_of_samples_.resize(std::max<std::size_t>(blocks_of_samples_.size(), head.first + numbers.size()));
  std::ranges::copy(numbers, blocks_of_samples_.begin() + static_cast<std::ptrdiff_t>(head.first));
  return std::nullopt;
}

std::shared_ptr<const session::HeapBlock> FileNotes::heap_block_of(std::size_t index) const {
  const std::uint32_t number = index < blocks_of_samples_.size() ? blocks_of_samples_[index] : 0;
  return number == 0 ? nullptr : heap_blocks_[number - 1];
}

}  // namespace zs::profile
