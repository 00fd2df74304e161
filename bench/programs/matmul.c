// Floating point: a matrix product, scalar double, rows against columns.
#include <stdio.h>

enum { N = 800 };
static double a[N][N], b[N][N], c[N][N];

int main(void) {
  for (int i = 0; i < N; ++i) {
    for (int k = 0; k < N; ++k) a[i][k] = (i * 3 + k) % 17, b[i][k] = (i + k * 5) % 13;
  }
  for (int i = 0; i < N; ++i) {
    for (int k = 0; k < N; ++k) {
      double sum = 0;
      for (int m = 0; m < N; ++m) sum += a[i][m] * b[m][k];
      c[i][k] = sum;
    }
  }
  double trace = 0;
  for (int i = 0; i < N; ++i) trace += c[i][i] * (i % 3);
  printf("%.1f\n", trace);
  return 0;
}
