"use strict";
// The same of JavaScript, in a JIT's code. Each function of its own, none inlined (--max-inlined-bytecode-size=0).
function node_1_1_1(x) { return ((x * 3) ^ (x >> 7)) & 0xffff; }
function node_1_1(x) {
  let y = node_1_1_1(x);
  for (let i = 0; i < 3; i++) y = (y + node_1_1_1(y + i)) & 0xffff;
  return y;
}
function node_1(x) {
  for (let i = 0; i < 5; i++) x = (x + node_1_1(x + i)) & 0xffff;
  return x;
}
function node_2_1(x) {
  if (x % 3 === 0) throw x;
  return x + 1;
}
function node_2(x) {
  try { x = node_2_1(x); } catch (thrown) { x = thrown - 1; }
  return x & 0xffff;
}
function node_3_1(x) { return (x * 7) & 0xffff; }
function node_3(x) {
  const numbers = [x, x + 1, x + 2, x + 3];
  return numbers.map(node_3_1)[2];
}
function* node_4_1(x) { for (let i = 0; i < 4; i++) yield x + i; }
function node_4(x) {
  let sum = 0;
  for (const y of node_4_1(x)) sum += y;
  return sum & 0xffff;
}
function root(rounds) {
  let x = 1;
  for (let i = 0; i < rounds; i++) x = (node_1(x) + node_2(x) + node_3(x) + node_4(x)) & 0xffff;
  return x;
}
console.log(root(+process.argv[2]));
