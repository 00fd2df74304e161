// Runs a program as zeroskid-run does, with a core "model" that writes down all it is told: one entry per retired
// instruction and access, whatever the paths were. What the engine tells fast must be what it tells step by step
// (--precise-only), and both what the ptrace oracle sees (zs-oracle --accesses writes the same form).
//   core_feed_run [--precise-only] [--max-block N] [--cache BYTES] [--stream FILE] [--log FILE] -- PATH [ARGV...]
//   --stream FILE  the first thread's stream (stream_format.h)
//   --log FILE     one line per thread at its end: instructions, accesses, jumps that no branch made (signals), and a
//                  hash over its stream
//   --null         a model that does nothing at all, to measure
//   --reference NAME  the modelled core of that CPU model, beside its slow reference (reference_feed.h); the program
//   has one thread
// Says nothing on standard output and error but what the program says; a contradiction in what it is told ends it with
// 125.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "engine/engine.h"
#include "engine/loader/held_environment.h"
#include "reference_feed.h"
#include "stream_format.h"
#include "uarch/replay/address_words.h"

extern char** environ;

namespace zs {
namespace {

using arch::AccessForm;

struct Options {
  engine::Config engine;
  std::string stream, log;
  bool null = false;
  const uarch::CoreModel* reference = nullptr;
};

/// Descriptions, which are one process's.
struct Paths {
  struct Path {
    std::vector<arch::PathInstruction> instructions;
    std::vector<arch::PathAccess> accesses;
    std::vector<arch::AddressTerm> terms;  // of the accesses
  };
  std::vector<Path> list;
};
Paths paths;

class NullFeed : public arch::CoreFeed {
 public:
  void describe(std::uint32_t, const arch::PathDescription&) override {}
  void run(std::span<const arch::PathRun>, const arch::SlotValues&) override {}
  const arch::CoreSignals& signals() const override { return signals_; }
  arch::AccessOutcome last_load() const override { return {}; }
  arch::AccessOutcome last_store() const override { return {}; }
  void set_latency_threshold(std::uint32_t) override {}
  bool last_mispredicted() const override { return false; }
  std::uint32_t most_per_instruction(arch::CoreSignal) const override { return 2; }
  void unmapped(std::uint64_t, std::uint64_t) override {}

 protected:
  arch::CoreSignals signals_;
};

/// Writes down everything.
class StreamFeed final : public NullFeed {
 public:
  explicit StreamFeed(std::FILE* out) : out_(out) {}

  void describe(std::uint32_t number, const arch::PathDescription& description) override {
    if (paths.list.size() <= number) paths.list.resize(number + 1);
    paths.list[number].instructions.assign(description.instructions.begin(), description.instructions.end());
    paths.list[number].accesses.assign(description.accesses.begin(), description.accesses.end());
    paths.list[number].terms.clear();
    for (const arch::PathAccess& access : description.accesses) paths.list[number].terms.push_back(access.address);
    CHECK(!description.instructions.empty());
    for (std::size_t i = 0; i + 1 < description.instructions.size(); ++i) {
      const arch::PathInstruction& insn = description.instructions[i];
      const bool moved = description.instructions[i + 1].pc != insn.pc + insn.length;
      CHECK(!moved || insn.taken || insn.facts.branch == arch::BranchKind::None, number, insn.pc);
      if (insn.taken && insn.target != 0) CHECK(description.instructions[i + 1].pc == insn.target, number, insn.pc);
    }
  }

  void run(std::span<const arch::PathRun> runs, const arch::SlotValues& values) override {
    for (const arch::PathRun& run : runs) {
      CHECK(run.path < paths.list.size(), run.path);
      const Paths::Path& path = paths.list[run.path];
      words_.resize(2 * path.terms.size() + values.listed.size());
      const std::uint64_t* const end =
          uarch::write_any_words(path.terms, values.slots + run.slots, values, words_.data());
      one(path, {words_.data(), end}, run.next);
    }
  }

  std::uint64_t instructions() const { return instructions_; }
  std::uint64_t accesses() const { return accesses_; }
  std::uint64_t hash() const { return hash_; }
  std::uint64_t jumps() const { return jumps_; }

 private:
  void one(const Paths::Path& path, std::span<const std::uint64_t> words, std::uint64_t next) {
    // Between two paths there may have been a signal; nothing else moves the thread.
    if (expected_ != 0 && expected_ != path.instructions[0].pc) ++jumps_;
    std::size_t access = 0;
    for (std::size_t i = 0; i < path.instructions.size(); ++i) {
      const arch::PathInstruction& insn = path.instructions[i];
      entry_.clear();
      while (access < path.accesses.size() && path.accesses[access].instruction == i) words = list(path, access, words);
      StreamInstruction head;
      head.pc = insn.pc;
      head.length = insn.length;
      head.taken = insn.taken;
      head.accesses = static_cast<std::uint32_t>(entry_.size());
      put(&head, sizeof head);
      put(entry_.data(), entry_.size() * sizeof(StreamAccess));
      ++instructions_;
      accesses_ += entry_.size();
    }
    CHECK(words.empty() && access == path.accesses.size());
    expected_ = next_of(path.instructions.back(), next);
  }

  /// The accesses of one instruction from `access` on, those of its kind together.
  std::span<const std::uint64_t> list(const Paths::Path& path, std::size_t& access,
                                      std::span<const std::uint64_t> words) {
    const arch::PathAccess& first = path.accesses[access];
    const auto add = [&](const arch::PathAccess& from, std::uint64_t address) {
      entry_.push_back({.address = address, .bytes = from.address.bytes, .kind = static_cast<std::uint8_t>(from.kind)});
    };
    switch (first.form) {
      case AccessForm::One:
        add(first, words[0]);
        ++access;
        return words.subspan(1);
      case AccessForm::Listed: {
        const std::uint64_t count = words[0];
        for (std::uint64_t i = 0; i < count; ++i) add(first, words[1 + i]);
        ++access;
        return words.subspan(1 + count);
      }
      case AccessForm::Repeated: {
        std::size_t end = access;
        while (end < path.accesses.size() && path.accesses[end].instruction == first.instruction) ++end;
        const std::uint64_t count = words[1] & ~(std::uint64_t{1} << 63);
        for (std::uint64_t element = 0; element < count; ++element) {
          for (std::size_t i = access; i < end; ++i) {
            const std::uint64_t* const word = words.data() + 2 * (i - access);
            CHECK(word[1] == words[1]);
            const std::uint64_t distance = element * path.accesses[i].address.bytes;
            add(path.accesses[i], word[0] + ((word[1] >> 63) != 0 ? 0 - distance : distance));
          }
        }
        const std::size_t used = 2 * (end - access);
        access = end;
        return words.subspan(used);
      }
    }
    CHECK(false);
  }

  void put(const void* data, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; i += 8) {
      std::uint64_t word;
      std::memcpy(&word, static_cast<const std::byte*>(data) + i, 8);
      hash_ = (hash_ ^ word) * 0x9E3779B97F4A7C15u;
      hash_ ^= hash_ >> 29;
    }
    if (out_ != nullptr) std::fwrite(data, 1, bytes, out_);
  }

  std::FILE* out_;
  std::vector<StreamAccess> entry_;
  std::vector<std::uint64_t> words_;  // of a run
  std::uint64_t instructions_ = 0, accesses_ = 0, hash_ = 0, expected_ = 0, jumps_ = 0;
};

class Listener final : public engine::Observer {
 public:
  explicit Listener(const Options& options) : options_(options) {
    if (!options.log.empty()) log_ = open(options.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (!options.stream.empty()) {
      const int fd = open(options.stream.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
      CHECK(fd >= 0);
      stream_ = fdopen(fcntl(fd, F_DUPFD_CLOEXEC, 1001), "w");
      close(fd);
      std::setvbuf(stream_, nullptr, _IOFBF, 1 << 20);
    }
    if (log_ >= 0) {
      const int high = fcntl(log_, F_DUPFD_CLOEXEC, 1000);
      close(log_);
      log_ = high;
    }
  }

  engine::VirtualCpu thread_started(const engine::ThreadIdentity& who) override {
    engine::VirtualCpu cpu;
    if (options_.null) {
      cpu.core = &null_;
      return cpu;
    }
    if (options_.reference != nullptr) {
      reference_ = std::make_unique<ReferenceFeed>(*options_.reference);
      cpu.core = reference_.get();
      return cpu;
    }
    auto& feed = feeds_[who.tid];
    feed = std::make_unique<StreamFeed>(std::exchange(stream_, nullptr));
    cpu.core = feed.get();
    return cpu;
  }
  void thread_exited(const engine::ThreadIdentity& who) override {
    if (reference_) {
      if (log_ >= 0)
        dprintf(log_, "%llu accesses %llu restarts\n", static_cast<unsigned long long>(reference_->accesses()),
                static_cast<unsigned long long>(reference_->restarts()));
      return;
    }
    const auto found = feeds_.find(who.tid);
    if (found == feeds_.end()) return;
    const StreamFeed& feed = *found->second;
    char line[128];
    const int length = std::snprintf(
        line, sizeof line, "%llu instructions %llu accesses %llu jumps hash %016llx\n",
        static_cast<unsigned long long>(feed.instructions()), static_cast<unsigned long long>(feed.accesses()),
        static_cast<unsigned long long>(feed.jumps()), static_cast<unsigned long long>(feed.hash()));
    if (log_ >= 0) CHECK(write(log_, line, static_cast<std::size_t>(length)) == length);
    std::fflush(nullptr);
  }
  void pmi(const engine::ThreadIdentity&, const arch::RegisterFile&) override {}
  void forked(const engine::ThreadIdentity&, bool) override {}
  void in_forked_child() override { feeds_.clear(); }
  void renamed(const engine::ThreadIdentity&, const std::string&, bool) override {}
  void mapped(const engine::ThreadIdentity&, const engine::Mapping&) override {}
  void flush(const engine::ThreadIdentity&) override {}
  void notice(const std::string&) override {}
  void refused(const std::string& text) override { std::fprintf(stderr, "%s\n", text.c_str()); }

 private:
  const Options& options_;
  int log_ = -1;
  std::FILE* stream_ = nullptr;
  NullFeed null_;
  std::unique_ptr<ReferenceFeed> reference_;
  std::unordered_map<std::int32_t, std::unique_ptr<StreamFeed>> feeds_;
};

[[noreturn]] void run(int argc, char** argv) {
  static Options options;
  engine::Config& config = options.engine;
  config.virtual_time = true;
  config.virtual_ids = true;
  config.exec_prefix.emplace_back(argv[0]);
  int i = 1;
  bool by_hand = false;
  for (; i < argc && std::strncmp(argv[i], "--", 2) == 0; ++i) {
    const std::string word = argv[i];
    if (word == "--") {
      by_hand = true;
      ++i;
      break;
    }
    const auto value = [&] { return std::string(i + 1 < argc ? argv[++i] : ""); };
    const int at = i;
    bool kept = true;
    if (word == "--precise-only") {
      config.precise_only = true;
    } else if (word == "--null") {
      options.null = true;
    } else if (word == "--reference") {
      options.reference = uarch::find_core_model(value());
      CHECK(options.reference != nullptr);
    } else if (word == "--max-block") {
      config.max_block_instructions = static_cast<std::uint32_t>(std::stoul(value()));
    } else if (word == "--cache") {
      config.code_cache_bytes = std::stoul(value());
    } else if (word == "--log") {
      options.log = value();
    } else if (word == "--stream") {
      options.stream = value();
      kept = false;
    } else if (word == "--signal-mask") {
      config.signal_mask = std::stoull(value(), nullptr, 16);
      kept = false;
    } else if (word == "--exec-name") {
      config.exec_name = value();
      kept = false;
    } else {
      std::fprintf(stderr, "core_feed_run: there is no option %s\n", argv[i]);
      std::exit(engine::kToolFailed);
    }
    for (int word_at = at; kept && word_at <= i; ++word_at) config.exec_prefix.emplace_back(argv[word_at]);
  }
  CHECK(i < argc);
  config.program = argv[i];
  if (!by_hand) ++i;
  config.argv.assign(argv + i, argv + argc);
  config.first_pid = getpid();
  for (char** variable = environ; *variable != nullptr; ++variable)
    config.envp.emplace_back(by_hand ? *variable : engine::released(*variable));
  static Listener listener(options);
  engine::run(config, listener);
}

}  // namespace
}  // namespace zs

int main(int argc, char** argv) {
  zs::end_failed_checks_with(zs::engine::kToolFailed);
  zs::run(argc, argv);
}
