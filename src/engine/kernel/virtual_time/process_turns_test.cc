#include "engine/kernel/virtual_time/process_turns.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <vector>

namespace zs::engine {
namespace {

/// Processes with seats, and a line that all of them write to.
struct Family {
  struct Shared {
    TurnsTable turns;
    std::atomic<unsigned> length;
    char text[1000];
  };
  Family() {
    turns.attach(&shared->turns);
    seat = turns.sit(getpid());
  }
  ~Family() { munmap(shared, sizeof *shared); }
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;

  void write(char letter) { shared->text[shared->length.fetch_add(1)] = letter; }
  std::string text() const { return {shared->text, shared->length.load()}; }
  pid_t fork_child(const std::function<void(int)>& work) {
    const int childs = turns.reserve();
    const pid_t pid = fork();
    if (pid != 0) return pid;
    turns.begin(childs, getpid());
    work(childs);
    turns.end(childs, getpid());
    _exit(0);
  }

  Shared* shared =
      static_cast<Shared*>(mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ProcessTurns turns;
  int seat = 0;
};

TEST(ProcessTurns, GoRoundInTheOrderInWhichProcessesWereMade) {
  Family family;
  for (const char letter : {'b', 'c', 'd'}) {
    family.fork_child([&, letter](int seat) {
      for (int i = 0; i < 5; ++i) {
        family.write(letter);
        family.turns.pass(seat, false);
      }
    });
  }
  EXPECT_TRUE(family.turns.shared());
  EXPECT_TRUE(family.turns.wanted());
  for (int i = 0; i < 7; ++i) {
    family.write('a');
    family.turns.pass(family.seat, false);
  }
  EXPECT_EQ(family.text(), "abcdabcdabcdabcdabcdaa");
  EXPECT_FALSE(family.turns.shared());
  while (wait(nullptr) > 0) {}
}

TEST(ProcessTurns, ComeOnlyWhenTheOneBeforeHasReallyEnded) {
  Family family;
  for (int i = 0; i < 50; ++i) {
    const pid_t child = family.fork_child([](int) {});
    family.turns.pass(family.seat, true);
    ASSERT_EQ(waitpid(child, nullptr, WNOHANG), child);
  }
}

TEST(ProcessTurns, AreTakenFromWhoIsStoppedOrKilled) {
  Family family;
  const pid_t stopped = family.fork_child([&](int seat) {
    raise(SIGSTOP);
    family.turns.pass(seat, false);
    family.write('s');
  });
  const pid_t killed = family.fork_child([](int) { raise(SIGKILL); });
  family.turns.pass(family.seat, false);
  family.write('a');
  kill(stopped, SIGCONT);
  while (family.text().size() < 2) family.turns.pass(family.seat, true);
  EXPECT_EQ(family.text(), "as");
  EXPECT_EQ(waitpid(stopped, nullptr, 0), stopped);
  EXPECT_EQ(waitpid(killed, nullptr, 0), killed);
}

TEST(ProcessTurns, AreNotWaitedForOutside) {
  Family family;
  int pipes[2];
  ASSERT_EQ(pipe(pipes), 0);
  family.fork_child([&](int seat) {
    char byte;
    family.turns.leave(seat);
    (void)!read(pipes[0], &byte, 1);
    family.turns.come_back(seat);
    family.write('b');
  });
  family.turns.pass(family.seat, false);
  EXPECT_FALSE(family.turns.wanted());
  EXPECT_TRUE(family.turns.shared());
  family.write('a');
  ASSERT_EQ(write(pipes[1], "", 1), 1);
  while (!family.turns.wanted()) usleep(1000);
  family.write('a');
  family.turns.pass(family.seat, false);
  EXPECT_EQ(family.text(), "aab");
  while (wait(nullptr) > 0) {}
}

TEST(ProcessTurns, OfANewImageAreThoseOfItsProcess) {
  Family family;
  ProcessTurns image;
  image.attach(&family.shared->turns);
  EXPECT_EQ(image.sit(getpid()), family.seat);
  EXPECT_EQ(image.sit(getppid()), 0);
}

TEST(ProcessTurns, WithoutATableCostNothing) {
  ProcessTurns none;
  const int seat = none.sit(getpid());
  EXPECT_EQ(seat, 0);
  EXPECT_FALSE(none.shared());
  none.pass(seat, true);
  none.leave(seat);
  none.come_back(seat);
  none.end(seat, getpid());
}

}  // namespace
}  // namespace zs::engine
