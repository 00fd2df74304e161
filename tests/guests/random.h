// Numbers that nobody chose, of a seed: SplitMix64.
#pragma once

#include <stdbool.h>
#include <stdint.h>

static uint64_t state;
static uint64_t any(void) {
  state += 0x9e3779b97f4a7c15u;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
static unsigned below(unsigned n) { return (unsigned)(any() >> 33) % n; }
static bool one_in(unsigned n) { return below(n) == 0; }
