// Two threads: each computes, now and then they meet at a mutex and hand work over by a condition variable.
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

int main() {
  std::mutex lock;
  std::condition_variable turn_changed;
  int turn = 0;
  std::uint64_t shared = 0;
  std::vector<std::thread> threads;
  threads.reserve(2);
  for (int me = 0; me < 2; ++me) {
    threads.emplace_back([&, me] {
      std::uint64_t x = static_cast<std::uint64_t>(me) + 1;
      for (int round = 0; round < 400; ++round) {
        for (int i = 0; i < 250000; ++i) x = x * 6364136223846793005u + (x >> 33);
        for (int i = 0; i < 100; ++i) {
          const std::lock_guard guard(lock);
          shared += x & 1;
        }
        std::unique_lock guard(lock);
        turn_changed.wait(guard, [&] { return turn == me; });
        shared ^= x;
        turn = 1 - me;
        turn_changed.notify_one();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("%s\n", shared != 0 ? "done" : "nothing");
}
