#include "host/open_events.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace zs::host {
namespace {

int perf_event_open(const perf_event_attr& attr, Place place, int group) {
  return static_cast<int>(syscall(SYS_perf_event_open, &attr, place.tid, place.cpu, group, PERF_FLAG_FD_CLOEXEC));
}

/// Fewer p where that was left to us, until the processor can.
Descriptor open_one(EventToOpen& event, Place place, int group) {
  for (;;) {
    Descriptor opened(perf_event_open(event.attr, place, group));
    const bool too_precise = errno == EINVAL || errno == EOPNOTSUPP || errno == ENOENT;
    if (opened || !event.most_precise || event.attr.precise_ip == 0 || !too_precise) return opened;
    event.attr.precise_ip = (event.attr.precise_ip - 1u) & 3u;
  }
}

}  // namespace

Result<OpenEvents> OpenEvents::open(std::vector<EventToOpen>& events, std::span<const Place> places,
                                    std::size_t ring_bytes, const Permissions& permissions) {
  OpenEvents opened(events.size());
  std::size_t gone_places = 0;
  for (const Place place : places) {
    bool gone = false;
    if (auto at = opened.open_at(events, place, ring_bytes, permissions, gone); !at) return at.error();
    gone_places += gone ? 1 : 0;
  }
  if (gone_places == places.size())
    return why_not_opened(ESRCH, events.front().name, events.front().attr, places.front(), permissions);
  return opened;
}

Result<void> OpenEvents::open_at(std::vector<EventToOpen>& events, Place place, std::size_t ring_bytes,
                                 const Permissions& permissions, bool& gone) {
  std::vector<int> here(events.size(), -1);
  for (std::size_t i = 0; i < events.size(); ++i) {
    EventToOpen& event = events[i];
    const bool member = event.leader != i;
    if (member) event.attr.disabled = event.attr.enable_on_exec = 0;  // follows its leader
    Descriptor counter = open_one(event, place, member ? here[event.leader] : -1);
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
    counters_[i].push_back(std::move(counter));
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

void OpenEvents::enable() {
  for (const auto& places : counters_) {
    for (const Descriptor& counter : places) ioctl(counter.get(), PERF_EVENT_IOC_ENABLE, 0);
  }
}

void OpenEvents::disable() {
  for (const auto& places : counters_) {
    for (const Descriptor& counter : places) ioctl(counter.get(), PERF_EVENT_IOC_DISABLE, 0);
  }
}

EventValue OpenEvents::read(std::size_t event) const {
  EventValue sum;
  for (const Descriptor& counter : counters_[event]) {
    EventValue here;
    if (::read(counter.get(), &here, sizeof here) != static_cast<ssize_t>(sizeof here)) continue;
    sum.value += here.value;
    sum.enabled_ns += here.enabled_ns;
    sum.running_ns += here.running_ns;
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
    for (const Descriptor& counter : places) watched.push_back({.fd = counter.get(), .events = POLLIN, .revents = 0});
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
