/* The same sum over the same matrix, along its rows or down its columns:  matrix_walk row|column
   Compile it with: cc -O1 -g -o matrix_walk examples/matrix_walk/matrix_walk.c */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { kSize = 1024 };
static uint32_t matrix[kSize][kSize];

static __attribute__((noinline)) uint32_t by_row(void) {
  uint32_t sum = 0;
  for (int row = 0; row < kSize; ++row) {
    for (int column = 0; column < kSize; ++column) sum += matrix[row][column];
  }
  return sum;
}

static __attribute__((noinline)) uint32_t by_column(void) {
  uint32_t sum = 0;
  for (int column = 0; column < kSize; ++column) {
    for (int row = 0; row < kSize; ++row) sum += matrix[row][column];
  }
  return sum;
}

int main(int argc, char** argv) {
  const int column = argc > 1 && strcmp(argv[1], "column") == 0;
  for (int i = 0; i < kSize; ++i) matrix[i][i] = (uint32_t)i;
  printf("%u\n", column ? by_column() : by_row());
  return 0;
}
