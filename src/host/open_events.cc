#include "host/open_events.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <utility>

#include "host/diagnosis.h"

namespace zs::host {
namespace {

/// Fewer p where that was left to us, until the processor can.
Descriptor open_one(EventToOpen& event, Place place, int group, const Opener& opener) {
  for (;;) {
    Descriptor opened(opener(event.attr, place, group));
    const bool too_precise = errno == EINVAL || errno == EOPNOTSUPP || errno == ENOENT;
    if (opened || !event.most_precise || event.attr.precise_ip == 0 || !too_precise) return opened;
    event.attr.precise_ip = (event.attr.precise_ip - 1u) & 3u;
  }
}

/// A pinned event that did not get its counter gives the end of a file.
Error no_value(int error, Place place) {
  const std::string where =
      place.tid > 0 ? "of thread " + std::to_string(place.tid) : "on CPU " + std::to_string(place.cpu);
  if (error == 0) return {"a counter " + where + " had no place in the PMU, so it counted nothing", "leave :D out"};
  return {"a counter " + where + " cannot be read: " + errno_name(error), ""};
}

}  // namespace

Opener kernel_opener() {
  return [](const perf_event_attr& attr, Place place, int group) {
    return static_cast<int>(syscall(SYS_perf_event_open, &attr, place.tid, place.cpu, group, PERF_FLAG_FD_CLOEXEC));
  };
}

std::uint64_t EventValue::scaled() const {
  if (running_ns == 0) return 0;
  if (running_ns >= enabled_ns) return value;
  const double share = static_cast<double>(enabled_ns) / static_cast<double>(running_ns);
  return static_cast<std::uint64_t>(std::llround(static_cast<double>(value) * share));
}

void EventValue::add(const EventValue& other) {
  value += other.value;
  enabled_ns += other.enabled_ns;
  running_ns += other.running_ns;
}

Result<OpenEvents> OpenEvents::open(std::vector<EventToOpen>& events, std::span<const Place> places,
                                    std::size_t ring_bytes, const Permissions& permissions, const Opener& opener) {
  OpenEvents opened(events.size());
  std::size_t gone_places = 0;
  for (const Place place : places) {
    bool gone = false;
    if (auto at = opened.open_at(events, place, ring_bytes, permissions, opener, gone); !at) return at.error();
    gone_places += gone ? 1 : 0;
  }
  if (gone_places == places.size())
    return why_not_opened(ESRCH, events.front().name, events.front().attr, places.front(), permissions);
  return opened;
}

Result<void> OpenEvents::open_at(std::vector<EventToOpen>& events, Place place, std::size_t ring_bytes,
                                 const Permissions& permissions, const Opener& opener, bool& gone) {
  std::vector<int> here(events.size(), -1);
  for (std::size_t i = 0; i < events.size(); ++i) {
    EventToOpen& event = events[i];
    const bool member = event.leader != i;
    if (member) event.attr.disabled = event.attr.enable_on_exec = 0;  // follows its leader
    Descriptor counter = open_one(event, place, member ? here[event.leader] : -1, opener);
    if (!counter && errno == ESRCH) {
      gone = true;
      return {};
    }
    if (!counter) return why_not_opened(errno, event.name, event.attr, place, permissions);
    if (ring_bytes != 0) {
      if (auto ring = write_to_ring(counter.get(), place, ring_bytes); !ring) return ring;
    }
    std::uint64_t id = 0;
    if (ioctl(counter.get(), PERF_EVENT_IOC_ID, &id) == 0) ids_[i].push_back(id);
    here[i] = counter.get();
    counters_[i].push_back({.descriptor = std::move(counter), .place = place});
  }
  return {};
}

/// The first event of a CPU, or of a thread that is watched wherever it runs, owns the ring; the others write there
/// too.
Result<void> OpenEvents::write_to_ring(int event, Place place, std::size_t ring_bytes) {
  const Place owner = place.cpu >= 0 ? Place{.tid = -1, .cpu = place.cpu} : place;
  const auto [known, fresh] = ring_of_.try_emplace(owner, event);
  if (!fresh) {
    if (ioctl(event, PERF_EVENT_IOC_SET_OUTPUT, known->second) == 0) return {};
    return why_no_ring(errno, ring_bytes);
  }
  auto ring = RingBuffer::map(event, ring_bytes);
  if (!ring) return ring.error();
  rings_.push_back(*std::move(ring));
  ring_descriptors_.push_back(event);
  return {};
}

void OpenEvents::ask_all(unsigned long request) {
  for (const auto& places : counters_) {
    for (const Counter& counter : places) ioctl(counter.descriptor.get(), request, 0);
  }
}

Result<EventValue> OpenEvents::read(std::size_t event, pid_t tid) const {
  EventValue sum;
  for (const Counter& counter : counters_[event]) {
    if (tid != kEverybody && counter.place.tid != tid) continue;
    EventValue here;
    const ssize_t bytes = ::read(counter.descriptor.get(), &here, sizeof here);
    if (bytes != static_cast<ssize_t>(sizeof here)) return no_value(bytes < 0 ? errno : 0, counter.place);
    sum.add(here);
  }
  return sum;
}

Result<void> OpenEvents::drain(const std::function<void(Bytes)>& take) {
  for (RingBuffer& ring : rings_) {
    if (auto drained = ring.drain(take); !drained) return drained;
  }
  return {};
}

bool OpenEvents::all_ended() const {
  std::vector<pollfd> watched;
  for (const auto& places : counters_) {
    for (const Counter& counter : places)
      watched.push_back({.fd = counter.descriptor.get(), .events = POLLIN, .revents = 0});
  }
  if (poll(watched.data(), watched.size(), 0) < 0) return false;
  return std::ranges::all_of(watched, [](const pollfd& one) { return (one.revents & POLLHUP) != 0; });
}

void allow_many_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace zs::host
