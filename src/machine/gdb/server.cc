#include "machine/gdb/server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/descriptor.h"
#include "machine/gdb/packet.h"

namespace zs::machine::gdb {
namespace {

Error failure(std::uint16_t port, const char* what) {
  return Error{"--gdb " + std::to_string(port) + ": " + what + ": " + std::strerror(errno),
               "choose another port; 0 takes any that is free"};
}

bool send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

/// returns false when the other side is gone
bool receive(int fd, PacketReader& reader, int timeout) {
  pollfd ready{.fd = fd, .events = POLLIN, .revents = 0};
  if (poll(&ready, 1, timeout) <= 0) return true;
  char buffer[4096];
  const ssize_t got = recv(fd, buffer, sizeof buffer, 0);
  if (got < 0 && errno == EINTR) return true;
  if (got <= 0) return false;
  reader.add({buffer, static_cast<std::size_t>(got)});
  return true;
}

}  // namespace

Result<PcStop> serve(Pc& pc, std::uint64_t limit, std::uint16_t port, Registers registers,
                     const std::function<void(std::uint16_t)>& listening) {
  const Descriptor listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!listener) return failure(port, "no socket");
  const int on = 1;
  (void)setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (bind(listener.get(), reinterpret_cast<sockaddr*>(&address), length) != 0 || listen(listener.get(), 1) != 0 ||
      getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    return failure(port, "cannot listen");
  }
  listening(ntohs(address.sin_port));
  const Descriptor peer(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!peer) return failure(port, "nobody connected");
  (void)setsockopt(peer.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);

  PacketReader reader;
  bool gone = false;
  Session session(pc, limit, registers, [&] {
    gone = gone || !receive(peer.get(), reader, 0);
    if (gone) return true;
    const auto item = reader.next();
    return item && item->what == PacketReader::What::Interrupt;
  });
  while (!gone && !session.detached() && !session.killed()) {
    const auto item = reader.next();
    if (!item) {
      gone = !receive(peer.get(), reader, -1);
      continue;
    }
    if (item->what == PacketReader::What::Damaged) {
      gone = !send_all(peer.get(), "-");
      continue;
    }
    if (item->what == PacketReader::What::Interrupt) continue;  // it stands already
    if (!send_all(peer.get(), "+")) break;
    if (const auto reply = session.answer(item->data)) gone = !send_all(peer.get(), framed(*reply));
    if (session.ended()) return *session.ended();
  }
  if (session.killed()) return PcStop{PcStopKind::Limit, 0, 0, "killed by gdb"};
  return pc.run(limit);
}

}  // namespace zs::machine::gdb
