#include "session/recording/process_sharing.h"

#include <algorithm>
#include <set>
#include <span>

namespace zs::session {
namespace {

constexpr std::uint32_t kSharingVersion = 1;
constexpr std::uint64_t kLineBytes = 64, kLeastBlockStep = 16;  // no allocator's blocks begin closer to each other

struct Head {
  std::uint32_t version, threads, blocks, lines;
  std::uint64_t hand_overs_left_out;
};
struct BlockHead {
  std::uint64_t number, start, size, site;
};
static_assert(WireLayout<Head> && WireLayout<BlockHead>);

}  // namespace

std::vector<std::byte> encode(const ProcessSharing& sharing) {
  ByteWriter out;
  out.write(Head{.version = kSharingVersion,
                 .threads = static_cast<std::uint32_t>(sharing.threads.size()),
                 .blocks = static_cast<std::uint32_t>(sharing.blocks.size()),
                 .lines = static_cast<std::uint32_t>(sharing.lines.size()),
                 .hand_overs_left_out = sharing.hand_overs_left_out});
  out.write_bytes(std::as_bytes(std::span(sharing.threads)));
  for (const HeapBlock& block : sharing.blocks) {
    out.write(BlockHead{.number = block.number, .start = block.start, .size = block.size, .site = block.site.size()});
    out.write_bytes(std::as_bytes(std::span(block.site)));
  }
  for (const uarch::LineLog& line : sharing.lines) encode(line, out);
  return out.release();
}

Result<ProcessSharing> decode_sharing(Bytes bytes, const std::string& name) {
  ByteReader in(bytes, name);
  const auto head = in.read<Head>();
  if (in.ok() && head.version != kSharingVersion)
    in.fail("version " + std::to_string(head.version) + "; version " + std::to_string(kSharingVersion) +
            " is known here");
  ProcessSharing sharing{.threads = in.read_array<std::int32_t>(head.threads),
                         .blocks = {},
                         .lines = {},
                         .hand_overs_left_out = head.hand_overs_left_out};
  for (std::uint32_t i = 0; i < head.blocks && in.ok(); ++i) {
    const auto block = in.read<BlockHead>();
    sharing.blocks.push_back({.number = block.number,
                              .start = block.start,
                              .size = block.size,
                              .site = in.read_array<std::uint64_t>(block.site)});
  }
  for (std::uint32_t i = 0; i < head.lines && in.ok(); ++i) {
    auto line = uarch::decode_line_log(in);
    if (!line) break;
    for (const uarch::LineUse& use : line->uses) {
      if (use.thread >= sharing.threads.size()) in.fail("a thread that it does not name");
    }
    sharing.lines.push_back(*std::move(line));
  }
  if (!in.ok()) return in.error("log of shared lines");
  return sharing;
}

void SharingRecorder::find_blocks(HeapBlocks& heap) {
  for (const std::uint64_t line : log_.take_new_lines()) {
    for (std::uint64_t at = line; at < line + kLineBytes; at += kLeastBlockStep) {
      if (const auto block = heap.find(at)) blocks_.emplace(block->number, *block);
    }
  }
}

void SharingRecorder::write(MessageWriter& out, const Origin& origin) {
  ProcessSharing sharing{
      .threads = threads_, .blocks = {}, .lines = log_.lines(), .hand_overs_left_out = log_.hand_overs_left_out()};
  std::set<std::uint64_t> kept;
  for (const uarch::LineLog& line : sharing.lines) kept.insert(line.linear);
  for (const auto& [number, block] : blocks_) {
    const auto line = kept.lower_bound(block.start / kLineBytes * kLineBytes);
    if (line != kept.end() && *line < block.start + block.size) sharing.blocks.push_back(block);
  }
  const std::vector<std::byte> bytes = encode(sharing);
  const auto parts = static_cast<std::uint32_t>((bytes.size() + kMaxSharingPart - 1) / kMaxSharingPart);
  for (std::uint32_t part = 0; part < parts; ++part) {
    const auto piece = std::span(bytes).subspan(part * kMaxSharingPart);
    const auto here = piece.first(std::min<std::size_t>(piece.size(), kMaxSharingPart));
    out.write(Sharing{.origin = origin, .part = part, .parts = parts, .bytes = {here.begin(), here.end()}});
  }
}

void SharingRecorder::forget() {
  log_.forget();
  threads_.assign(threads_.size(), 0);
  blocks_.clear();
}

}  // namespace zs::session
