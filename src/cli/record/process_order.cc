#include "cli/record/process_order.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <type_traits>
#include <utility>
#include <variant>

namespace zs::cli {
namespace {

using session::Message;

template <typename T>
constexpr bool kIsSample = std::is_same_v<std::decay_t<T>, session::Sample>;

/// What is recorded at a time. The rest comes when the host finds the time to tell it.
bool is_dated(const Message& message) {
  return std::visit(
      [](const auto& m) {
        using T = std::decay_t<decltype(m)>;
        return kIsSample<T> || std::is_same_v<T, session::Comm> || std::is_same_v<T, session::Mmap> ||
               std::is_same_v<T, session::Fork> || std::is_same_v<T, session::Exit> ||
               std::is_same_v<T, session::Lost> || std::is_same_v<T, session::Branches> ||
               std::is_same_v<T, session::Ran>;
      },
      message);
}

std::uint64_t& time_of(Message& message) {
  return std::visit(
      [](auto& m) -> std::uint64_t& {
        if constexpr (kIsSample<decltype(m)>)
          return m.time_ns;
        else
          return m.origin.time_ns;
      },
      message);
}

std::int32_t pid_of(const Message& message) {
  return std::visit(
      [](const auto& m) {
        if constexpr (kIsSample<decltype(m)>)
          return m.pid;
        else
          return m.origin.pid;
      },
      message);
}

bool is_of_process(const session::Fork& fork) { return fork.origin.pid != fork.parent_pid; }

}  // namespace

/// A file of datagrams, found again by where they lie.
class ProcessOrder::Spool {
 public:
  struct Piece {
    std::uint64_t at = 0;
    std::uint32_t bytes = 0;
  };
  explicit Spool(const std::string& folder) : fd_(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)) {
    if (fd_ < 0) fd_ = memfd_create("zeroskid-order", MFD_CLOEXEC);
    if (fd_ < 0) error_ = errno;
  }
  ~Spool() {
    if (fd_ >= 0) ::close(fd_);
  }
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  Piece put(std::span<const std::byte> bytes) {
    const Piece piece{.at = end_, .bytes = static_cast<std::uint32_t>(bytes.size())};
    move(bytes.size(), [&](std::size_t done) {
      return pwrite(fd_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(piece.at + done));
    });
    end_ += bytes.size();
    return piece;
  }
  std::vector<std::byte> get(const Piece& piece) {
    std::vector<std::byte> bytes(piece.bytes);
    move(bytes.size(), [&](std::size_t done) {
      return pread(fd_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(piece.at + done));
    });
    return bytes;
  }
  Result<void> state() const {
    if (error_ == 0) return {};
    return Error{std::string("the temporary file that keeps what several processes tell under --virtual-time: ") +
                     std::strerror(error_),
                 "make room beside the recording, or choose another place with -o FILE"};
  }

 private:
  template <typename Step>
  void move(std::size_t bytes, Step step) {
    for (std::size_t done = 0; done < bytes && error_ == 0;) {
      const ssize_t moved = step(done);
      if (moved < 0 && errno == EINTR) continue;
      if (moved <= 0) error_ = moved < 0 ? errno : EIO;
      if (moved > 0) done += static_cast<std::size_t>(moved);
    }
  }

  int fd_ = -1;
  int error_ = 0;
  std::uint64_t end_ = 0;
};

struct ProcessOrder::Process final : session::Channel {
  Process(Spool& kept, std::int32_t kernel_pid) : spool(kept), pid(kernel_pid), writer(*this, kernel_pid) {}
  void send(std::span<const std::byte> datagram) override { pieces.push_back(spool.put(datagram)); }

  Spool& spool;
  const std::int32_t pid;  // the kernel's number
  std::int32_t id = 0;     // as recorded; 0: not open yet
  const Process* parent = nullptr;
  std::map<std::int32_t, std::int32_t> threads;  // kernel's number to id; of those besides the first
  std::uint64_t offset = 0, latest = 0;          // of time
  session::MessageWriter writer;
  bool empty = true;
  std::deque<Spool::Piece> pieces;
  std::deque<Message> ready;  // of the piece read last
};

ProcessOrder::ProcessOrder(const std::string& folder, std::function<void(Message&&)> take)
    : take_(std::move(take)), spool_(std::make_unique<Spool>(folder)) {}
ProcessOrder::~ProcessOrder() = default;

ProcessOrder::Process& ProcessOrder::add(std::int32_t pid) {
  processes_.push_back(std::make_unique<Process>(*spool_, pid));
  return *(last_of_[pid] = processes_.back().get());
}

void ProcessOrder::open(Process& process, Process* parent) {
  process.id = parent == nullptr && first_ == &process ? process.pid : next_id_;
  next_id_ = std::max(next_id_, process.id) + 1;
  process.parent = parent;
  if (parent == nullptr) return;
  process.offset = parent->offset;
  process.latest = parent->latest;
}

Result<void> ProcessOrder::receive(Message&& message) {
  const auto* fork = std::get_if<session::Fork>(&message);
  const bool told_by_parent = fork != nullptr && fork->by_parent;
  const std::int32_t pid = told_by_parent ? fork->parent_pid : pid_of(message);
  if (first_ == nullptr) {
    first_ = &add(pid);
    open(*first_, nullptr);
  }
  alone_ = alone_ && !told_by_parent;
  if (alone_ && pid == first_->pid) {
    deliver(*first_, std::move(message));
    return {};
  }
  return keep(pid, message, fork != nullptr && !fork->by_parent && is_of_process(*fork));
}

Result<void> ProcessOrder::keep(std::int32_t pid, const Message& message, bool begins) {
  const auto known = last_of_.find(pid);
  const bool fresh = known == last_of_.end() || (begins && !known->second->empty);
  Process& process = fresh ? add(pid) : *known->second;
  process.empty = false;
  process.writer.write(message);
  return spool_->state();
}

Result<void> ProcessOrder::finish() {
  for (const auto& process : processes_) process->writer.flush();
  if (first_ != nullptr) {
    if (auto passed = pass_on(*first_); !passed) return passed;
  }
  for (;;) {
    while (!places_.empty()) {
      Process& next = *std::get<Process*>(*places_.begin());
      places_.erase(places_.begin());
      Message message = std::move(next.ready.front());
      next.ready.pop_front();
      deliver(next, std::move(message));
      if (auto passed = pass_on(next); !passed) return passed;
    }
    Process* lost = nullptr;  // whose parent did not tell of it
    for (const auto& process : processes_) {
      if (process->id == 0 && (lost == nullptr || process->pid < lost->pid)) lost = process.get();
    }
    if (lost == nullptr) return {};
    open(*lost, nullptr);
    if (auto passed = pass_on(*lost); !passed) return passed;
  }
}

// Up to the next message that has a time; its place is noted.
Result<void> ProcessOrder::pass_on(Process& process) {
  for (;;) {
    if (process.ready.empty()) {
      if (process.pieces.empty()) return {};
      const std::vector<std::byte> datagram = spool_->get(process.pieces.front());
      process.pieces.pop_front();
      if (auto state = spool_->state(); !state) return state;
      auto decoded = session::decode_datagram(datagram, [&](Message&& m) { process.ready.push_back(std::move(m)); });
      if (!decoded) return decoded;
      continue;
    }
    if (is_dated(process.ready.front())) break;
    Message message = std::move(process.ready.front());
    process.ready.pop_front();
    deliver(process, std::move(message));
  }
  places_.emplace(std::max(process.latest, time_of(process.ready.front()) + process.offset), process.id, &process);
  return {};
}

ProcessOrder::Process* ProcessOrder::waiting(std::int32_t pid) {
  for (const auto& process : processes_) {
    if (process->pid == pid && process->id == 0) return process.get();
  }
  return nullptr;
}

void ProcessOrder::name(const Process& process, std::int32_t& pid, std::int32_t& tid) const {
  const auto thread = process.threads.find(tid);
  tid = tid == process.pid ? process.id : thread == process.threads.end() ? tid : thread->second;
  pid = process.id;
}

void ProcessOrder::deliver(Process& process, Message&& message) {
  std::uint64_t& time = time_of(message);
  time += process.offset;
  if (is_dated(message)) process.latest = std::max(process.latest, time);
  if (auto* fork = std::get_if<session::Fork>(&message)) {
    if (!is_of_process(*fork)) {
      process.threads[fork->origin.tid] = next_id_++;
      name(process, fork->parent_pid, fork->parent_tid);
      name(process, fork->origin.pid, fork->origin.tid);
    } else if (fork->by_parent) {
      Process* child = waiting(fork->origin.pid);
      if (child == nullptr) child = &add(fork->origin.pid);  // killed before it could tell anything
      open(*child, &process);
      name(process, fork->parent_pid, fork->parent_tid);
      fork->origin.pid = fork->origin.tid = child->id;
      take_(std::move(message));
      static_cast<void>(pass_on(*child));
      return;
    } else if (process.parent != nullptr) {
      return;  // the child's own word of it
    } else {
      fork->origin.pid = fork->origin.tid = process.id;
    }
    return take_(std::move(message));
  }
  if (const auto* hello = std::get_if<session::Hello>(&message); hello != nullptr && hello->exec)
    process.offset = process.latest;
  if (auto* exit = std::get_if<session::Exit>(&message)) {
    if (exit->parent_pid == process.pid)
      name(process, exit->parent_pid, exit->parent_tid);
    else if (process.parent != nullptr)
      exit->parent_pid = exit->parent_tid = process.parent->id;
  }
  std::visit(
      [&](auto& m) {
        if constexpr (kIsSample<decltype(m)>)
          name(process, m.pid, m.tid);
        else
          name(process, m.origin.pid, m.origin.tid);
      },
      message);
  take_(std::move(message));
}

}  // namespace zs::cli
