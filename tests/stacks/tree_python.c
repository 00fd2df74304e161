// Functions that Python calls and that call Python (tree.py).
typedef int callback(int);

#define NODE(name)                                                        \
  __attribute__((noinline)) int name(int x, callback* const* above, int count) { \
    for (int i = 0; i < count; ++i) x = above[i](x + i);                  \
    for (int i = 0; i < 40; ++i) x = (x * 1103515245 + 12345) & 0x7fffffff; \
    return x;                                                             \
  }

NODE(root)
NODE(node_1)
NODE(node_1_1)
NODE(node_1_1_1)
NODE(node_1_1_2)
NODE(node_1_2)
NODE(node_2)
NODE(node_2_1)
