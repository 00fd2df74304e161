// Scalar and packed SSE floating point of every counted class: sums, products, divisions, roots, minima, dot products.
// build: static -O2 -msse4.1
#include <immintrin.h>
#include <math.h>

#include "guest.h"

static __attribute__((noinline)) double scalar_double(const double* a, int n) {
  double s = 1, m = 1e9;
  for (int i = 0; i < n; ++i) {
    s += a[i] * 1.5 - s / (a[i] + 3);
    m = a[i] < m ? a[i] : m;
  }
  return s + __builtin_sqrt(m + 10);
}
static __attribute__((noinline)) float scalar_single(const float* a, int n) {
  float s = 1;
  for (int i = 0; i < n; ++i) s = s * 0.75f + a[i] / 3 - s * s * 1e-6f;
  return s;
}
static __attribute__((noinline)) void packed(const double* a, const float* b, double* d, float* f) {
  __m128d x = _mm_set1_pd(1);
  __m128 y = _mm_set1_ps(1);
  for (int i = 0; i < 64; i += 4) {
    x = _mm_add_pd(x, _mm_mul_pd(_mm_loadu_pd(a + i), _mm_loadu_pd(a + i + 2)));
    x = _mm_sub_pd(x, _mm_div_pd(_mm_loadu_pd(a + i), _mm_set1_pd(7)));
    x = _mm_hadd_pd(x, _mm_sqrt_pd(_mm_loadu_pd(a + i)));
    x = _mm_addsub_pd(x, _mm_dp_pd(x, _mm_loadu_pd(a + i), 0x31));
    y = _mm_add_ps(y, _mm_mul_ps(_mm_loadu_ps(b + i), y));
    y = _mm_max_ps(y, _mm_min_ps(_mm_loadu_ps(b + i), _mm_set1_ps(2)));
    y = _mm_sub_ps(_mm_dp_ps(y, _mm_loadu_ps(b + i), 0xF1), _mm_div_ps(y, _mm_set1_ps(9)));
    y = _mm_mul_ps(y, _mm_set1_ps(0.01f));
  }
  _mm_storeu_pd(d, x);
  _mm_storeu_ps(f, y);
}

int main(void) {
  uint64_t state = 5;
  double a[68];
  float b[68];
  for (int i = 0; i < 68; ++i) {
    a[i] = (double)(guest_random(&state) % 1000) / 8;
    b[i] = (float)(guest_random(&state) % 1000) / 16;
  }
  double d[2];
  float f[4];
  for (int round = 0; round < 20; ++round) packed(a, b, d, f);
  printf("%.17g %.9g\n", scalar_double(a, 64), (double)scalar_single(b, 64));
  printf("%.17g %.17g %.9g %.9g\n", d[0], d[1], (double)f[0], (double)f[3]);
  return 0;
}
