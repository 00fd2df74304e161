use std::collections::{BTreeMap, HashMap};
fn main() {
    let mut counts: HashMap<String, BTreeMap<u32, Vec<u64>>> = HashMap::new();
    let mut x: u64 = 88172645463325252;
    for i in 0..20000u32 {
        x ^= x << 13; x ^= x >> 7; x ^= x << 17;
        counts.entry(format!("k{}", x % 100)).or_default().entry(i % 13).or_default().push(x);
    }
    let total: u64 = counts.values().flat_map(|m| m.values()).map(|v| { let mut w = v.clone(); w.sort_unstable(); w[w.len() / 2] % 1000 }).sum();
    println!("{}", total);
}
